//! What is told of an incident that stays open although it is calm, since it opened too often.

use chrono::{DateTime, Utc};

use crate::daemon::notify::{Notifier, story, timeline};
use crate::domain::incident::Incident;
use crate::domain::paging::notification::{Event, Notification};
use crate::store::values::change_set::{Outgoing, TimelineRow};
use crate::store::{Store, StoreError};

impl Notifier<'_> {
    /// An incident stays open although it is calm, since it opened too often: whoever would hear of a change.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn flaps(self, store: &Store, incident: &Incident) -> Result<Outgoing, StoreError> {
        let to = self.concerned(store, incident).await?;
        let notification = Notification { summary: flaps(incident), ..self.about(Event::IncidentUpdated, incident) };
        Ok(self.outgoing(notification, to))
    }
}

/// The line that it leaves in the timeline that an incident stays open although it is calm.
pub(crate) fn stays_open(incident: &Incident, at: DateTime<Utc>) -> TimelineRow {
    TimelineRow { text: flaps(incident), ..timeline(Event::IncidentUpdated, incident, "serin", at) }
}

fn flaps(incident: &Incident) -> String {
    let said = incident.course.flapping.map(|flapping| flapping.said()).unwrap_or_default();
    format!("{}: flapping: {said}; it was {}", incident.monitor, story(incident))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::flapping::{CALM_MIN, Flapping};
    use crate::domain::fleet::Fleet;
    use crate::domain::incident::Course;
    use crate::domain::monitor::Monitor;
    use crate::domain::paging::quiet::QuietBook;
    use crate::domain::reason::{FailureReason, Severity};
    use crate::domain::rules::RulePlace;
    use crate::domain::secret::{Address, Secret};
    use crate::domain::signal::Signal;
    use crate::live::state::LiveState;

    #[test]
    fn messages_of_what_flaps_say_so_and_what_ends_it() {
        let monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let flapping = Some(Flapping { openings: 4, calm: CALM_MIN, told: false });
        let incident = Incident {
            id: "i1".to_owned(),
            monitor: monitor.id.clone(),
            signal: Signal::Availability,
            subject: String::new(),
            severity: Severity::Page,
            reason: FailureReason::Timeout,
            stage: "handshake".to_owned(),
            summary: "docs: no answer".to_owned(),
            evidence: Vec::new(),
            rule: RulePlace { file: "monitors.yaml".to_owned(), line: 1, commit: None },
            opened_at: now,
            resolved_at: None,
            resolve_cause: None,
            acknowledged: None,
            sequence: 1,
            course: Course { flapping, ..Course::default() },
        };
        let (fleet, quiets) = (Fleet::default(), QuietBook::default());
        let live = LiveState::default();
        let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &live, monitor: &monitor, now };
        let opened = notifier.opened(&incident).notification;
        let said = "opened 4 times in 60 min; stays open until calm for 15 min";
        assert_eq!((&*opened.evidence[0].key, &*opened.evidence[0].value), ("flapping", said));
        assert_eq!(opened.resolves_when.as_deref(), Some("it is calm for 15 min without a break, since it flaps"));
        assert_eq!(stays_open(&incident, now).text, format!("docs: flapping: {said}; it was no answer"));
    }
}
