//! A canary's list as it was accepted beside the list as it is, with what moved.

use std::collections::HashMap;

use crate::domain::answer::Variant;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::quality::canary::expects;
use crate::domain::quality::moved::{Is, Moved, Was, side_by_side};
use crate::domain::wording::counted;
use crate::store::read::asked::AskedLine;
use crate::web::format;

/// Characters shown of a source's name; the whole stands in its title, up to the second bound.
const NAME_CHARS_MAX: usize = 72;
const TITLE_CHARS_MAX: usize = 400;

/// Which two lists are put side by side, by their numbers where they are not pinned.
#[derive(Debug, Clone)]
pub(crate) struct TwoLists<'a> {
    canary: &'a Canary,
    then: Then<'a>,
    now: &'a AskedLine,
}

#[derive(Debug, Clone)]
enum Then<'a> {
    Pinned { list: &'a [String], place: String },
    Right(&'a AskedLine),
    Unknown,
}

/// The two lists, ready to be drawn.
#[derive(Debug)]
pub(crate) struct MovedPart {
    pub canary: String,
    /// Whether it is unfolded to begin with.
    pub open: bool,
    /// Where the first list is from.
    pub then: String,
    /// Where the second is from.
    pub now: String,
    /// What moved, in a few words.
    pub summary: String,
    pub rows: Vec<MovedRow>,
}

/// One rank of both.
#[derive(Debug)]
pub(crate) struct MovedRow {
    pub rank: usize,
    /// What stood there, and what stands there.
    pub places: [Option<MovedPlace>; 2],
}

#[derive(Debug)]
pub(crate) struct MovedPlace {
    pub name: String,
    pub title: String,
    /// Whether the canary expects it.
    pub expected: bool,
    /// What became of it, such as `↑2`, and the same in words; empty where there is nothing to say.
    pub mark: String,
    pub said: String,
    /// Its class: `gone`, `new`, `up`, `down` or `same`.
    pub class: &'static str,
}

impl<'a> TwoLists<'a> {
    /// Of a canary that was answered wrongly, and rightly before; none where it is judged by its text alone. `monitor`: with
    /// the lock in force, whose list is the one that was accepted.
    pub(crate) fn of(
        monitor: &'a Monitor,
        canary: &'a Canary,
        last_right: Option<&'a AskedLine>,
        now: &'a AskedLine,
    ) -> Option<Self> {
        // Other words are another question: their list is compared with none.
        let is_itself = |ask: &&AskedLine| ask.shape.variant != Variant::Reworded;
        if canary.expect.is_empty() || !is_itself(&now) {
            return None;
        }
        let pinned = monitor.pinned.as_ref().and_then(|pinned| {
            let list = canary.pinned(pinned)?.lists.first()?;
            Some(Then::Pinned { list, place: format!("{}:{}", pinned.place.0, pinned.place.1) })
        });
        let then = pinned.or_else(|| last_right.filter(is_itself).map(Then::Right)).unwrap_or(Then::Unknown);
        Some(Self { canary, then, now })
    }

    /// The numbers of the lists that have to be read.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        let then = if let Then::Right(ask) = &self.then { ask.list } else { None };
        then.into_iter().chain(self.now.list)
    }

    /// Put side by side. `lists`: by their numbers; one that was forgotten is not known.
    pub(crate) fn drawn(&self, lists: &HashMap<i64, Vec<String>>, open: bool) -> MovedPart {
        let known = |ask: &AskedLine| ask.list.and_then(|number| lists.get(&number)).map(Vec::as_slice);
        let clock = |ask: &AskedLine| format::absolute(ask.at);
        let (then, then_said) = match &self.then {
            Then::Pinned { list, place } => (Some(*list), format!("accepted in {place}")),
            Then::Right(ask) => (known(ask), format!("last right answer, {}", clock(ask))),
            Then::Unknown => (None, "no right answer in this range".to_owned()),
        };
        // An answer without a list is an empty one.
        let now = known(self.now).unwrap_or_default();
        let is_known = then.is_some();
        let ranks = side_by_side(then.unwrap_or_default(), now);
        let of_then = |was: &Was<'_>| self.place(was.source, if was.is_gone { gone() } else { NOTHING });
        let of_now = |is: &Is<'_>| self.place(is.source, if is_known { mark(is.moved) } else { NOTHING });
        let rows = ranks.iter().enumerate().map(|(nth, (was, is))| MovedRow {
            rank: nth + 1,
            places: [was.as_ref().map(of_then), is.as_ref().map(of_now)],
        });
        MovedPart {
            canary: self.canary.id.clone(),
            open,
            then: then_said,
            now: format!("{}, {}", if now.is_empty() { "nothing" } else { "wrong answer" }, clock(self.now)),
            summary: if is_known { self.summary(&ranks) } else { "the list now".to_owned() },
            rows: rows.collect(),
        }
    }

    fn summary(&self, ranks: &[(Option<Was<'_>>, Option<Is<'_>>)]) -> String {
        let was = || ranks.iter().enumerate().filter_map(|(nth, (was, _))| Some((nth + 1, was.as_ref()?)));
        let is = || ranks.iter().filter_map(|(_, is)| is.as_ref());
        let lost = was().find(|(_, was)| was.is_gone && expects(self.canary, was.source));
        let gone = was().filter(|(_, was)| was.is_gone).count();
        let new = is().filter(|is| is.moved == Moved::New).count();
        let moved = is().filter(|is| matches!(is.moved, Moved::Up(_) | Moved::Down(_))).count();
        let of = counted(was().count(), "source", "sources");
        let lost = lost.map(|(rank, was)| format!("{} gone from rank {rank}; ", short(was.source, NAME_CHARS_MAX)));
        format!("{}of {of} {gone} gone, {moved} moved, {new} new", lost.unwrap_or_default())
    }

    fn place(&self, source: &str, (class, mark, said): Mark) -> MovedPlace {
        MovedPlace {
            name: short(source, NAME_CHARS_MAX),
            title: short(source, TITLE_CHARS_MAX),
            expected: expects(self.canary, source),
            mark,
            said,
            class,
        }
    }
}

