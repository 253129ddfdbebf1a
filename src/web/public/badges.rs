//! Badges: pictures at addresses that nobody can guess, for READMEs and pages of others.
//!
//! Of a monitor no name is shown, since the file has none that everybody may read: its badges say what kind they are.

use std::time::Instant;

use chrono::Utc;

use crate::deliver::public_marks::{BadgeKind, BadgeToken};
use crate::domain::cell::Cell;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::domain::status_page::Component;
use crate::web::format;
use crate::web::public::badge_index::{Badge, BadgeIndex};
use crate::web::public::badge_svg;
use crate::web::public::component_now::{ComponentNow, component_now};
use crate::web::public::component_past::{ComponentPast, MonitorPasts};
use crate::web::public::document::Document;
use crate::web::public::words::PublicState;
use crate::web::state::WebState;

/// A share from which on a badge looks good: three hours of a month.
const GOOD_FROM: f64 = 0.995;
/// A share below which it looks bad: a day and a half of a month.
const BAD_BELOW: f64 = 0.95;
/// The least of the time since it is known that has to be watched for a share to stand alone.
const WATCHED_MIN: f64 = 0.9;
/// Days that a share is of at least to look good.
const KNOWN_DAYS_MIN: usize = 30;
/// What a badge of a monitor calls it.
const LABEL_OF_MONITORS: &str = "search";

/// The picture of a token; none where it is not one of ours.
pub(crate) async fn drawn(state: &WebState, index: &BadgeIndex, token: &str) -> Option<Document> {
    let token = BadgeToken::read(token)?;
    let (badges, state) = (index.of(state.fleet_now()), state.clone());
    // What is under way goes on where the first who asked leaves.
    let picture = async move {
        let badge = badges.find(&state.marks, &token).await?;
        badges.picture(token, Instant::now(), draw(&state, &badges.fleet, badge)).await
    };
    tokio::spawn(picture).await.ok().flatten()
}

async fn draw(state: &WebState, fleet: &Fleet, badge: Badge) -> Option<Document> {
    let (component, kind) = match badge {
        Badge::Monitor(place, kind) => (alone(&fleet.monitors.get(place)?.id), kind),
        Badge::Component(place, kind) => (fleet.status_page.as_ref()?.components.get(place)?.clone(), kind),
    };
    let now = component_now(&component, &state.live, &fleet.maintenance, Utc::now());
    let (value, looks) = match kind {
        BadgeKind::State => (said(&now), now.state),
        BadgeKind::Up | BadgeKind::Right => {
            let ids: Vec<&MonitorId> = component.monitors.iter().collect();
            let past = MonitorPasts::read(state, &ids, Utc::now()).await.of(&component);
            figure(kind, past.as_ref())
        }
        BadgeKind::P95 => slowest(state, fleet, &component),
    };
    Some(Document::new("image/svg+xml", badge_svg::svg(&component.name, &value, looks)))
}

/// A monitor as if it were a component, under a name that says nothing.
fn alone(id: &MonitorId) -> Component {
    Component {
        name: LABEL_OF_MONITORS.to_owned(),
        description: String::new(),
        group: String::new(),
        monitors: vec![id.clone()],
        line: 0,
    }
}

fn said(now: &ComponentNow) -> String {
    match now.affected {
        (some, all) if some > 0 && some < all => format!("{} ({some} of {all})", now.state.word()),
        _ => now.state.word().to_owned(),
    }
}

/// The greatest P95 of those that answer, over the windows of their rules, and whether one is above its limit. What a
/// server took before it went down says nothing of now.
fn slowest(state: &WebState, fleet: &Fleet, component: &Component) -> (String, PublicState) {
    let now = Utc::now();
    let answers = |id: &&MonitorId| {
        let now = component_now(&alone(id), &state.live, &fleet.maintenance, now);
        !matches!(now.state, PublicState::Unknown | PublicState::Down)
    };
    let standings = component.monitors.iter().filter(answers).filter_map(|id| state.live.standing(id));
    let all: Vec<(f64, f64)> = standings.filter_map(|one| Some((one.p95_ms()?, one.p95_limit_ms()))).collect();
    p95_of(&all)
}

