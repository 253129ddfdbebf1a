//! Which part of a search is broken, as far as that shows from outside (RETRIEVAL.md §3, "Diagnosis").
//!
//! It is decided on what is the same on all servers: which kinds of questions lost their sources and which kept them,
//! whether lists got shorter, and how far the sources are still those of before. Ratios of scores are no part of it: with a
//! reranker on, a vector arm that is off shows a ratio of 1.00, and without one of a half (§1.8).
//!
//! Where two causes look the same, both are named: [`PAIRS`] has all of them, with how a person tells them apart.

use crate::domain::monitor::CanaryKind;
use crate::domain::quality::look::{Overlap, median};
use crate::domain::reason::FailureReason;

/// A kind counts as lost as a whole only where so many were asked: one may be a document that was edited.
const LOST_MIN: usize = 2;
/// Lost canaries of all kinds together before missing sources are named.
const LOST_OF_ALL_MIN: usize = 2;
/// A kind is lost in part from a quarter on.
const PART: usize = 4;
/// Lists of questions by words that are still answered overlap by more than this where an arm is gone, and by less where it
/// brings noise: medians of 1.00 and .34 on our server, .86 and .43 on a plain one (all kinds together).
const NOISE_BELOW: f64 = 0.5;
/// Questions of a kind of which one may find its source by chance: among a hundred sources, five drawn at random hold a given
/// one in 5 %, so of eight questions some find theirs in a third of all cases.
const CHANCE_MIN: usize = 6;
/// Where no order is drawn anew, sources that are missing leave this much of the others' lists at least: of a corpus less
/// 40 % a median of .42 (RETRIEVAL.md §3).
const STEADY_ABOVE: f64 = 0.3;
/// Sets that are so alike hold the same results.
const SAME_SET: f64 = 0.6;
/// Canaries that kept their source, before chunks are said to be cut anew; and how many of them have to show it.
const RECUT_MIN: usize = 6;
const RECUT_SHARE: f64 = 0.8;
/// Canaries of other kinds that all keep their source, so that sources can hardly be missing; and of which the lists say
/// whether sources are.
const OTHERS_KEPT_MIN: usize = 8;
/// What vectors find stays where words alone bring nothing, and goes where sources do: of questions in other words the lists
/// are alike as sets by a median of 1.00 there, and of .25 to .67 here.
const VECTORS_STAY: f64 = 0.75;
/// Where the index has holes all lists lose sources, whoever kept the one that is asked for: medians of .38 to .50, where a
/// reranker that is gone leaves .75 and a corpus that grew by a third 1.00.
const TORN_BELOW: f64 = 0.6;

/// What one canary that was asked since the fault began says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symptom {
    pub(crate) kind: CanaryKind,
    /// Whether its source was lost.
    pub(crate) is_lost: bool,
    /// Whether nothing at all was found.
    pub(crate) is_empty: bool,
    /// Whether the answer is a text: another one does not say how far its sources are others.
    pub(crate) is_text: bool,
    /// Results now ÷ results before; none where nothing is known.
    pub(crate) results: Option<f64>,
    /// How alike its sources are to what was accepted; none where nothing is known.
    pub(crate) overlap: Option<Overlap>,
    /// Whether its first result is of the same source and of another length; none where that cannot be told.
    pub(crate) is_recut: Option<bool>,
    /// Of a lost one: whether the source that made it right stands in some other canary's list. None: not known.
    pub(crate) source_elsewhere: Option<bool>,
}

/// Two causes that cannot be told apart from outside for sure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) reasons: [FailureReason; 2],
    /// By what a person knows each of them.
    pub(crate) known_by: [&'static str; 2],
}

/// All pairs there are.
pub(crate) const PAIRS: [Pair; 4] = [
    Pair {
        reasons: [FailureReason::VectorArmDown, FailureReason::EmbeddingMismatch],
        known_by: [
            "the server's log has errors or timeouts of the vector search, or its vectors are missing or zero",
            "a stored chunk and a fresh embedding of its own text have a cosine near 0, where 0.99 is right",
        ],
    },
    Pair {
        reasons: [FailureReason::KeywordArmDown, FailureReason::CorpusTruncated],
        known_by: [
            "the lost sources are all listed, and the full-text index finds nothing or holds no rows",
            "the lost sources are missing from the server's list of sources, or have fewer chunks",
        ],
    },
    Pair {
        reasons: [FailureReason::CorpusTruncated, FailureReason::IndexUnreachableVectors],
        known_by: [
            "the lost sources are missing from the server's list of sources, or have fewer chunks",
            "the lost sources are listed with all their chunks, and an exact scan of the vectors finds them",
        ],
    },
    Pair {
        reasons: [FailureReason::EmbeddingMismatch, FailureReason::RerankerChanged],
        known_by: [
            "a stored chunk and a fresh embedding of its own text have a cosine near 0, where 0.99 is right",
            "asked without its reranker the server finds the lost sources",
        ],
    },
];

