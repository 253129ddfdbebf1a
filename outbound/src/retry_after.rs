//! When a server wants to be asked again.

use std::time::{Duration, SystemTime};

/// `Retry-After` as a length of time: seconds, or an HTTP date (RFC 9110 §10.2.3); one that is past is zero.
pub fn wish(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |says: &str, text: &str, expected: Option<u64>| {
            assert_eq!(wish(text, now), expected.map(Duration::from_secs), "{says}");
        };
        check("seconds", " 12 ", Some(12));
        check("a date", "Sun, 06 Nov 1994 08:50:37 GMT", Some(60));
        check("a date in the old form", "Sunday, 06-Nov-94 08:50:37 GMT", Some(60));
        check("a date as C writes it", "Sun Nov  6 08:50:37 1994", Some(60));
        check("a date that is past", "Sun, 06 Nov 1994 08:49:36 GMT", Some(0));
        check("neither", "soon", None);
        check("another zone, which HTTP has not", "Sun, 06 Nov 1994 10:50:37 +0200", None);
        check("nothing", "", None);
        check("less than nothing", "-1", None);
    }
}
