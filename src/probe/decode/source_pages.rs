//! A list of sources over its pages, as far as they came: with what to ask for the next one, or why nobody does.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::domain::monitor::Canary;
use crate::domain::quality::canary::expects;
use crate::domain::sources::{SOURCE_PAGES_MAX, SourcesLeft, SourcesSeen};
use crate::probe::decode::sources::{NextPage, SourcesPage};

/// Sources of one list: as many as twenty pages of a thousand have.
const SOURCES_MAX: usize = 20_000;
/// Bytes of one list over all its pages: what one answer may have.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The pages read so far.
#[derive(Debug)]
pub(crate) struct SourcesRead {
    pages: usize,
    bytes: usize,
    count: usize,
    /// Sources of the latest page that no earlier one had.
    fresh: usize,
    /// Every source so far, by what it is known again.
    marks: HashSet<u64>,
    names: HashSet<String>,
    cursors: Vec<String>,
    total: Option<u32>,
    newest: Option<DateTime<Utc>>,
    said: Option<DateTime<Utc>>,
    next: NextPage,
}

/// How it goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Onward {
    /// The next page is asked for with this.
    Ask(String),
    /// No further page is asked for; why there may be more, none: the list was read whole.
    End(Option<SourcesLeft>),
}

impl SourcesRead {
    /// The first page.
    pub(crate) fn new(page: SourcesPage, bytes: usize) -> Self {
        let mut read = Self {
            pages: 0,
            bytes: 0,
            count: 0,
            fresh: 0,
            marks: HashSet::new(),
            names: HashSet::new(),
            cursors: Vec::new(),
            total: None,
            newest: None,
            said: None,
            next: NextPage::None,
        };
        read.take(page, bytes);
        read
    }

    /// A further one, which was asked for with `cursor`.
    pub(crate) fn add(&mut self, cursor: String, page: SourcesPage, bytes: usize) {
        self.cursors.push(cursor);
        self.take(page, bytes);
    }

    fn take(&mut self, page: SourcesPage, bytes: usize) {
        // Equal ones on one page are several; on two pages they are one that was listed again.
        self.fresh = page.marks.iter().filter(|mark| !self.marks.contains(mark)).count();
        self.marks.extend(page.marks);
        self.names.extend(page.names);
        self.pages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.count += self.fresh;
        self.total = page.total.or(self.total);
        self.newest = self.newest.max(page.newest);
        self.said = self.said.max(page.said);
        self.next = page.next;
    }

    /// How to go on, where the tool `takes_cursor` or does not, and the server bears `pages_max` pages in all.
    pub(crate) fn onward(&self, takes_cursor: bool, pages_max: usize) -> Onward {
        Onward::End(Some(match &self.next {
            NextPage::None if self.missing() == 0 => return Onward::End(None),
            NextPage::None | NextPage::Unreachable => SourcesLeft::NotOffered,
            NextPage::Cursor(_) if !takes_cursor => SourcesLeft::NotOffered,
            NextPage::Cursor(cursor) if self.fresh == 0 || self.cursors.contains(cursor) => SourcesLeft::Repeated,
            NextPage::Cursor(_) if self.is_too_much() || self.needs_more_than(SOURCE_PAGES_MAX) => SourcesLeft::TooMany,
            NextPage::Cursor(_) if self.needs_more_than(pages_max) => SourcesLeft::Spared,
            NextPage::Cursor(cursor) => return Onward::Ask(cursor.clone()),
        }))
    }

    /// Sources that the server counts and that were not listed.
    fn missing(&self) -> usize {
        let total = self.total.map_or(0, |total| usize::try_from(total).unwrap_or(usize::MAX));
        total.saturating_sub(self.count)
    }

    fn is_too_much(&self) -> bool {
        self.count.saturating_add(self.missing()) > SOURCES_MAX || self.bytes >= LIST_BYTES_MAX
    }

    /// Whether so many pages will not do: a walk that cannot come to its end is not begun.
    fn needs_more_than(&self, pages_max: usize) -> bool {
        let a_page = self.count.div_ceil(self.pages).max(1);
        let at_least = self.missing().div_ceil(a_page).max(1);
        self.pages + at_least > pages_max
    }

    /// Canaries of which no source was listed, by id, of a list that was read whole. None where not one is: then its names
    /// are others than those of answers, and nothing can be said.
    pub(crate) fn unlisted(&self, canaries: &[Canary]) -> Option<Vec<String>> {
        let is_listed = |canary: &&Canary| self.names.iter().any(|name| expects(canary, name));
        let (listed, unlisted): (Vec<_>, Vec<_>) =
            canaries.iter().filter(|canary| !canary.expect.is_empty()).partition(is_listed);
        (!listed.is_empty()).then(|| unlisted.into_iter().map(|canary| canary.id.clone()).collect())
    }

    /// What was seen where nobody reads on.
    pub(crate) fn alone(&self) -> SourcesSeen {
        self.seen(match self.onward(true, SOURCE_PAGES_MAX) {
            Onward::Ask(_) => Some(SourcesLeft::NotNeeded),
            Onward::End(left) => left,
        })
    }

