//! From a decision to what is queued: the notification, its frozen bytes, and whom it goes to. What
//! a message says and when it is frozen is one act, which is why it stays in this file.

use chrono::{DateTime, SecondsFormat, Utc};
use uuid::Uuid;

use crate::domain::classify::LADDER;
use crate::domain::depends_on::Parent;
use crate::domain::fleet::Fleet;
use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::MonitorState;
use crate::domain::outcome::Evidence;
use crate::domain::paging::follow_up::FollowUp;
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::paging::notification::{Event, MonitorCard, Notification};
use crate::domain::paging::quiet::QuietBook;
use crate::domain::paging::tell::{Asked, Telling, tell};
use crate::domain::quality::extent::{clock, to_the_second};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::restart::Restart;
use crate::domain::route::{Subject, fitting};
use crate::domain::rule_text;
use crate::domain::signal::Signal;
use crate::domain::wording::span;
use crate::live::state::LiveState;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::values::change_set::{Addressee, Outgoing, TimelineRow};

mod addressed;
pub(crate) mod flaps;

/// The evidence key under which a message names what its incident was held back by, and until when.
const HELD_BACK_BY: &str = "held_back_by";
/// The evidence key under which a message says why its incident stays open although it is calm.
const FLAPPING: &str = "flapping";
/// The evidence key under which a message names who depends on what is down.
const DEPENDENTS: &str = "dependents";
/// So many of them are named.
const DEPENDENTS_NAMED: usize = 8;

/// What is to be told, before it is addressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notifier<'a> {
    /// The fleet in force: routes, runbooks, addresses.
    pub fleet: &'a Fleet,
    /// What is quiet.
    pub quiets: &'a QuietBook,
    /// Which others are down, to know what many have in common.
    pub live: &'a LiveState,
    pub monitor: &'a Monitor,
    pub now: DateTime<Utc>,
}

