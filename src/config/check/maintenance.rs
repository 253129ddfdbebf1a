//! `maintenance:`: when what is expected to fail.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use jiff::tz::TimeZone;

use crate::config::check::checker::{Checker, Fields, similar};
use crate::config::check::routes::matching;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::maintenance::{MaintenanceWindow, Stretch, WINDOW_MAX, WindowRuns, starts};

/// Each is looked at whenever one of them begins or ends.
const WINDOWS_MAX: usize = 1_000;
/// A window below this is over before anything is told.
const WINDOW_MIN: Duration = Duration::from_secs(60);
/// The zone whose clock counts where the file names none.
const ZONE_DEFAULT: &str = "UTC";

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
    let zone = zone(checker, fields);
    let lasts = match fields.get("for") {
        Some(entry) => checker.duration("'for'", &entry.value, WINDOW_MIN..=WINDOW_MAX),
        None => {
            checker.missing(what, place, "for", "how long it lasts, such as `for: 2h`");
            None
        }
    };
    let text = checker.text("'cron'", &cron.value)?;
    let starts = match starts(&text) {
        Ok(starts) => starts,
        Err(why) => {
            let message = format!("{} is no cron expression: {why}", quoted(&text));
            let mend = "five fields: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday)";
            checker.report(Diagnostic::new(cron.value.place, message).help(mend));
            return None;
        }
    };
    let window = WindowRuns::Repeated { starts: Box::new(starts), zone: zone?, lasts: lasts? };
    let found = MaintenanceWindow { name: String::new(), matches: Default::default(), runs: window, line: 0 };
    if found.next_after(DateTime::UNIX_EPOCH, 1).is_empty() {
        let diagnostic = Diagnostic::new(cron.value.place, format!("{} never comes", quoted(&text)));
        checker.report(diagnostic.help("no month has such a day; the third field is the day of the month"));
        return None;
    }
    Some(found.runs)
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

fn zone(checker: &mut Checker<'_>, fields: Fields<'_, '_>) -> Option<TimeZone> {
    let Some(entry) = fields.get("zone") else { return TimeZone::get(ZONE_DEFAULT).ok() };
    let name = checker.text("a time zone", &entry.value)?;
    if let Ok(zone) = TimeZone::get(&name) {
        return Some(zone);
    }
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let diagnostic = Diagnostic::new(entry.value.place, format!("no time zone is called {}", quoted(&name)));
    checker.report(match similar(&name, known.iter().map(String::as_str)) {
        Some(word) => diagnostic.help(format!("did you mean '{word}'?")),
        None => diagnostic.help("a name of the IANA database, such as `Europe/Berlin`"),
    });
    None
}
