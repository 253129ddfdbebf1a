//! Two questions that look alike, asked as users ask (RETRIEVAL.md §3, check 9): whether a cache gives both one list.
//!
//! One list alone proves nothing: sources that answer both are no mistake. So it is held against what the index gives to
//! each, or where the server knows no way past its caches, against what was pinned of each.

use crate::domain::answer::Answer;
use crate::domain::monitor::Monitor;
use crate::domain::near_miss::NearMiss;
use crate::domain::pinned::PinnedCanary;
use crate::domain::quality::ranking::Ranking;

/// What two questions should get.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rightly<'a> {
    /// What the index gives to each.
    Indexed([&'a Ranking; 2]),
    /// What was pinned of each.
    Pinned([&'a PinnedCanary; 2]),
}

/// Whether two answers are one that belongs to one of both questions; none where nobody can tell. `similar`: lists that
/// overlap less are others, 0 to 1.
pub(crate) fn mixed_up(answers: [&Answer; 2], rightly: Rightly<'_>, similar: f64) -> Option<bool> {
    let [one, other] = answers.map(|answer| Ranking::of(answer.sources()));
    if one != other {
        return Some(false);
    }
    if one.is_empty() {
        return None;
    }
    let is_mixed_up = match rightly {
        Rightly::Indexed([of_one, of_other]) => of_one.rbo(of_other) < similar,
        // A list that was pinned of neither, or of both, is of an index that changed, or of no near miss.
        Rightly::Pinned([of_one, of_other]) => holds(of_one, &one) != holds(of_other, &one),
    };
    is_mixed_up.then_some(true)
}

fn holds(pinned: &PinnedCanary, list: &Ranking) -> bool {
    pinned.lists.iter().any(|accepted| Ranking::of(accepted.iter().map(String::as_str)) == *list)
}

/// What is pinned of both canaries of a pair, where it tells them apart.
pub(crate) fn pinned<'m>(monitor: &'m Monitor, pair: &NearMiss) -> Option<[&'m PinnedCanary; 2]> {
    let lock = monitor.pinned.as_deref()?;
    let of = |id: &str| monitor.canaries.iter().find(|canary| canary.id == id)?.pinned(lock);
    let both = [of(&pair.canary)?, of(&pair.other)?];
    let is_shared = |list: &Vec<String>| holds(both[1], &Ranking::of(list.iter().map(String::as_str)));
    (!both[0].lists.is_empty() && !both[1].lists.is_empty() && !both[0].lists.iter().any(is_shared)).then_some(both)
}

/// What a monitor lacks for it; none where it is armed. `knows_way`: its caches may be passed, so that the index says what
/// belongs to whom.
pub(crate) fn lacks(monitor: &Monitor, knows_way: bool) -> Option<String> {
    if monitor.near_misses.is_empty() {
        return Some(
            "needs `pair` on a canary: the id of one that asks nearly the same and gets another answer".to_owned(),
        );
    }
    let is_told_apart = || monitor.near_misses.iter().any(|pair| pinned(monitor, pair).is_some());
    let needs =
        "needs a way past caches, or an entry in monitors.lock in which both canaries of a pair have other lists";
    (!knows_way && !is_told_apart()).then(|| needs.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::Hit;

    fn answer(sources: &str) -> Answer {
        let hit = |source: &str| Hit { source: source.to_owned(), score: None, chars: 1, excerpt: String::new() };
        Answer { hits: sources.split_whitespace().map(hit).collect(), ..Answer::default() }
    }

    #[test]
    fn one_list_for_two_questions_is_anothers_answer_or_is_not() {
        // The two answers, what the index gives, or what is pinned, of each; mixed up, apart or unknown.
        let rows = [
            ("a b", "a b", ["a b", "x y"], [true, true], "anothers list, by index and pins"),
            ("x y", "x y", ["a b", "x y"], [true, true], "whichever of both asked first"),
            ("a b", "x y", ["a b", "x y"], [false, false], "two lists"),
            ("a b", "a c", ["a b", "a b"], [false, false], "two lists, whatever the index says"),
        ];
        let ranking = |list: &str| Ranking::of(list.split_whitespace());
        let pin = |list: &str| PinnedCanary {
            lists: vec![list.split_whitespace().map(str::to_owned).collect()],
            ..PinnedCanary::default()
        };
        for (one, other, rightly, expected, sentence) in rows {
            let (rankings, pins) = (rightly.map(ranking), rightly.map(pin));
            let answers = [answer(one), answer(other)];
            let judged = [Rightly::Indexed([&rankings[0], &rankings[1]]), Rightly::Pinned([&pins[0], &pins[1]])]
                .map(|rightly| mixed_up([&answers[0], &answers[1]], rightly, 0.8));
            let expected = expected.map(Some);
            assert_eq!(judged, expected, "{sentence}");
        }
        let unknown = [
            ("a b", ["a b", "a b"], "the index gives both one list: no near miss"),
            ("", ["a b", "x y"], "nothing is nobody's list"),
        ];
        for (list, rightly, sentence) in unknown {
            let (rankings, pins) = (rightly.map(ranking), rightly.map(pin));
            let one = answer(list);
            for rightly in [Rightly::Indexed([&rankings[0], &rankings[1]]), Rightly::Pinned([&pins[0], &pins[1]])] {
                assert_eq!(mixed_up([&one, &one], rightly, 0.8), None, "{sentence}");
            }
        }
        let (pins, one) = (["a b", "x y"].map(pin), answer("n m"));
        let judged = mixed_up([&one, &one], Rightly::Pinned([&pins[0], &pins[1]]), 0.8);
        assert_eq!(judged, None, "a list of neither may be the index's");
    }
}
