//! Whether sources go missing from a server's whole list of them (RETRIEVAL.md §3, check 8).

use crate::domain::outcome::Evidence;
use crate::domain::rules::ShrinksRule;
use crate::domain::sources::{SourcesLeft, SourcesSeen};

/// The evidence key under which an incident says how many sources were known.
pub(crate) const SOURCES_KNOWN: &str = "sources_known";

/// How many sources whole lists showed. What was known grows with the corpus and never shrinks by itself: that would learn
/// the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SourceCounts {
    latest: Option<u32>,
    /// The one before that.
    before: Option<u32>,
    known: u32,
    /// How many the lock had at the last beat; none where it had no number.
    pinned: Option<u32>,
}

/// Sources that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourcesMissing {
    pub(crate) now: u32,
    pub(crate) known: u32,
    /// Whether the lock says that, and no look showed as many.
    pub(crate) is_pinned: bool,
}

impl SourceCounts {
    /// Takes in how many a whole list holds. A count is known once two looks showed as many.
    pub(crate) fn see(&mut self, count: u32) {
        self.known = self.known.max(self.latest.map_or(0, |latest| latest.min(count)));
        self.before = self.latest.replace(count);
    }

    /// Takes over what another lock says: somebody approved that there are no more.
    pub(crate) fn follow(&mut self, pinned: Option<u32>) {
        if let (Some(_), Some(now)) = (self.pinned.filter(|was| pinned != Some(*was)), pinned) {
            self.known = self.known.min(now);
        }
        self.pinned = pinned;
    }

    /// Goes on from an incident that told of it.
    pub(crate) const fn restore(&mut self, known: u32) {
        self.known = known;
    }

    /// Whether the corpus is seen to be as large as it was: a source that is gone was taken out by itself. `pinned`: how many
    /// the lock has.
    pub(crate) fn holds(&self, rule: &ShrinksRule, pinned: Option<u32>) -> bool {
        let known = self.known.max(pinned.unwrap_or_default());
        let of = |(now, before): (u32, u32)| f64::from(now) >= f64::from(known.max(before)) * (1.0 - rule.by);
        rule.severity.is_some() && self.latest.zip(self.before).is_some_and(of)
    }

    /// Goes on from an incident that told of one that was taken out, while there were so many.
    pub(crate) const fn resume(&mut self, count: u32) {
        *self = Self { latest: Some(count), before: Some(count), known: count, pinned: None };
    }

    /// How many the last whole list held.
    pub(crate) const fn latest(&self) -> Option<u32> {
        self.latest
    }

    /// What is missing of what was seen or is pinned, where it is more than may be. A corpus that was cut before the first
    /// look shows by the lock alone.
    pub(crate) fn missing(&self, rule: &ShrinksRule, pinned: Option<u32>) -> Option<SourcesMissing> {
        let pinned = pinned.filter(|pinned| *pinned > self.known);
        let known = pinned.unwrap_or(self.known);
        let missing = SourcesMissing { now: self.latest?, known, is_pinned: pinned.is_some() };
        let is_much = f64::from(missing.now) < f64::from(missing.known) * (1.0 - rule.by);
        (rule.severity.is_some() && is_much).then_some(missing)
    }
}

impl SourcesMissing {
    pub(crate) fn said(self) -> String {
        format!("{} of {} sources are left", self.now, self.known)
    }

    pub(crate) fn evidence(self) -> Vec<Evidence> {
        let by = self.is_pinned.then(|| Evidence::new("sources_known_by", "monitors.lock"));
        let counts =
            [Evidence::new("sources", self.now.to_string()), Evidence::new(SOURCES_KNOWN, self.known.to_string())];
        counts.into_iter().chain(by).collect()
    }
}

