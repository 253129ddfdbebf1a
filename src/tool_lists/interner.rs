//! Lists of tools that several servers show: a fleet of replicas has one list ten thousand times, and keeps it once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::domain::tools::Listing;
use parking_lot::Mutex;

/// Entries that are kept before those nobody holds any more are looked for.
const SWEPT_FROM: usize = 256;

/// Every list that somebody holds, by its hash.
#[derive(Debug, Default)]
pub(crate) struct ListingInterner {
    lists: Mutex<InternedLists>,
}

#[derive(Debug, Default)]
struct InternedLists {
    known: HashMap<String, Weak<Listing>>,
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
        if let Some(known) = lists.known.get(&listing.hash).and_then(Weak::upgrade)
            && known == *listing
        {
            *listing = known;
            return;
        }
        if lists.known.len() >= lists.sweep_at.max(SWEPT_FROM) {
            lists.known.retain(|_, list| list.strong_count() > 0);
            lists.sweep_at = lists.known.len() * 2;
        }
        lists.known.insert(listing.hash.clone(), Arc::downgrade(listing));
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
