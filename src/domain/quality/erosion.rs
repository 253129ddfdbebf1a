//! Erosion: the hit rate of a kind of canaries falls slowly, and no single answer looks broken (RETRIEVAL.md §3, check 4).
//!
//! Each kind has an e-detector over one observation a beat: the share of its asks in turn that were right, where one that
//! was wrong counts only once it is still wrong at the third look, and so late. While the chance of a right answer is at
//! least `m0`, each `1 + λ(m0 − x)` is 1 on average or less, so that the sum of all bets begun so far exceeds `c` once in
//! `c` observations at most, whatever depends on what. `E ← max(1, E)·(1 + λ(m0 − x))` begins the best bet anew where the
//! last one lost; three sizes of bet share the capital, since nobody knows beforehand how deep a fall will be.
//! Sources: J. Shin, A. Ramdas, A. Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", New
//! England Journal of Statistics in Data Science 2 (2024), where `max(1, E)` is the e-CUSUM; bets on a bounded mean:
//! I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024).
//!
//! `m0` is the lower 99 % bound over the first [`BASELINE_ASKS`] answers of a kind, less [`MARGIN`]; it never moves after
//! that, since what adapts by itself would learn the damage. Another set of canaries of that kind begins a new one.
//!
//! It is over when the kind's last [`RECENT`] observations are back at the baseline's bound.

use crate::domain::calls::TWICE_EVERY;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::quality::blips::FALSE_PAGES_MAX;
use crate::domain::quality::bound::{ONE_SIDED_99, lower};
use crate::domain::quality::streak::AskRate;

/// Answers of a kind before it is judged.
pub(crate) const BASELINE_ASKS: u32 = 200;
/// A fall of the hit rate by so much is none.
const MARGIN: f64 = 0.05;
/// Sizes of bets, as parts of the greatest one that a right answer cannot ruin.
const BETS: [f64; 3] = [0.05, 0.2, 0.5];
/// Capital is counted up to here, far above any limit.
const CAPITAL_MAX: f64 = 1e12;
/// Observations that say whether a rate is back.
pub(crate) const RECENT: u32 = u64::BITS;
/// A kind whose baseline is lower than this fails as it is: there is nothing to erode.
const BASELINE_LEAST: f64 = 0.5;

/// Every kind of canaries that was asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Erosion {
    kinds: Vec<KindErosion>,
}

/// One kind's detector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KindErosion {
    pub kind: CanaryKind,
    /// Of the canaries that the baseline was taken with.
    pub canaries: u64,
    /// Answers of the baseline; it stands from [`BASELINE_ASKS`] on.
    pub asked: u32,
    /// Those of them that were right.
    pub right: u32,
    /// What each size of bet is worth.
    pub capital: [f64; BETS.len()],
    /// The last observations, the newest lowest: 1 where every answer was right.
    pub recent: u64,
    /// Whether the capital reached the limit and the rate is not back.
    pub is_eroded: bool,
}

/// The answers of one kind that a beat decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KindAnswers {
    pub right: u32,
    pub asked: u32,
}

/// What [`Erosion`] says of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Watch {
    /// Not armed: so few answers so far.
    Learning(u32),
    /// Never armed: the baseline's bound is too low to fall from.
    Hopeless(f64),
    /// Armed with this bound of the hit rate.
    Armed(f64),
    /// Below it, with how many of the last observations were right.
    Eroded { bound: f64, recent: u32 },
}

impl Erosion {
    /// The limit of the capital: one alarm in as many observations as a monitor makes in 100 years, over all its kinds.
    /// `harvests`: whether sentences out of answers are a further kind, asked in one beat of [`TWICE_EVERY`] at most.
    pub(crate) fn limit(rate: AskRate, kinds: usize, harvests: bool) -> f64 {
        let harvested = if harvests { 1.0 / f64::from(TWICE_EVERY) } else { 0.0 };
        let a_beat = rate.per_beat.min(kinds as f64) + harvested;
        (rate.beats * a_beat / FALSE_PAGES_MAX).max(1.0)
    }

