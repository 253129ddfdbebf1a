//! A health address's body: does it say all is well, and if not, why. The body need not be JSON.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use crate::domain::observation::HealthSeen;
use crate::domain::reason::FailureReason;
use crate::probe::decode::timestamp::timestamp;
use crate::untrusted_text::{EXCERPT_CHARS_MAX, NAME_CHARS_MAX, escaped, excerpt};

/// Words in `status` that say no. Any other word says nothing.
const BAD_WORDS: [&str; 16] = [
    "error",
    "fail",
    "failed",
    "failing",
    "failure",
    "down",
    "unhealthy",
    "degraded",
    "critical",
    "unavailable",
    "not_ready",
    "not ready",
    "notready",
    "not_serving",
    "unready",
    "warn",
];
/// Words in `status` that say yes.
const GOOD_WORDS: [&str; 9] = ["ok", "pass", "passing", "up", "healthy", "alive", "ready", "live", "serving"];

/// Uptimes above this are no uptimes: a hundred years.
const UPTIME_SECONDS_MAX: f64 = 100.0 * 366.0 * 86_400.0;

/// Reads what a health address answered at `now`, the moment the answer came.
///
/// Well means: a 2xx status, no word in the body that says no, and no reason of the closed list named.
pub fn read_health(address: &str, status: u16, body: &[u8], now: DateTime<Utc>) -> HealthSeen {
    let mut seen = HealthSeen {
        address: address.to_owned(),
        status: Some(status),
        ok: (200..300).contains(&status),
        reason: None,
        cache_warm: None,
        instance: None,
        process_started_at: None,
        version: None,
        fault: None,
    };
    let Ok(Value::Object(root)) = serde_json::from_slice::<Value>(body) else {
        return seen;
    };
    let inner = ["data", "health", "info"].iter().filter_map(|key| root.get(*key)?.as_object());
    let places: Vec<&Map<String, Value>> = std::iter::once(&root).chain(inner).collect();
    let reason = places.iter().find_map(|place| reason_in(place));
    let named = reason.as_deref().and_then(FailureReason::from_slug).is_some_and(FailureReason::may_be_named_by_server);
    let says_no = places.iter().any(|place| verdict(place) == Some(false));
    let says_yes = places.iter().any(|place| verdict(place) == Some(true));
    seen.ok = seen.ok && !says_no && (says_yes || !named);
    if !seen.ok {
        seen.reason = reason.or_else(|| places.iter().find_map(|place| remark_in(place)));
    }
    seen.cache_warm = first(&places, &["cache_warm", "warm", "cache/cache_warm", "cache/warm"], Value::as_bool);
    seen.instance = first(&places, &["instance_id", "instance", "boot_id", "process_id", "pid"], name_of);
    seen.version = first(&places, &["version", "server_version", "build"], name_of);
    seen.process_started_at = first(&places, &["started_at", "process_started_at", "start_time", "started"], timestamp)
        .or_else(|| {
            let uptime = first(&places, &["uptime_seconds", "uptime_s", "uptime"], Value::as_f64)?;
            counted_back(now, uptime)
        });
    seen
}

/// What an object says of itself: yes, no, or nothing.
fn verdict(place: &Map<String, Value>) -> Option<bool> {
    for key in ["status", "state", "health"] {
        if let Some(word) = place.get(key).and_then(Value::as_str).map(str::to_ascii_lowercase) {
            if BAD_WORDS.contains(&word.as_str()) {
                return Some(false);
            }
            if GOOD_WORDS.contains(&word.as_str()) {
                return Some(true);
            }
        }
    }
    ["ok", "healthy", "ready"].iter().find_map(|key| place.get(*key)?.as_bool())
}

/// The reason an object names: its own, the first of its list, or that of its first failing check.
fn reason_in(place: &Map<String, Value>) -> Option<String> {
    for key in ["reason", "failure_reason", "reason_code", "error_code"] {
        if let Some(reason) = place.get(key).and_then(reason_of) {
            return Some(reason);
        }
    }
    for key in ["reasons", "failure_reasons", "problems", "errors"] {
        if let Some(reason) = place.get(key).and_then(|list| list.get(0)).and_then(reason_of) {
            return Some(reason);
        }
    }
    let checks = ["checks", "components", "dependencies", "services"].iter().find_map(|key| place.get(*key));
    match checks? {
        Value::Object(checks) => checks.iter().find_map(|(name, check)| failing(name, check)),
        Value::Array(checks) => checks
            .iter()
            .find_map(|check| failing(check.get("name").and_then(Value::as_str).unwrap_or("a check"), check)),
        _ => None,
    }
}

fn failing(name: &str, check: &Value) -> Option<String> {
    match check {
        Value::Object(check) if verdict(check) == Some(false) => {
            Some(reason_in_check(check).unwrap_or_else(|| excerpt(name, EXCERPT_CHARS_MAX)))
        }
        Value::String(word) if BAD_WORDS.contains(&word.to_ascii_lowercase().as_str()) => {
            Some(excerpt(name, EXCERPT_CHARS_MAX))
        }
        Value::Bool(false) => Some(excerpt(name, EXCERPT_CHARS_MAX)),
        _ => None,
    }
}

fn reason_in_check(check: &Map<String, Value>) -> Option<String> {
    ["reason", "failure_reason", "reason_code", "error_code", "code"].iter().find_map(|key| reason_of(check.get(*key)?))
}

