//! Uptime over 24 hours to 90 days on a monitor's page, never without its coverage.

use crate::web::past::Uptime;
use crate::web::words;

/// Uptime over one range, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UptimeCell {
    /// Which range.
    pub name: String,
    /// The share; a dash where nothing was seen.
    pub value: String,
    /// How much of which time was seen.
    pub coverage: String,
    /// How long it was down.
    pub down: String,
    /// Where the whole begins, in full.
    pub from: String,
}

/// The cells, the shortest range first.
pub fn cells(uptimes: &[Uptime]) -> Vec<UptimeCell> {
    uptimes.iter().map(cell).collect()
}

fn cell(uptime: &Uptime) -> UptimeCell {
    let down = uptime.covered.down;
    UptimeCell {
        name: format!("up, {}", uptime.range.slug()),
        value: uptime.uptime().map_or_else(|| "–".to_owned(), words::share),
        coverage: format!("coverage {}", words::share(uptime.coverage())),
        down: match uptime.uptime() {
            None => "nothing seen".to_owned(),
            Some(_) if down.is_zero() => "never seen down".to_owned(),
            Some(_) => format!("down {}", words::span(down)),
        },
        from: format!("since {} UTC", uptime.from.format("%-d %b %H:%M")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::domain::coverage::Covered;
    use crate::web::ranges::Range;

    #[test]
    fn uptime_is_never_rounded_up_and_never_alone() {
        let now = DateTime::from_timestamp(1_795_271_063, 0).unwrap();
        let rows = [
            (86_400, 0, ["100 %", "coverage 100 %", "never seen down"], "all of it, seen whole"),
            (86_399, 1, ["99.99 %", "coverage 100 %", "down 1 s"], "a second is not nothing"),
            (86_398, 0, ["100 %", "coverage 99.99 %", "never seen down"], "nor is a second that nobody saw"),
            (0, 600, ["0.00 %", "coverage 0.69 %", "down 10 min"], "all of what was seen was down"),
            (0, 0, ["–", "coverage 0.00 %", "nothing seen"], "nothing seen has no uptime"),
        ];
        for (up, down, said, sentence) in rows {
            let covered =
                Covered { up: Duration::from_secs(up), down: Duration::from_secs(down), ..Covered::default() };
            let cell = cell(&Uptime { range: Range::Day, from: now - TimeDelta::days(1), to: now, covered });
            assert_eq!([cell.value.as_str(), &cell.coverage, &cell.down], said, "{sentence}");
        }
    }
}
