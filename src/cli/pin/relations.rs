//! Which relations hold between a question and the same question asked otherwise: each is asked as often as there are
//! runs, over all canaries in turn, and holds only where no answer broke it.

use std::sync::Arc;

use crate::cli::pin::runs::{Refusal, Runs, once};
use crate::domain::answer::{Answer, CacheWord, Turn, Variant};
use crate::domain::classify::classify;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::Observation;
use crate::domain::outcome::AskVerdict;
use crate::domain::pinned::Relation;
use crate::domain::quality::pinning;
use crate::domain::schedule::PlannedAsk;
use crate::domain::search::{Fresh, Search};
use crate::domain::server_profile::ServerProfile;
use crate::tool_lists::callable::count_argument;
use crate::tool_lists::tools;

/// Relations that take searches of their own; that the same question brings the same list shows in the runs.
const ASKED: [Relation; 3] = [Relation::Prefix, Relation::CaseAndBlanks, Relation::Nonce];

/// The most requests that looking at relations takes.
pub(super) fn calls(monitor: &Monitor, runs: u32) -> u64 {
    const OPENING_LISTING_CLOSING: u64 = 4;
    let of = |relation: &Relation| match questions(monitor, runs as usize, *relation) {
        0 => 0,
        questions => OPENING_LISTING_CLOSING + questions as u64,
    };
    ASKED.iter().map(of).sum()
}

/// How many questions a look at a relation takes: as many as there were runs. Every canary goes with a nonce from then on
/// where one changes nothing, so that each is looked at; none where the file leaves caches alone.
fn questions(monitor: &Monitor, runs: usize, relation: Relation) -> usize {
    match relation {
        _ if monitor.canaries.is_empty() => 0,
        Relation::Nonce if monitor.search.fresh == Fresh::Off => 0,
        Relation::Nonce => runs.max(monitor.canaries.len()),
        _ => runs,
    }
}

/// The relations that held.
pub(super) async fn held(
    monitor: &Arc<Monitor>,
    profile: &ServerProfile,
    runs: &Runs,
) -> Result<Vec<Relation>, Refusal> {
    let answered = monitor.canaries.iter().enumerate();
    let answers = answered.flat_map(|(nth, canary)| runs.answers(nth).into_iter().map(|answer| (&*canary.id, answer)));
    let lists = pinning::lists(answers);
    let mut held = Vec::new();
    if brings_one_list(monitor, runs) {
        held.push(Relation::SameTwice);
    }
    for relation in ASKED {
        let Some(asked) = altered(monitor, runs, relation).filter(|asked| !asked.canaries.is_empty()) else { continue };
        let variant = if relation == Relation::Nonce { Variant::Plain } else { Variant::Fresh };
        let ask = |canary| PlannedAsk::new(canary, Turn::Scheduled, variant);
        let asks = (0..asked.canaries.len()).map(ask).collect();
        let seen = once(&Arc::new(asked), profile, (asks, false), None).await.ok_or(Refusal::Interrupted)?;
        let keeps = |(canary, answer): (&str, &Answer)| {
            // A nonce that a cache answers passes none.
            let is_answered = relation != Relation::Nonce || answer.cache != CacheWord::Hit;
            is_answered && lists.get(canary).is_some_and(|lists| pinning::holds(relation, lists, answer))
        };
        let answers = seen.asks.iter().map(|ask| Some((&*ask.canary, ask.result.as_ref()?.as_ref().ok()?)));
        let is_kept =
            answers.map(|answer| answer.is_some_and(keeps)).fold(!seen.asks.is_empty(), |all, one| all && one);
        if is_kept && (relation != Relation::Nonce || is_right(monitor, &seen)) {
            held.push(relation);
        }
    }
    Ok(held)
}

/// Whether one question brought one list in every run.
pub(super) fn brings_one_list(monitor: &Monitor, runs: &Runs) -> bool {
    let answered = monitor.canaries.iter().enumerate();
    let answers = answered.flat_map(|(nth, canary)| runs.answers(nth).into_iter().map(|answer| (&*canary.id, answer)));
    let lists = pinning::lists(answers);
    !lists.is_empty() && runs.observations.len() > 1 && lists.values().all(|seen| seen.len() == 1)
}

/// Whether every answer is right by the file alone: a list that stays says nothing of a score that may not be exceeded.
fn is_right(monitor: &Monitor, seen: &Observation) -> bool {
    let unpinned = Monitor { pinned: None, ..monitor.clone() };
    classify(&unpinned, seen).asks.iter().all(|verdict| matches!(verdict, AskVerdict::Right { .. }))
}

/// The monitor with its questions as a relation asks them, in turn; none where this server has no way to be asked so, or is
/// not to be.
fn altered(monitor: &Monitor, runs: &Runs, relation: Relation) -> Option<Monitor> {
    let search = match relation {
        Relation::Prefix => fewer(monitor, runs)?,
        // Nonces are sent where nothing else passes caches.
        Relation::Nonce if runs.tools().is_some_and(|tools| tools.fresh.is_some()) => return None,
        _ => monitor.search.clone(),
    };
    let begun = runs.observations.first()?.started_at;
    let turn = monitor.canaries.iter().cycle().take(questions(monitor, runs.observations.len(), relation));
    let canaries = turn.enumerate().map(|(nth, canary)| {
        let query = pinning::altered(relation, &canary.query, pinning::nonce(begun, nth));
        Canary { query, ..canary.clone() }
    });
    Some(Monitor { canaries: canaries.collect(), search, health: Vec::new(), ..monitor.clone() })
}

/// The search with fewer results asked for: half of what it asks for, else of what it got.
fn fewer(monitor: &Monitor, runs: &Runs) -> Option<Search> {
    let seen = runs.tools()?;
    let listed = tools::kept_whole(&seen.json)?;
    let name = count_argument(tools::named(&listed, seen.search_tool.as_deref()?)?)?;
    let got = (0..monitor.canaries.len()).flat_map(|nth| runs.answers(nth)).map(|answer| answer.hits.len()).max()?;
    monitor.search.fewer(name, got)
}
