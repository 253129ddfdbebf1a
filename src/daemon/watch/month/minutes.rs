//! Hours of beats a minute apart, each of them well or not, with restarts of Serin between them: what comes and goes.

use chrono::DurationRound;

use super::*;
use crate::live::standing::Standing;
use crate::store::read::ledger::{DeliveryFilter, DeliveryLine};

/// One bad beat is an outage, and one good beat its end.
const QUICK: &str = "availability: { after: 1, recover_after: 1, page_after: 0s }";
/// Two bad beats of the last four are one.
const TWO_OF_FOUR: &str = "availability: { m_of_n: [2, 4], page_after: 0s }";

/// A file as the month's, with beats a minute apart.
pub(crate) fn by_minutes(rules: &str) -> String {
    yaml(rules, EXPECT).replace(&format!("every: {EVERY_MIN}m"), "every: 1m")
}

/// The same with ten minutes of maintenance from five past midnight.
pub(crate) fn by_minutes_with_window(rules: &str) -> String {
    let window = "maintenance: [ { cron: \"5 0 * * *\", zone: UTC, for: 10m } ]\n";
    by_minutes(rules).replacen("monitors:\n", &format!("{window}monitors:\n"), 1)
}

impl Month {
    /// Lives through minutes: `x` is an outage, `.` is none, and at `|` Serin starts anew.
    pub(crate) async fn minutes(&mut self, text: &str, marks: &str) {
        let minute = TimeDelta::minutes(1);
        for mark in marks.chars() {
            let due = self.now.duration_trunc(minute).unwrap() + minute;
            self.quiets(due).await;
            match mark {
                '|' => self.restart(text, due - TimeDelta::seconds(20)).await,
                mark => drop(self.beat(BeatKind::Scheduled, due, (mark == 'x').then_some(down)).await),
            }
        }
        self.settle().await;
        self.maintain(self.now).await;
    }

    /// What the loop does that keeps what is quiet, up to a moment.
    async fn quiets(&mut self, until: DateTime<Utc>) {
        let mut at = self.now;
        self.context.quiets.put(QuietBook::new(&[], &self.fleet, at));
        while let Some(edge) = self.context.quiets.book().next_edge(at).filter(|edge| *edge <= until) {
            self.settle().await;
            self.context.quiets.put(QuietBook::new(&[], &self.fleet, edge));
            changes::tell(&self.context, &mut self.runtime, edge).await.unwrap();
            at = edge;
        }
    }

    /// What was told, in order: the minute and the event. Nothing is news here but that an incident flaps.
    async fn told(&self, since: DateTime<Utc>) -> Vec<String> {
        let mut lines = self.context.store.deliveries(&DeliveryFilter::default()).await.unwrap();
        lines.sort_by_key(|line| (line.created_at, line.sequence));
        let minute = |at: DateTime<Utc>| (at - since).num_minutes();
        let said =
            |line: &DeliveryLine| format!("{} {}", minute(line.created_at), line.event.trim_start_matches("incident."));
        lines.iter().map(said).collect()
    }
}

/// What is told of minutes under these rules.
async fn told(rules: &str, marks: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let start = DateTime::from_timestamp(1_800_000_000 - 1_800_000_000 % 86_400, 0).unwrap();
    let text = by_minutes(rules);
    let mut month = Month::begin(folder.path(), &text, start).await;
    month.minutes(&text, marks).await;
    let told = month.told(start).await;
    month.context.store.close().await;
    told
}

#[tokio::test]
async fn what_flaps_is_told_as_that_and_ends_after_its_calm_whatever_becomes_of_serin() {
    let bouts = "x....x....x....x|.....x....|.x...|.........";
    let calm = "......";
    let rest = [
        "1 opened",
        "2 resolved",
        "6 opened",
        "7 resolved",
        "11 opened",
        "12 resolved",
        "16 opened",
        "17 updated",
        "45 resolved",
    ];
    assert_eq!(
        told(QUICK, &format!("{bouts}{calm}")).await,
        rest,
        "nothing is told twice, and a minute that nobody saw is no calm"
    );
}

