//! Asking every canary of a monitor, again and again, as long as the server is well and every answer right.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;

use crate::cli::observe::observe;
use crate::domain::answer::{Answer, Variant};
use crate::domain::classify::classify;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Observation, ToolsSeen};
use crate::domain::outcome::{AskVerdict, Outcome, Verdict};
use crate::domain::quality::corpus::whole_count;
use crate::domain::schedule::PlannedAsk;
use crate::domain::search::FreshWay;
use crate::domain::server_profile::ServerProfile;
use crate::domain::sources::SOURCE_PAGES_MAX;
use crate::domain::tools::Listing;
use crate::probe::assignment::{Assignment, Further};
use crate::tool_lists::known::KnownLists;

/// No run takes longer, however many canaries it asks.
const RUN_MAX: Duration = Duration::from_secs(900);

/// Why there is nothing to pin.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// Ctrl-C.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// It could not be asked, or says itself that something is wrong.
    #[error("the server is not well: {why}; mend that, or wait until it is over, and pin again")]
    NotWell {
        why: String,
        /// The tools as they were seen all the same.
        tools: Option<Box<ToolsSeen>>,
    },
    /// A canary got what it may not get.
    #[error(
        "canary '{canary}' is wrong by its own file: {seen}; mend the server, or the canary's `expect`, and pin again"
    )]
    Wrong { canary: String, seen: String },
    /// The list of tools was not the same in every run.
    #[error("its tools changed while it was looked at; pin again when they stay")]
    Restless,
}

/// What the runs brought.
#[derive(Debug)]
pub(super) struct Runs {
    pub observations: Vec<Observation>,
    /// For each canary, by its place in the file, the worst rank of what it expects; none of one that expects nothing.
    pub ranks: Vec<Option<u32>>,
}

impl Runs {
    /// The answers to one canary, a run each.
    pub(super) fn answers(&self, canary: usize) -> Vec<&Answer> {
        self.observations.iter().filter_map(|seen| seen.asks.get(canary)?.result.as_ref()?.as_ref().ok()).collect()
    }

    /// The tools as the last run saw them.
    pub(super) fn tools(&self) -> Option<&ToolsSeen> {
        self.observations.last().and_then(|seen| seen.tools.as_ref())
    }

    /// Whether each question went with a nonce.
    pub(super) fn went_with_nonces(&self) -> bool {
        self.tools().is_some_and(|tools| tools.fresh == Some(FreshWay::Nonce))
    }

    /// How many sources there are; none where the list was not read to its end, or where none is in it.
    pub(super) fn sources(&self) -> Option<u32> {
        let seen = self.observations.first()?.sources.as_ref()?;
        whole_count(seen).filter(|count| *count > 0)
    }

    /// Whether the index gave every answer, as far as that can be told.
    pub(super) fn reached_index(&self) -> bool {
        self.observations.iter().all(|seen| {
            let knows_way = seen.tools.as_ref().is_some_and(|tools| tools.fresh.is_some());
            let answers = seen.asks.iter().filter_map(|ask| Some((ask, ask.result.as_ref()?.as_ref().ok()?)));
            answers.into_iter().all(|(ask, answer)| answer.cache.says_index(ask.variant, knows_way))
        })
    }
}

/// The most requests that so many runs take.
pub(super) fn calls(monitor: &Monitor, runs: u32) -> u64 {
    const OPENING_LISTING_CLOSING: usize = 4;
    let each = OPENING_LISTING_CLOSING + monitor.canaries.len() + monitor.health.len();
    u64::from(runs) * each as u64 + SOURCE_PAGES_MAX as u64
}

/// Asks every canary so many times, a session a run, and in the first one for the list of sources; `accepted` is the list that tools are held against.
pub(super) async fn asked(
    monitor: &Arc<Monitor>,
    profile: &ServerProfile,
    runs: u32,
    accepted: Option<&Arc<Listing>>,
) -> Result<Runs, Refusal> {
    // What is pinned already says nothing of what may be pinned now.
    let unpinned = Monitor { pinned: None, ..Monitor::clone(monitor) };
    let mut found = Runs { observations: Vec::new(), ranks: vec![None; monitor.canaries.len()] };
    for run in 0..runs {
        let asks = PlannedAsk::every(monitor, Variant::Fresh);
        let seen = once(monitor, profile, (asks, run == 0), accepted).await.ok_or(Refusal::Interrupted)?;
        let outcome = classify(&unpinned, &seen);
        well(monitor, &seen, &outcome)?;
        for (worst, verdict) in found.ranks.iter_mut().zip(&outcome.asks) {
            if let AskVerdict::Right { rank: Some(rank) } = verdict {
                *worst = Some(worst.unwrap_or(0).max(*rank));
            }
        }
        if let (Some(before), Some(now)) = (found.tools(), &seen.tools)
            && before.hash != now.hash
        {
            return Err(Refusal::Restless);
        }
        found.observations.push(seen);
    }
    Ok(found)
}

/// One probe with these asks, and with the whole list of sources where that is wanted, and time for all of them; none where somebody interrupted it.
pub(super) async fn once(
    monitor: &Arc<Monitor>,
    profile: &ServerProfile,
    (asks, lists_sources): (Vec<PlannedAsk>, bool),
    accepted: Option<&Arc<Listing>>,
) -> Option<Observation> {
    const BESIDE_ASKS: u32 = 4;
    let calls = u32::try_from(asks.len()).unwrap_or(u32::MAX).saturating_add(BESIDE_ASKS);
    let budget = monitor.timeout.saturating_mul(calls).min(RUN_MAX).max(monitor.probe_budget);
    let now = Utc::now();
    let assignment = Assignment {
        monitor: Arc::new(Monitor { probe_budget: budget, ..Monitor::clone(monitor) }),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks,
        further: Further::NONE,
        source_pages: if lists_sources { SOURCE_PAGES_MAX } else { 0 },
        source_names: lists_sources,
        profile: profile.clone(),
        lists: KnownLists { accepted: accepted.cloned(), latest: None },
    };
    observe(&assignment).await
}

/// Whether a run can be pinned: the server was well, and every canary got what it declares.
fn well(monitor: &Monitor, seen: &Observation, outcome: &Outcome) -> Result<(), Refusal> {
    let wrong = monitor.canaries.iter().zip(&outcome.asks).find_map(|(canary, verdict)| match verdict {
        AskVerdict::Wrong { seen, .. } => Some((canary.id.clone(), seen.clone())),
        _ => None,
    });
    if let Some((canary, seen)) = wrong {
        return Err(Refusal::Wrong { canary, seen });
    }
    let unanswered =
        monitor.canaries.iter().zip(&outcome.asks).find(|(_, verdict)| !matches!(verdict, AskVerdict::Right { .. }));
    let found = outcome.findings.first().map(|finding| format!("{} ({})", finding.summary, finding.reason.slug()));
    let why = match unanswered {
        _ if outcome.verdict != Verdict::Good => {
            found.unwrap_or_else(|| format!("a probe came to '{}'", outcome.verdict.slug()))
        }
        Some((canary, _)) => found.unwrap_or_else(|| format!("canary '{}' got no answer", canary.id)),
        None if seen.tools.is_none() => "it lists no tools".to_owned(),
        None => return Ok(()),
    };
    Err(Refusal::NotWell { why, tools: seen.tools.clone().map(Box::new) })
}
