//! How each fault looks from outside: a reference server over a generated corpus, asked by its public
//! tools, healthy first and then broken in one way after another.
//!
//! `SIGNATURES` is the list to extend: a line is a fault, its dose, and what must be seen of it.

use crate::data::judging::{self, FiguresRow};
use crate::lab::kinds::{Dose, Fault};

/// How far a hit rate may move and still count as kept: a question or two of 24.
const KEPT_WITHIN: f64 = 0.09;
/// The hit rate up to which a kind counts as lost.
const LOST_BELOW: f64 = 0.25;

/// What becomes of a kind's hit@5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As it was, within `KEPT_WITHIN`.
    Kept,
    /// Lower, by more than that.
    Lowered,
    /// Gone, up to `LOST_BELOW`.
    Lost,
    /// Nothing is said about it.
    Open,
}

/// A fault and how it looks.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// In words.
    pub what: &'static str,
    /// What is switched on, all at once.
    pub faults: &'static [(Fault, Dose)],
    /// Of every so many questions one is asked: 1 is all of them, more where each costs a wait.
    pub every: usize,
    /// hit@5 of keyword, meaning, mixed and self questions.
    pub hits: [Way; 4],
    /// Median RBO against the healthy run: least and most.
    pub rbo: (f64, f64),
    /// Median top-1 ratio: least and most.
    pub ratio: (f64, f64),
}

/// Kinds that `Signature::hits` speaks of, in its order.
pub const KINDS: [&str; 4] = ["keyword", "meaning", "mixed", "self"];
/// Any figure.
const ANY: (f64, f64) = (0.0, f64::INFINITY);

