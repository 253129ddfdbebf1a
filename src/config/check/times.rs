//! Times by a clock: a cron expression, and the zone whose clock counts.

use chrono::DateTime;
use croner::Cron;
use jiff::tz::TimeZone;

use crate::config::check::checker::{Checker, Fields, similar};
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::MapEntry;
use crate::domain::maintenance::{next_starts, starts};

/// The zone whose clock counts where the file names none.
const ZONE_DEFAULT: &str = "UTC";

/// Times by the clock, of which at least one comes.
pub(in crate::config) fn cron(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<Cron> {
    let text = checker.text("'cron'", &entry.value)?;
    let times = match starts(&text) {
        Ok(times) => times,
        Err(why) => {
            let message = format!("{} is no cron expression: {why}", quoted(&text));
            let mend = "five fields: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday)";
            checker.report(Diagnostic::new(entry.value.place, message).help(mend));
            return None;
        }
    };
    if next_starts(&times, &TimeZone::UTC, DateTime::UNIX_EPOCH, 1).is_empty() {
        let diagnostic = Diagnostic::new(entry.value.place, format!("{} never comes", quoted(&text)));
        checker.report(diagnostic.help("no month has such a day; the third field is the day of the month"));
        return None;
    }
    Some(times)
}

/// The zone whose clock counts.
pub(in crate::config) fn zone(checker: &mut Checker<'_>, fields: Fields<'_, '_>) -> Option<TimeZone> {
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
