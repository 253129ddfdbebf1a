//! A month that a daemon lived through, replayed from what was kept: under the rules that were in force it comes to what
//! happened, under others to what these would have made of it.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;

use super::comparing::{Difference, Stretch, differences};
use super::{command, saying};
use crate::daemon::watch::month::{EXPECT, Month, RULES, by_minutes, by_minutes_with_window, fleet, yaml};
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::domain::reason::FailureReason;
use crate::hindsight::declared::{FilesThen, Ways, Weighing};
use crate::hindsight::replaying::{Happened, ToldIncident, replay};
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

/// What happened, as the database has it.
async fn happened(store: &Readers, from: DateTime<Utc>, until: DateTime<Utc>) -> (Vec<ToldIncident>, Happened) {
    let span = Span { monitor: None, from, to: until };
    let incidents: Vec<_> = store.incidents_of(&span).try_collect().await.unwrap();
    let told = store.told_first(from).await.unwrap();
    let in_windows = store.kept_quiet_by_windows(from).await.unwrap();
    let then = incidents.into_iter().map(|incident| {
        let told_at = told.get(&incident.id).copied();
        ToldIncident { in_maintenance: in_windows.contains(&incident.id), incident, told_at }
    });
    let happened = Happened {
        restarts: store.restarts_seen(from).await.unwrap(),
        acceptances: store.acceptances(from).await.unwrap(),
        locks: store.locks_in_force().await.unwrap(),
    };
    (then.collect(), happened)
}

/// The ways in which a proposed file has the month replayed.
async fn ways(store: &Readers, new: &Fleet, since: DateTime<Utc>) -> Ways {
    let path = Path::new("monitors.yaml");
    let files =
        FilesThen::read(store.files_in_force(DateTime::<Utc>::MAX_UTC, 200, &[]).await.unwrap(), path, &[], since);
    files.ways(&new.monitors[0], new, Some(Some(&"lock-2".to_owned())))
}

/// A line an incident: what it was, when, and whether anybody was told.
fn lines(incidents: &[ToldIncident]) -> Vec<String> {
    let at = |at: DateTime<Utc>| (at + TimeDelta::milliseconds(500)).format("%d %H:%M:%S").to_string();
    let mut lines: Vec<_> = incidents
        .iter()
        .map(|ToldIncident { incident, told_at, .. }| {
            format!(
                "{} {} {} {} to {} told {}",
                at(incident.opened_at),
                incident.signal.slug(),
                incident.reason.slug(),
                incident.severity.slug(),
                incident.resolved_at.map_or("-".to_owned(), at),
                told_at.map_or("-".to_owned(), at)
            )
        })
        .collect();
    lines.sort();
    lines
}

/// How each incident of the month would have been another one, a line each.
fn changed(then: &[ToldIncident], now: &[ToldIncident], stretch: Stretch) -> Vec<String> {
    let line = |one: &Difference| {
        let told = one.then.as_ref().or(one.now.as_ref()).unwrap();
        let changes: Vec<_> = one.changes.iter().map(|change| format!("{change:?}")).collect();
        let at = told.incident.opened_at - stretch.from;
        format!("day {} {}: {}", at.num_days(), told.incident.reason, changes.join(", "))
    };
    differences(then, now, stretch).iter().map(line).collect()
}

/// A changed file, and what it makes of the month.
struct Tried {
    rules: &'static str,
    /// What the canary `err` expects, and what follows it.
    err: &'static str,
    /// Incidents that would have been others, by day and reason.
    differences: &'static [&'static str],
    /// Canaries of which nothing can be said.
    unknown: &'static [&'static str],
    why: &'static str,
}

