//! The other signals: latency, contract, freshness, context, eras, what ends soon.

use std::time::Duration;

use serin::domain::classify::classify;
use serin::domain::incident::ResolveCause;
use serin::domain::monitor_state::Decision;
use serin::domain::observation::{CrossCheck, Observation};
use serin::domain::outcome::Verdict;
use serin::domain::protocol::Era;
use serin::domain::reason::Severity;
use serin::domain::rules::{ContextRule, FreshnessRule, ShrinksRule};
use serin::domain::signal::{HeldBy, Level, Signal};

use crate::{
    CURRENT, HEAVY_A, HEAVY_TOOLS, LIGHT, LOCKED_OUT, Look, ONLY_B, OTHER_TOOLS, REFUSED, SLOW, SLOW_AND_COLD, STALE,
    STALE_IN_PART, Scene, WELL, at, check, docs, incident_of, quick_latency, says, well, with,
};

#[test]
fn eras_that_differ_hide_nothing_worse() {
    const DIFFERING: Look = |seen| {
        let (own_only, other_only) = (vec!["search".to_owned()], Vec::new());
        seen.cross_check = Some(CrossCheck { own: Era::Modern, own_only, other_only, changed: Vec::new() });
    };
    const DIFFERING_AND_BROKEN: Look = |seen| {
        DIFFERING(seen);
        if let Some(tools) = &mut seen.tools {
            tools.invalid_call = Some("`query` is gone".to_owned());
        }
    };
    let severities = |beats: &[(u32, u32, Look)]| {
        let mut scene = Scene::new(docs());
        scene.beats(beats);
        let told = scene.decided.iter().filter_map(|decision| match decision {
            Decision::Opened { incident, .. } | Decision::Updated(incident) => Some(incident.severity),
            _ => None,
        });
        (scene.told, told.collect::<Vec<_>>())
    };
    let (told, severity) = severities(&[(2, 60, WELL), (2, 60, DIFFERING), (2, 60, WELL)]);
    assert_eq!(told, ["4 opened contract schema_drift", "6 resolved contract recovered"], "two looks, a notice");
    assert_eq!(severity, [Severity::Notice]);
    let (told, severity) = severities(&[(2, 60, WELL), (2, 60, DIFFERING), (3, 60, DIFFERING_AND_BROKEN)]);
    assert_eq!(severity, [Severity::Notice, Severity::Page], "a call that no longer fits still pages: {told:?}");
}

#[test]
fn an_incident_is_told_since_its_first_failed_beat() {
    let since = |beats: &[(u32, u32, Look)]| {
        let mut scene = Scene::new(docs());
        scene.beats(beats);
        let opened = scene.decided.iter().find_map(|decision| match decision {
            Decision::Opened { incident, .. } => Some((incident.opened_at - incident.since()).num_seconds()),
            _ => None,
        });
        opened.expect("an incident opens")
    };
    assert_eq!(since(&[(2, 60, WELL), (3, 60, REFUSED)]), 120, "two beats before the third, which confirmed it");
    assert_eq!(
        since(&[(2, 60, WELL), (2, 60, REFUSED), (1, 60, WELL), (3, 60, REFUSED)]),
        120,
        "one that passed is none"
    );
    const WEEK: Look = |seen| ends_in(seen, 6);
    assert_eq!(since(&[(1, 60, WEEK)]), 0, "what is certain at first sight is so since then");
}

fn ends_in(seen: &mut Observation, days: i64) {
    seen.certificate_until = seen.started_at.checked_add_signed(chrono::TimeDelta::days(days));
}