#[tokio::test]
async fn bad_beats_among_the_latest_are_counted_over_a_restart() {
    for (marks, expected, sentence) in [
        ("..x..|x", vec!["6 opened"], "two of four, with another process between them"),
        ("..x..|..x", vec![], "one that is longer ago does not count, whoever saw it"),
        ("..x.x|..|.x..x", vec!["5 opened", "7 resolved", "12 opened"], "and after its end they are counted anew"),
    ] {
        assert_eq!(told(TWO_OF_FOUR, marks).await, expected, "{sentence}");
    }
}

#[tokio::test]
async fn pages_say_what_comes_and_goes() {
    let rows = [
        (TWO_OF_FOUR, "..x", Phase::Pending, "timeout, 1 of the last 4; 1 of 2 bad beats, of the last 4", false),
        (TWO_OF_FOUR, "..x.", Phase::Quiet, "well; 1 of 2 bad beats, of the last 4", false),
        (QUICK, "x....x....x....xx", Phase::Open, "timeout", true),
        (QUICK, "x....x....x....x...", Phase::Clearing, "well; calm for 2m of 15m", true),
    ];
    for (rules, marks, phase, figure, flaps) in rows {
        let folder = tempfile::tempdir().unwrap();
        let text = by_minutes(rules);
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let mut month = Month::begin(folder.path(), &text, start).await;
        month.minutes(&text, marks).await;
        let view = month.runtime.view(month.now).view();
        let shown = &view.signals[Signal::Availability as usize];
        assert_eq!((shown.phase, &*shown.figure), (phase, figure), "{marks}");
        let is_flapping = shown.incident.as_ref().is_some_and(|open| open.flapping.is_some());
        assert_eq!(is_flapping, flaps, "{marks}");
        month.context.store.close().await;
    }
}

/// Whatever comes and goes: a Serin that is started anew time and again tells what one tells that never was.
#[tokio::test]
async fn restarts_change_nothing_of_what_is_told() {
    for (seed, rules) in [(3, QUICK), (11, QUICK), (5, TWO_OF_FOUR)] {
        let mut dice = seed;
        let mut below = |sides: u64| {
            dice = u64::wrapping_add(u64::wrapping_mul(dice, 6_364_136_223_846_793_005), 1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        let (mut marks, mut mark) = (String::new(), '.');
        for _ in 0..150 {
            // An hour and a half that comes and goes, and then little.
            let changes = if marks.len() < 100 { 3 } else { 20 };
            if below(changes) == 0 {
                mark = if mark == '.' && below(3) > 0 { 'x' } else { '.' };
            }
            marks.push(mark);
            // The first beat after a start covers no time, which a calm would miss.
            if mark == 'x' && below(4) == 0 {
                marks.push('|');
            }
        }
        let without = told(rules, &marks.replace('|', "")).await;
        assert_eq!(told(rules, &marks).await, without, "{marks}");
        assert!(rules != QUICK || without.iter().any(|line| line.ends_with("updated")), "{without:?} {marks}");
        no_end_too_soon(&marks.replace('|', ""), &without);
    }
}

/// What every watcher of the messages may count on, told from the beats alone: no more than four openings in an hour but by
/// those that came after a calm, and no end of the fourth before a quarter of an hour without a bad beat.
fn no_end_too_soon(marks: &str, told: &[String]) {
    let minute = |line: &String| line.split(' ').next().unwrap().parse::<usize>().unwrap();
    let of = |word: &str| told.iter().filter(|line| line.ends_with(word)).map(minute).collect::<Vec<_>>();
    let (opened, resolved) = (of("opened"), of("resolved"));
    for (nth, at) in opened.iter().enumerate() {
        let recent = opened[..=nth].iter().filter(|before| at - **before < 60).count();
        let Some(end) = resolved.get(nth).filter(|_| recent >= 4) else { continue };
        let calm = marks[..*end].chars().rev().take_while(|mark| *mark == '.').count();
        assert!(calm > 15, "opened at {at} as the {recent}th, it ended after {calm} good beats: {told:?} {marks}");
    }
}