const TRIED: [Tried; 7] = [
    Tried {
        rules: "availability: { after: 6 }, latency: { p95: 800ms, window: 6h, for: 2h }, quality: { after: 4 }",
        err: EXPECT,
        differences: &[
            "day 2 timeout: Gone",
            "day 3 timeout: Later(2355s)",
            "day 5 connection_refused: Later(2355s)",
            "day 9 wrong_results: Later(1200s)",
            "day 17 timeout: Later(2355s)",
            "day 27 timeout: Later(2355s)",
            "day 29 timeout: Later(2355s)",
        ],
        unknown: &[],
        why: "the third suspect beat is the fourth that fails, and the sixth comes 40 minutes after the first",
    },
    Tried {
        rules: "availability: { after: 3 }, latency: { p95: 2s, window: 6h, for: 2h }, quality: { after: 3 }",
        err: EXPECT,
        differences: &[
            "day 7 latency_elevated: Gone",
            "day 12 wrong_results: Sooner(1200s)",
            "day 19 latency_elevated: Gone",
            "day 23 wrong_results: Sooner(1200s)",
        ],
        unknown: &[],
        why: "two seconds are fast enough; from the tenth day on four wrong answers were needed",
    },
    Tried {
        rules: "availability: { after: 3 }, latency: { p95: 800ms, window: 6h, for: 2h }, quality: { after: 4, severity: ticket }",
        err: EXPECT,
        differences: &[
            "day 9 wrong_results: Later(1200s), Quieter",
            "day 12 wrong_results: Quieter",
            "day 23 wrong_results: Quieter",
        ],
        unknown: &[],
        why: "wrong answers wake nobody",
    },
    Tried {
        rules: "availability: { after: 3 }, latency: { p95: 800ms, window: 6h, for: 2h }, quality: { after: 3, checks: { chunks: { severity: off } } }",
        err: EXPECT,
        differences: &[
            "day 12 wrong_results: Sooner(1200s)",
            "day 23 wrong_results: Sooner(1200s)",
            "day 25 chunking_changed: Gone",
        ],
        unknown: &[],
        why: "a check that is off tells nothing",
    },
    Tried {
        rules: "availability: { after: 3 }, latency: { p95: 800ms, window: 6h, for: 2h }, quality: { after: 3, checks: { relations: { severity: off } } }",
        err: EXPECT,
        differences: &[
            "day 12 wrong_results: Sooner(1200s)",
            "day 23 wrong_results: Sooner(1200s)",
            "day 28 inconsistent_results: Gone",
        ],
        unknown: &[],
        why: "what altered questions brought is in the record too",
    },
    Tried {
        rules: RULES,
        err: "expect: [errors/4417.md], within: 7",
        differences: &["day 12 wrong_results: Sooner(1200s)", "day 23 wrong_results: Gone"],
        unknown: &[],
        why: "the seventh place is good enough, and the lists that are kept show it",
    },
    Tried {
        rules: RULES,
        err: "expect: [errors/4417.md], within: 7 }\n      - { id: new, query: something new, expect: [new.md]",
        differences: &["day 12 wrong_results: Sooner(1200s)", "day 23 wrong_results: Gone"],
        unknown: &["new"],
        why: "nobody knows how a canary would have been answered that was not asked",
    },
];

