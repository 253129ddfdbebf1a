//! Which badge a token stands for, and what was drawn of it of late.
//!
//! No lock is held while anything is computed: the marks of a fleet are made once, by whoever asks first after a start or a
//! reload, away from what answers requests, and others wait for the same: there may be 50,000.
//! One badge is drawn by one at a time, and whoever asks meanwhile gets what that one drew.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::deliver::public_marks::{BadgeKind, BadgeOf, BadgeToken, PublicMarks};
use crate::domain::fleet::Fleet;
use crate::web::public::document::Document;

/// How long a badge is shown: pages of others are looked at far more often than it changes.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(60);
/// Badges kept drawn; when there are more, those that are still shown stay, and where that is all of them, none.
const DRAWN_MAX: usize = 1_000;

/// The badges of the fleet in force.
#[derive(Debug, Default)]
pub(crate) struct BadgeIndex(Mutex<Option<Arc<FleetBadges>>>);

/// The badges of one fleet: after a reload there are others.
#[derive(Debug)]
pub(crate) struct FleetBadges {
    pub(crate) fleet: Arc<Fleet>,
    known: OnceCell<HashMap<BadgeToken, Badge>>,
    drawn: Mutex<HashMap<BadgeToken, Arc<LastDrawing>>>,
}

/// What was drawn last and when; locked by whoever draws.
type LastDrawing = tokio::sync::Mutex<Option<(Instant, Document)>>;

/// What a token stands for: the place of its monitor or component in the file, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Badge {
    Monitor(usize, BadgeKind),
    Component(usize, BadgeKind),
}

impl BadgeIndex {
    /// Those of this fleet.
    pub(crate) fn of(&self, fleet: Arc<Fleet>) -> Arc<FleetBadges> {
        let mut last = self.0.lock();
        match last.as_ref().filter(|badges| Arc::ptr_eq(&badges.fleet, &fleet)) {
            Some(badges) => Arc::clone(badges),
            None => Arc::clone(last.insert(Arc::new(FleetBadges::new(fleet)))),
        }
    }
}

impl FleetBadges {
    fn new(fleet: Arc<Fleet>) -> Self {
        Self { fleet, known: OnceCell::new(), drawn: Mutex::default() }
    }

    /// What a token stands for; none where it is not one of this fleet.
    pub(crate) async fn find(&self, marks: &PublicMarks, token: &BadgeToken) -> Option<Badge> {
        let known = self.known.get_or_init(async || {
            let (marks, fleet) = (marks.clone(), Arc::clone(&self.fleet));
            tokio::task::spawn_blocking(move || tokens(&marks, &fleet)).await.unwrap_or_default()
        });
        // The map's hash has a key of its own, so that how long it takes says nothing of how near a guess is; the token
        // that it finds is compared once more in constant time.
        let known = known.await;
        known.get_key_value(token).filter(|(known, _)| known.is(token)).map(|(_, badge)| *badge)
    }

    /// The picture of a badge, as it was drawn last or as it is drawn now.
    pub(crate) async fn picture(
        &self,
        token: BadgeToken,
        now: Instant,
        draw: impl Future<Output = Option<Document>>,
    ) -> Option<Document> {
        let last = self.last_drawing(token, now);
        let mut last = last.lock().await;
        if let Some((_, document)) = last.as_ref().filter(|(at, _)| is_fresh(*at, now)) {
            return Some(document.clone());
        }
        let document = draw.await?;
        *last = Some((now, document.clone()));
        Some(document)
    }

    fn last_drawing(&self, token: BadgeToken, now: Instant) -> Arc<LastDrawing> {
        let mut drawn = self.drawn.lock();
        if drawn.len() >= DRAWN_MAX && !drawn.contains_key(&token) {
            drawn.retain(|_, last| is_shown(last, now));
            if drawn.len() >= DRAWN_MAX {
                drawn.clear();
            }
        }
        Arc::clone(drawn.entry(token).or_default())
    }
}