impl Notifier<'_> {
    /// An incident opened: whoever the first fitting route names.
    pub(crate) fn opened(self, incident: &Incident) -> Outgoing {
        let to = self.routed(incident.severity, Some(incident));
        self.outgoing(self.about(Event::IncidentOpened, incident), to)
    }

    /// The opening of an incident that was held back, or that nobody was there to hear: whom its route names now; and the
    /// line it leaves in the timeline.
    ///
    /// # Errors
    /// Where the store cannot say what held it.
    pub(crate) async fn told_late(
        self,
        store: &Store,
        incident: &Incident,
        held: Option<&TellingHold>,
    ) -> Result<(Outgoing, TimelineRow), StoreError> {
        let mut notification = self.about(Event::IncidentOpened, incident);
        let mut told = format!("open since {}", clock(incident.since(), self.now));
        if let Some(hold) = held {
            let until = hold.over_at(self.now).unwrap_or(self.now);
            let said = until.to_rfc3339_opts(SecondsFormat::Secs, true);
            let (by, whole) = held_by(store, hold).await?;
            notification.evidence.insert(0, Evidence::new(HELD_BACK_BY, format!("{whole} until {said}")));
            told.push_str(&format!(", held back by {by} until {}", clock(until, self.now)));
        }
        notification.summary = format!("{}; {told}", incident.summary);
        let line = timeline(Event::IncidentOpened, incident, "serin", self.now);
        let line = TimelineRow { kind: "told".to_owned(), text: told, ..line };
        let to = self.routed(incident.severity, Some(incident));
        Ok((self.outgoing(notification, to), line))
    }

    /// A person took an incident: whoever was told, and whom its route names now; none where nobody was told.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn taken(self, store: &Store, incident: &Incident) -> Result<Option<Outgoing>, StoreError> {
        let told = store.told(&incident.id).await?;
        let Some(event) = self.judged(Asked::Taken, &told) else { return Ok(None) };
        let to = self.concerned(store, incident).await?;
        Ok(Some(self.outgoing(self.about(event, incident), to)))
    }

    /// A person gave an incident back: whoever was told, and whom its route names now.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn given_back(self, store: &Store, incident: &Incident, by: &str) -> Result<Outgoing, StoreError> {
        let to = self.concerned(store, incident).await?;
        let summary = format!("{}: {by} un-acknowledged it; {}", incident.monitor, story(incident));
        Ok(self.outgoing(Notification { summary, ..self.about(Event::IncidentUpdated, incident) }, to))
    }

    /// An open incident changed: whoever was told, and whom its route names now. `lapsed`: it got worse than what somebody
    /// took, so that nobody has it any more.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn changed(
        self,
        store: &Store,
        incident: &Incident,
        lapsed: bool,
    ) -> Result<Outgoing, StoreError> {
        let to = self.concerned(store, incident).await?;
        let mut notification = self.about(Event::IncidentUpdated, incident);
        let had = if lapsed { store.incident(&incident.id).await?.and_then(|known| known.acknowledged) } else { None };
        if let Some((who, _)) = had {
            notification
                .summary
                .push_str(&format!("; worse than what {who} acknowledged, so it is open to be acknowledged again"));
        }
        Ok(self.outgoing(notification, to))
    }

    /// What the connectivity diagnosis showed came after an incident was told: whoever would hear of a change.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn looked_closer(self, store: &Store, incident: &Incident) -> Result<Outgoing, StoreError> {
        let to = self.concerned(store, incident).await?;
        let notification = Notification { summary: closer(incident), ..self.about(Event::IncidentUpdated, incident) };
        Ok(self.outgoing(notification, to))
    }

    /// An incident ended: whoever was ever told, whatever the routes say now; none where nobody was.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn resolved(self, store: &Store, incident: &Incident) -> Result<Option<Outgoing>, StoreError> {
        let told = store.told(&incident.id).await?;
        let event = self.judged(Asked::Ended, &told);
        Ok(event.map(|event| self.outgoing(self.about(event, incident), told)))
    }

    /// Nobody took an incident for so long that people are reminded, or others told.
    ///
    /// # Errors
    /// Where the store cannot say who was told.
    pub(crate) async fn followed_up(
        self,
        store: &Store,
        incident: &Incident,
        told: &FollowUp,
    ) -> Result<Outgoing, StoreError> {
        let subject = Subject::of(self.monitor, incident.severity, Some(incident));
        let fallback = |name: &str| {
            let mut named = fitting(&self.fleet.routes, subject).filter_map(|route| route.fallback.as_deref());
            named.find(|fallback| *fallback != name)
        };
        let known = store.told(&incident.id).await?;
        let addressee = |name: &String| {
            // As it was told first: in one message with others, or alone.
            let gathering = known.iter().find(|one| one.receiver == *name).and_then(|one| one.gathering.clone());
            Addressee { gathering, ..self.addressee(name, fallback(name)) }
        };
        let to = told.to.iter().map(addressee).collect();
        let mut notification = self.about(told.event, incident);
        let since = incident.course.unclaimed.map_or(incident.opened_at, |unclaimed| unclaimed.since);
        let waited = span((self.now - since).to_std().unwrap_or_default());
        notification.summary = match told.event {
            Event::IncidentEscalated => {
                format!("{}: escalated, not acknowledged for {waited}; {}", incident.monitor, story(incident))
            }
            _ => format!("{}: still open, not acknowledged for {waited}; {}", incident.monitor, story(incident)),
        };
        Ok(self.outgoing(notification, to))
    }

    /// What is said to those who were told.
    fn judged(self, asked: Asked, told: &[Addressee]) -> Option<Event> {
        tell(asked, &Telling::remembered(!told.is_empty(), Vec::new()), self.now)
    }

    /// A server restarted, and its sessions with it where it has any; without them the slow start is what is left of it.
    /// None where a silence or window wants nothing told of it: it is over with the telling.
    pub(crate) fn restarted(self, restart: &Restart) -> Option<Outgoing> {
        if !self.quiets.holding(Subject::of(self.monitor, Severity::Notice, None), self.now).is_empty() {
            return None;
        }
        let how = if restart.certain { "restarted" } else { "probably restarted" };
        let (sessions, runbook) = if restart.sessions {
            ("; sessions of its users were reset", FailureReason::SessionLost)
        } else {
            ("", FailureReason::ColdStart)
        };
        let notification = Notification {
            id: Uuid::now_v7().to_string(),
            sequence: 1,
            event: Event::ServerRestarted,
            at: self.now,
            incident: None,
            monitor: self.card(),
            reason: None,
            failed_stage: None,
            severity: Severity::Notice,
            summary: format!("{}: the server {how}{sessions}", self.monitor.id),
            evidence: restart.evidence.clone(),
            resolves_when: None,
            runbook_url: self.fleet.runbook_url(runbook, &self.monitor.id, None, &self.fleet.public_url),
            incident_url: None,
            rule: Some(self.fleet.provenance.rule(self.monitor.line)),
            reproduce: format!("serin probe {}", self.monitor.id),
            group_key: None,
        };
        let to = self.routed(Severity::Notice, None);
        Some(self.outgoing(notification, to))
    }

    fn about(self, event: Event, incident: &Incident) -> Notification {
        let mut evidence = incident.evidence.clone();
        if incident.signal == Signal::Availability && event != Event::IncidentResolved {
            evidence.extend(self.dependents().map(|who| Evidence::new(DEPENDENTS, who)));
        }
        evidence.extend(incident.course.flapping.map(|flapping| Evidence::new(FLAPPING, flapping.said())));
        Notification {
            id: Uuid::now_v7().to_string(),
            sequence: incident.sequence,
            event,
            at: self.now,
            monitor: self.card(),
            reason: Some(incident.reason),
            failed_stage: Some(incident.stage.clone()),
            severity: incident.severity,
            summary: summary(event, incident),
            evidence,
            resolves_when: rule_text::resolves(self.monitor, incident).filter(|_| event != Event::IncidentResolved),
            runbook_url: self.runbook_of(incident),
            incident_url: Some(format!("{}/incidents/{}", self.fleet.public_url, incident.id)),
            rule: Some(incident.rule.clone()),
            reproduce: incident.reproduce(),
            group_key: None,
            incident: Some(incident.clone()),
        }
    }

    /// Who depends on the monitor: the first of them by name, and how many more.
    fn dependents(self) -> Option<String> {
        let is_on = |parent: &Parent| matches!(parent, Parent::Monitor(id) if id == self.monitor.id.as_str());
        let dependents = self.fleet.monitors.iter().filter(|other| other.depends_on.iter().any(is_on));
        let ids: Vec<&str> = dependents.map(|other| other.id.as_str()).collect();
        let named = ids.get(..DEPENDENTS_NAMED).unwrap_or(&ids).join(", ");
        let more = ids.len().saturating_sub(DEPENDENTS_NAMED);
        (!ids.is_empty()).then(|| if more > 0 { format!("{named} and {more} more") } else { named })
    }

    fn runbook_of(self, incident: &Incident) -> String {
        let Fleet { public_url, .. } = self.fleet;
        self.fleet.runbook_url(incident.reason, &incident.monitor, Some(&incident.id), public_url)
    }

    fn card(self) -> MonitorCard {
        MonitorCard {
            id: self.monitor.id.to_string(),
            name: self.monitor.name.clone(),
            url: self.monitor.url.shown.clone(),
            labels: self.monitor.labels.clone(),
        }
    }
}

