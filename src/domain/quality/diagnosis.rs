//! Many canaries: what is broken, as far as it can be told from outside (RETRIEVAL.md §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::SecondsFormat;

use crate::domain::monitor::Canary;
use crate::domain::outcome::{AskVerdict, Evidence};
use crate::domain::pinned::Pinned;
use crate::domain::quality::arms::{Named, Symptom, broken, torn};
use crate::domain::quality::canary::{self, EVIDENCE_CANARIES_MAX};
use crate::domain::quality::canary_states::CanaryStates;
use crate::domain::quality::changes::{Compared, Judged, lists_moved, scores_moved};
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::quality::corpus::SourcesMissing;
use crate::domain::quality::extent::{CanaryHeard, Extent, Horizon, Roll, Tense};
use crate::domain::quality::look::{Baseline, Look};
use crate::domain::quality::ranking::fingerprint;
use crate::domain::reason::FailureReason;
use crate::domain::rules::ListsCheck;

/// A few of the canaries are a quarter at most.
const SLIDE_PART: usize = 4;
/// Unrelated questions that have to get one and the same list before it is called constant.
const CONSTANT_LISTS_MIN: usize = 3;

/// What the canaries say together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnosis {
    /// The cause, as far as the wrong answers that stand say it.
    pub reason: FailureReason,
    pub extent: Extent,
    /// Whether a few sources come lower than they may, and nothing else is wrong.
    pub is_slide: bool,
    /// One line, without the monitor's name.
    pub summary: String,
    /// The same for when it is over.
    pub was: String,
    /// The count, each kind's count and each failing canary's own line.
    pub evidence: Vec<Evidence>,
}

/// What is known of a server beside what its canaries answer now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The baseline where a lock gives one that the index answered; what was right before stands in for it.
    pub(crate) pinned: Option<&'a Pinned>,
    /// Whether one question asked twice brings two answers, and did not when it was pinned.
    pub(crate) is_inconsistent: bool,
    /// Whether it brings one list, and would be seen to bring two.
    pub(crate) is_steady: bool,
    /// What of lists counts as moved.
    pub(crate) lists: ListsCheck,
    /// Canaries, by id, whose sources left a corpus that is otherwise there.
    pub(crate) unlisted: &'a [String],
    /// Sources that are gone from the server's whole list of them.
    pub(crate) missing: Option<SourcesMissing>,
}

impl Known<'_> {
    /// The lowest and the highest score that is pinned.
    fn scale(&self) -> Option<(f64, f64)> {
        self.pinned.and_then(|pinned| pinned.scale)
    }

    /// Whether a wrong canary asks for a source that was taken out.
    fn has_left(&self, canary: &Canary, state: &CanaryState) -> bool {
        state.wrong_reason() == Some(FailureReason::WrongResults) && self.unlisted.contains(&canary.id)
    }

    /// What the list of sources proves: where it is shorter, what may be a loss of sources is one.
    fn with_missing(&self, named: Option<Named>, symptom: FailureReason) -> Option<Named> {
        use FailureReason as R;
        let may_be = match &named {
            Some(named) => [Some(named.reason), named.or_else].contains(&Some(R::CorpusTruncated)),
            None => matches!(symptom, R::WrongResults | R::EmptyResults),
        };
        if self.missing.is_some() && may_be { Some(Named::surely(R::CorpusTruncated)) } else { named }
    }

    /// Where every canary that is confirmed wrong asks for what was taken out, others count once they are confirmed too: what
    /// wakes nobody must not make a blip wake somebody.
    fn leave_blips(&self, roll: &mut Roll<'_>) {
        let confirmed = |state: &CanaryState| state.is_confirmed();
        let all: Vec<_> = roll.wrong().filter(|(_, state)| confirmed(state)).collect();
        if !all.is_empty() && all.iter().all(|(canary, state)| self.has_left(canary, state)) {
            roll.heard.retain(|(_, state, heard)| *heard != CanaryHeard::Wrong || state.is_some_and(confirmed));
        }
    }
}

