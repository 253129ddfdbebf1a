//! `drills:`: when receivers are told that nothing is wrong.

use std::ops::RangeInclusive;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::config::check::checker::Checker;
use crate::config::check::process::names;
use crate::config::check::receivers::Receivers;
use crate::config::check::recurrence::recurrence;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::drills::{ScheduledDrill, TIMEOUT_DEFAULT};
use crate::domain::recurrence::Recurrence;
use crate::domain::route::Route;

/// Each is looked at whenever one of them is due.
const DRILLS_MAX: usize = 100;
/// Below, nobody has tried twice; above, the next may be due before this one is over.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(30 * 60);

/// Reads `drills:`. A drill that names nobody tells everybody whom one of these routes can reach.
pub(in crate::config) fn drills(
    checker: &mut Checker<'_>,
    section: Option<&MapEntry<'_>>,
    receivers: &Receivers,
    routes: &[(Route, TextSpan)],
) -> Vec<ScheduledDrill> {
    let Some(section) = section else { return Vec::new() };
    let items = checker.list("'drills'", &section.value).unwrap_or_default();
    if let Some(item) = items.get(DRILLS_MAX) {
        checker
            .report(Diagnostic::new(item.place, format!("more than {DRILLS_MAX} drills")).help("name several in one"));
    }
    let mut found: Vec<(ScheduledDrill, TextSpan)> = Vec::new();
    for (at, item) in items.iter().take(DRILLS_MAX).enumerate() {
        let what = format!("drill {}", at + 1);
        let Some(drill) = drill(checker, &what, item, receivers) else { continue };
        if drill.to.is_empty() && routes.is_empty() {
            let diagnostic = Diagnostic::new(item.place, format!("{what} tells nobody: no route leads to a receiver"));
            checker.report(diagnostic.help("declare `routes`, or name receivers, such as `to: [oncall]`"));
        }
        if let Some((_, first)) = found.iter().find(|(known, _)| known.id == drill.id) {
            let diagnostic = Diagnostic::new(item.place, format!("{what} tells the same receivers at the same times"));
            checker.report(diagnostic.note(*first, "as this one").help("keep one of the two"));
        }
        found.push((drill, item.place));
    }
    found.into_iter().map(|(drill, _)| drill).collect()
}

fn drill(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, receivers: &Receivers) -> Option<ScheduledDrill> {
    let fields = checker.fields(what, node, "drills")?;
    let to = fields.get("to").map(|entry| told(checker, what, entry, receivers)).unwrap_or_default();
    let timeout = match fields.get("timeout") {
        Some(entry) => checker.duration("'timeout'", &entry.value, TIMEOUT),
        None => Some(TIMEOUT_DEFAULT),
    };
    let Some(cron) = fields.get("cron") else {
        checker.missing(what, node.place, "cron", "such as `cron: \"0 10 * * mon\"`");
        return None;
    };
    let starts = recurrence(checker, cron, fields)?;
    if starts.is_more_than_hourly() {
        let diagnostic = Diagnostic::new(cron.value.place, format!("{what} comes more often than every hour"));
        checker.report(diagnostic.help("it is as loud as a page: name one minute, such as `0 10 * * mon`"));
        return None;
    }
    let id = identity(&starts, &to);
    Some(ScheduledDrill { starts, to, timeout: timeout?, line: node.place.line, id })
}

/// Whom a drill names.
fn told(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>, receivers: &Receivers) -> Vec<String> {
    let named = names(checker, "to", &entry.value);
    if named.is_empty() {
        checker.missing(what, entry.place, "to", "name a receiver, or leave `to` out for all that routes can reach");
    }
    for (name, place) in &named {
        receivers.known(checker, &format!("{what} tells"), name, *place);
    }
    named.into_iter().map(|(name, _)| name).collect()
}

/// What a drill is known by: its times, and whom it names in whatever order.
fn identity(starts: &Recurrence, to: &[String]) -> String {
    let mut names: Vec<&str> = to.iter().map(String::as_str).collect();
    names.sort_unstable();
    let mut digest = Sha256::new();
    for part in std::iter::once(starts.written().as_str()).chain(names) {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
}
