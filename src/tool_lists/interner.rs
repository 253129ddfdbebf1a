//! Lists of tools that several servers show, and the answers they come in: a fleet of replicas has one list ten thousand
//! times, and keeps it once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Arc, Weak};

use crate::domain::tools::Listing;
use parking_lot::Mutex;

/// Entries that are kept before those nobody holds any more are looked for.
const SWEPT_FROM: usize = 256;

/// Every list that somebody holds, by its hash.
#[derive(Debug, Default)]
pub(crate) struct ListingInterner {
    lists: Mutex<Interned<String, Listing>>,
}

/// Every answer that somebody holds, by its hash under a key of this process.
#[derive(Debug, Default)]
pub(crate) struct AnswerInterner {
    answers: Mutex<Interned<u64, Box<str>>>,
    keys: RandomState,
}

#[derive(Debug)]
struct Interned<K, T> {
    /// A [`Weak`] keeps what stands beside its counts: a text that nobody holds goes only where it is in a box of its own.
    known: HashMap<K, Weak<T>>,
    sweep_at: usize,
}

impl ListingInterner {
    /// Puts the list that another server showed in place of one that is the same.
    pub(crate) fn share(&self, listing: &mut Arc<Listing>) {
        // A list that is held by its monitor already was shared when it came.
        if Arc::strong_count(listing) > 1 {
            return;
        }
        let mut lists = self.lists.lock();
        match lists.find(&listing.hash, |known| *known == **listing) {
            Some(known) => *listing = known,
            None => lists.keep(listing.hash.clone(), listing),
        }
    }
}

impl AnswerInterner {
    /// The text that another server answered with, where it is the same.
    pub(crate) fn shared(&self, text: &str) -> Arc<Box<str>> {
        let key = self.keys.hash_one(text);
        let mut answers = self.answers.lock();
        if let Some(known) = answers.find(&key, |known| **known == *text) {
            return known;
        }
        let text = Arc::new(Box::from(text));
        answers.keep(key, &text);
        text
    }
}

impl<K: Eq + Hash, T> Interned<K, T> {
    /// The one that somebody holds, where it is the same: two may have one hash.
    fn find(&self, key: &K, is_same: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.known.get(key).and_then(Weak::upgrade).filter(|known| is_same(known))
    }

    fn keep(&mut self, key: K, one: &Arc<T>) {
        if self.known.len() >= self.sweep_at.max(SWEPT_FROM) {
            self.known.retain(|_, known| known.strong_count() > 0);
            self.sweep_at = self.known.len() * 2;
        }
        self.known.insert(key, Arc::downgrade(one));
    }
}

impl<K, T> Default for Interned<K, T> {
    fn default() -> Self {
        Self { known: HashMap::new(), sweep_at: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(hash: &str, tokens: u32) -> Arc<Listing> {
        Arc::new(Listing { hash: hash.to_owned(), tokens: Some(tokens), ..Listing::default() })
    }

    #[test]
    fn lists_that_are_the_same_in_everything_are_one() {
        let interner = ListingInterner::default();
        let (mut first, mut same, mut counted, mut other) = (list("a", 1), list("a", 1), list("a", 2), list("b", 1));
        for list in [&mut first, &mut same, &mut counted, &mut other] {
            interner.share(list);
        }
        assert!(Arc::ptr_eq(&first, &same), "one list of two servers");
        assert!(!Arc::ptr_eq(&first, &counted) && counted.tokens == Some(2), "another count is another list");
        assert_eq!(other.hash, "b");
    }

    #[test]
    fn answers_that_are_the_same_text_are_one() {
        let interner = AnswerInterner::default();
        let first = interner.shared("{}");
        assert!(Arc::ptr_eq(&first, &interner.shared("{}")), "one text of two servers");
        assert_eq!(&**interner.shared("[]"), "[]");
        // Whatever has the hash of another is kept as what it is.
        let key = interner.keys.hash_one("{}");
        interner.answers.lock().keep(key, &Arc::new(Box::from("{ }")));
        assert_eq!(&**interner.shared("{}"), "{}");
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let interner = ListingInterner::default();
        let held = list("held", 0);
        interner.share(&mut Arc::clone(&held));
        let mut kept = list("kept", 0);
        interner.share(&mut kept);
        for number in 0..10_000 {
            interner.share(&mut list(&number.to_string(), 0));
        }
        let lists = interner.lists.lock();
        assert!(lists.known.len() <= SWEPT_FROM, "{} of 10,000 lists", lists.known.len());
        assert!(lists.known["kept"].upgrade().is_some(), "and what is held is there");
        assert!(!lists.known.contains_key("held"), "one that its monitor held already is not looked up");
    }
}
