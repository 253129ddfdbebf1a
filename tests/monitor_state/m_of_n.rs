//! Rules that count bad beats among the latest.

use std::time::Duration;

use serin::domain::monitor::Monitor;
use serin::domain::signal::{Level, Phase, Signal};

use crate::{HANGS, LOCKED_OUT, Look, REFUSED, SATURATED, Scene, THROTTLED, WELL, check, with};

fn three_of_five(monitor: &mut Monitor) {
    monitor.rules.availability.of = Some(5);
    monitor.rules.availability.page_after = Duration::ZERO;
}

#[test]
fn faults_that_come_and_go_open_once_they_are_so_many_of_the_last() {
    let alternating: &[(u32, u32, Look)] =
        &[(1, 60, WELL), (1, 60, HANGS), (1, 60, WELL), (1, 60, HANGS), (1, 60, WELL), (1, 60, HANGS)];
    check("in a row they never do", with(|_| ()), alternating, &[]);
    check("three of five", with(three_of_five), alternating, &["6 opened availability timeout"]);
    let longer = [alternating, &[(1, 60, WELL), (1, 60, HANGS), (2, 60, WELL), (1, 60, HANGS)]].concat();
    check(
        "it ends after good beats in a row, and what was before that does not open it again",
        with(three_of_five),
        &longer,
        &["6 opened availability timeout", "10 resolved availability recovered"],
    );
    check(
        "what proves nothing of it does not count",
        with(three_of_five),
        &[(1, 60, HANGS), (4, 60, THROTTLED), (1, 60, HANGS), (4, 60, THROTTLED), (1, 60, HANGS)],
        &["4 opened errors rate_limited", "11 opened availability timeout"],
    );
    let soon = |monitor: &mut Monitor| monitor.rules.availability.of = Some(5);
    check(
        "a page comes no sooner than it would, counted from the first bad beat that still counts",
        with(soon),
        &[(1, 60, HANGS), (4, 60, WELL), (1, 60, HANGS), (1, 5, WELL), (1, 5, HANGS), (1, 5, HANGS), (1, 30, HANGS)],
        &["10 opened availability timeout"],
    );
    let others = |monitor: &mut Monitor| {
        monitor.rules.access.of = Some(5);
        monitor.rules.health.of = Some(5);
    };
    check(
        "refusals and what the server says of itself are counted alike",
        with(others),
        &[(1, 60, LOCKED_OUT), (1, 60, WELL), (1, 60, LOCKED_OUT), (1, 60, WELL), (1, 60, LOCKED_OUT)],
        &["5 opened access auth_rejected"],
    );
    check(
        "health",
        with(others),
        &[(2, 60, SATURATED), (2, 60, WELL), (1, 60, SATURATED)],
        &["5 opened health pool_saturated"],
    );
}

#[test]
fn a_monitor_says_how_far_it_is() {
    let mut scene = Scene::new(with(three_of_five));
    let said = |scene: &Scene| {
        let figure = scene.state.reading(Signal::Availability).figure.to_string();
        (figure, scene.state.pending(Signal::Availability, &scene.monitor))
    };
    scene.beats(&[(1, 60, WELL), (1, 60, HANGS), (1, 60, WELL)]);
    let pending = |bad: u32| Some(format!("{bad} of 3 bad beats, of the last 5"));
    assert_eq!(said(&scene), ("well".to_owned(), pending(1)));
    let stand = scene.state.as_parent(&scene.monitor, crate::at(scene.second));
    assert!(!stand.is_in_doubt, "who depends on it is not kept waiting for one that answers");
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(said(&scene), ("timeout, 2 of the last 5".to_owned(), pending(2)));
    assert!(scene.state.as_parent(&scene.monitor, crate::at(scene.second)).is_in_doubt);
    scene.beats(&[(4, 60, WELL)]);
    assert_eq!(said(&scene).1, pending(1));
    scene.beats(&[(1, 60, WELL)]);
    assert_eq!((scene.state.signal(Signal::Availability).phase, said(&scene).1), (Phase::Quiet, None));
    assert_eq!(scene.state.recent_beats(Signal::Availability), None, "and nothing is kept of it");
    assert_eq!(scene.state.reading(Signal::Availability).level, Level::Calm);
}

/// Of how many of the latest, beats, of how many then, further beats, what is told, and why.
type Edited = (Option<u32>, Beats, Option<u32>, Beats, &'static [&'static str], &'static str);
type Beats = &'static [(u32, u32, Look)];

#[test]
fn beats_count_on_under_an_edited_rule() {
    let rows: [Edited; 4] = [
        (
            None,
            &[(2, 60, HANGS)],
            Some(5),
            &[(1, 60, WELL), (1, 60, HANGS)],
            &["4 opened availability timeout"],
            "a row",
        ),
        (Some(5), &[(1, 60, HANGS), (1, 60, WELL), (1, 60, REFUSED)], None, &[(1, 60, HANGS)], &[], "of the last five"),
        (
            Some(5),
            &[(1, 60, HANGS), (1, 60, WELL), (2, 60, HANGS)],
            None,
            &[(1, 60, HANGS)],
            &["4 opened availability timeout"],
            "three of five is open by then",
        ),
        (Some(9), &[(2, 60, HANGS), (3, 60, WELL)], Some(3), &[(1, 60, HANGS)], &[], "of fewer of the last"),
    ];
    for (of, before, edited, after, told, sentence) in rows {
        let mut scene = Scene::new(with(three_of_five));
        scene.monitor.rules.availability.of = of;
        scene.beats(before);
        scene.monitor.rules.availability.of = edited;
        let monitor = scene.monitor.clone();
        assert_eq!(scene.state.reconsider(&monitor, crate::at(scene.second)), [], "{sentence}");
        scene.beats(after);
        assert_eq!(scene.told, told, "{sentence}");
    }
}
