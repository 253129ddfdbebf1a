//! Two lists of sources side by side: what of the one became what in the other. Nothing is judged by it; people read it.

use crate::domain::quality::ranking::{DEPTH, distinct};

/// What became of a source from one list to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Where it was.
    Stayed,
    /// So many places nearer to the top.
    Up(usize),
    /// So many places further down.
    Down(usize),
    /// Not among the first ones before.
    New,
}

/// A source of the list as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Was<'a> {
    pub(crate) source: &'a str,
    /// Whether it is not among the first ones any more.
    pub(crate) is_gone: bool,
}

/// A source of the list as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Is<'a> {
    pub(crate) source: &'a str,
    pub(crate) moved: Moved,
}

/// One rank of both lists; a list that is shorter has nothing there.
pub(crate) type Rank<'a> = (Option<Was<'a>>, Option<Is<'a>>);

/// The first [`DEPTH`] distinct sources of both lists, rank by rank. Sources are compared and not their chunks, so that a
/// `#fragment` does not count, and what has no name is left out, as in [`crate::domain::quality::ranking::Ranking`].
pub(crate) fn side_by_side<'a>(then: &'a [String], now: &'a [String]) -> Vec<Rank<'a>> {
    let names = |list: &'a [String]| distinct(list.iter().map(String::as_str), DEPTH);
    let (then, now) = (names(then), names(now));
    let place = |list: &[&str], source: &str| list.iter().position(|known| *known == source);
    let was = |nth: usize| {
        let source = *then.get(nth)?;
        Some(Was { source, is_gone: place(&now, source).is_none() })
    };
    let is = |nth: usize| {
        let source = *now.get(nth)?;
        let moved = match place(&then, source) {
            None => Moved::New,
            Some(before) if before > nth => Moved::Up(before - nth),
            Some(before) if before < nth => Moved::Down(nth - before),
            Some(_) => Moved::Stayed,
        };
        Some(Is { source, moved })
    };
    (0..then.len().max(now.len())).map(|nth| (was(nth), is(nth))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line a rank: what stood there, with `gone` where it is lost, and what stands there with how it moved.
    fn said(then: &str, now: &str) -> String {
        let list = |sources: &str| -> Vec<String> { sources.split_whitespace().map(str::to_owned).collect() };
        let (then, now) = (list(then), list(now));
        let rank = |(was, is): Rank<'_>| {
            let was =
                was.map_or_else(String::new, |was| format!("{}{}", was.source, if was.is_gone { "-" } else { "" }));
            let is = is.map_or_else(String::new, |is| match is.moved {
                Moved::Stayed => format!("{}=", is.source),
                Moved::Up(places) => format!("{}↑{places}", is.source),
                Moved::Down(places) => format!("{}↓{places}", is.source),
                Moved::New => format!("{}+", is.source),
            });
            format!("{was}|{is}")
        };
        side_by_side(&then, &now).into_iter().map(rank).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_source_says_where_it_came_from() {
        let rows = [
            ("a b c", "a b c", "a|a= b|b= c|c=", "nothing moved"),
            ("a b c", "c a b", "a|c↑2 b|a↓1 c|b↓1", "the last one came first"),
            ("a b c", "x a b", "a|x+ b|a↓1 c-|b↓1", "a new one pushed the last one out"),
            ("a b", "x y", "a-|x+ b-|y+", "another list altogether"),
            ("a b c", "", "a-| b-| c-|", "nothing comes back"),
            ("", "a", "|a+", "nothing was known before"),
            ("a b c", "a", "a|a= b-| c-|", "a list that is cut"),
            ("a#1 a#2 b", "a#7 b#9", "a|a= b|b=", "renumbered chunks are no move"),
            (
                "a b c d e f g h i j k",
                "k a b c d e f g h i j",
                "a|k+ b|a↓1 c|b↓1 d|c↓1 e|d↓1 f|e↓1 g|f↓1 h|g↓1 i|h↓1 j-|i↓1",
                "beyond the tenth nobody looks",
            ),
        ];
        for (then, now, expected, sentence) in rows {
            assert_eq!(said(then, now), expected, "{sentence}");
        }
    }
}