/// Diagnoses; none where no canary is confirmed wrong.
pub(crate) fn diagnose(
    canaries: &[Canary],
    known: Known<'_>,
    state: &CanaryStates,
    horizon: Horizon,
) -> Option<Diagnosis> {
    let confirmed = |canary: &Canary| state.get(&canary.id).is_some_and(|known| known.is_confirmed());
    if !canaries.iter().any(confirmed) {
        return None;
    }
    let mut roll = Roll::call(canaries, state, horizon);
    known.leave_blips(&mut roll);
    let wrong: Vec<(&Canary, &CanaryState)> = roll.wrong().collect();
    let cached = of_cache(&wrong, &roll);
    let is_cached = cached.is_some();
    let mut is_torn = false;
    let (symptom, alike) = cached.unwrap_or_else(|| reason(&wrong));
    let named = (!is_cached).then(|| {
        // What lost its source says which part is broken, however many others are only malformed.
        let lost: Vec<_> = wrong.iter().filter(|(canary, state)| is_lost(canary, state)).copied().collect();
        // What was taken out says nothing of the search; a question about it is out of date.
        if !lost.is_empty() && wrong.iter().all(|(canary, state)| known.has_left(canary, state)) {
            return Some(Named::surely(FailureReason::CanaryStale));
        }
        let symptom = if lost.is_empty() { symptom } else { reason(&lost).0 };
        match symptom {
            // Whoever answers otherwise each time is wrong now and then, and in no order.
            FailureReason::WrongResults | FailureReason::ResultMalformed if known.is_inconsistent => {
                Some(Named::surely(FailureReason::InconsistentResults))
            }
            FailureReason::ThresholdBroken => rescaled(&compared(&roll, known, horizon), known),
            _ => {
                let seen = symptoms(&roll, known, horizon);
                let broken = |is_steady| broken(&seen, symptom, horizon.turned_at.is_some(), is_steady);
                let compared = compared(&roll, known, horizon);
                let scorer = || other_scorer(&compared, known).filter(|_| are_all_rescored(&roll, known));
                // Where no part is broken, another order on another scale is what lost the source; and who else gives the
                // scores loses sources of both kinds too.
                let is_regraded = is_regraded(&compared);
                let broken_first =
                    broken(false).filter(|named| !is_regraded || named.reason != FailureReason::CorpusTruncated);
                let named = broken_first.or_else(scorer).or_else(|| broken(known.is_steady));
                let may_be_torn = symptom == FailureReason::WrongResults && horizon.turned_at.is_none();
                let torn = torn(&seen).filter(|_| named.is_none() && may_be_torn);
                is_torn = torn.is_some();
                known.with_missing(named.or(torn), symptom)
            }
        }
    });
    let named = named.flatten();
    let extent = roll.extent(horizon, if named.is_some() { wrong.len() } else { alike });
    let kinds = roll.kinds();
    let is_wrong_so = |state: &CanaryState| {
        let is_of_all = symptom == FailureReason::ConstantResponse || is_cached;
        is_of_all || state.wrong_reason() == Some(symptom)
    };
    let mut wrong_so = wrong.iter().filter(|(_, state)| is_wrong_so(state)).peekable();
    let by_text =
        wrong_so.peek().is_some() && wrong_so.all(|(canary, _)| canary.text.is_some() && canary.expect.is_empty());
    // That other lists are torn says why, and makes it no worse.
    let is_unnamed = named.is_none() || is_torn;
    let is_slide = is_unnamed && symptom == FailureReason::WrongResults && are_lower(&wrong, extent.asked);
    let missing =
        known.missing.filter(|_| named.as_ref().is_some_and(|named| named.reason == FailureReason::CorpusTruncated));
    let lower = if is_slide { "sources come lower than they may: " } else { "" };
    let cause = named.as_ref().map_or_else(String::new, |named| format!("{}: ", named.said()));
    let said = |tense| format!("{lower}{cause}{}", extent.said(symptom, by_text, tense, horizon.now));
    let now = if extent.stands() { said(Tense::Now) } else { extent.turning(horizon.now) };
    Some(Diagnosis {
        reason: named.as_ref().map_or(symptom, |named| named.reason),
        extent,
        is_slide,
        summary: format!("{now} ({kinds})"),
        was: format!("{} ({kinds})", said(Tense::Past)),
        evidence: [
            missing.map(SourcesMissing::evidence).unwrap_or_default(),
            named.map(|named| named_evidence(&named, symptom)).unwrap_or_default(),
            evidence(&extent, kinds, &wrong),
        ]
        .concat(),
    })
}

