//! How values stand in columns: moments and durations as microseconds, words as their slugs.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use uuid::{NoContext, Timestamp, Uuid};

use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::monitor::MonitorId;
use crate::domain::outcome::{Evidence, Judged};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::RulePlace;
use crate::domain::signal::{Level, Signal};
use crate::store::sql::row::Row;
use crate::store::values::error::StoreError;
use crate::store::values::incident_memory;

/// A query for whole incidents, to be read by [`incident`]; `rest` follows the name of the table.
macro_rules! incidents {
    ($rest:literal) => {
        concat!(
            "SELECT id, monitor, signal, subject, severity, reason, stage, summary, evidence, rule_file, rule_line, ",
            "rule_commit, opened_at, resolved_at, resolve_cause, absorbed_into, acknowledged_by, acknowledged_at, ",
            "sequence, course FROM incidents ",
            $rest
        )
    };
}
pub(in crate::store) use incidents;

/// An incident from a row of [`incidents!`].
pub(in crate::store) fn incident(row: &Row) -> Result<Incident, StoreError> {
    let cause: Option<String> = row.try_get(14)?;
    let acknowledged = row.try_get::<Option<String>>(16)?.zip(timestamp_or_none(row, 17)?);
    Ok(Incident {
        id: row.try_get(0)?,
        monitor: MonitorId::new(row.try_get(1)?),
        signal: word(row.try_get(2)?, "signal", Signal::from_slug)?,
        subject: row.try_get(3)?,
        severity: word(row.try_get(4)?, "severity", Severity::from_slug)?,
        reason: word(row.try_get(5)?, "reason", FailureReason::from_slug)?,
        stage: row.try_get(6)?,
        summary: row.try_get(7)?,
        evidence: evidence_from(row.try_get(8)?)?,
        rule: RulePlace { file: row.try_get(9)?, line: row.try_get(10)?, commit: row.try_get(11)? },
        opened_at: timestamp(row, 12)?,
        resolved_at: timestamp_or_none(row, 13)?,
        resolve_cause: cause.map(|slug| resolve_cause(&slug, row)).transpose()?,
        acknowledged,
        sequence: row.try_get(18)?,
        course: incident_memory::read(row.try_get(19)?)?,
    })
}

fn resolve_cause(slug: &str, row: &Row) -> Result<ResolveCause, StoreError> {
    let into: Option<String> = row.try_get(15)?;
    let causes = [
        ResolveCause::Recovered,
        ResolveCause::Absorbed { into: into.unwrap_or_default() },
        ResolveCause::RuleChanged,
        ResolveCause::MonitorRemoved,
        ResolveCause::Accepted,
    ];
    let unknown = || StoreError::Unreadable(format!("resolve cause '{slug}'"));
    causes.into_iter().find(|cause| cause.slug() == slug).ok_or_else(unknown)
}

/// Evidence as JSON that keeps its order: `[["key","value"],…]`.
pub(in crate::store) fn evidence_text(evidence: &[Evidence]) -> String {
    let pairs: Vec<_> = evidence.iter().map(|piece| (&piece.key, &piece.value)).collect();
    serde_json::json!(pairs).to_string()
}

fn evidence_from(text: &str) -> Result<Vec<Evidence>, StoreError> {
    let pairs: Vec<(String, String)> =
        serde_json::from_str(text).map_err(|error| StoreError::Unreadable(format!("evidence: {error}")))?;
    Ok(pairs.into_iter().map(|(key, value)| Evidence { key, value }).collect())
}

/// The value a stored word stands for.
pub(in crate::store) fn word<T>(slug: &str, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
    read(slug).ok_or_else(|| StoreError::Unreadable(format!("{what} '{slug}'")))
}

/// The value a stored word stands for, where there is one.
pub(in crate::store) fn word_or_none<T>(
    slug: Option<&str>,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    slug.map(|slug| word(slug, what, read)).transpose()
}

/// The verdict on an ask that a stored word stands for; as [`crate::domain::outcome::AskVerdict::slug`].
pub(in crate::store) fn ask_verdict(slug: &str) -> Option<&'static str> {
    ["right", "wrong", "failed", "not_asked"].into_iter().find(|verdict| *verdict == slug)
}

/// What a beat said of each signal: a letter each for its level, then the reasons of those that have one.
pub(in crate::store) fn judged_text(judged: &[Judged; 8]) -> String {
    let mut text: String = judged.iter().filter_map(|one| one.level.slug().chars().next()).collect();
    for one in judged.iter().filter(|one| one.level == Level::Elevated) {
        text.push(' ');
        text.push_str(one.reason.map_or("-", |reason| reason.slug()));
    }
    text
}

