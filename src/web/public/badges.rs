//! Badges: pictures at addresses that nobody can guess, for READMEs and pages of others.
//!
//! A token is looked up among those of all monitors and components, and compared once more in constant time; the map is
//! made when the first badge is asked for after a start or a reload. What was drawn is kept for [`FRESH_FOR`]. Of a
//! monitor no name is shown, since the file has none that everybody may read: its badges say what kind they are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use subtle::ConstantTimeEq as _;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::deliver::public_marks::{BadgeKind, BadgeOf};
use crate::domain::cell::Cell;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::domain::status_page::Component;
use crate::web::format;
use crate::web::public::badge_svg;
use crate::web::public::component_now::{ComponentNow, component_now};
use crate::web::public::component_past::{ComponentPast, MonitorPasts};
use crate::web::public::document::Document;
use crate::web::public::words::PublicState;
use crate::web::state::WebState;

/// How long a badge is shown: pages of others are looked at far more often than it changes.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(60);
/// Badges kept drawn; when there are more, all are drawn anew.
const DRAWN_MAX: usize = 1_000;
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

/// Tokens of a fleet, and what was drawn of late.
#[derive(Debug, Default)]
pub(crate) struct BadgeCache {
    known: Option<(Arc<Fleet>, HashMap<String, Badge>)>,
    drawn: HashMap<String, (Instant, Document)>,
}

/// What a token stands for: the place of its monitor or component in the file, and its kind.
#[derive(Debug, Clone, Copy)]
enum Badge {
    Monitor(usize, BadgeKind),
    Component(usize, BadgeKind),
}

/// The picture of a token; none where it is not one of ours.
pub(crate) async fn drawn(state: &WebState, badges: &Mutex<BadgeCache>, token: &str) -> Option<Document> {
    let (fleet, badge) = {
        let mut cache = badges.lock().await;
        let found = cache.find(state, token)?;
        if let Some((_, document)) = cache.drawn.get(token).filter(|(at, _)| at.elapsed() < FRESH_FOR) {
            return Some(document.clone());
        }
        found
    };
    let document = Document::new("image/svg+xml", draw(state, &fleet, badge).await?);
    let mut cache = badges.lock().await;
    if cache.drawn.len() >= DRAWN_MAX {
        cache.drawn.clear();
    }
    cache.drawn.insert(token.to_owned(), (Instant::now(), document.clone()));
    Some(document)
}

impl BadgeCache {
    /// What a token stands for, and the fleet in which it does.
    fn find(&mut self, state: &WebState, token: &str) -> Option<(Arc<Fleet>, Badge)> {
        let fleet = state.fleet_now();
        if self.known.as_ref().is_none_or(|(known, _)| !Arc::ptr_eq(known, &fleet)) {
            self.known = Some((Arc::clone(&fleet), tokens(state, &fleet)));
            self.drawn.clear();
        }
        // The map's hash has a key of its own, so that how long it takes says nothing of how near a guess is.
        let (fleet, tokens) = self.known.as_ref()?;
        let (known, badge) = tokens.get_key_value(token)?;
        bool::from(known.as_bytes().ct_eq(token.as_bytes())).then(|| (Arc::clone(fleet), *badge))
    }
}

fn tokens(state: &WebState, fleet: &Fleet) -> HashMap<String, Badge> {
    let marks = &state.marks;
    let mut all = HashMap::new();
    for kind in BadgeKind::ALL {
        for (place, monitor) in fleet.monitors.iter().enumerate() {
            all.insert(marks.badge(BadgeOf::Monitor(monitor.id.as_str()), kind), Badge::Monitor(place, kind));
        }
        for (place, component) in fleet.status_page.iter().flat_map(|page| &page.components).enumerate() {
            all.insert(marks.badge(BadgeOf::Component(&component.name), kind), Badge::Component(place, kind));
        }
    }
    all
}

async fn draw(state: &WebState, fleet: &Fleet, badge: Badge) -> Option<String> {
    let (component, kind) = match badge {
        Badge::Monitor(place, kind) => (alone(&fleet.monitors.get(place)?.id), kind),
        Badge::Component(place, kind) => (fleet.status_page.as_ref()?.components.get(place)?.clone(), kind),
    };
    let now = component_now(&component, &state.live, &fleet.maintenance, Utc::now());
    let (value, state) = match kind {
        BadgeKind::State => (said(&now), now.state),
        BadgeKind::Up | BadgeKind::Right => {
            let ids: Vec<&MonitorId> = component.monitors.iter().collect();
            let past = MonitorPasts::read(state, &ids, Utc::now()).await.of(&component);
            figure(kind, past.as_ref())
        }
    };
    Some(badge_svg::svg(&component.name, &value, state))
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
