//! How the lists of `discover:` stand, and what people say of those that are held.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::domain::action::Action;
use crate::domain::discovery::target::Target;

/// Readings whose changes are remembered.
pub const CHANGES_MAX: usize = 50;

/// How one list stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListingView {
    /// What is watched because of it.
    pub watched: usize,
    /// Ids among them that are gone from it and stay since they fail.
    pub gone: Vec<String>,
    /// Ids among them whose server never worked, and that tell nobody until it does.
    pub never_worked: Vec<String>,
    /// Ids that it names no longer, and that nobody has let go; empty: nothing is held.
    pub held: Vec<String>,
    /// Since when, UTC; none: nothing is held.
    pub held_since: Option<DateTime<Utc>>,
    /// What it names and what cannot be watched, a line each with the reason; the first of them.
    pub refused: Vec<String>,
    /// How many those are.
    pub refused_count: usize,
    /// Whether nothing was taken from it.
    pub is_empty: bool,
    /// How many of them were taken from it, and the file in force has no place for them.
    pub left_out: usize,
    /// When reading it was last tried, UTC; none: not since Serin started.
    pub tried_at: Option<DateTime<Utc>>,
    /// When it was last read well, UTC; none: not since Serin started.
    pub read_at: Option<DateTime<Utc>>,
    /// Why it could not be read when that was tried last; none: it could.
    pub unread: Option<String>,
    /// Why what is watched because of it could not be kept on disk when that was tried last; none: it could.
    pub unkept: Option<String>,
    /// What came and went since Serin started, the newest first; [`CHANGES_MAX`] at most.
    pub changes: VecDeque<ListingChange>,
}

/// What one reading changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingChange {
    /// When, UTC.
    pub at: DateTime<Utc>,
    /// What is watched since.
    pub came: Ids,
    /// What is not watched any more.
    pub went: Ids,
    /// What is gone from the list and watched on, since it fails.
    pub stays: Ids,
}

/// The first ids of some, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ids {
    /// [`Ids::NAMED_MAX`] at most.
    pub named: Vec<String>,
    /// All of them.
    pub count: usize,
}

impl Ids {
    /// Ids named of one change.
    pub const NAMED_MAX: usize = 10;

    /// Takes the first ones.
    pub fn of<'i>(ids: impl Iterator<Item = &'i String>) -> Self {
        ids.fold(Self::default(), |mut found, id| {
            if found.count < Self::NAMED_MAX {
                found.named.push(id.clone());
            }
            found.count += 1;
            found
        })
    }

    /// The first ones, and how many more; none where there is none.
    pub fn line(&self) -> Option<String> {
        let (named, more) = (self.named.join(", "), self.count - self.named.len());
        (self.count > 0).then(|| if more == 0 { named } else { format!("{named} and {more} more") })
    }
}

impl ListingChange {
    /// What differs of what is watched before and after.
    pub fn between(before: &BTreeMap<String, Target>, after: &BTreeMap<String, Target>, at: DateTime<Utc>) -> Self {
        let is_gone = |targets: &BTreeMap<String, Target>, id: &String| {
            targets.get(id).is_some_and(|target| target.gone_since.is_some())
        };
        Self {
            at,
            came: Ids::of(after.keys().filter(|id| !before.contains_key(*id))),
            went: Ids::of(before.keys().filter(|id| !after.contains_key(*id))),
            stays: Ids::of(after.keys().filter(|id| is_gone(after, id) && !is_gone(before, id))),
        }
    }
}

impl ListingView {
    /// What stands for the ids that are held, 16 hexadecimal digits; none: nothing is.
    pub fn held_mark(&self) -> Option<String> {
        let digest = Sha256::digest(self.held.join("\n").as_bytes());
        (!self.held.is_empty()).then(|| hex::encode(&digest[..8]))
    }

    /// What it lost at once and nobody has let go; none: nothing is held.
    pub fn lost(&self) -> Option<String> {
        let ids = Ids::of(self.held.iter()).line()?;
        Some(format!("lists {} fewer than before: {ids} are watched on", self.held.len()))
    }

    /// What it names and nobody watches, where that is more than its rules leave out; none: it is not.
    pub fn unwatched(&self) -> Option<String> {
        let first = self.refused.first()?;
        match () {
            () if self.left_out > 0 => Some(format!("{} of what it names is left out: {first}", self.left_out)),
            () if self.is_empty => Some(format!("none of the {} it names is watched: {first}", self.refused_count)),
            () => None,
        }
    }

