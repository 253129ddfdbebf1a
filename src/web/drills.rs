//! Drills of the file, as the list of receivers shows them: when each comes next, and what came of the last one.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::drills::ScheduledDrill;
use crate::domain::fleet::Fleet;
use crate::store::read::drills::DrillReceipt;

/// A drill of the file, which receivers are told by the clock.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DrillBody {
    /// Where the file declares it, such as `monitors.yaml:12`.
    place: String,
    /// The receivers that it tells.
    to: Vec<String>,
    /// When it is told next; null where that never is.
    next: Option<DateTime<Utc>>,
}

/// What came of a drill at a receiver.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LastDrillBody {
    /// When it was told.
    at: DateTime<Utc>,
    /// `accepted`, `failed` or `awaited`.
    ended: &'static str,
    /// From the promise to the receiver's yes; null where there was none in time, or is none yet.
    accepted_ms: Option<u64>,
    /// What the last try was answered, where it was not accepted.
    answer: String,
    /// The line of the file that it came by.
    place: String,
}

/// The drills of the file, in its order.
pub(crate) fn declared(fleet: &Fleet, now: DateTime<Utc>) -> Vec<DrillBody> {
    let body = |drill: &ScheduledDrill| DrillBody {
        place: fleet.provenance.shown(drill.line),
        to: fleet.drilled([drill]).into_iter().map(|receiver| receiver.name.clone()).collect(),
        next: drill.starts.next_after(now, 1).pop(),
    };
    fleet.drills.iter().map(body).collect()
}

/// What came of a drill, in one line such as `accepted in 0.8 s, at 2026-11-25 10:00:00 UTC`.
pub(crate) fn said(receipt: &DrillReceipt) -> String {
    let at = receipt.at.format("%Y-%m-%d %H:%M:%S UTC");
    match (receipt.took, receipt.ended_at) {
        (Some(took), _) => format!("accepted in {:.1} s, at {at}", took.as_secs_f64()),
        (None, None) => format!("awaited since {at}"),
        (None, Some(_)) if receipt.answer.is_empty() => format!("not accepted, at {at}"),
        (None, Some(_)) => format!("not accepted, at {at}: {}", receipt.answer),
    }
}

/// The same as the API answers it.
pub(crate) fn last_drill(receipt: DrillReceipt) -> LastDrillBody {
    let ended = match (receipt.took, receipt.ended_at) {
        (Some(_), _) => "accepted",
        (None, Some(_)) => "failed",
        (None, None) => "awaited",
    };
    let accepted_ms = receipt.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    LastDrillBody { at: receipt.at, ended, accepted_ms, answer: receipt.answer, place: receipt.place }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_came_of_a_drill_is_said_in_one_line() {
        let at: DateTime<Utc> = "2026-11-25T10:00:00Z".parse().unwrap();
        let receipt = |took_ms: Option<u64>, ended_at: Option<DateTime<Utc>>, answer: &str| DrillReceipt {
            receiver: "oncall".to_owned(),
            at,
            place: "monitors.yaml:12".to_owned(),
            timeout: Duration::from_secs(300),
            ended_at,
            took: took_ms.map(Duration::from_millis),
            answer: answer.to_owned(),
        };
        let rows = [
            (receipt(Some(812), Some(at), ""), "accepted in 0.8 s, at 2026-11-25 10:00:00 UTC", "accepted"),
            (receipt(None, None, ""), "awaited since 2026-11-25 10:00:00 UTC", "awaited"),
            (receipt(None, Some(at), ""), "not accepted, at 2026-11-25 10:00:00 UTC", "failed"),
            (receipt(None, Some(at), "HTTP 500"), "not accepted, at 2026-11-25 10:00:00 UTC: HTTP 500", "failed"),
        ];
        for (receipt, line, ended) in rows {
            assert_eq!(said(&receipt), line);
            assert_eq!(last_drill(receipt).ended, ended, "{line}");
        }
    }
}
