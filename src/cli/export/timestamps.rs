//! Moments and lengths as the export writes and reads them, and from which moment on a monitor is worth a look.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};

use crate::domain::monitor::MonitorId;
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

/// The monitors of a span, each with the first moment that is worth a look.
pub(in crate::cli::export) async fn monitors(
    store: &Readers,
    span: &Span,
) -> anyhow::Result<Vec<(MonitorId, DateTime<Utc>)>> {
    let mut known = store.monitors_ever().await?;
    if let Some(wanted) = &span.monitor {
        known.retain(|(id, _)| id == wanted);
        anyhow::ensure!(!known.is_empty(), "no monitor {wanted} was ever in the fleet");
    }
    Ok(known.into_iter().map(|(id, first_seen)| (id, span.from.max(day_of(first_seen)))).collect())
}

/// The first moment of a day (UTC).
pub(in crate::cli::export) fn day_of(at: DateTime<Utc>) -> DateTime<Utc> {
    at.date_naive().and_time(NaiveTime::MIN).and_utc()
}

pub(in crate::cli::export) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(in crate::cli::export) fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// A moment with its zone, or the first moment of a day in UTC.
pub(in crate::cli::export) fn timestamp_of(text: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(NaiveTime::MIN).and_utc());
    }
    let timestamp = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
    timestamp.map_err(|_| "write a day as 2026-11-01, or a moment with its zone as 2026-11-01T09:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_a_moment_are_understood() {
        let rows = [
            ("2026-11-01", Some("2026-11-01T00:00:00.000000Z"), "a day begins at midnight UTC"),
            ("2026-11-01T09:00:00+01:00", Some("2026-11-01T08:00:00.000000Z"), "a moment in its zone"),
            ("2026-11-01T09:00:00", None, "a moment without a zone is no moment"),
            ("yesterday", None, "nor is a word"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(timestamp_of(text).ok().map(timestamp).as_deref(), expected, "{sentence}");
        }
    }
}