/// What is said of several P95 and their limits, in milliseconds.
fn p95_of(all: &[(f64, f64)]) -> (String, PublicState) {
    let Some(slowest) = all.iter().map(|(p95_ms, _)| *p95_ms).max_by(f64::total_cmp) else {
        return ("p95: not known".to_owned(), PublicState::Unknown);
    };
    let is_slow = all.iter().any(|(p95_ms, limit_ms)| p95_ms > limit_ms);
    let looks = if is_slow { PublicState::Slow } else { PublicState::Works };
    (format!("p95 {}", format::millis(slowest)), looks)
}

/// A share of 90 days, and what it looks like. Where less was watched than [`WATCHED_MIN`], it is no figure of 90 days.
fn figure(kind: BadgeKind, past: Option<&ComponentPast>) -> (String, PublicState) {
    let (word, of) = if kind == BadgeKind::Right {
        ("right", Cell::right_share as fn(Cell) -> _)
    } else {
        ("up", Cell::uptime as _)
    };
    let known = past.and_then(|past| Some((of(past.days.sum())?, past.days.coverage())));
    let Some((share, watched)) = known else { return (format!("{word}: not known"), PublicState::Unknown) };
    let is_young = past.is_some_and(|past| past.known_days() < KNOWN_DAYS_MIN);
    let state = match share {
        share if share < BAD_BELOW => PublicState::Down,
        share if share < GOOD_FROM => PublicState::Slow,
        _ if watched < WATCHED_MIN || is_young => PublicState::Unknown,
        _ => PublicState::Works,
    };
    let of = if watched < WATCHED_MIN { format!(" of {} watched", format::share(watched)) } else { String::new() };
    (format!("{word} {}{of}", format::share(share)), state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::bars::{Grain, Past};

    #[test]
    fn the_slowest_of_those_that_answer_is_told() {
        let rows = [
            (vec![(240.0, 800.0)], "p95 240 ms", PublicState::Works, "below its limit"),
            (vec![(240.0, 200.0)], "p95 240 ms", PublicState::Slow, "above it"),
            (vec![(240.0, 200.0), (1_240.0, 3_000.0)], "p95 1.24 s", PublicState::Slow, "one is, if not the slowest"),
            (Vec::new(), "p95: not known", PublicState::Unknown, "too few searches, or nobody who answers"),
        ];
        for (all, said, looks, sentence) in rows {
            assert_eq!(p95_of(&all), (said.to_owned(), looks), "{sentence}");
        }
    }

    #[test]
    fn a_share_is_no_figure_of_ninety_days_where_they_were_not_watched() {
        const DAY: u32 = 86_400;
        let of_days = |days, up_s, down_s, (right, asked)| ComponentPast {
            days: Past {
                grain: Grain::Day,
                from: "2026-11-10T00:00:00Z".parse().unwrap(),
                cells: vec![Cell { up_s, down_s, apart_s: 0, unknown_s: 0, asked, right }; days],
                due_s: vec![DAY; days],
            },
            has_canaries: true,
        };
        let past = |up_s, down_s, answers| of_days(KNOWN_DAYS_MIN, up_s, down_s, answers);
        let young = of_days(KNOWN_DAYS_MIN - 1, DAY, 0, (1, 1));
        let rows = [
            (BadgeKind::Up, Some(past(DAY, 0, (1, 1))), "up 100 %", PublicState::Works, "all of it"),
            (BadgeKind::Up, Some(past(DAY - 864, 864, (1, 1))), "up 99.00 %", PublicState::Slow, "some of it was not"),
            (BadgeKind::Up, Some(past(DAY / 2, DAY / 2, (1, 1))), "up 50.00 %", PublicState::Down, "half of it"),
            (
                BadgeKind::Up,
                Some(past(DAY / 2, 0, (1, 1))),
                "up 100 % of 50.00 % watched",
                PublicState::Unknown,
                "what was not watched is not green",
            ),
            (BadgeKind::Right, Some(past(DAY, 0, (9, 10))), "right 90.00 %", PublicState::Down, "one of ten was wrong"),
            (BadgeKind::Right, Some(past(DAY, 0, (0, 0))), "right: not known", PublicState::Unknown, "nothing asked"),
            (
                BadgeKind::Up,
                Some(young),
                "up 100 %",
                PublicState::Unknown,
                "who was watched for weeks is not green yet",
            ),
            (BadgeKind::Up, None, "up: not known", PublicState::Unknown, "nothing known"),
        ];
        for (kind, past, said, state, sentence) in rows {
            assert_eq!(figure(kind, past.as_ref()), (said.to_owned(), state), "{sentence}");
        }
    }
}