/// What held an incident back: in a word or two, and whole.
async fn held_by(store: &Store, hold: &TellingHold) -> Result<(String, String), StoreError> {
    let by = &hold.by;
    Ok(match hold.kind {
        HoldKind::Cause => {
            let word = store.incident(by).await?.map_or("another incident", |first| first.reason.slug());
            (word.to_owned(), format!("incident {by} ({word})"))
        }
        HoldKind::Silence => match store.silence(by).await? {
            Some(silence) => {
                let word = format!("a silence of {} ({})", silence.author, silence.comment);
                (word, format!("silence {by} of {}: {}", silence.author, silence.comment))
            }
            None => ("a silence".to_owned(), format!("silence {by}")),
        },
        HoldKind::Window => (format!("maintenance ({by})"), format!("maintenance {by}")),
        HoldKind::Parent if hold.explains() => (format!("{by} being down"), format!("{by}, which it depends on")),
        HoldKind::Parent => (format!("a look at {by}"), format!("a look at {by}, which it depends on")),
        HoldKind::Quarantine => {
            ("its quarantine".to_owned(), format!("quarantine: {by} listed it, and it had never worked"))
        }
    })
}

/// The line a decision leaves in its incident's timeline.
pub(crate) fn timeline(event: Event, incident: &Incident, actor: &str, at: DateTime<Utc>) -> TimelineRow {
    let kind = event.slug().trim_start_matches("incident.").to_owned();
    TimelineRow { incident: incident.id.clone(), at, kind, actor: actor.to_owned(), text: summary(event, incident) }
}

/// The line that what the connectivity diagnosis showed leaves in the timeline.
pub(crate) fn closer_look(incident: &Incident, at: DateTime<Utc>) -> TimelineRow {
    TimelineRow { text: closer(incident), ..timeline(Event::IncidentUpdated, incident, "serin", at) }
}