/// Every fault that changes what is found, and its look.
pub const SIGNATURES: &[Signature] = &[
    Signature {
        what: "wrong query model",
        faults: &[(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel))],
        every: 1,
        hits: [Way::Kept, Way::Lost, Way::Open, Way::Open],
        rbo: (0.0, 0.6),
        ratio: ANY,
    },
    Signature {
        what: "embedder down, another steps in",
        faults: &[(Fault::EmbedderDown, Dose::of(Fault::EmbedderDown).mode("fallback"))],
        every: 1,
        hits: [Way::Kept, Way::Lost, Way::Open, Way::Open],
        rbo: (0.0, 0.8),
        ratio: ANY,
    },
    Signature {
        what: "vector arm off",
        faults: &[(Fault::VectorArmOff, Dose::of(Fault::VectorArmOff))],
        every: 1,
        hits: [Way::Kept, Way::Lost, Way::Open, Way::Kept],
        rbo: (0.5, 0.95),
        ratio: ANY,
    },
    Signature {
        what: "vector arm off, no reranker",
        faults: &[
            (Fault::VectorArmOff, Dose::of(Fault::VectorArmOff)),
            (Fault::RerankerOff, Dose::of(Fault::RerankerOff)),
        ],
        every: 1,
        hits: [Way::Kept, Way::Lost, Way::Open, Way::Kept],
        rbo: ANY,
        ratio: (0.55, 0.65),
    },
    Signature {
        what: "keyword arm off",
        faults: &[(Fault::KeywordArmOff, Dose::of(Fault::KeywordArmOff))],
        every: 1,
        hits: [Way::Lowered, Way::Kept, Way::Open, Way::Kept],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "70 % of vectors unreachable",
        faults: &[(Fault::VectorsUnreachable, Dose::of(Fault::VectorsUnreachable).share(0.7).seed(1))],
        every: 1,
        hits: [Way::Kept, Way::Lowered, Way::Open, Way::Open],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "70 % of vectors zeroed",
        faults: &[(Fault::VectorsZeroed, Dose::of(Fault::VectorsZeroed).share(0.7).seed(1))],
        every: 1,
        hits: [Way::Kept, Way::Lowered, Way::Open, Way::Open],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "corpus −40 %",
        faults: &[(Fault::CorpusTruncated, Dose::of(Fault::CorpusTruncated).share(0.4).seed(1))],
        every: 1,
        hits: [Way::Lowered, Way::Lowered, Way::Open, Way::Lowered],
        rbo: (0.0, 0.9),
        ratio: ANY,
    },
    Signature {
        what: "newest 15 % of the sources missing",
        faults: &[(Fault::CorpusTruncated, Dose::of(Fault::CorpusTruncated).mode("newest").share(0.15))],
        every: 1,
        hits: [Way::Open, Way::Open, Way::Open, Way::Open],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "list cut to 1",
        faults: &[(Fault::KCut, Dose::of(Fault::KCut))],
        every: 1,
        hits: [Way::Open, Way::Open, Way::Open, Way::Open],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "RRF with k = 1, no reranker",
        faults: &[(Fault::RrfSteep, Dose::of(Fault::RrfSteep)), (Fault::RerankerOff, Dose::of(Fault::RerankerOff))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.5, 1.0),
        ratio: (1.9, 2.1),
    },
    Signature {
        what: "RRF from rank 0, no reranker",
        faults: &[
            (Fault::RrfZeroBased, Dose::of(Fault::RrfZeroBased)),
            (Fault::RerankerOff, Dose::of(Fault::RerankerOff)),
        ],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.95, 1.0),
        ratio: (1.3, 1.36),
    },
    Signature {
        what: "reranker off",
        faults: &[(Fault::RerankerOff, Dose::of(Fault::RerankerOff))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.5, 0.95),
        ratio: (0.55, 0.7),
    },
    Signature {
        what: "reranker reversed",
        faults: &[(Fault::RerankerReversed, Dose::of(Fault::RerankerReversed))],
        every: 1,
        hits: [Way::Lowered, Way::Lowered, Way::Lowered, Way::Lowered],
        rbo: (0.0, 0.5),
        ratio: ANY,
    },
    Signature {
        what: "reranker out of memory (`partial`)",
        faults: &[(Fault::RerankerFails, Dose::of(Fault::RerankerFails))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.5, 0.95),
        ratio: (0.55, 0.7),
    },
    Signature {
        what: "order shuffled",
        faults: &[(Fault::Shuffled, Dose::of(Fault::Shuffled))],
        every: 1,
        hits: [Way::Lowered, Way::Lowered, Way::Lowered, Way::Lowered],
        rbo: (0.0, 0.8),
        ratio: ANY,
    },
    Signature {
        what: "no list",
        faults: &[(Fault::EmptyResults, Dose::of(Fault::EmptyResults))],
        every: 1,
        hits: [Way::Lost, Way::Lost, Way::Lost, Way::Lost],
        rbo: (0.0, 0.0),
        ratio: ANY,
    },
    Signature {
        what: "scores + 0.3",
        faults: &[(Fault::ScoresOffset, Dose::of(Fault::ScoresOffset))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: ANY,
        ratio: ANY,
    },
    Signature {
        what: "chunks × 3",
        faults: &[(Fault::ChunksTripled, Dose::of(Fault::ChunksTripled))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.5, 0.95),
        ratio: ANY,
    },
    Signature {
        what: "chunks cut mid-sentence",
        faults: &[(Fault::ChunksMidSentence, Dose::of(Fault::ChunksMidSentence))],
        every: 1,
        hits: [Way::Open, Way::Open, Way::Open, Way::Open],
        rbo: (0.4, 0.9),
        ratio: ANY,
    },
    Signature {
        what: "half of the chunks empty",
        faults: &[(Fault::ChunksEmpty, Dose::of(Fault::ChunksEmpty).share(0.5).seed(1))],
        every: 1,
        hits: [Way::Lowered, Way::Open, Way::Open, Way::Lowered],
        rbo: (0.4, 0.9),
        ratio: ANY,
    },
    Signature {
        what: "chunks there twice",
        faults: &[(Fault::ChunksDuplicated, Dose::of(Fault::ChunksDuplicated))],
        every: 1,
        hits: [Way::Kept, Way::Kept, Way::Kept, Way::Kept],
        rbo: (0.6, 0.99),
        ratio: ANY,
    },
    Signature {
        what: "half of the sources garbled by extraction",
        faults: &[(Fault::TextGarbled, Dose::of(Fault::TextGarbled).share(0.5).seed(1))],
        every: 1,
        hits: [Way::Lowered, Way::Lowered, Way::Lowered, Way::Lowered],
        rbo: (0.2, 0.9),
        ratio: ANY,
    },
    Signature {
        what: "cache gives another question's answer",
        faults: &[(Fault::CacheFalseHit, Dose::of(Fault::CacheFalseHit).amount(0.0))],
        every: 1,
        hits: [Way::Lost, Way::Lost, Way::Lost, Way::Lost],
        rbo: (0.0, 0.3),
        ratio: ANY,
    },
    Signature {
        what: "pool saturated, empty lists",
        faults: &[(Fault::PoolSaturated, Dose::of(Fault::PoolSaturated))],
        every: 7,
        hits: [Way::Lost, Way::Lost, Way::Lost, Way::Lost],
        rbo: (0.0, 0.0),
        ratio: ANY,
    },
];

