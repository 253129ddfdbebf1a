//! What a probe's answers say of who gave them, and which of them belong together.

use crate::domain::answer::{Answer, Ask, Variant};
use crate::domain::observation::Observation;
use crate::domain::pinned::Relation;

impl Observation {
    /// Whether the index answered an ask of this probe, as far as that can be told; where none answered, whether it would
    /// have.
    pub fn reached_index(&self, ask: &Ask) -> bool {
        let answer = ask.result.as_ref().and_then(|result| result.as_ref().ok());
        let knows_way = self.tools.as_ref().is_some_and(|tools| tools.fresh.is_some());
        answer.map(|answer| answer.cache).unwrap_or_default().says_index(ask.variant, knows_way)
    }

    /// Whether an ask is the second of two in the same words and the same way, of which both reached the index: it says
    /// whether the list is the same, and nothing else.
    pub fn is_second(&self, nth: usize) -> bool {
        self.first_of(nth).is_some()
    }

    /// Both answers of each question that was asked twice.
    pub fn asked_twice(&self) -> impl Iterator<Item = (&Answer, &Answer)> {
        let answer = |nth: usize| self.asks[nth].result.as_ref()?.as_ref().ok();
        (0..self.asks.len()).filter_map(move |nth| Some((answer(self.first_of(nth)?)?, answer(nth)?)))
    }

    /// A canary's own answer and that to its altered question, both of the index, with the relation that is between them
    /// where all is well.
    pub fn asked_otherwise(&self) -> Option<(Relation, &Answer, &Answer)> {
        let again = self.altered.as_deref().filter(|ask| self.reached_index(ask))?;
        let is_own = |ask: &&Ask| ask.canary == again.canary && ask.variant == again.variant && self.reached_index(ask);
        let own = self.asks.iter().filter(is_own).find_map(|ask| ask.result.as_ref()?.as_ref().ok())?;
        let answer = again.result.as_ref()?.as_ref().ok()?;
        Some((Relation::of_turn(again.turn)?, own, answer))
    }

    /// Answers to a canary's very question that came from caches, as far as that can be told.
    pub fn from_caches(&self) -> impl Iterator<Item = (&Ask, &Answer)> {
        let answered = self.asks.iter().filter_map(|ask| Some((ask, ask.result.as_ref()?.as_ref().ok()?)));
        answered.filter(|(ask, _)| ask.variant != Variant::Reworded && !self.reached_index(ask))
    }

    /// A canary's answer to who asks plainly, whoever gave it, and the index's; none where one of the two is missing.
    pub fn asked_both_ways(&self, canary: &str) -> Option<(&Answer, &Answer)> {
        let by = |variant: Variant| {
            let ask = self.asks.iter().find(|ask| ask.canary == canary && ask.variant == variant)?;
            Some((ask, ask.result.as_ref()?.as_ref().ok()?))
        };
        let (_, plain) = by(Variant::Plain)?;
        let (_, index) = by(Variant::Fresh).filter(|(ask, _)| self.reached_index(ask))?;
        Some((plain, index))
    }

    fn first_of(&self, nth: usize) -> Option<usize> {
        let is_comparable =
            |ask: &&Ask| ask.result.is_some() && ask.variant != Variant::Reworded && self.reached_index(ask);
        let again = self.asks.get(nth).filter(is_comparable)?;
        let is_first =
            |ask: &&Ask| ask.canary == again.canary && ask.variant == again.variant && self.reached_index(ask);
        self.asks[..nth].iter().position(|ask| ask.result.is_some() && is_first(&ask))
    }
}
