//! The answer to tools/list as it came last, and what was made of it: one that is the same byte for byte is not read
//! again, since nearly all of them are.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::observation::ToolsSeen;
use crate::domain::protocol::Era;
use crate::domain::tools::Listing;
use crate::tool_lists::interner::AnswerInterner;
use crate::tool_lists::known::KnownLists;

/// Bytes of an answer that is remembered: a few dozen tools. A longer one is read each time.
pub(crate) const REMEMBERED_BYTES_MAX: usize = 64 * 1024;

/// What is remembered of one declaration's server. Only a list that came twice is, and no longer than it stands.
#[derive(Debug, Default)]
pub(crate) struct ListingMemory {
    last: Mutex<Option<Arc<ReadListing>>>,
    /// Texts of other servers.
    answers: Arc<AnswerInterner>,
}

/// An answer that was read, whole on one page.
#[derive(Debug)]
pub(crate) struct ReadListing {
    pub(crate) era: Era,
    /// The result as it came; one text for all servers that answer the same.
    pub(crate) answer: Arc<Box<str>>,
    /// What it was held against.
    pub(crate) accepted: Option<Arc<Listing>>,
    pub(crate) seen: ToolsSeen,
    /// Why clients have to leave the search tool out, where they have to.
    pub(crate) dropped: Option<String>,
    /// Whether it lacks what the modern era demands of a result that may be kept.
    pub(crate) lacks_marks: bool,
    /// Whether the search tool wants arguments in headers too.
    pub(crate) mirrors_arguments: bool,
}

impl ListingMemory {
    pub(crate) fn new(answers: Arc<AnswerInterner>) -> Self {
        Self { last: Mutex::default(), answers }
    }

    /// The last one, where these lists are still those that it was held against.
    pub(crate) fn last(&self, lists: &KnownLists) -> Option<Arc<ReadListing>> {
        let latest = lists.latest.as_ref()?;
        let last = self.last.lock();
        last.as_ref().filter(|last| Arc::ptr_eq(latest, &last.seen.listing) && last.was_held_against(lists)).cloned()
    }

    /// Remembers this one, or none.
    pub(crate) fn keep(&self, read: Option<ReadListing>) {
        *self.last.lock() = read.map(Arc::new);
    }

    /// An answer as it is remembered.
    pub(super) fn shared(&self, answer: &str) -> Arc<Box<str>> {
        self.answers.shared(answer)
    }
}

impl ReadListing {
    fn was_held_against(&self, lists: &KnownLists) -> bool {
        match (&self.accepted, &lists.accepted) {
            (None, None) => true,
            (Some(then), Some(now)) => Arc::ptr_eq(then, now),
            _ => false,
        }
    }

    /// Whether this is the same answer.
    pub(crate) fn is(&self, era: Era, answer: &str) -> bool {
        self.era == era && **self.answer == *answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(hash: &str) -> Arc<Listing> {
        Arc::new(Listing { hash: hash.to_owned(), ..Listing::default() })
    }

    #[test]
    fn a_list_is_recognised_only_where_nothing_else_can_come_of_it() {
        let (seen, accepted, same_hash) = (listing("a"), listing("b"), listing("a"));
        let memory = ListingMemory::default();
        let lists = |accepted: Option<&Arc<Listing>>, latest: Option<&Arc<Listing>>| KnownLists {
            accepted: accepted.cloned(),
            latest: latest.cloned(),
        };
        assert!(memory.last(&lists(None, Some(&seen))).is_none(), "nothing is remembered at first");
        memory.keep(Some(ReadListing {
            era: Era::Modern,
            answer: memory.shared(r#"{"tools":[]}"#),
            accepted: Some(Arc::clone(&accepted)),
            seen: ToolsSeen { listing: Arc::clone(&seen), ..ToolsSeen::default() },
            dropped: None,
            lacks_marks: false,
            mirrors_arguments: false,
        }));
        let rows = [
            (Some(&accepted), Some(&seen), true, "the very lists it was held against"),
            (None, Some(&seen), false, "none is accepted any more"),
            (Some(&seen), Some(&seen), false, "another one was accepted"),
            (Some(&accepted), None, false, "nobody remembers a list"),
            (Some(&accepted), Some(&accepted), false, "another one came last"),
            (Some(&accepted), Some(&same_hash), false, "one read back from elsewhere is looked at once more"),
        ];
        for (accepted, latest, expected, sentence) in rows {
            assert_eq!(memory.last(&lists(accepted, latest)).is_some(), expected, "{sentence}");
        }
        let last = memory.last(&lists(Some(&accepted), Some(&seen))).unwrap();
        assert!(last.is(Era::Modern, r#"{"tools":[]}"#));
        assert!(!last.is(Era::Legacy, r#"{"tools":[]}"#), "what clients drop differs by era");
        assert!(!last.is(Era::Modern, r#"{"tools":[] }"#), "another text is another answer");
        memory.keep(None);
        assert!(memory.last(&lists(Some(&accepted), Some(&seen))).is_none(), "and forgotten");
    }
}
