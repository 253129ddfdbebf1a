//! Uptime beside right answers over 24 hours to 90 days on a monitor's page: a server that is up may be wrong, so neither
//! stands without the other, uptime never without its coverage, nor right answers without how many were asked.

use chrono::{DateTime, Utc};

use crate::web::format;
use crate::web::past::Uptime;

/// One figure over one range, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UptimeCell {
    /// What, and over which range; since when, where the monitor is younger than that.
    pub name: String,
    /// The share; a dash where nothing is known.
    pub value: String,
    /// What stands beneath it, a line each.
    pub notes: Vec<String>,
}

/// The cells, the shortest range first: uptime, and beside it right answers where canaries are declared.
pub(crate) fn cells(uptimes: &[Uptime], has_canaries: bool) -> Vec<UptimeCell> {
    let both = |uptime: &Uptime| [Some(up(uptime)), has_canaries.then(|| right(uptime))];
    uptimes.iter().flat_map(both).flatten().collect()
}

fn up(uptime: &Uptime) -> UptimeCell {
    let down = uptime.covered.down;
    let down = match uptime.uptime() {
        None => "nothing seen".to_owned(),
        Some(_) if down.is_zero() => "never seen down".to_owned(),
        Some(_) => format!("down {}", format::span(down)),
    };
    UptimeCell {
        name: name("up", uptime),
        value: share(uptime.uptime()),
        notes: [format!("coverage {}", format::share(uptime.coverage())), down]
            .into_iter()
            .chain(maintained(uptime))
            .chain([since(uptime.from, uptime)])
            .collect(),
    }
}

/// What is no part of the share.
fn maintained(uptime: &Uptime) -> Option<String> {
    let apart = uptime.covered.maintenance;
    (!apart.is_zero()).then(|| format!("beside {} of maintenance", format::span(apart)))
}

fn right(uptime: &Uptime) -> UptimeCell {
    let (asked, wrong) = (uptime.answers.asked, uptime.answers.asked - uptime.answers.right);
    let said = match (asked, wrong) {
        (0, _) => "nothing asked".to_owned(),
        (_, 0) => "never seen wrong".to_owned(),
        (_, n) => format!("{} wrong or unanswered", format::count(n)),
    };
    let mut notes = vec![format!("n = {} asked", format::count(asked)), said];
    if uptime.answers_from > uptime.from {
        notes.push("answers are counted only".to_owned());
    }
    notes.push(since(uptime.answers_from, uptime));
    UptimeCell { name: name("right answers", uptime), value: share(uptime.answers.share()), notes }
}

/// A range that the monitor has not lived through is not claimed.
fn name(what: &str, uptime: &Uptime) -> String {
    if uptime.is_young {
        format!("{what} since {}", format::ago(uptime.from, uptime.to))
    } else {
        format!("{what}, {}", uptime.range.slug())
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), format::share)
}

fn since(from: DateTime<Utc>, uptime: &Uptime) -> String {
    let young = if uptime.is_young { format!(", not {} yet", uptime.range.slug()) } else { String::new() };
    format!("since {} UTC{young}", from.format("%-d %b %H:%M"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::domain::coverage::Covered;
    use crate::domain::quality::answers::Answers;
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
            let cell = super::up(&Uptime { covered, ..lived(Range::Day, now - TimeDelta::days(1), now) });
            assert_eq!([cell.value.as_str(), &cell.notes[0], &cell.notes[1]], said, "{sentence}");
        }
    }

    fn lived(range: Range, from: DateTime<Utc>, to: DateTime<Utc>) -> Uptime {
        let (covered, answers) = (Covered::default(), Answers::default());
        Uptime { range, from, to, is_young: false, covered, answers, answers_from: from }
    }

    #[test]
    fn right_answers_stand_beside_uptime_with_their_n() {
        let now = DateTime::from_timestamp(1_795_271_063, 0).unwrap();
        let whole = lived(Range::Week, now - TimeDelta::days(7), now);
        let rows = [
            (20_160, 20_160, ["100 %", "n = 20\u{202f}160 asked", "never seen wrong"], "all of them"),
            (20_160, 20_159, ["99.99 %", "n = 20\u{202f}160 asked", "1 wrong or unanswered"], "one is not nothing"),
            (0, 0, ["–", "n = 0 asked", "nothing asked"], "nothing asked has no share"),
        ];
        for (asked, right_ones, said, sentence) in rows {
            let cell = right(&Uptime { answers: Answers { asked, right: right_ones }, ..whole });
            assert_eq!([cell.value.as_str(), &cell.notes[0], &cell.notes[1]], said, "{sentence}");
        }
        let names = |has_canaries| cells(&[whole], has_canaries).into_iter().map(|cell| cell.name).collect::<Vec<_>>();
        assert_eq!(names(true), ["up, 7d", "right answers, 7d"]);
        assert_eq!(names(false), ["up, 7d"], "who asks nothing has no answers");
        let late = right(&Uptime { answers_from: now - TimeDelta::days(2), ..whole });
        assert_eq!(late.notes[2], "answers are counted only", "what an older Serin did not count is not invented");
    }

    #[test]
    fn a_range_that_a_monitor_has_not_lived_through_is_not_claimed() {
        let now = DateTime::from_timestamp(1_795_271_063, 0).unwrap();
        let young = Uptime { is_young: true, ..lived(Range::Month, now - TimeDelta::days(3), now) };
        for cell in cells(&[young], true) {
            assert!(cell.name.ends_with(" since 3 d ago"), "{}", cell.name);
            assert!(cell.notes.last().unwrap().ends_with(", not 30d yet"), "{:?}", cell.notes);
        }
    }
}
