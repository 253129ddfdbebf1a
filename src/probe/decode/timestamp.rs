//! Moments as servers write them: RFC 3339, a date and time without zone, or unix seconds, milliseconds, microseconds.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde_json::Value;

/// Unix numbers above this are milliseconds: as seconds it is the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// And above this, microseconds.
const MILLISECONDS_MAX: f64 = 1e14;

/// The moment a JSON value means; none where it means none. A time without zone is taken as UTC.
pub fn timestamp(value: &Value) -> Option<DateTime<Utc>> {
    match value {
        Value::Number(number) => unix(number.as_f64()?),
        Value::String(text) => written(text.trim()),
        _ => None,
    }
}

fn written(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(timestamp) = DateTime::parse_from_rfc3339(text) {
        return Some(timestamp.to_utc());
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
        if let Ok(timestamp) = NaiveDateTime::parse_from_str(text, form) {
            return Some(timestamp.and_utc());
        }
    }
    if let Ok(timestamp) = DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%:z") {
        return Some(timestamp.to_utc());
    }
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Some(date.and_hms_opt(0, 0, 0)?.and_utc());
    }
    unix(text.parse().ok()?)
}

/// Before 2001 a number is a count of something else.
fn unix(number: f64) -> Option<DateTime<Utc>> {
    if !number.is_finite() || number < 1e9 {
        return None;
    }
    let micros = if number < SECONDS_MAX {
        number * 1e6
    } else if number < MILLISECONDS_MAX {
        number * 1e3
    } else {
        number
    };
    DateTime::from_timestamp_micros(micros as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::timestamp;

    fn check(sentence: &str, value: &serde_json::Value, expected: Option<&str>) {
        let seen = timestamp(value).map(|timestamp| timestamp.format("%Y-%m-%dT%H:%M:%SZ").to_string());
        assert_eq!(seen.as_deref(), expected, "{sentence}");
    }

    #[test]
    fn moments_are_read_as_servers_write_them() {
        check("RFC 3339", &json!("2026-11-21T09:14:03Z"), Some("2026-11-21T09:14:03Z"));
        check("an offset", &json!("2026-11-21T10:14:03.5+01:00"), Some("2026-11-21T09:14:03Z"));
        check("Python's isoformat", &json!("2026-11-21T09:14:03.123456"), Some("2026-11-21T09:14:03Z"));
        check("SQL", &json!("2026-11-21 09:14:03"), Some("2026-11-21T09:14:03Z"));
        check("PostgreSQL's text", &json!("2026-11-21 09:14:03.25+00:00"), Some("2026-11-21T09:14:03Z"));
        check("a date", &json!("2026-11-21"), Some("2026-11-21T00:00:00Z"));
        check("unix seconds", &json!(1_795_252_443), Some("2026-11-21T09:14:03Z"));
        check("unix milliseconds", &json!(1_795_252_443_000_u64), Some("2026-11-21T09:14:03Z"));
        check("unix seconds with a fraction", &json!(1_795_252_443.75), Some("2026-11-21T09:14:03Z"));
        check("unix seconds as text", &json!("1795252443"), Some("2026-11-21T09:14:03Z"));
        check("a small number is a count", &json!(42), None);
        check("a word", &json!("never"), None);
        check("nothing", &json!(null), None);
        check("a number beyond time", &json!(1e300), None);
    }
}