/// Whether what was drawn last may be shown once more; what is being drawn may.
fn is_shown(last: &LastDrawing, now: Instant) -> bool {
    last.try_lock().map_or(true, |last| last.as_ref().is_some_and(|(at, _)| is_fresh(*at, now)))
}

/// Whether what was drawn then may be shown now; who waited for a drawing came before it.
fn is_fresh(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < FRESH_FOR
}

fn tokens(marks: &PublicMarks, fleet: &Fleet) -> HashMap<BadgeToken, Badge> {
    let components = || fleet.status_page.iter().flat_map(|page| &page.components);
    let badges = BadgeKind::ALL.len() * (fleet.monitors.len() + components().count());
    let mut all = HashMap::with_capacity(badges);
    for kind in BadgeKind::ALL {
        for (place, monitor) in fleet.monitors.iter().enumerate() {
            all.insert(marks.badge(BadgeOf::Monitor(monitor.id.as_str()), kind), Badge::Monitor(place, kind));
        }
        for (place, component) in components().enumerate() {
            all.insert(marks.badge(BadgeOf::Component(&component.name), kind), Badge::Component(place, kind));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    fn token(number: usize) -> BadgeToken {
        PublicMarks::new([7; 32]).badge(BadgeOf::Monitor(&number.to_string()), BadgeKind::State)
    }

    async fn drawn_slowly(draws: &AtomicUsize) -> Option<Document> {
        let nth = draws.fetch_add(1, Ordering::Relaxed);
        // Everybody who came with this one waits by now.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        Some(Document::new("image/svg+xml", format!("drawing {nth}")))
    }

    #[tokio::test]
    async fn whoever_comes_together_gets_one_drawing_and_whoever_comes_later_the_next() {
        let (badges, now) = (FleetBadges::new(Arc::new(Fleet::default())), Instant::now());
        let draws = AtomicUsize::new(0);
        let crowd = join_all((0..50).map(|_| badges.picture(token(0), now, drawn_slowly(&draws)))).await;
        assert!(crowd.iter().flatten().all(|document| document.body == "drawing 0") && crowd.len() == 50);
        badges.picture(token(1), now, drawn_slowly(&draws)).await.unwrap();
        assert_eq!(draws.load(Ordering::Relaxed), 2, "another badge is another drawing");
        let later = badges.picture(token(0), now + FRESH_FOR, drawn_slowly(&draws)).await.unwrap();
        assert_eq!(later.body, "drawing 2");
    }

    #[tokio::test]
    async fn whoever_leaves_while_drawing_leaves_it_to_the_next() {
        let (badges, now) = (FleetBadges::new(Arc::new(Fleet::default())), Instant::now());
        tokio::select! {
            biased;
            _ = badges.picture(token(0), now, std::future::pending()) => unreachable!("nobody draws it"),
            () = tokio::task::yield_now() => {}
        }
        let next = badges.picture(token(0), now, drawn_slowly(&AtomicUsize::new(0))).await;
        assert_eq!(next.unwrap().body, "drawing 0");
    }

    #[tokio::test]
    async fn no_more_is_kept_than_there_is_room_for() {
        let (badges, began) = (FleetBadges::new(Arc::new(Fleet::default())), Instant::now());
        let draws = AtomicUsize::new(0);
        let mut now = began;
        for number in 0..=DRAWN_MAX {
            badges.picture(token(number), now, drawn_slowly(&draws)).await;
            now += FRESH_FOR / (DRAWN_MAX as u32 / 2);
        }
        let kept = badges.drawn.lock().len();
        assert!(kept > DRAWN_MAX / 4 && kept <= DRAWN_MAX / 2 + 1, "what is shown stays, what is old goes: {kept}");
    }

    #[test]
    fn a_fleet_keeps_its_badges_and_another_has_others() {
        let (index, fleet) = (BadgeIndex::default(), Arc::new(Fleet::default()));
        let first = index.of(Arc::clone(&fleet));
        assert!(Arc::ptr_eq(&first, &index.of(fleet)));
        assert!(!Arc::ptr_eq(&first, &index.of(Arc::new(Fleet::default()))));
    }
}
