//! What everybody sees, drawn once for all who look: a crowd before the status page costs what one visitor costs.
//!
//! The first who asks after [`FRESH_FOR`] has it drawn anew, in a task that goes on where they leave; whoever asks meanwhile
//! waits for that one. Nobody waits for long, since a database that does not answer is asked twice, for two seconds each. A
//! reload of the file is seen at once.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::fleet::Fleet;
use crate::web::public::badge_index::BadgeIndex;
use crate::web::public::document::Document;
use crate::web::public::snapshot::Snapshot;
use crate::web::public::{feed, page, summary};
use crate::web::state::WebState;

/// How long what was drawn is shown: no longer than it takes to look at it twice.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(5);

/// The public side of a running Serin, as it was drawn last.
#[derive(Debug, Default)]
pub(crate) struct PublicSide {
    drawn: Mutex<Option<Drawn>>,
    pub(crate) badges: BadgeIndex,
}

/// What was drawn last, when, and of which fleet.
#[derive(Debug)]
struct Drawn {
    at: Instant,
    fleet: Arc<Fleet>,
    documents: Arc<Documents>,
}

/// Everything that is public, ready to be sent.
#[derive(Debug)]
pub(crate) struct Documents {
    pub snapshot: Snapshot,
    pub page: Document,
    pub feed: Document,
    pub summary: Document,
    pub status: Document,
    pub components: Document,
    pub incidents: Document,
    pub unresolved: Document,
}

impl PublicSide {
    /// What is public now; none where the file shows nothing.
    pub(crate) async fn documents(self: &Arc<Self>, state: &WebState) -> Option<Arc<Documents>> {
        let (side, state) = (Arc::clone(self), state.clone());
        tokio::spawn(async move { side.draw(&state).await }).await.ok().flatten()
    }

    async fn draw(&self, state: &WebState) -> Option<Arc<Documents>> {
        let fleet = state.fleet_now();
        let page = fleet.status_page.as_ref()?;
        let mut drawn = self.drawn.lock().await;
        let is_fresh = |last: &&Drawn| is_fresh(last.at.elapsed(), Arc::ptr_eq(&last.fleet, &fleet));
        if let Some(last) = drawn.as_ref().filter(is_fresh) {
            return Some(Arc::clone(&last.documents));
        }
        let snapshot = Snapshot::take(state, &fleet, page, Utc::now()).await;
        let documents = Arc::new(Documents::of(snapshot));
        *drawn = Some(Drawn { at: Instant::now(), fleet: Arc::clone(&fleet), documents: Arc::clone(&documents) });
        Some(documents)
    }
}

/// Whether what was drawn so long ago may be shown once more.
fn is_fresh(age: Duration, is_of_this_fleet: bool) -> bool {
    is_of_this_fleet && age < FRESH_FOR
}

impl Documents {
    fn of(snapshot: Snapshot) -> Self {
        const JSON: &str = "application/json";
        let bodies = summary::bodies(&snapshot);
        let json = |body: Result<String, serde_json::Error>| Document::new(JSON, body.unwrap_or_default());
        Self {
            page: Document::new("text/html; charset=utf-8", page::html(&snapshot)),
            feed: Document::new("application/atom+xml; charset=utf-8", feed::feed(&snapshot)),
            summary: json(serde_json::to_string(&bodies.summary)),
            status: json(serde_json::to_string(&bodies.status)),
            components: json(serde_json::to_string(&bodies.components)),
            incidents: json(serde_json::to_string(&bodies.incidents)),
            unresolved: json(serde_json::to_string(&bodies.unresolved)),
            snapshot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_sees_one_drawing_and_a_reload_is_seen_at_once() {
        let rows = [
            (0, true, true, "whoever comes with others"),
            (4_999, true, true, "and soon after them"),
            (5_000, true, false, "whoever comes later"),
            (0, false, false, "after a reload nobody sees what was shown before it"),
        ];
        for (ms, is_of_this_fleet, expected, sentence) in rows {
            assert_eq!(is_fresh(Duration::from_millis(ms), is_of_this_fleet), expected, "{sentence}");
        }
    }
}
