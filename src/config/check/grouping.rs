//! What goes to people together: `group` and `digest` of a route, `at_most` of a receiver.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::Checker;
use crate::config::check::recurrence::recurrence;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::MapEntry;
use crate::domain::grouping::Grouping;
use crate::domain::receiver::AtMost;
use crate::domain::recurrence::Recurrence;

/// Labels that make a key; nobody tells more apart.
const LABELS_MAX: usize = 8;
/// A page that waits longer has missed its purpose.
const WAIT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const INTERVAL: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(86_400);
const MESSAGES: RangeInclusive<u32> = 1..=10_000;
const PER: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);

/// What of a route goes together.
pub(in crate::config) fn group(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Grouping> {
    let what = format!("'group' of {what}");
    let fields = checker.fields(&what, &entry.value, "routes.group")?;
    let said = Grouping::default();
    let by = fields.get("by").map(|entry| labels(checker, &what, entry)).unwrap_or_default();
    let mut length = |key: &str, range| match fields.get(key) {
        Some(entry) => checker.duration(format_args!("'{key}'"), &entry.value, range),
        None => None,
    };
    let wait = length("wait", WAIT).unwrap_or(said.wait);
    let interval = length("interval", INTERVAL).unwrap_or(said.interval.max(wait));
    if interval < wait {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} waits longer for the first than for the next"));
        checker.report(diagnostic.help("let `interval` be at least `wait`"));
    }
    Some(Grouping { by, wait, interval })
}

/// The labels that have to be alike.
fn labels(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Vec<String> {
    let items = checker.list(format_args!("'by' of {what}"), &entry.value).unwrap_or_default();
    if let Some(item) = items.get(LABELS_MAX) {
        let diagnostic = Diagnostic::new(item.place, format!("{what} tells more than {LABELS_MAX} labels apart"));
        checker.report(diagnostic.help("the more labels, the fewer incidents are one message"));
    }
    let mut found: Vec<String> = Vec::new();
    for item in items.iter().take(LABELS_MAX) {
        let Some(name) = checker.text("a label's name", item) else { continue };
        if found.contains(&name) {
            let diagnostic = Diagnostic::new(item.place, format!("label {} is named twice", quoted(&name)));
            checker.report(diagnostic.help("keep one of the two"));
        } else {
            found.push(name);
        }
    }
    found
}

/// When the notices of a route are told.
pub(in crate::config) fn digest(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Recurrence> {
    let what = format!("'digest' of {what}");
    let fields = checker.fields(&what, &entry.value, "routes.digest")?;
    let Some(times) = fields.get("cron") else {
        checker.missing(&what, entry.place, "cron", "when it is told, such as `cron: \"0 9 * * mon-fri\"`");
        return None;
    };
    recurrence(checker, times, fields)
}

/// How many messages a receiver wants.
pub(in crate::config) fn at_most(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<AtMost> {
    let what = format!("'at_most' of {what}");
    let fields = checker.fields(&what, &entry.value, "receivers.*.at_most")?;
    for (key, mend) in [("messages", "such as `messages: 20`"), ("per", "such as `per: 10m`")] {
        if fields.get(key).is_none() {
            checker.missing(&what, entry.place, key, mend);
        }
    }
    let messages = fields.get("messages").and_then(|entry| checker.whole("'messages'", &entry.value, MESSAGES));
    let per = fields.get("per").and_then(|entry| checker.duration("'per'", &entry.value, PER));
    Some(AtMost { messages: messages?, per: per? })
}