/// What is named.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    /// The cause, the likelier one where there are two.
    pub(crate) reason: FailureReason,
    /// The other one, where it cannot be told apart.
    pub(crate) or_else: Option<FailureReason>,
}

impl Named {
    pub(super) const fn surely(reason: FailureReason) -> Self {
        Self { reason, or_else: None }
    }

    const fn likelier(reason: FailureReason, or_else: FailureReason) -> Self {
        Self { reason, or_else: Some(or_else) }
    }

    /// Each reason with how a person knows it, where there are two.
    pub(crate) fn known_by(&self) -> impl Iterator<Item = (FailureReason, &'static str)> {
        let both = [Some(self.reason), self.or_else];
        let pair = PAIRS.iter().filter(move |_| both[1].is_some());
        let pair = pair.filter(move |pair| both.iter().flatten().all(|reason| pair.reasons.contains(reason))).take(1);
        pair.flat_map(move |pair| {
            let of = |reason: FailureReason| pair.reasons.iter().position(|one| *one == reason);
            both.into_iter().flatten().filter_map(move |reason| Some((reason, pair.known_by[of(reason)?])))
        })
    }

    /// In words, such as `the vector half of the search brings nothing, or …`.
    pub(crate) fn said(&self) -> String {
        let other = self.or_else.map(|reason| format!(", or {}", words(reason))).unwrap_or_default();
        format!("{}{other}", words(self.reason))
    }
}

const fn words(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::VectorArmDown => "the vector half of the search brings nothing",
        FailureReason::EmbeddingMismatch => "questions are embedded with another model than the index",
        FailureReason::KeywordArmDown => "the keyword half of the search brings nothing",
        FailureReason::CorpusTruncated => "sources are missing from the index",
        FailureReason::IndexUnreachableVectors => "part of the vectors is not reached",
        FailureReason::RerankerChanged => "results come in another order",
        FailureReason::ChunkingChanged => "chunks are cut in another way",
        FailureReason::ScoreShift => "scores are on another scale",
        FailureReason::CanaryStale => "the source is no longer among the server's sources",
        FailureReason::InconsistentResults => "one question asked twice brings two answers",
        _ => "answers are wrong",
    }
}

/// Names the part that is broken; none where what was seen fits none, or was too little.
///
/// `symptom`: what is wrong with the answers themselves. `turns`: answers are just turning right, so that what is lost in
/// part may only be what was not asked again. `is_steady`: one question asked twice brings one list.
pub(crate) fn broken(seen: &[Symptom], symptom: FailureReason, turns: bool, is_steady: bool) -> Option<Named> {
    use FailureReason as R;
    if !matches!(symptom, R::WrongResults | R::EmptyResults | R::ConstantResponse) {
        return None;
    }
    if are_recut(seen) {
        return Some(Named::surely(R::ChunkingChanged));
    }
    let (keyword, meaning) = (Tally::of(seen, CanaryKind::Keyword), Tally::of(seen, CanaryKind::Meaning));
    // Noise finds a source by chance; holes leave the lists of what they do not hide as they were.
    if (meaning.is_whole() || meaning.is_all_but_one() && are_noise(seen)) && keyword.is_kept() {
        return Some(vectors(seen));
    }
    if turns {
        return None;
    }
    // Whoever finds nothing at all for some questions has not lost some sources.
    let are_lists = !most(lost(seen).map(|one| one.is_empty));
    if meaning.lost == 0 && meaning.asked >= LOST_MIN && (keyword.lost >= LOST_MIN || keyword.is_whole()) {
        return words_lost(seen, keyword);
    }
    let words_are_kept = keyword.lost == 0 && keyword.asked >= LOST_MIN;
    if words_are_kept && are_lists && is_stored_text_among_others(seen) {
        return Some(Named::likelier(R::CorpusTruncated, R::IndexUnreachableVectors));
    }
    let are_holes = meaning.is_in_part() && words_are_kept;
    if (are_holes || are_stored_texts(seen)) && are_lists {
        // A source that another question still gets may have lost the chunk that this one is about.
        return Some(Named::likelier(R::IndexUnreachableVectors, R::CorpusTruncated));
    }
    if symptom != R::WrongResults {
        return None;
    }
    if keyword.is_whole() && meaning.is_whole() {
        return everything(seen);
    }
    let alike_min = if is_steady { STEADY_ABOVE } else { NOISE_BELOW };
    are_sources_gone(seen, keyword, alike_min)
        .then_some(Named::likelier(R::CorpusTruncated, R::IndexUnreachableVectors))
}