/// A class, a mark, and the mark in words.
type Mark = (&'static str, String, String);
const NOTHING: Mark = ("", String::new(), String::new());

fn gone() -> Mark {
    ("gone", "gone".to_owned(), String::new())
}

fn mark(moved: Moved) -> Mark {
    match moved {
        Moved::Stayed => ("same", "=".to_owned(), "where it was".to_owned()),
        Moved::Up(places) => ("up", format!("↑{places}"), format!("{places} up")),
        Moved::Down(places) => ("down", format!("↓{places}"), format!("{places} down")),
        Moved::New => ("new", "new".to_owned(), String::new()),
    }
}

/// A name's first characters, with a mark where there are more.
fn short(name: &str, chars_max: usize) -> String {
    match name.char_indices().nth(chars_max) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::domain::answer::{CacheWord, Turn, Variant};
    use crate::domain::monitor::CanaryKind;
    use crate::domain::secret::{Address, Secret};
    use crate::store::values::past::AskShape;

    fn ask(verdict: &'static str, list: Option<i64>) -> AskedLine {
        let shape = AskShape {
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            fresh_connection: false,
            verdict,
            reason: None,
            rank: None,
            cache: CacheWord::Unsaid,
        };
        AskedLine { at: DateTime::UNIX_EPOCH, canary: "c".into(), shape, list }
    }

    #[test]
    fn lists_say_what_they_are_of_and_what_moved() {
        let monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        let canary = Canary { expect: vec!["a.md".to_owned()], ..Canary::undeclared("c", "?", CanaryKind::Meaning) };
        let list = |sources: &[&str]| sources.iter().map(|source| (*source).to_owned()).collect::<Vec<_>>();
        let long = "x".repeat(500);
        let lists = HashMap::from([(1, list(&["a.md#2", "b.md", "c.md"])), (2, list(&["c.md", "b.md", &long]))]);
        let rows = [
            (
                Some(1),
                Some(2),
                "a.md gone from rank 1; of 3 sources 1 gone, 1 moved, 1 new",
                "wrong answer, ",
                "two lists",
            ),
            (
                Some(1),
                None,
                "a.md gone from rank 1; of 3 sources 3 gone, 0 moved, 0 new",
                "nothing, ",
                "an empty answer",
            ),
            (None, Some(2), "the list now", "wrong answer, ", "no right answer is known"),
            (Some(9), Some(2), "the list now", "wrong answer, ", "the list was forgotten"),
        ];
        for (right, wrong, summary, now, sentence) in rows {
            let right = right.map(|list| ask("right", Some(list)));
            let wrong = ask("wrong", wrong);
            let part = TwoLists::of(&monitor, &canary, right.as_ref(), &wrong).unwrap().drawn(&lists, false);
            assert_eq!(part.summary, summary, "{sentence}");
            assert!(part.now.starts_with(now), "{sentence}: {}", part.now);
            let mut names = part.rows.iter().flat_map(|row| row.places.iter().flatten());
            assert!(names.all(|place| place.name.chars().count() <= NAME_CHARS_MAX + 1), "{sentence}: bounded");
        }
        let by_text = Canary { expect: Vec::new(), ..canary };
        let wrong = ask("wrong", Some(2));
        assert!(TwoLists::of(&monitor, &by_text, None, &wrong).is_none(), "nothing is expected, nothing is lost");
    }
}
