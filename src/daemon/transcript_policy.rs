//! Which transcripts are kept: those of the beats that open or change an incident, of the first beat that fails, and
//! else one an hour for each reason. An outage of a week would otherwise fill the disk with one sentence.

use chrono::{DateTime, TimeDelta, Utc};

use crate::daemon::day_bytes::DayBytes;
use crate::domain::monitor_state::{Decision, MonitorState};
use crate::domain::observation::Observation;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::reason::FailureReason;
use crate::store::values::change_set::TranscriptRow;

/// A failure that goes on shows itself again this often.
const AGAIN: TimeDelta = TimeDelta::hours(1);
/// A monitor that fails every other beat begins to fail all day; its first beats are kept this far apart.
const BEGINS_AGAIN: TimeDelta = TimeDelta::minutes(10);
/// What was kept so long before an incident, and four intervals more, led to it.
const LEADS: TimeDelta = TimeDelta::minutes(10);
const LEADING_INTERVALS: i32 = 4;
/// Bytes a monitor keeps in a day, whatever happens: an incident that opens and ends all day is told by then.
const DAY_BYTES_MAX: usize = 1024 * 1024;

/// What one monitor has kept lately. Memory only: after a restart one transcript more is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct TranscriptPolicy {
    /// At most one entry a reason.
    kept: Vec<(FailureReason, DateTime<Utc>)>,
    failing: bool,
    today: DayBytes,
}

impl TranscriptPolicy {
    /// What is kept of this beat, one row for each incident it belongs to; none most of the time.
    pub(crate) fn rows(
        &mut self,
        (seen, outcome): (&Observation, &Outcome),
        decisions: &[Decision],
        next: &MonitorState,
        every: std::time::Duration,
        now: DateTime<Utc>,
    ) -> Vec<TranscriptRow> {
        let fails = matches!(outcome.verdict, Verdict::Degraded | Verdict::Down);
        let begins = fails && !std::mem::replace(&mut self.failing, fails);
        let Some((text, leading)) = seen.transcript.as_ref().zip(outcome.findings.first()).filter(|_| fails) else {
            return Vec::new();
        };
        let row = |incident: &str, reason| TranscriptRow {
            monitor: seen.monitor.clone(),
            started_at: seen.started_at,
            incident: incident.to_owned(),
            reason,
            text: text.clone(),
            leads_since: None,
        };
        let leads = LEADS + TimeDelta::from_std(every).unwrap_or(LEADS) * LEADING_INTERVALS;
        let mut rows: Vec<TranscriptRow> = decisions
            .iter()
            .filter_map(|decision| match decision {
                Decision::Opened { incident, .. } => Some((incident, Some(now - leads))),
                Decision::Updated(incident) => Some((incident, None)),
                _ => None,
            })
            .filter_map(|(incident, leads_since)| {
                let finding = outcome.finding(incident.signal)?;
                Some(TranscriptRow { leads_since, ..row(&incident.id, finding.reason) })
            })
            .collect();
        if rows.is_empty() && self.wants(leading.reason, begins, now) {
            let incident = next.incident(leading.signal).map_or("", |incident| incident.id.as_str());
            rows.push(row(incident, leading.reason));
        }
        if rows.is_empty() || !self.today.affords(text.len(), DAY_BYTES_MAX, now) {
            return Vec::new();
        }
        for reason in rows.iter().map(|row| row.reason).chain([leading.reason]) {
            self.kept.retain(|(kept, _)| *kept != reason);
            self.kept.push((reason, now));
        }
        rows
    }

