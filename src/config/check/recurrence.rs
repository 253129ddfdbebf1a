//! `cron` and `zone`: what comes again and again.

use chrono::DateTime;
use jiff::tz::TimeZone;

use crate::config::check::checker::{Checker, Fields, similar};
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::MapEntry;
use crate::domain::recurrence::{Recurrence, parsed};

/// The zone whose clock counts where the file names none.
const ZONE_DEFAULT: &str = "UTC";

/// What `cron` says, by the clock of the `zone` beside it.
pub(in crate::config) fn recurrence(
    checker: &mut Checker<'_>,
    cron: &MapEntry<'_>,
    fields: Fields<'_, '_>,
) -> Option<Recurrence> {
    let zone = zone(checker, fields);
    let text = checker.text("'cron'", &cron.value)?;
    let expression = match parsed(&text) {
        Ok(expression) => expression,
        Err(why) => {
            let message = format!("{} is no cron expression: {why}", quoted(&text));
            let mend = "five fields: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday)";
            checker.report(Diagnostic::new(cron.value.place, message).help(mend));
            return None;
        }
    };
    let found = Recurrence::new(expression, zone?);
    if found.next_after(DateTime::UNIX_EPOCH, 1).is_empty() {
        let diagnostic = Diagnostic::new(cron.value.place, format!("{} never comes", quoted(&text)));
        checker.report(diagnostic.help("no month has such a day; the third field is the day of the month"));
        return None;
    }
    Some(found)
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