    /// Why it could not be read or kept when that was tried last, or what of it nobody watches; none: all is well.
    pub fn trouble(&self) -> Option<String> {
        let unread = self.unread.as_ref().map(|why| format!("{why}; what is known of it counts on"));
        let all: Vec<String> = [self.unkept.clone(), unread, self.unwatched()].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Takes down what a reading changed, unless it changed nothing.
    pub fn changed(&mut self, change: ListingChange) {
        if change.came.count + change.went.count + change.stays.count > 0 {
            self.changes.push_front(change);
            self.changes.truncate(CHANGES_MAX);
        }
    }
}

/// Why what a list names no longer is not let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotLetGo {
    /// It names all again, or somebody else let them go.
    NothingHeld,
    /// It lost others since.
    Others,
}

/// What is kept of a list on disk.
#[derive(Debug)]
struct KeptText {
    text: Arc<str>,
    /// What is about to be kept in its place.
    next: Option<Arc<str>>,
}

/// All of them, by the source's id.
#[derive(Debug, Default)]
pub struct Listings {
    views: Mutex<BTreeMap<String, ListingView>>,
    /// By the action's id.
    asked: Mutex<BTreeMap<String, Action>>,
    kept: Mutex<BTreeMap<String, KeptText>>,
    /// Something was asked for.
    pub wake: Notify,
}

impl Listings {
    /// How each stands, by id.
    pub fn all(&self) -> BTreeMap<String, ListingView> {
        self.views.lock().clone()
    }

    /// Whether a source names this monitor no longer, and nobody has let it go.
    pub fn is_held(&self, source: &str, monitor: &str) -> bool {
        self.views.lock().get(source).is_some_and(|view| view.held.iter().any(|held| held == monitor))
    }

    /// Says how one stands; whether that is another than before, but for when it was read and tried.
    pub fn put(&self, source: &str, view: ListingView) -> bool {
        let mut views = self.views.lock();
        let before = views.insert(source.to_owned(), view.clone());
        before.is_none_or(|before| ListingView { read_at: view.read_at, tried_at: view.tried_at, ..before } != view)
    }

    /// Forgets those that are not declared any more.
    pub fn keep(&self, is_declared: impl Fn(&str) -> bool) {
        self.views.lock().retain(|source, _| is_declared(source));
        self.kept.lock().retain(|source, _| is_declared(source));
    }

    /// What a list names no longer and somebody may let go. `seen`: the [`ListingView::held_mark`] that they saw.
    ///
    /// # Errors
    /// Where nothing is held there, or others than were seen: nobody lets go what they never saw.
    pub fn may_let_go(&self, source: &str, seen: Option<&str>) -> Result<Vec<String>, NotLetGo> {
        let views = self.views.lock();
        let view = views.get(source).ok_or(NotLetGo::NothingHeld)?;
        let mark = view.held_mark().ok_or(NotLetGo::NothingHeld)?;
        if seen.is_some_and(|seen| seen != mark) {
            return Err(NotLetGo::Others);
        }
        Ok(view.held.clone())
    }

    /// Says what is about to be kept of one on disk: it counts there as well as what is kept.
    pub fn will_keep(&self, source: &str, text: &Arc<str>) {
        if let Some(kept) = self.kept.lock().get_mut(source) {
            kept.next = Some(Arc::clone(text));
        }
    }

    /// Says what is kept of one on disk from now on: no other text counts there.
    pub fn keeps(&self, source: &str, text: &Arc<str>) {
        self.kept.lock().insert(source.to_owned(), KeptText { text: Arc::clone(text), next: None });
    }

    /// Whether a text is what is kept of one; so is any where nothing is known yet.
    pub fn is_kept(&self, source: &str, text: &[u8]) -> bool {
        let is_it = |kept: &Arc<str>| kept.as_bytes() == text;
        self.kept.lock().get(source).is_none_or(|kept| is_it(&kept.text) || kept.next.as_ref().is_some_and(is_it))
    }

    /// Hands on what somebody asked for, to whoever reads lists.
    pub fn hand(&self, action: Action) {
        self.asked.lock().insert(action.id.clone(), action);
        self.wake.notify_one();
    }

    /// What was asked for since this was last looked at.
    pub fn asked(&self) -> Vec<Action> {
        std::mem::take(&mut *self.asked.lock()).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_watches_is_trouble_where_it_should_be() {
        let rows = [
            (false, 0, 0, None, "all is watched"),
            (true, 0, 0, None, "a list of none"),
            (false, 0, 3, None, "some that its rules leave out, before the others are in force"),
            (true, 0, 3, Some("none of the 3 it names is watched: why"), "all of them"),
            (false, 2, 3, Some("2 of what it names is left out: why"), "what the file has no place for"),
        ];
        for (is_empty, left_out, refused_count, expected, sentence) in rows {
            let refused = (refused_count > 0).then(|| "why".to_owned()).into_iter().collect();
            let view = ListingView { is_empty, left_out, refused, refused_count, ..ListingView::default() };
            assert_eq!(view.unwatched().as_deref(), expected, "{sentence}");
            assert_eq!(view.trouble().as_deref(), expected, "{sentence}");
        }
    }
}