    fn wants(&self, reason: FailureReason, begins: bool, now: DateTime<Utc>) -> bool {
        let last = self.kept.iter().find(|(kept, _)| *kept == reason);
        last.is_none_or(|(_, at)| now - at >= if begins { BEGINS_AGAIN } else { AGAIN })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::incident::{Course, Incident};
    use crate::domain::monitor::MonitorId;
    use crate::domain::observation::{BeatKind, Stage};
    use crate::domain::outcome::Finding;
    use crate::domain::reason::Severity;
    use crate::domain::rules::RulePlace;
    use crate::domain::signal::Signal;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_252_443 + seconds, 0).unwrap()
    }

    fn beat(seconds: i64, reason: Option<FailureReason>, bytes: usize) -> (Observation, Outcome) {
        let mut seen = Observation::blank(MonitorId::new("docs"), BeatKind::Scheduled, at(seconds), at(seconds));
        seen.transcript = reason.map(|_| "x".repeat(bytes).into());
        let finding = reason.map(|reason| Finding {
            signal: Signal::Availability,
            reason,
            severity: None,
            stage: Stage::Connect,
            summary: String::new(),
            evidence: Vec::new(),
        });
        let verdict = if finding.is_some() { Verdict::Down } else { Verdict::Good };
        (seen, Outcome { verdict, findings: finding.into_iter().collect(), asks: Vec::new() })
    }

    fn incident() -> Incident {
        Incident {
            id: "i-1".to_owned(),
            monitor: MonitorId::new("docs"),
            signal: Signal::Availability,
            subject: String::new(),
            severity: Severity::Page,
            reason: FailureReason::Timeout,
            stage: "connect".to_owned(),
            summary: String::new(),
            evidence: Vec::new(),
            rule: RulePlace { file: String::new(), line: 1, commit: None },
            opened_at: at(0),
            resolved_at: None,
            resolve_cause: None,
            acknowledged: None,
            sequence: 1,
            course: Course::default(),
        }
    }

    #[test]
    fn a_failure_is_kept_when_it_begins_when_it_is_told_and_once_an_hour() {
        use FailureReason::{ConnectionRefused, Timeout};
        let rows: [(i64, Option<FailureReason>, bool, bool, &str); 9] = [
            (0, None, false, false, "a good beat has nothing to tell"),
            (60, Some(Timeout), false, true, "the first that fails"),
            (65, Some(Timeout), false, false, "the second is the same"),
            (70, Some(Timeout), true, true, "the one that opens an incident"),
            (130, Some(Timeout), false, false, "and none while it goes on"),
            (190, Some(ConnectionRefused), false, true, "another reason is another story"),
            (70 + 3600, Some(Timeout), false, true, "an hour later"),
            (80 + 3600, None, false, false, "it is over"),
            (90 + 3600, Some(Timeout), false, false, "and begins again at once"),
        ];
        let mut transcript_policy = TranscriptPolicy::default();
        for (seconds, reason, opens, kept, sentence) in rows {
            let (seen, outcome) = beat(seconds, reason, 10);
            let decisions: Vec<Decision> =
                opens.then(|| Decision::Opened { incident: incident(), silent: false }).into_iter().collect();
            let found = transcript_policy.rows(
                (&seen, &outcome),
                &decisions,
                &MonitorState::new(at(0)),
                Duration::from_secs(60),
                at(seconds),
            );
            assert_eq!(!found.is_empty(), kept, "{sentence}");
            assert_eq!(found.iter().any(|row| row.incident == "i-1" && row.leads_since.is_some()), opens, "{sentence}");
        }
    }

    #[test]
    fn a_day_holds_so_much_and_no_more() {
        let mut transcript_policy = TranscriptPolicy::default();
        let every = Duration::from_secs(60);
        let mut kept = 0;
        for nth in 0..100 {
            let (seen, outcome) = beat(nth, Some(FailureReason::Timeout), 40_000);
            let opened = [Decision::Opened { incident: incident(), silent: false }];
            kept += transcript_policy.rows((&seen, &outcome), &opened, &MonitorState::new(at(0)), every, at(nth)).len();
        }
        assert_eq!(kept, DAY_BYTES_MAX / 40_000);
        let (seen, outcome) = beat(86_400, Some(FailureReason::Timeout), 40_000);
        let rows = transcript_policy.rows((&seen, &outcome), &[], &MonitorState::new(at(0)), every, at(86_400));
        assert_eq!(rows.len(), 1, "a new day");
    }
}