#[tokio::test]
async fn a_month_replayed_is_what_happened_and_under_other_rules_what_these_make_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let start = DateTime::from_timestamp(1_800_000_000 - 1_800_000_000 % 86_400, 0).unwrap();
    let mut month = Month::begin(folder.path(), &yaml(RULES, EXPECT), start).await;
    month.live().await;
    let store = Readers::beside(&folder.path().join("serin.db")).await.unwrap();
    let stretch = Stretch { from: start, until: month.now };
    let (then, happened) = happened(&store, stretch.from, stretch.until).await;
    assert_eq!(then.len(), 16, "a month in which each trouble is told: {:#?}", lines(&then));
    let id = &month.runtime.monitor.id;
    let again = async |way: &Weighing| {
        let span = (stretch.from, stretch.until);
        replay(&store, id, &[way], &happened, span).await.unwrap().remove(0)
    };

    let ways_now = ways(&store, &month.fleet, start).await;
    assert!(ways_now.proposed.is_none(), "it says what was in force");
    let same = again(&ways_now.as_it_was).await;
    assert_eq!(lines(&same.incidents), lines(&then));
    assert_eq!(changed(&then, &same.incidents, stretch), [""; 0]);
    assert_eq!((same.unjudged, same.without_file, same.edits.len()), (0, 0, 2));
    assert_eq!(same.otherwise, [0; 8], "not one beat says anything else of any signal");

    for Tried { rules, err, differences, unknown, why } in TRIED {
        let tried = ways(&store, &fleet(&yaml(rules, err), Some("lock-2")), start).await;
        let replayed = again(tried.proposed.as_ref().unwrap()).await;
        assert_eq!(changed(&then, &replayed.incidents, stretch), differences, "{why}");
        let left: Vec<&str> = tried.not_comparable.canaries.iter().map(|(id, _)| &**id).collect();
        assert_eq!(left, unknown, "{why}");
    }

    let other_question = yaml(RULES, EXPECT).replace("query: ERR-4417", "query: ERR-9999");
    let tried = ways(&store, &fleet(&other_question, Some("lock-2")), start).await;
    assert_eq!(tried.not_comparable.canaries[0].0, "err");
    let replayed = again(tried.proposed.as_ref().unwrap()).await;
    let is_wrong = |one: &ToldIncident| one.incident.reason == FailureReason::WrongResults;
    assert!(!replayed.incidents.iter().any(is_wrong), "answers to another question say nothing of this one");

    let twin = "    replicas_of: twin\n  - { id: twin, url: \"http://127.0.0.1:9/\", canaries: [{ id: life, \
                query: how long does a token live, expect: [a.md] }] }\n";
    let beside = fleet(&(yaml(RULES, EXPECT) + twin), Some("lock-2"));
    let not = ways(&store, &beside, start).await.not_comparable;
    let original = not.original.as_ref().map(MonitorId::as_str);
    assert_eq!((original, not.keys), (Some("twin"), vec!["replicas_of".to_owned()]), "how it stood nobody kept");
    the_report(&store, &month, stretch).await;
    month.context.store.close().await;
}