#[test]
fn what_ends_soon_is_told_at_once_and_again_when_it_is_near() {
    const FAR: Look = |seen| ends_in(seen, 31);
    const MONTH: Look = |seen| ends_in(seen, 29);
    const FORTNIGHT: Look = |seen| ends_in(seen, 13);
    const WEEK: Look = |seen| ends_in(seen, 6);
    const CREDENTIAL: Look = |seen| {
        ends_in(seen, 29);
        seen.credential_until = seen.started_at.checked_add_signed(chrono::TimeDelta::hours(71));
    };
    const LOCKED_OUT_TOO: Look = |seen| {
        ends_in(seen, 6);
        LOCKED_OUT(seen);
    };
    check("31 days are time enough", docs(), &[(3, 60, FAR)], &[]);
    check(
        "30, 14 and 7 days are told once each",
        docs(),
        &[(3, 3600, MONTH), (3, 3600, FORTNIGHT), (3, 3600, WEEK)],
        &[
            "1 opened access certificate_expiring",
            "4 updated access certificate_expiring",
            "7 updated access certificate_expiring",
        ],
    );
    check(
        "a renewal ends it",
        docs(),
        &[(2, 60, WEEK), (2, 60, FAR)],
        &["1 opened access certificate_expiring", "4 resolved access recovered"],
    );
    check(
        "a beat that saw no certificate says nothing of it",
        docs(),
        &[(2, 60, WEEK), (6, 60, REFUSED), (2, 60, WEEK)],
        &[
            "1 opened access certificate_expiring",
            "5 opened availability connection_refused",
            "9 restarted, likely",
            "10 resolved availability recovered",
        ],
    );
    check("the nearer end is told", docs(), &[(2, 60, CREDENTIAL)], &["1 opened access credential_expiring"]);
    check(
        "a refused credential takes it over",
        docs(),
        &[(2, 60, WEEK), (3, 60, LOCKED_OUT_TOO)],
        &["1 opened access certificate_expiring", "4 updated access auth_rejected"],
    );
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WEEK), (2, 60, LOCKED_OUT_TOO)]);
    let severities: Vec<Severity> = scene.decided.iter().filter_map(incident_of).map(|open| open.severity).collect();
    assert_eq!(severities, [Severity::Ticket, Severity::Page], "the ticket becomes a page");
    let mut seen = well(at(0));
    ends_in(&mut seen, 6);
    let outcome = classify(&docs(), &seen);
    assert_eq!((outcome.verdict, outcome.reason()), (Verdict::Good, None), "and makes no beat bad");
}

#[test]
fn slowness_has_to_last_and_a_cold_server_is_not_slow() {
    check("not before its time", with(quick_latency), &[(1, 60, WELL), (2, 60, SLOW)], &[]);
    check("then it opens", with(quick_latency), &[(4, 60, SLOW)], &["3 opened latency latency_elevated"]);
    check("a cold start holds it", with(quick_latency), &[(29, 60, SLOW_AND_COLD)], &[]);
    check(
        "up to the cap and no longer",
        with(quick_latency),
        &[(40, 60, SLOW_AND_COLD)],
        &["31 opened latency latency_elevated"],
    );
    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(5, 60, SLOW_AND_COLD)]);
    assert_eq!(scene.state.signal(Signal::Latency).held_by, Some(HeldBy::ColdStart), "and it is shown");
}

#[test]
fn slowness_that_does_not_fall_is_no_cold_start() {
    const COLD: Look = |seen| seen.health = vec![says(true, None, Some(false))];
    fn slow_by(seen: &mut Observation, ms: u64) {
        seen.asks.iter_mut().for_each(|ask| ask.elapsed = Duration::from_millis(ms));
    }
    let told = |ends: u32, slow: fn(f64) -> f64, look: Look| {
        let mut scene = Scene::new(with(|monitor| {
            quick_latency(monitor);
            monitor.rules.latency.sustained = Duration::from_secs(300);
        }));
        scene.beats(&[(20, 60, WELL)]);
        for beat in 0..ends {
            scene.beat(60, |seen| {
                look(seen);
                slow_by(seen, slow(f64::from(beat)) as u64);
            });
        }
        scene.told
    };
    let step: fn(f64) -> f64 = |_| 2_000.0;
    let falls: fn(f64) -> f64 = |beat| 20.0 + 8_000.0 * (-beat / 3.0).exp();
    assert_eq!(
        told(20, step, COLD),
        ["29 opened latency latency_elevated"],
        "it says cold, and stays as slow for nine beats"
    );
    assert_eq!(told(20, falls, COLD), [""; 0], "it says cold, and is: nobody is told");
    assert_eq!(told(20, falls, WELL), [""; 0], "nor where it says nothing and falls back");
    assert_eq!(told(20, step, WELL), ["26 opened latency latency_elevated"], "what says nothing and stays is slow");
}