impl Signature {
    /// Whether the reranker is off besides: it would hide what the fused order shows.
    pub fn is_unranked(&self) -> bool {
        self.faults.len() > 1 && self.faults.iter().any(|(fault, _)| *fault == Fault::RerankerOff)
    }

    /// In which ways figures differ from this look; empty where they do not.
    pub fn differences(&self, healthy: &[FiguresRow], broken: &[FiguresRow]) -> Vec<String> {
        let mut differences = Vec::new();
        let hit = |rows: &[FiguresRow], kind| judging::of(rows, kind).and_then(|row| row.hit_at_5);
        for (kind, way) in KINDS.into_iter().zip(self.hits) {
            if way == Way::Open {
                continue;
            }
            let (Some(was), Some(is)) = (hit(healthy, kind), hit(broken, kind)) else {
                differences.push(format!("{}: no {kind} question was answered", self.what));
                continue;
            };
            let fits = match way {
                Way::Kept => (was - is).abs() <= KEPT_WITHIN,
                Way::Lowered => is < was - KEPT_WITHIN,
                Way::Lost => is <= LOST_BELOW,
                Way::Open => true,
            };
            if !fits {
                differences.push(format!("{}: hit@5 of {kind} was {was:.2} and is {is:.2}, not {way:?}", self.what));
            }
        }
        let all = judging::of(broken, "all");
        let figures = [
            ("median RBO", all.and_then(|row| row.median_rbo), self.rbo),
            ("top-1 ratio", all.and_then(|row| row.top1_ratio), self.ratio),
        ];
        for (name, figure, (least, most)) in figures {
            // Figures are compared as they are printed: the last digits of a sum are nobody's doing.
            let fits = figure.is_none_or(|figure| figure >= least - 0.005 && figure <= most + 0.005);
            if !fits {
                differences.push(format!("{}: {name} is {figure:?}, not {least} to {most}", self.what));
            }
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(hits: [f64; 4], rbo: f64, ratio: Option<f64>) -> Vec<FiguresRow> {
        let row = |kind, hit| FiguresRow {
            kind,
            asked: 24,
            failed: 0,
            hit_at_5: Some(hit),
            recall_at_5: None,
            mrr: None,
            ndcg_at_10: None,
            median_rbo: Some(rbo),
            top1_ratio: ratio,
        };
        KINDS.into_iter().zip(hits).chain([("all", hits[0])]).map(|(kind, hit)| row(kind, hit)).collect()
    }

    fn check(says: &str, broken: &[FiguresRow], expected: &[&str]) {
        let signature = Signature {
            what: "wrong model",
            faults: &[],
            every: 1,
            hits: [Way::Kept, Way::Lost, Way::Lowered, Way::Open],
            rbo: (0.0, 0.8),
            ratio: (0.5, 1.0),
        };
        let differences = signature.differences(&rows([1.0; 4], 1.0, Some(1.0)), broken);
        assert_eq!(differences.len(), expected.len(), "{says}: {differences:?}");
        for (difference, part) in differences.iter().zip(expected) {
            assert!(difference.contains(part), "{says}: {difference}");
        }
    }

    #[test]
    fn a_look_is_recognised_and_another_is_named() {
        check("as it says", &rows([0.96, 0.0, 0.8, 0.3], 0.4, Some(1.0)), &[]);
        check(
            "a kind that should be kept",
            &rows([0.8, 0.0, 0.8, 1.0], 0.4, Some(1.0)),
            &["keyword was 1.00 and is 0.80"],
        );
        check("a kind that should be lost", &rows([1.0, 0.5, 0.8, 1.0], 0.4, Some(1.0)), &["not Lost"]);
        check("a kind that should be lower", &rows([1.0, 0.0, 0.95, 1.0], 0.4, Some(1.0)), &["not Lowered"]);
        check("lists that did not move", &rows([1.0, 0.0, 0.8, 1.0], 0.9, Some(1.0)), &["median RBO"]);
        check("scores that moved", &rows([1.0, 0.0, 0.8, 1.0], 0.4, Some(59.0)), &["top-1 ratio"]);
        check("no score to compare", &rows([1.0, 0.0, 0.8, 1.0], 0.4, None), &[]);
        let unasked: Vec<FiguresRow> = rows([1.0, 0.0, 0.8, 1.0], 0.4, None).split_off(1);
        check("a kind that nobody answered", &unasked, &["no keyword question"]);
    }
}