/// Whether what kept its source is cut in another way throughout: whoever cuts all chunks anew loses some of them.
fn are_recut(seen: &[Symptom]) -> bool {
    let kept = seen.iter().filter(|one| !one.is_lost && one.kind != CanaryKind::Negative);
    let (recut, all) =
        kept.filter_map(|one| one.is_recut).fold((0, 0), |(recut, all), one| (recut + usize::from(one), all + 1));
    all >= RECUT_MIN && recut as f64 >= RECUT_SHARE * all as f64
}

/// Whether stored texts alone do not find themselves, and something else that was asked finds its source.
fn are_stored_texts(seen: &[Symptom]) -> bool {
    let is_stored = |one: &Symptom| one.kind == CanaryKind::Verbatim;
    let finds = |one: &Symptom| !one.is_lost && !matches!(one.kind, CanaryKind::Verbatim | CanaryKind::Negative);
    lost(seen).next().is_some() && lost(seen).all(is_stored) && seen.iter().any(finds)
}

/// Whether a stored text does not find itself, and some other question lost its source too: words alone would find a stored
/// text whose vector is out of reach, where the server goes by words at all.
fn is_stored_text_among_others(seen: &[Symptom]) -> bool {
    let is_stored = |one: &Symptom| one.kind == CanaryKind::Verbatim;
    lost(seen).any(is_stored) && lost(seen).any(|one| !is_stored(one))
}

/// Questions in other words fail, and those by words are still answered. Without vectors lists get shorter or end, and
/// what else is found stays; with another model they are as long as ever, and full of what has nothing to do with it.
fn vectors(seen: &[Symptom]) -> Named {
    use FailureReason as R;
    if are_noise(seen) {
        Named::likelier(R::EmbeddingMismatch, R::VectorArmDown)
    } else {
        Named::likelier(R::VectorArmDown, R::EmbeddingMismatch)
    }
}

/// Whether lists are as long as ever, and those of questions by words, which keep their source, are others.
fn are_noise(seen: &[Symptom]) -> bool {
    let lost_meaning = || lost(seen).filter(|one| one.kind == CanaryKind::Meaning);
    let is_shorter = most(lost_meaning().map(|one| one.is_empty || one.results.is_some_and(|ratio| ratio < 1.0)));
    // Questions as people ask them are led by words that hide the noise.
    let kept = seen.iter().filter(|one| !one.is_lost && one.kind == CanaryKind::Keyword && !one.is_text);
    let overlap = median(kept.filter_map(|one| Some(one.overlap?.rbo)).collect());
    !is_shorter && overlap.is_some_and(|overlap| overlap < NOISE_BELOW)
}

/// Names holes in the index where a question or two in other words lost their source, none by words did, and the lists of all
/// others are torn: whoever edits a document changes that one. For what [`broken`] names nothing by.
pub(crate) fn torn(seen: &[Symptom]) -> Option<Named> {
    use FailureReason as R;
    let (keyword, meaning) = (Tally::of(seen, CanaryKind::Keyword), Tally::of(seen, CanaryKind::Meaning));
    let kept = seen.iter().filter(|one| !one.is_lost && !one.is_text && one.kind != CanaryKind::Negative);
    let alike: Vec<f64> = kept.filter_map(|one| Some(one.overlap?.jaccard)).collect();
    let are_torn = alike.len() >= OTHERS_KEPT_MIN && median(alike).is_some_and(|alike| alike <= TORN_BELOW);
    let are_of_vectors = meaning.lost > 0 && keyword.lost == 0 && keyword.asked >= LOST_MIN;
    (are_torn && are_of_vectors && !most(lost(seen).map(|one| one.is_empty)))
        .then_some(Named::likelier(R::IndexUnreachableVectors, R::CorpusTruncated))
}

