//! `maintenance:`: when what is expected to fail.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::recurrence::recurrence;
use crate::config::check::routes::matching;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::maintenance::{MaintenanceWindow, Stretch, WINDOW_MAX, WindowRuns};

/// Each is looked at whenever one of them begins or ends.
const WINDOWS_MAX: usize = 1_000;
/// A window below this is over before anything is told.
const WINDOW_MIN: Duration = Duration::from_secs(60);

/// Reads `maintenance:`. `known` holds every monitor id, also of faulty monitors.
pub(in crate::config) fn maintenance(
    checker: &mut Checker<'_>,
    section: Option<&MapEntry<'_>>,
    known: &HashMap<String, TextSpan>,
) -> Vec<MaintenanceWindow> {
    let Some(section) = section else { return Vec::new() };
    let items = checker.list("'maintenance'", &section.value).unwrap_or_default();
    if let Some(item) = items.get(WINDOWS_MAX) {
        let message = format!("more than {WINDOWS_MAX} maintenance windows");
        checker.report(Diagnostic::new(item.place, message).help("match by labels"));
    }
    let windows = items.iter().take(WINDOWS_MAX).enumerate();
    windows.filter_map(|(at, item)| window(checker, at + 1, item, known)).collect()
}

fn window(
    checker: &mut Checker<'_>,
    number: usize,
    node: &Node<'_>,
    known: &HashMap<String, TextSpan>,
) -> Option<MaintenanceWindow> {
    let what = format!("maintenance window {number}");
    let fields = checker.fields(&what, node, "maintenance")?;
    let name = fields.get("name").and_then(|entry| checker.text("a window's name", &entry.value)).unwrap_or_default();
    let matches = fields
        .get("match")
        .map(|entry| matching(checker, (&what, "maintenance.match"), &entry.value, known))
        .unwrap_or_default();
    let runs = match (fields.get("cron"), fields.get("from").or(fields.get("to"))) {
        (Some(cron), Some(once)) => {
            let diagnostic = Diagnostic::new(once.place, format!("{what} runs again and again, and once"));
            checker.report(diagnostic.note(cron.place, "again and again").help("make them two windows"));
            None
        }
        (Some(cron), None) => repeated(checker, (&what, node.place), cron, fields),
        (None, Some(_)) => once(checker, (&what, node.place), fields),
        (None, None) => {
            let mend = "such as `cron: \"0 2 * * sun\"` with `for: 2h`, or `from` and `to`";
            checker.missing(&what, node.place, "cron", mend);
            None
        }
    };
    Some(MaintenanceWindow { name, matches, runs: runs?, line: node.place.line })
}

fn repeated(
    checker: &mut Checker<'_>,
    (what, place): (&str, TextSpan),
    cron: &MapEntry<'_>,
    fields: Fields<'_, '_>,
) -> Option<WindowRuns> {
    let lasts = match fields.get("for") {
        Some(entry) => checker.duration("'for'", &entry.value, WINDOW_MIN..=WINDOW_MAX),
        None => {
            checker.missing(what, place, "for", "how long it lasts, such as `for: 2h`");
            None
        }
    };
    let starts = recurrence(checker, cron, fields);
    Some(WindowRuns::Repeated { starts: starts?, lasts: lasts? })
}

fn once(checker: &mut Checker<'_>, (what, place): (&str, TextSpan), fields: Fields<'_, '_>) -> Option<WindowRuns> {
    for key in ["for", "zone"] {
        if let Some(entry) = fields.get(key) {
            let diagnostic = Diagnostic::new(entry.place, format!("{what} runs once, and has '{key}'"));
            checker.report(diagnostic.help("`from` and `to` say it all, each with its offset from UTC"));
        }
    }
    let mut moment = |key: &str| -> Option<DateTime<Utc>> {
        match fields.get(key) {
            Some(entry) => moment_of(checker, key, entry),
            None => {
                checker.missing(what, place, key, "such as `2026-11-27T22:00:00+01:00`");
                None
            }
        }
    };
    let (from, to) = (moment("from"), moment("to"));
    let (from, to) = (from?, to?);
    let entry = fields.get("to")?;
    if to <= from {
        let diagnostic = Diagnostic::new(entry.value.place, format!("{what} ends before it begins"));
        checker.report(diagnostic.help("`to` comes after `from`"));
        return None;
    }
    if (to - from).to_std().is_ok_and(|length| length > WINDOW_MAX) {
        let diagnostic = Diagnostic::new(entry.value.place, format!("{what} lasts more than 7 days"));
        checker.report(diagnostic.help("what is not watched for so long is better left out of the file"));
        return None;
    }
    Some(WindowRuns::Once(Stretch { from, to }))
}

/// A moment with its offset from UTC.
fn moment_of(checker: &mut Checker<'_>, key: &str, entry: &MapEntry<'_>) -> Option<DateTime<Utc>> {
    let text = checker.text(format_args!("'{key}'"), &entry.value)?;
    let found = DateTime::parse_from_rfc3339(&text).ok().map(|moment| moment.to_utc());
    if found.is_none() {
        let diagnostic = Diagnostic::new(entry.value.place, format!("'{key}' is no moment: {}", quoted(&text)));
        checker.report(diagnostic.help("with its offset from UTC, such as `2026-11-27T22:00:00+01:00`"));
    }
    found
}