#[tokio::test]
async fn what_comes_and_goes_is_replayed_as_it_was_told() {
    let quick = "availability: { after: 1, recover_after: 1, page_after: 0s }";
    let counted = "availability: { m_of_n: [2, 6], recover_after: 1, page_after: 0s }";
    let marks = "x....x....x....x......x|....................x...";
    for (rules, other, expected) in [
        (
            quick,
            counted,
            &["day 0 timeout: Gone", "day 0 timeout: Gone", "day 0 timeout: EndsSooner(1320s)", "day 0 timeout: Gone"]
                [..],
        ),
        (
            counted,
            quick,
            &[
                "day 0 timeout: New",
                "day 0 timeout: New",
                "day 0 timeout: EndsLater(Some(1320s))",
                "day 0 timeout: New",
            ],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let start = DateTime::from_timestamp(1_800_000_000 - 1_800_000_000 % 86_400, 0).unwrap();
        let text = by_minutes(rules);
        let mut month = Month::begin(folder.path(), &text, start).await;
        month.minutes(&text, marks).await;
        let store = Readers::beside(&folder.path().join("serin.db")).await.unwrap();
        let stretch = Stretch { from: start, until: month.now + TimeDelta::seconds(1) };
        let (then, happened) = happened(&store, stretch.from, stretch.until).await;
        assert!(then.len() > 1, "{:?}", lines(&then));
        let id = &month.runtime.monitor.id;
        let proposed = ways(&store, &fleet(&by_minutes(other), Some("lock-2")), start).await;
        let again = async |way: &Weighing| {
            replay(&store, id, &[way], &happened, (stretch.from, stretch.until)).await.unwrap().remove(0)
        };
        let same = again(&proposed.as_it_was).await;
        assert_eq!(lines(&same.incidents), lines(&then), "as it was");
        let flaps = |all: &[ToldIncident]| all.iter().filter(|one| one.incident.course.flapping.is_some()).count();
        assert_eq!(flaps(&same.incidents), flaps(&then));
        assert_eq!(flaps(&then) > 0, rules == quick);
        let other = again(proposed.proposed.as_ref().unwrap()).await;
        assert_eq!(changed(&then, &other.incidents, stretch), expected, "{:#?}", lines(&other.incidents));
        month.context.store.close().await;
    }
}

#[tokio::test]
async fn windows_of_maintenance_are_replayed_and_others_are_tried() {
    let rules = "availability: { after: 1, recover_after: 1, page_after: 0s }";
    let (with, without) = (by_minutes_with_window(rules), by_minutes(rules));
    // From five past to a quarter past: one within it, one that outlasts it, one behind it.
    let marks = ".....xx...xxxxxxxx.......xx..";
    let said_with = [", in maintenance, nobody notified", ", notified when maintenance was over", ""];
    for (was, is, expected, said) in [
        (&with, &without, ["NowTold", "Sooner(240s)"], said_with),
        (&without, &with, ["NoLongerTold", "Later(240s)"], [""; 3]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let start = DateTime::from_timestamp(1_800_000_000 - 1_800_000_000 % 86_400, 0).unwrap();
        let mut month = Month::begin(folder.path(), was, start).await;
        month.minutes(was, marks).await;
        let store = Readers::beside(&folder.path().join("serin.db")).await.unwrap();
        let stretch = Stretch { from: start, until: month.now + TimeDelta::seconds(1) };
        let (then, happened) = happened(&store, stretch.from, stretch.until).await;
        assert_eq!(then.iter().map(saying::quiet).collect::<Vec<_>>(), said, "{:#?}", lines(&then));
        let ways = ways(&store, &fleet(is, Some("lock-2")), start).await;
        let again = async |way: &Weighing| {
            let id = &month.runtime.monitor.id;
            replay(&store, id, &[way], &happened, (stretch.from, stretch.until)).await.unwrap().remove(0)
        };
        let same = again(&ways.as_it_was).await;
        assert_eq!(lines(&same.incidents), lines(&then), "as it was");
        assert_eq!(same.incidents.iter().map(saying::quiet).collect::<Vec<_>>(), said);
        let other = again(ways.proposed.as_ref().unwrap()).await;
        let expected: Vec<_> = expected.map(|change| format!("day 0 timeout: {change}")).into();
        assert_eq!(changed(&then, &other.incidents, stretch), expected, "{:#?}", lines(&other.incidents));
        month.context.store.close().await;
    }
}

/// The same for whoever reviews the change.
async fn the_report(store: &Readers, month: &Month, stretch: Stretch) {
    let new = fleet(&yaml(TRIED[1].rules, EXPECT), Some("lock-2"));
    let files = store.files_in_force(DateTime::<Utc>::MAX_UTC, 200, &[]).await.unwrap();
    let files = FilesThen::read(files, Path::new("monitors.yaml"), &[], stretch.from);
    let monitors = new.monitors.clone();
    let report = command::report(store, (files, new, monitors), None, stretch).await.unwrap();
    let said = saying::markdown(&report);
    for expected in [
        "### Back-test of monitors.yaml",
        "**pages: 10 happened, 10 with this file",
        "| `docs` | gone | ticket, latency_elevated (latency), 2027-02-03 10:00 UTC for 22 h |",
        "| `docs` | sooner by 20 min | page, wrong_results (quality), ",
        "docs: its rules were edited until 2027-02-",
        "were judged by another lock, which is not kept",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("come to another end"), "the record holds all that it was judged by: {said}");
    assert!(month.runtime.state.incidents().next().is_some(), "what is open at the end is compared too");
}