/// What the index answered since, beside what is pinned of it.
fn compared<'a>(roll: &'a Roll<'_>, known: Known<'a>, horizon: Horizon) -> Vec<Compared<'a>> {
    let of = |(canary, state, _): &'a (&Canary, Option<&CanaryState>, CanaryHeard)| {
        let look = state.as_ref()?.look.as_deref().filter(|look| look.at >= horizon.since)?;
        Some(Compared { look, pinned: canary.pinned(known.pinned?)? })
    };
    roll.heard.iter().filter_map(of).collect()
}

/// Why scores are over a limit that they were below: all of them moved, and not those of one question.
fn rescaled(compared: &[Compared<'_>], known: Known<'_>) -> Option<Named> {
    let Judged::Other(scores) = scores_moved(compared, known.scale()) else { return None };
    let are_lists_other = matches!(lists_moved(compared, &known.lists), Judged::Other(_));
    let is_reranked = scores.shared.is_some() || scores.is_rescaled() && are_lists_other;
    Some(Named::surely(if is_reranked { FailureReason::RerankerChanged } else { FailureReason::ScoreShift }))
}

/// That somebody else orders the results and gives their scores.
fn other_scorer(compared: &[Compared<'_>], known: Known<'_>) -> Option<Named> {
    rescaled(compared, known).filter(|named| named.reason == FailureReason::RerankerChanged)
}

/// Whether scores became ranks in disguise, or cease to be.
fn is_regraded(compared: &[Compared<'_>]) -> bool {
    matches!(scores_moved(compared, None), Judged::Other(scores) if scores.shared.is_some())
}

/// Whether what kept its source is scored otherwise too, for the most part: where only what was lost is, the scores are those
/// of other results, and nobody else gives them.
fn are_all_rescored(roll: &Roll<'_>, known: Known<'_>) -> bool {
    let kept = roll.heard.iter().filter(|(.., heard)| *heard == CanaryHeard::Right);
    let rescored = kept.filter_map(|(canary, state, _)| {
        let look = state.as_ref()?.look.as_deref()?;
        Compared { look, pinned: canary.pinned(known.pinned?)? }.is_rescored()
    });
    let (yes, all) = rescored.fold((0, 0), |(yes, all), one| (yes + usize::from(one), all + 1));
    yes * 2 > all || all == 0
}

/// What it could be else, and how a person tells the two apart.
fn named_evidence(named: &Named, symptom: FailureReason) -> Vec<Evidence> {
    let other = named.or_else.map(|reason| Evidence::new("or_else", reason.slug()));
    let known = named.known_by().map(|(reason, by)| Evidence::new(&format!("known_by.{reason}"), by));
    [Evidence::new("symptom", symptom.slug())].into_iter().chain(other).chain(known).collect()
}

/// What each canary that was asked since says of the fault.
fn symptoms(roll: &Roll<'_>, known: Known<'_>, horizon: Horizon) -> Vec<Symptom> {
    let pinned = known.pinned;
    let says = |(canary, state, heard): &&(&Canary, Option<&CanaryState>, CanaryHeard)| {
        let has_left = state.is_some_and(|state| known.has_left(canary, state));
        *heard == CanaryHeard::Right || *heard == CanaryHeard::Wrong && !has_left
    };
    let heard = || roll.heard.iter().filter(says);
    let look = |state: &Option<&CanaryState>| {
        let look = state.as_ref()?.look.clone();
        look.filter(|look| look.at >= horizon.since)
    };
    let looks: Vec<Arc<Look>> = heard().filter_map(|(_, state, _)| look(state)).collect();
    let of = |(canary, state, heard): &(&Canary, Option<&CanaryState>, CanaryHeard)| {
        let (look, pinned) = (look(state), pinned.and_then(|pinned| canary.pinned(pinned)));
        let before = state.and_then(|state| state.look_before.as_deref());
        let baseline = Baseline { pinned, before };
        let is_lost = *heard == CanaryHeard::Wrong && state.is_none_or(|state| is_lost(canary, state));
        let look = look.as_deref();
        let source = before.and_then(|before| before.right_source).or_else(|| {
            let mut accepted = pinned.into_iter().flat_map(|pinned| pinned.lists.iter().flatten());
            accepted.find(|source| canary::expects(canary, source)).map(|source| fingerprint(source))
        });
        let results = baseline.results().filter(|results| *results > 0).map(f64::from);
        Symptom {
            kind: canary.kind,
            is_lost,
            is_empty: look.is_some_and(|look| look.results == 0),
            is_text: look.is_some_and(|look| look.is_text),
            results: look.and_then(|look| Some(f64::from(look.results) / results?)),
            overlap: look.and_then(|look| baseline.overlap(look)),
            is_recut: look.and_then(|look| baseline.is_recut(look)),
            source_elsewhere: source
                .filter(|_| is_lost)
                .map(|source| looks.iter().any(|look| look.ranking.holds(source))),
        }
    };
    heard().map(of).collect()
}

fn evidence(extent: &Extent, kinds: String, wrong: &[(&Canary, &CanaryState)]) -> Vec<Evidence> {
    let since = extent.since.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut evidence = vec![
        Evidence::new("since", since),
        Evidence::new("asked", extent.asked.to_string()),
        Evidence::new("wrong", extent.wrong.to_string()),
        Evidence::new("not_asked", extent.not_asked.to_string()),
        Evidence::new("canaries", kinds),
    ];
    if extent.waiting > 0 {
        evidence.push(Evidence::new("to_be_asked_again", extent.waiting.to_string()));
    }
    evidence.extend(wrong.iter().take(EVIDENCE_CANARIES_MAX).filter_map(|(canary, state)| match &state.last {
        Some(AskVerdict::Wrong { reason, seen, .. }) => {
            Some(Evidence::new(&canary::key(&canary.id), format!("{}: {seen}", reason.slug())))
        }
        _ => None,
    }));
    evidence
}

/// Which cache is to blame, where the index is right about what is wrong: one that gives out what it kept for another
/// question, or else what it kept for too long.
fn of_cache(wrong: &[(&Canary, &CanaryState)], roll: &Roll<'_>) -> Option<(FailureReason, usize)> {
    let is_blamed = wrong.iter().all(|(_, state)| !state.doubts_index);
    wrong.iter().find(|(_, state)| is_blamed && state.blames_cache())?;
    let is_anothers = |(canary, state): &(&Canary, &CanaryState)| {
        let others = roll.heard.iter().filter(|(other, _, heard)| {
            let is_of_another = (&other.expect, &other.text) != (&canary.expect, &canary.text);
            *heard != CanaryHeard::Wrong && other.id != canary.id && is_of_another
        });
        let mut lists = others.filter_map(|(_, other, _)| other.as_ref()?.list);
        state.list.is_some_and(|list| lists.any(|other| other == list))
    };
    let is_mixed_up = wrong.iter().any(is_anothers);
    let reason = if is_mixed_up { FailureReason::CacheFalseHit } else { FailureReason::CacheStale };
    Some((reason, wrong.len()))
}

/// Whether a few of many still bring their sources, below the rank within which they have to come: documents that are new do
/// so, and callers who read on still find them.
fn are_lower(wrong: &[(&Canary, &CanaryState)], asked: usize) -> bool {
    let comes = |state: &CanaryState| matches!(state.last, Some(AskVerdict::Wrong { rank: Some(_), .. }));
    wrong.len() * SLIDE_PART <= asked && wrong.iter().all(|(_, state)| comes(state))
}

/// Whether a wrong answer lost its source: one that is cut short and still has it did not.
fn is_lost(canary: &Canary, state: &CanaryState) -> bool {
    !matches!(&state.last, Some(AskVerdict::Wrong { reason: FailureReason::ResultMalformed, rank: Some(rank), .. })
        if *rank <= canary.within)
}

/// The cause, and how many are wrong in just this way.
fn reason(wrong: &[(&Canary, &CanaryState)]) -> (FailureReason, usize) {
    let lists = wrong.iter().filter(|(_, state)| state.wrong_reason() == Some(FailureReason::WrongResults));
    let mut lists: Vec<Option<u64>> = lists.map(|(_, state)| state.list).collect();
    lists.sort_unstable();
    let count = lists.len();
    lists.dedup();
    if count >= CONSTANT_LISTS_MIN && lists.len() == 1 && lists[0].is_some() {
        return (FailureReason::ConstantResponse, count);
    }
    let mut counts: BTreeMap<FailureReason, usize> = BTreeMap::new();
    for reason in wrong.iter().filter_map(|(_, state)| state.wrong_reason()) {
        *counts.entry(reason).or_default() += 1;
    }
    // The most frequent cause; among equals the one that stands first in the closed list.
    let most = counts.values().copied().max().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).unwrap_or((FailureReason::WrongResults, 0))
}

#[cfg(test)]
mod tests;