    /// Takes in what a beat decided of a kind. `learns`: whether it may enter a baseline, which nothing known to be broken
    /// does.
    pub(crate) fn observe(
        &mut self,
        canaries: &[Canary],
        kind: CanaryKind,
        seen: KindAnswers,
        learns: bool,
        limit: f64,
    ) {
        let at = self.kinds.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
            self.kinds.push(KindErosion::new(kind, definitions(canaries, kind)));
            self.kinds.len() - 1
        });
        self.kinds[at].observe(seen, learns, limit);
    }

    /// Takes in a beat's answers of every kind that is known, where it brought any; nothing of it may open anything.
    pub(crate) fn observe_known(&mut self, answers: impl Fn(CanaryKind) -> KindAnswers) {
        for known in &mut self.kinds {
            let answers = answers(known.kind);
            if answers.asked > 0 {
                known.observe(answers, true, f64::INFINITY);
            }
        }
    }

    /// Forgets kinds whose canaries are others now. `harvests`: whether sentences out of answers are asked back.
    pub(crate) fn keep_of(&mut self, canaries: &[Canary], harvests: bool) {
        let is_asked = |kind: CanaryKind| kind != CanaryKind::Harvested || harvests;
        self.kinds.retain(|known| is_asked(known.kind) && known.canaries == definitions(canaries, known.kind));
    }

    /// Every kind that was asked.
    pub(crate) fn kinds(&self) -> &[KindErosion] {
        &self.kinds
    }

    /// Puts a remembered kind back.
    pub(crate) fn restore(&mut self, kind: KindErosion) {
        self.kinds.push(kind);
    }

    /// Kinds whose rate fell and is not back.
    pub(crate) fn eroded(&self) -> impl Iterator<Item = &KindErosion> {
        self.kinds.iter().filter(|kind| kind.is_eroded)
    }
}

impl KindErosion {
    fn new(kind: CanaryKind, canaries: u64) -> Self {
        Self { kind, canaries, asked: 0, right: 0, capital: [1.0; BETS.len()], recent: 0, is_eroded: false }
    }

    /// The hit rate that is promised: the lower bound of the baseline; none before there is one.
    pub(crate) fn bound(&self) -> Option<f64> {
        let is_known = self.asked >= BASELINE_ASKS;
        is_known.then(|| lower(f64::from(self.right), f64::from(self.asked), ONE_SIDED_99))
    }

    /// What the bets of all sizes are worth together, each begun anew where it lost.
    pub(crate) fn worth(&self) -> f64 {
        worth(&self.capital)
    }

    /// Whether the next answer is news: the baseline is not known yet, the rate fell, or some bet against it stands.
    pub(crate) fn waits(&self) -> bool {
        self.bound().is_none() || self.is_eroded || self.capital.iter().any(|capital| *capital > 1.0)
    }

    /// How it stands.
    pub(crate) fn watch(&self) -> Watch {
        match self.bound() {
            None => Watch::Learning(self.asked),
            Some(bound) if bound < BASELINE_LEAST => Watch::Hopeless(bound),
            Some(bound) if self.is_eroded => Watch::Eroded { bound, recent: self.recent.count_ones() },
            Some(bound) => Watch::Armed(bound),
        }
    }

    fn observe(&mut self, seen: KindAnswers, learns: bool, limit: f64) {
        let Some(bound) = self.bound() else {
            if learns {
                self.asked += seen.asked;
                self.right += seen.right;
                // Nothing fell before it was known how high it stood.
                self.recent = u64::MAX;
            }
            return;
        };
        if bound < BASELINE_LEAST || seen.asked == 0 {
            return;
        }
        self.recent = self.recent << 1 | u64::from(seen.right == seen.asked);
        if self.is_eroded {
            let back = f64::from(self.recent.count_ones()) / f64::from(RECENT);
            if back >= bound {
                (self.is_eroded, self.capital) = (false, [1.0; BETS.len()]);
            }
            return;
        }
        bet(&mut self.capital, bound - MARGIN, f64::from(seen.right) / f64::from(seen.asked));
        self.is_eroded = worth(&self.capital) >= limit;
    }
}

/// One observation, 0 to 1, against the mean that is promised at least.
fn bet(capital: &mut [f64; BETS.len()], promised: f64, observed: f64) {
    for (capital, bet) in capital.iter_mut().zip(BETS) {
        let stake = bet / (1.0 - promised);
        *capital = (capital.max(1.0) * (1.0 + stake * (promised - observed))).min(CAPITAL_MAX);
    }
}

fn worth(capital: &[f64; BETS.len()]) -> f64 {
    capital.iter().sum::<f64>() / BETS.len() as f64
}