#[test]
fn what_waits_says_how_far_it_is() {
    type Row<'a> = (&'a [(u32, u32, Look)], Signal, Option<&'a str>, &'a str);
    let rows: [Row<'_>; 5] = [
        (&[(1, 60, WELL)], Signal::Latency, None, "what is calm waits for nothing"),
        (&[(1, 60, SLOW)], Signal::Latency, Some("for 0s of 5m"), "the first slow beat"),
        (&[(4, 50, SLOW)], Signal::Latency, Some("for 2m of 5m"), "150 s of them: whole minutes"),
        (&[(2, 60, LOCKED_OUT)], Signal::Access, Some("2 of 3 beats"), "a streak"),
        (&[(6, 60, SLOW)], Signal::Latency, None, "what is open waits no longer"),
    ];
    let patient = with(|monitor| {
        quick_latency(monitor);
        monitor.rules.latency.sustained = Duration::from_secs(300);
        monitor.rules.latency.min_samples = 1;
    });
    for (beats, signal, far, sentence) in rows {
        let mut scene = Scene::new(patient.clone());
        scene.beats(beats);
        assert_eq!(scene.state.pending(signal, &patient).as_deref(), far, "{sentence}");
    }
}

#[test]
fn contract_and_freshness_take_two_looks() {
    check(
        "one other list is not two, and the way back ends it",
        docs(),
        &[(2, 60, WELL), (1, 60, OTHER_TOOLS), (1, 60, WELL), (2, 60, OTHER_TOOLS), (2, 60, WELL)],
        &["6 opened contract schema_drift", "8 resolved contract recovered"],
    );
    let fresh = with(|monitor| {
        let older_than = Duration::from_secs(3600);
        monitor.rules.freshness =
            Some(FreshnessRule { older_than, shrinks: ShrinksRule::STANDARD, severity: Severity::Ticket, line: 1 });
    });
    check(
        "beats that did not ask neither open nor close it",
        fresh.clone(),
        &[(1, 60, STALE), (3, 60, WELL), (1, 60, STALE), (3, 60, WELL), (1, 60, CURRENT)],
        &["5 opened freshness source_stale", "9 resolved freshness recovered"],
    );
    check(
        "nor do looks at a part of the list that prove nothing",
        fresh.clone(),
        &[
            (3, 60, STALE_IN_PART),
            (1, 60, STALE),
            (2, 60, STALE_IN_PART),
            (1, 60, STALE),
            (9, 60, STALE_IN_PART),
            (1, 60, CURRENT),
        ],
        &["7 opened freshness source_stale", "17 resolved freshness recovered"],
    );
    let mut scene = Scene::new(fresh);
    scene.beats(&[(1, 60, CURRENT), (1, 60, STALE_IN_PART), (5, 60, WELL)]);
    let reading = scene.state.reading(Signal::Freshness);
    let expected = "read 500 of 12,000 sources: not judged, there are more than a probe reads";
    assert_eq!((reading.level, &*reading.figure), (Level::Unknown, expected), "until the next look, too");
}

#[test]
fn what_takes_too_much_of_a_context_is_told() {
    let limited = with(|monitor| {
        let limits = (Some(2_000), Some(1_000));
        monitor.rules.context =
            Some(ContextRule { tools_tokens: limits.0, answer_tokens: limits.1, severity: Severity::Ticket, line: 1 });
    });
    check(
        "a heavy answer of one canary counts until that canary answers lightly",
        limited.clone(),
        &[(2, 60, LIGHT), (1, 60, HEAVY_A), (1, 60, ONLY_B), (1, 60, LIGHT), (1, 60, LIGHT)],
        &["4 opened contract context_cost", "6 resolved contract recovered"],
    );
    check(
        "what nobody counted is neither heavy nor light",
        limited.clone(),
        &[(1, 60, LIGHT), (2, 60, HEAVY_TOOLS), (4, 60, WELL), (2, 60, LIGHT)],
        &["3 opened contract context_cost", "9 resolved contract recovered"],
    );
    let mut scene = Scene::new(limited);
    scene.beats(&[(1, 60, LIGHT), (2, 60, HEAVY_A)]);
    let ended = scene.state.reconsider(&docs(), at(scene.second));
    assert_eq!(ended.first().and_then(|one| one.resolve_cause.clone()), Some(ResolveCause::RuleChanged));
}