/// The lines that holds leave in the timelines of the incidents they hold: where they begin, and where they end while the
/// incident goes on.
pub(crate) fn hold_lines(holds: &[TellingHold], next: &MonitorState) -> Vec<TimelineRow> {
    let line = |hold: &TellingHold| {
        let told =
            next.incidents().find(|incident| incident.id == hold.incident).and_then(|it| next.telling(it.signal));
        let (kind, text) = match (hold.ended_at, told.is_some_and(|telling| telling.told)) {
            (None, false) => ("held", format!("{}: nobody is notified", hold.said())),
            (None, true) => ("held", format!("{}: no changes are sent", hold.said())),
            (Some(_), false) if hold.kind.is_quiet() => ("let_go", format!("no longer {}", hold.said())),
            (Some(_), false) => ("let_go", format!("no longer {}; sent if the next beats still show it", hold.said())),
            (Some(_), true) => ("let_go", format!("no longer {}", hold.said())),
        };
        let at = hold.ended_at.unwrap_or(hold.since);
        TimelineRow { incident: hold.incident.clone(), at, kind: kind.to_owned(), actor: "serin".to_owned(), text }
    };
    holds.iter().map(line).collect()
}

/// How far one gets is told by the step that does not hold, which is the last; all of them are in the evidence.
fn closer(incident: &Incident) -> String {
    let connectivity = incident.evidence.iter().find(|evidence| evidence.key == LADDER);
    let last = connectivity.and_then(|connectivity| connectivity.value.rsplit(" → ").next()).unwrap_or_default();
    format!("{}: looked closer: {last}; {}", incident.monitor, story(incident))
}

fn story(incident: &Incident) -> &str {
    incident.summary.strip_prefix(&format!("{}: ", incident.monitor)).unwrap_or(&incident.summary)
}

/// What it is in words, with its reason in front where the words do not begin with it already.
fn named(incident: &Incident) -> String {
    let (story, reason) = (story(incident), incident.reason.slug().replace('_', " "));
    if story.starts_with(&reason) { story.to_owned() } else { format!("{reason}: {story}") }
}

fn summary(event: Event, incident: &Incident) -> String {
    let (story, monitor) = (story(incident), &incident.monitor);
    match event {
        Event::IncidentResolved => {
            let end = incident.resolved_at.unwrap_or(incident.opened_at);
            let lasted = span((end - incident.since()).to_std().unwrap_or_default());
            let how = match &incident.resolve_cause {
                Some(ResolveCause::Absorbed { into }) => format!("taken over by incident {into}"),
                Some(ResolveCause::RuleChanged) => "ended by an edited rule".to_owned(),
                Some(ResolveCause::MonitorRemoved) => {
                    "ended, nothing watches it any more: it is gone from the file or its list, or its source takes it no longer,".to_owned()
                }
                Some(ResolveCause::Accepted) => "ended, the new tools were accepted".to_owned(),
                Some(ResolveCause::Recovered) | None => "recovered".to_owned(),
            };
            format!("{monitor}: {how} after {lasted}; it was {}", named(incident))
        }
        Event::IncidentAcknowledged => {
            let who = incident.acknowledged.as_ref().map_or("somebody", |(who, _)| who.as_str());
            format!("{monitor}: acknowledged by {who}; {story}")
        }
        Event::IncidentUpdated => format!("{monitor}: now {}", named(incident)),
        Event::IncidentOpened if incident.signal == Signal::Availability => {
            format!("{monitor} is down: {story} since {}", to_the_second(incident.since(), incident.opened_at))
        }
        _ => incident.summary.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::paging::quiet::Quiet;
    use crate::domain::route::Match;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn a_restart_is_told_where_nothing_keeps_the_monitor_quiet() {
        let monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let restart = Restart { certain: true, sessions: true, evidence: Vec::new() };
        let of = |id: &str| Match { monitor: vec![id.to_owned()], ..Match::default() };
        let rows = [
            (of("docs"), false, "maintenance of the monitor"),
            (Match { severity: vec![Severity::Notice], ..Match::default() }, false, "a silence of notices"),
            (of("wiki"), true, "of another monitor"),
            (Match { signal: vec![Signal::Quality], ..of("docs") }, true, "of one of its signals: a restart has none"),
        ];
        for (matches, told, sentence) in rows {
            let (by, until) = ("monitors.yaml:3".to_owned(), None);
            let quiets = QuietBook::of(vec![Quiet { kind: HoldKind::Window, by, matches, from: now, until }]);
            let (fleet, live) = (Fleet::default(), LiveState::default());
            let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &live, monitor: &monitor, now };
            assert_eq!(notifier.restarted(&restart).is_some(), told, "{sentence}");
        }
    }
}