    /// What was seen; `left` says why there may be more.
    pub(crate) fn seen(&self, left: Option<SourcesLeft>) -> SourcesSeen {
        let known = match left {
            None => self.newest.or(self.said),
            Some(_) => self.newest.max(self.said),
        };
        SourcesSeen {
            count: u32::try_from(self.count).unwrap_or(u32::MAX),
            total: self.total,
            last_indexed_at: known,
            newest_said: self.said.is_some(),
            left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u32) -> DateTime<Utc> {
        format!("2026-11-{day:02}T00:00:00Z").parse().unwrap()
    }

    /// Sources by number, each indexed on the first; `next`: the cursor to what follows.
    fn page(marks: std::ops::Range<u64>, total: Option<u32>, next: Option<&str>) -> SourcesPage {
        SourcesPage {
            marks: marks.collect(),
            names: Vec::new(),
            newest: Some(at(1)),
            said: None,
            total,
            next: next.map_or(NextPage::None, |next| NextPage::Cursor(next.to_owned())),
        }
    }

    fn ask(cursor: &str) -> Onward {
        Onward::Ask(cursor.to_owned())
    }

    #[test]
    fn the_first_page_says_whether_a_second_one_is_asked_for() {
        let left = |left| Onward::End(Some(left));
        let of = |total, next| SourcesRead::new(page(0..50, total, next), 100);
        let rows = [
            ("a list on one page", of(None, None), true, 20, Onward::End(None)),
            ("and counted", of(Some(50), None), true, 20, Onward::End(None)),
            ("counted lower than it is", of(Some(7), None), true, 20, Onward::End(None)),
            ("the first of several", of(None, Some("a")), true, 20, ask("a")),
            ("and counted: nineteen more will do", of(Some(1_000), Some("a")), true, 20, ask("a")),
            ("twenty more are not begun", of(Some(1_001), Some("a")), true, 20, left(SourcesLeft::TooMany)),
            ("a total that is the page's", of(Some(50), Some("a")), true, 20, ask("a")),
            ("cut without a word of how to go on", of(Some(51), None), true, 20, left(SourcesLeft::NotOffered)),
            ("the tool declares no cursor", of(None, Some("a")), false, 20, left(SourcesLeft::NotOffered)),
            ("a server that is spared", of(None, Some("a")), true, 1, left(SourcesLeft::Spared)),
            (
                "two pages are no use where three are needed",
                of(Some(150), Some("a")),
                true,
                2,
                left(SourcesLeft::Spared),
            ),
            (
                "nothing, and more of it",
                SourcesRead::new(page(0..0, None, Some("a")), 100),
                true,
                20,
                left(SourcesLeft::Repeated),
            ),
            (
                "as large as an answer may be",
                SourcesRead::new(page(0..1, None, Some("a")), LIST_BYTES_MAX),
                true,
                20,
                left(SourcesLeft::TooMany),
            ),
        ];
        for (sentence, read, takes_cursor, pages_max, expected) in rows {
            assert_eq!(read.onward(takes_cursor, pages_max), expected, "{sentence}");
        }
        let unreachable = SourcesPage { next: NextPage::Unreachable, ..page(0..2, None, None) };
        assert_eq!(SourcesRead::new(unreachable, 9).onward(true, 20), left(SourcesLeft::NotOffered));
    }

    #[test]
    fn a_walk_ends_with_the_list_or_where_it_leads_in_a_circle() {
        let mut read = SourcesRead::new(page(0..50, Some(120), Some("a")), 100);
        read.add("a".to_owned(), page(50..100, Some(121), Some("b")), 100);
        assert_eq!(read.onward(true, 20), ask("b"));
        let last = SourcesPage { newest: Some(at(9)), ..page(100..121, Some(121), None) };
        read.add("b".to_owned(), last, 100);
        assert_eq!(read.onward(true, 20), Onward::End(None), "whole, by the count that was told last");
        let seen = read.seen(None);
        assert_eq!((seen.count, seen.last_indexed_at, seen.knows_newest()), (121, Some(at(9)), true));

        let second = |next: Option<&str>, marks| {
            let mut read = SourcesRead::new(page(0..50, None, Some("a")), 100);
            read.add("a".to_owned(), page(marks, None, next), 100);
            read.onward(true, 20)
        };
        let circle = Onward::End(Some(SourcesLeft::Repeated));
        assert_eq!(second(Some("a"), 50..100), circle, "the cursor came again");
        assert_eq!(second(Some("b"), 0..50), circle, "the page came again");
        assert_eq!(second(Some("b"), 49..51), ask("b"), "one new source is news");
        assert_eq!(second(None, 0..0), Onward::End(None), "an empty page at the end is an end");
        let mut overlapping = SourcesRead::new(page(0..50, Some(100), Some("a")), 100);
        overlapping.add("a".to_owned(), page(49..99, Some(100), None), 100);
        assert_eq!(overlapping.onward(true, 20), Onward::End(Some(SourcesLeft::NotOffered)), "one was never listed");
    }

    #[test]
    fn pages_without_end_are_left() {
        let mut read = SourcesRead::new(page(0..1, None, Some("0")), 100);
        let mut asked = 1;
        while let Onward::Ask(cursor) = read.onward(true, SOURCE_PAGES_MAX) {
            asked += 1;
            read.add(cursor, page(asked..asked + 1, None, Some(&asked.to_string())), 100);
        }
        assert_eq!(asked, 20);
        assert_eq!(read.onward(true, SOURCE_PAGES_MAX), Onward::End(Some(SourcesLeft::TooMany)));
    }

    #[test]
    fn the_servers_word_counts_for_what_was_not_read() {
        let said = SourcesPage { said: Some(at(5)), ..page(0..50, None, Some("a")) };
        let read = SourcesRead::new(said, 100);
        let part = read.seen(Some(SourcesLeft::NotNeeded));
        assert_eq!((part.last_indexed_at, part.knows_newest()), (Some(at(5)), true));
        assert_eq!(read.seen(None).last_indexed_at, Some(at(1)), "of a whole list the sources' own dates do");
    }
}
