//! `serin.heartbeat`: the sign of life that somebody outside waits for.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::Checker;
use crate::config::read::node::MapEntry;
use crate::domain::fleet::Heartbeat;

/// Time between two where the file says nothing: what outside watchers expect.
const EVERY_DEFAULT: Duration = Duration::from_secs(60);
/// More often is load, more rarely is no watch.
const EVERY: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);

/// Reads `heartbeat: { url, every, method }`.
pub(in crate::config) fn heartbeat(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<Heartbeat> {
    let fields = checker.fields("'heartbeat'", &entry.value, "serin.heartbeat")?;
    let every = fields.get("every").and_then(|entry| checker.duration("'every' of heartbeat", &entry.value, EVERY));
    let words = &[("get", false), ("post", true)];
    let post = fields.get("method").and_then(|entry| checker.choice("'method'", &entry.value, words));
    let Some(url) = fields.get("url") else {
        checker.missing("'heartbeat'", entry.place, "url", "such as `url: \"${env:HEARTBEAT_URL}\"`");
        return None;
    };
    let url = checker.address("the heartbeat's address", &url.value)?;
    Some(Heartbeat { url, every: every.unwrap_or(EVERY_DEFAULT), post: post.unwrap_or_default() })
}