/// How many sources there are, where that is known of all of them: by a walk that came to its end, or by a server that
/// counts for us beside the first page. A walk that was broken off counts nothing.
pub(crate) const fn whole_count(seen: &SourcesSeen) -> Option<u32> {
    match seen.left {
        None => Some(seen.count),
        Some(SourcesLeft::NotNeeded) => seen.total,
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Severity;

    #[test]
    fn sources_are_missing_or_not() {
        // Counts of looks in order; what is left of what was known after the last of them.
        type Row<'r> = (&'r [u32], Option<(u32, u32)>, &'r str);
        let rows: [Row<'_>; 8] = [
            (&[], None, "nobody looked"),
            (&[412], None, "one look says nothing yet"),
            (&[412, 412, 404], None, "less than 2 % may be tidying up"),
            (&[412, 412, 403], Some((403, 412)), "more than 2 %"),
            (&[412, 412, 0], Some((0, 412)), "all of them"),
            (&[412, 412, 500, 412], None, "a count that was seen once was never known"),
            (&[412, 412, 500, 510, 412], Some((412, 500)), "one that two looks showed was"),
            (&[412, 412, 300, 300, 300], Some((300, 412)), "nothing learns the damage"),
        ];
        for (counts, expected, sentence) in rows {
            let mut known = SourceCounts::default();
            counts.iter().for_each(|count| known.see(*count));
            let missing = known.missing(&ShrinksRule::STANDARD, None).map(|missing| (missing.now, missing.known));
            assert_eq!(missing, expected, "{sentence}");
            let off = ShrinksRule { severity: None, ..ShrinksRule::STANDARD };
            assert_eq!(known.missing(&off, None), None, "{sentence}: switched off");
            assert!(!known.holds(&off, None), "{sentence}: nobody says how much may go");
            let missing = known.missing(&ShrinksRule::STANDARD, None).is_some();
            assert!(
                !missing || !known.holds(&ShrinksRule::STANDARD, None),
                "{sentence}: it is not whole and in part at once"
            );
            let ticket = ShrinksRule { by: 0.5, severity: Some(Severity::Ticket) };
            assert!(known.missing(&ticket, None).is_none_or(|missing| missing.now == 0), "{sentence}: half may go");
        }
    }

    #[test]
    fn a_corpus_holds_where_two_looks_say_so() {
        let rows: [(&[u32], bool, &str); 5] = [
            (&[412], false, "one look says nothing yet"),
            (&[412, 411], true, "one of many was taken out"),
            (&[412, 300], false, "what one look showed is not known yet, and is gone all the same"),
            (&[412, 412, 300, 300], false, "nothing learns the damage"),
            (&[412, 412, 500], true, "it grew"),
        ];
        for (counts, expected, sentence) in rows {
            let mut known = SourceCounts::default();
            counts.iter().for_each(|count| known.see(*count));
            assert_eq!(known.holds(&ShrinksRule::STANDARD, None), expected, "{sentence}");
        }
        let mut resumed = SourceCounts::default();
        resumed.resume(412);
        assert!(resumed.holds(&ShrinksRule::STANDARD, None) && resumed.latest() == Some(412), "after a restart too");
    }

    #[test]
    fn a_corpus_that_was_cut_before_the_first_look_is_known_by_the_lock() {
        // Counts of looks; how many were known, and whether by the lock alone.
        type Row<'r> = (&'r [u32], Option<(u32, bool)>, &'r str);
        let rows: [Row<'_>; 5] = [
            (&[350], Some((412, true)), "cut before anybody looked"),
            (&[405], None, "less than 2 % may be tidying up"),
            (&[500], None, "it grew since it was pinned"),
            (&[500, 500, 430], Some((500, false)), "and what two looks showed is more than the lock"),
            (&[], None, "nobody looked"),
        ];
        for (counts, expected, sentence) in rows {
            let mut known = SourceCounts::default();
            counts.iter().for_each(|count| known.see(*count));
            let missing = known.missing(&ShrinksRule::STANDARD, Some(412));
            assert_eq!(missing.map(|missing| (missing.known, missing.is_pinned)), expected, "{sentence}");
        }
        let mut approved = SourceCounts::default();
        for (pinned, expected) in [(412, Some(412)), (350, None)] {
            approved.follow(Some(pinned));
            [412, 412, 350].iter().filter(|_| pinned == 412).for_each(|count| approved.see(*count));
            let missing = approved.missing(&ShrinksRule::STANDARD, Some(pinned));
            assert_eq!(missing.map(|missing| missing.known), expected, "another lock says that these are all");
        }
        let mut cut = SourceCounts::default();
        [350, 350].iter().for_each(|count| cut.see(*count));
        assert!(cut.holds(&ShrinksRule::STANDARD, None) && !cut.holds(&ShrinksRule::STANDARD, Some(412)));
    }

    #[test]
    fn a_list_that_was_read_in_part_counts_nothing() {
        let seen = |left, total| SourcesSeen { count: 100, total, left, ..SourcesSeen::default() };
        let rows = [
            (seen(None, None), Some(100), "read to its end"),
            (seen(None, Some(120)), Some(100), "what is there counts, not what is said"),
            (seen(Some(SourcesLeft::Failed), Some(120)), None, "a page failed"),
            (seen(Some(SourcesLeft::NotNeeded), Some(120)), Some(120), "the server counts for us"),
        ];
        for (seen, expected, sentence) in rows {
            assert_eq!(whole_count(&seen), expected, "{sentence}");
        }
    }
}