/// FNV-1a over the definitions of a kind's canaries, in the order of the file.
fn definitions(canaries: &[Canary], kind: CanaryKind) -> u64 {
    let hashes = canaries.iter().filter(|canary| canary.kind == kind).map(|canary| &canary.definition_hash);
    let bytes = hashes.flat_map(|hash| hash.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finaliser of splitmix64: the same draws on every machine.
    struct Draw(u64);

    impl Draw {
        fn chance(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
        }
    }

    fn learnt(right: u32) -> KindErosion {
        let mut kind = KindErosion::new(CanaryKind::Keyword, 0);
        kind.observe(KindAnswers { right, asked: BASELINE_ASKS }, true, f64::MAX);
        kind
    }

    fn one(is_right: bool) -> KindAnswers {
        KindAnswers { right: u32::from(is_right), asked: 1 }
    }

    /// Observations until the alarm, at a hit rate.
    fn run_length(kind: &KindErosion, limit: f64, rate: f64, draw: &mut Draw) -> u64 {
        let mut kind = kind.clone();
        (1..)
            .find(|_| {
                kind.observe(one(draw.chance() < rate), false, limit);
                kind.is_eroded
            })
            .unwrap()
    }

    #[test]
    fn nothing_that_holds_what_was_promised_is_told_more_than_once_in_the_limit() {
        // At the very edge of what is promised, where alarms are the most frequent that are still false.
        let kind = learnt(190);
        let promised = kind.bound().unwrap() - MARGIN;
        for (limit, runs) in [(1e3, 400), (1e4, 100)] {
            let mut draw = Draw(19);
            let total: u64 = (0..runs).map(|_| run_length(&kind, limit, promised, &mut draw)).sum();
            let mean = total as f64 / f64::from(runs);
            // The bound is a proof; the mean of so many runs is within a tenth of the truth, and the draws are fixed.
            println!("one alarm in {mean} observations at the edge of what is promised, limit {limit}");
            assert!(mean > limit, "one alarm in {mean} observations, where {limit} is promised");
            assert!(mean < limit * 20.0, "a detector that never speaks is none: {mean} for {limit}");
        }
    }

    #[test]
    fn a_deeper_fall_is_told_sooner() {
        let kind = learnt(200);
        // Two a beat of four kinds at a beat a minute.
        let limit = Erosion::limit(AskRate { beats: 525_600.0, per_beat: 2.0, canaries: 8.0 }, 4, false);
        let mut draw = Draw(7);
        let means: Vec<f64> = [0.0, 0.5, 0.7, 0.8]
            .into_iter()
            .map(|rate| (0..200).map(|_| run_length(&kind, limit, rate, &mut draw)).sum::<u64>() as f64 / 200.0)
            .collect();
        println!("observations to the alarm at hit rates 0, .5, .7, .8: {means:?}, limit {limit}");
        assert!(means.windows(2).all(|pair| pair[0] < pair[1]), "{means:?}");
        assert!((means[0] - 11.0).abs() < 1e-9, "without draws there is no doubt: {means:?}");
    }

    #[test]
    fn a_kind_is_watched_once_it_is_known() {
        let mut kind = KindErosion::new(CanaryKind::Meaning, 0);
        for asks in 0..BASELINE_ASKS {
            assert_eq!(kind.watch(), Watch::Learning(asks));
            kind.observe(one(true), true, 1e3);
        }
        assert!(matches!(kind.watch(), Watch::Armed(bound) if (bound - 0.974).abs() < 1e-3), "{:?}", kind.watch());
        assert!(matches!(learnt(80).watch(), Watch::Hopeless(_)), "what fails anyway cannot fall");
        let mut broken = KindErosion::new(CanaryKind::Meaning, 0);
        broken.observe(one(false), false, 1e3);
        assert_eq!(broken.watch(), Watch::Learning(0), "what is known to be broken is no baseline");
        (0..5).for_each(|_| kind.observe(one(false), true, 1e3));
        assert!(matches!(kind.watch(), Watch::Eroded { .. }), "{:?}", kind.watch());
        let before = (kind.asked, kind.right);
        let back = (1..).find(|_| {
            kind.observe(one(true), true, 1e3);
            !kind.is_eroded
        });
        // One of the five may still be among the last 64: 63 of 64 are above the bound.
        assert_eq!((back, (kind.asked, kind.right)), (Some(63), before), "back, by its own baseline");
        assert!(worth(&kind.capital) <= 1.0, "and it begins anew");
    }

    #[test]
    fn other_canaries_begin_a_new_baseline() {
        let canaries = |hash: &str| {
            let mut all = vec![canary("a", CanaryKind::Keyword)];
            all.push(canary("b", CanaryKind::Mixed));
            all[0].definition_hash = hash.to_owned();
            all
        };
        let mut erosion = Erosion::default();
        let all = canaries("one");
        for kind in [CanaryKind::Keyword, CanaryKind::Mixed] {
            erosion.observe(&all, kind, one(true), true, 1e3);
        }
        erosion.keep_of(&all, false);
        assert_eq!(erosion.kinds().len(), 2);
        erosion.keep_of(&canaries("another"), false);
        assert_eq!(erosion.kinds().iter().map(|known| known.kind).collect::<Vec<_>>(), [CanaryKind::Mixed]);
    }

    fn canary(id: &str, kind: CanaryKind) -> Canary {
        Canary {
            id: id.to_owned(),
            query: "q".to_owned(),
            kind,
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: id.to_owned(),
        }
    }
}