/// Questions by words fail, and those in other words are answered.
fn words_lost(seen: &[Symptom], keyword: Tally) -> Option<Named> {
    use FailureReason as R;
    let others = || seen.iter().filter(|one| !matches!(one.kind, CanaryKind::Keyword | CanaryKind::Negative));
    // Lists that were cut lose what stood further down, whoever found it.
    if most(others().filter_map(|one| Some(one.results? <= 0.5))) {
        return None;
    }
    let mut elsewhere = lost(seen).filter_map(|one| one.source_elsewhere).peekable();
    let is_known = elsewhere.peek().is_some();
    let by_vectors = seen.iter().filter(|one| one.kind == CanaryKind::Meaning && !one.is_lost && !one.is_text);
    let alike = median(by_vectors.filter_map(|one| Some(one.overlap?.jaccard)).collect());
    let vectors_stay = alike.map(|alike| alike >= VECTORS_STAY);
    // A source that another question still gets may have lost the chunk that this one is about.
    if vectors_stay != Some(false) && elsewhere.any(|found| found) {
        return Some(Named::surely(R::KeywordArmDown));
    }
    let may_be_gone = match vectors_stay {
        Some(stay) => !stay,
        None => is_known && !keyword.is_whole() && others().count() < OTHERS_KEPT_MIN,
    };
    Some(if may_be_gone {
        Named::likelier(R::CorpusTruncated, R::KeywordArmDown)
    } else {
        Named::likelier(R::KeywordArmDown, R::CorpusTruncated)
    })
}

/// Nothing is found any more, and lists come all the same. Of texts nobody can say what became of their order.
fn everything(seen: &[Symptom]) -> Option<Named> {
    use FailureReason as R;
    if most(lost(seen).map(|one| one.is_text)) {
        return None;
    }
    let sets = median(lost(seen).filter_map(|one| Some(one.overlap?.jaccard)).collect());
    Some(if sets.is_some_and(|alike| alike >= SAME_SET) {
        Named::surely(R::RerankerChanged)
    } else {
        Named::likelier(R::EmbeddingMismatch, R::RerankerChanged)
    })
}

/// Whether questions of both kinds lost their sources in part, while what is left of the others' lists is what it was: an
/// order that is drawn anew loses sources too, and leaves little of any list (.31 to .49, where sources that were missing
/// left .54 to 1.00).
fn are_sources_gone(seen: &[Symptom], keyword: Tally, alike_min: f64) -> bool {
    let is_of_both = keyword.lost > 0 && lost(seen).any(|one| one.kind != CanaryKind::Keyword);
    let kept = seen.iter().filter(|one| !one.is_lost && one.kind != CanaryKind::Negative);
    let overlap = median(kept.filter_map(|one| Some(one.overlap?.rbo)).collect());
    let are_lists = !most(lost(seen).map(|one| one.is_empty));
    is_of_both
        && lost(seen).count() >= LOST_OF_ALL_MIN
        && are_lists
        && overlap.is_some_and(|overlap| overlap >= alike_min)
}

/// Canaries that lost a source; what comes back for a question about nothing is no source.
fn lost(seen: &[Symptom]) -> impl Iterator<Item = &Symptom> + Clone {
    seen.iter().filter(|one| one.is_lost && one.kind != CanaryKind::Negative)
}

/// Whether more than half are so.
fn most(mut all: impl Iterator<Item = bool>) -> bool {
    let (yes, count) = all.by_ref().fold((0, 0), |(yes, count), one| (yes + usize::from(one), count + 1));
    yes * 2 > count
}

/// How one kind of canaries fared.
#[derive(Debug, Clone, Copy)]
struct Tally {
    asked: usize,
    lost: usize,
}

impl Tally {
    fn of(seen: &[Symptom], kind: CanaryKind) -> Self {
        let of_kind = || seen.iter().filter(|one| one.kind == kind);
        Self { asked: of_kind().count(), lost: of_kind().filter(|one| one.is_lost).count() }
    }

    /// Lost as a whole, one in ten aside.
    const fn is_whole(self) -> bool {
        self.lost >= LOST_MIN && self.lost * 10 >= self.asked * 9
    }

    /// Lost as a whole, one of at least [`CHANCE_MIN`] aside.
    const fn is_all_but_one(self) -> bool {
        self.asked >= CHANCE_MIN && self.lost + 1 >= self.asked
    }

    /// Lost in part.
    const fn is_in_part(self) -> bool {
        self.lost >= LOST_MIN && self.lost * PART >= self.asked && !self.is_whole()
    }

    /// Kept, one in ten aside.
    const fn is_kept(self) -> bool {
        self.asked > 0 && self.lost * 10 <= self.asked
    }
}

#[cfg(test)]
mod tests;