fn reason_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(excerpt(text, EXCERPT_CHARS_MAX)).filter(|text| !text.is_empty()),
        Value::Object(inner) => ["reason", "code", "slug"].iter().find_map(|key| reason_of(inner.get(*key)?)),
        _ => None,
    }
}

/// Where no reason is named, what is said in words.
fn remark_in(place: &Map<String, Value>) -> Option<String> {
    ["message", "detail", "error", "error_message", "description"].iter().find_map(|key| reason_of(place.get(*key)?))
}

/// The first of these paths, in any of the places, that holds what is wanted.
fn first<T>(places: &[&Map<String, Value>], paths: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    places.iter().find_map(|place| {
        paths.iter().find_map(|path| {
            let mut parts = path.split('/');
            let start = place.get(parts.next()?)?;
            read(parts.try_fold(start, |value, part| value.get(part))?)
        })
    })
}

fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(escaped(text, NAME_CHARS_MAX)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn counted_back(now: DateTime<Utc>, uptime_seconds: f64) -> Option<DateTime<Utc>> {
    if !(0.0..UPTIME_SECONDS_MAX).contains(&uptime_seconds) {
        return None;
    }
    now.checked_sub_signed(TimeDelta::milliseconds((uptime_seconds * 1_000.0) as i64))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use proptest::prelude::{any, proptest};
    use serde_json::{Value, json};

    use super::read_health;

    fn now() -> DateTime<Utc> {
        "2026-11-21T09:00:00Z".parse().unwrap()
    }

    fn check(sentence: &str, status: u16, body: &Value, ok: bool, reason: Option<&str>) {
        let seen = read_health("http://a/health", status, body.to_string().as_bytes(), now());
        assert_eq!((seen.ok, seen.reason.as_deref()), (ok, reason), "{sentence}");
    }

    #[test]
    fn a_body_says_whether_all_is_well_and_why_not() {
        check("ok", 200, &json!({"status": "ok"}), true, None);
        check("an empty object", 200, &json!({}), true, None);
        check("a reason of null", 200, &json!({"status": "ok", "reason": null}), true, None);
        check(
            "a named reason",
            503,
            &json!({"status": "error", "reason": "pool_saturated"}),
            false,
            Some("pool_saturated"),
        );
        check(
            "a named reason in a 200 without a good word",
            200,
            &json!({"reason": "pool_saturated"}),
            false,
            Some("pool_saturated"),
        );
        check("a good word outweighs it", 200, &json!({"status": "ok", "reason": "pool_saturated"}), true, None);
        check("a bad word in a 200", 200, &json!({"status": "DEGRADED"}), false, None);
        check("ready: false", 200, &json!({"ready": false, "message": "warming\nup"}), false, Some("warming up"));
        check(
            "the first of a list",
            503,
            &json!({"reasons": ["index_empty_or_stale", "x"]}),
            false,
            Some("index_empty_or_stale"),
        );
        check("a list of objects", 503, &json!({"reasons": [{"code": "x1"}]}), false, Some("x1"));
        check(
            "a failing check's reason",
            503,
            &json!({"checks": {"a": {"status": "ok"}, "db": {"status": "error", "reason": "vector_store_unreachable"}}}),
            false,
            Some("vector_store_unreachable"),
        );
        check("a failing check's name", 503, &json!({"checks": {"db": "down"}}), false, Some("db"));
        check("a list of checks", 503, &json!({"checks": [{"name": "db", "ok": false}]}), false, Some("db"));
        check("inside an envelope", 503, &json!({"data": {"reason": "pool_saturated"}}), false, Some("pool_saturated"));
        check("no reason at all", 500, &json!({}), false, None);
        check("a list", 200, &json!([1]), true, None);
    }

    #[test]
    fn what_tells_of_a_restart_is_read() {
        let body = json!({"instance_id": "a\u{1}b", "uptime_seconds": 90, "version": "1.2", "cache_warm": false});
        let seen = read_health("a", 200, body.to_string().as_bytes(), now());
        assert_eq!(seen.instance.as_deref(), Some("a\\u{1}b"));
        assert_eq!(seen.process_started_at, Some("2026-11-21T08:58:30Z".parse().unwrap()));
        assert_eq!(seen.version.as_deref(), Some("1.2"));
        assert_eq!(seen.cache_warm, Some(false));
        let body = json!({"data": {"pid": 17, "started_at": "2026-11-21T08:00:00Z"}, "cache": {"warm": true}});
        let seen = read_health("a", 200, body.to_string().as_bytes(), now());
        assert_eq!(seen.instance.as_deref(), Some("17"));
        assert_eq!(seen.process_started_at, Some("2026-11-21T08:00:00Z".parse().unwrap()));
        assert_eq!(seen.cache_warm, Some(true));
        let seen = read_health("a", 200, json!({"uptime": 1e300}).to_string().as_bytes(), now());
        assert_eq!(seen.process_started_at, None);
    }

    proptest! {
        #[test]
        fn arbitrary_bodies_never_panic(body in any::<Vec<u8>>(), reason in any::<String>()) {
            let _ = read_health("a", 200, &body, now());
            let _ = read_health("a", 503, json!({"reason": reason}).to_string().as_bytes(), now());
        }
    }
}