/// The same read back; an empty text, as of a beat before there were any, says nothing of any signal.
pub(in crate::store) fn judged(text: &str) -> Result<[Judged; 8], StoreError> {
    let mut words = text.split(' ');
    let mut judged = [Judged::UNKNOWN; 8];
    for (one, letter) in judged.iter_mut().zip(words.next().unwrap_or_default().chars()) {
        let level = Level::ALL.into_iter().find(|level| level.slug().starts_with(letter));
        one.level = level.ok_or_else(|| StoreError::Unreadable(format!("levels '{text}'")))?;
        if one.level == Level::Elevated {
            let reason = words.next().filter(|word| *word != "-");
            one.reason = word_or_none(reason, "reason", FailureReason::from_slug)?;
        }
    }
    Ok(judged)
}

/// A moment from a column of microseconds.
pub(in crate::store) fn timestamp(row: &Row, index: usize) -> Result<DateTime<Utc>, StoreError> {
    timestamp_from(row.try_get(index)?)
}

/// A moment from a column of microseconds that may be empty.
pub(in crate::store) fn timestamp_or_none(row: &Row, index: usize) -> Result<Option<DateTime<Utc>>, StoreError> {
    row.try_get::<Option<i64>>(index)?.map(timestamp_from).transpose()
}

/// A moment from microseconds.
pub(in crate::store) fn timestamp_from(micros: i64) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| StoreError::Unreadable(format!("moment {micros}")))
}

/// A duration from a column of microseconds.
pub(in crate::store) fn length(row: &Row, index: usize) -> Result<Duration, StoreError> {
    let micros: i64 = row.try_get(index)?;
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

/// Microseconds of a duration; the longest that a column holds for anything longer.
pub(in crate::store) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// A fresh id that sorts by its moment.
pub(in crate::store) fn new_id(now: DateTime<Utc>) -> String {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.timestamp_subsec_nanos())).to_string()
}

/// The id that sorts by a moment of what these words name: the same whenever it is written again.
pub(in crate::store) fn id_of(now: DateTime<Utc>, words: &[&str]) -> String {
    let mut sum = Sha256::new();
    for word in words {
        sum.update((word.len() as u64).to_le_bytes());
        sum.update(word.as_bytes());
    }
    let sum: [u8; 32] = sum.finalize().into();
    let bytes: [u8; 10] = std::array::from_fn(|nth| sum[nth]);
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_has_the_id_it_had() {
        let (at, later) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(1));
        assert_eq!(id_of(at, &["n1", "oncall"]), id_of(at, &["n1", "oncall"]));
        assert_ne!(id_of(at, &["n1", "oncall"]), id_of(at, &["n1o", "ncall"]), "words are told apart");
        assert!(id_of(at, &["b"]) < id_of(later, &["a"]), "it sorts by its moment");
        assert!(new_id(at) < id_of(later, &["a"]), "as any other does");
    }

    #[test]
    fn evidence_comes_back_as_it_was() {
        let evidence = vec![Evidence::new("b", "quote \" and\nnewline"), Evidence::new("a", "</script>")];
        assert_eq!(evidence_from(&evidence_text(&evidence)), Ok(evidence), "order and hostile text are kept");
    }

    #[test]
    fn levels_come_back_as_they_were() {
        let calm = Judged { level: Level::Calm, reason: None };
        let stale = Judged { level: Level::Elevated, reason: Some(FailureReason::SourceStale) };
        let bare = Judged { level: Level::Elevated, reason: None };
        let rows = [
            ([calm; 8], "cccccccc", "all is calm"),
            (
                [calm, bare, calm, Judged::UNKNOWN, calm, calm, stale, calm],
                "cecuccec - source_stale",
                "each elevated one has its reason, or none",
            ),
        ];
        for (levels, text, sentence) in rows {
            assert_eq!(judged_text(&levels), text, "{sentence}");
            assert_eq!(judged(text), Ok(levels), "{sentence}");
        }
        assert_eq!(judged(""), Ok([Judged::UNKNOWN; 8]), "a row from before they were kept");
        assert!(judged("cxcccccc").is_err(), "a level that is none");
    }

    #[test]
    fn ids_sort_by_their_moment() {
        let early = new_id(DateTime::from_timestamp_micros(1_000_000).unwrap_or_default());
        let late = new_id(DateTime::from_timestamp_micros(2_000_000).unwrap_or_default());
        assert!(early < late, "{early} comes before {late}");
    }
}
