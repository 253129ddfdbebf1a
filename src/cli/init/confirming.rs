//! Whether a server answers what was proposed as it did when it was explored: asked again, and again.

use std::sync::Arc;

use chrono::Utc;

use crate::cli::init::compose::Draft;
use crate::domain::answer::{Ask, Variant};
use crate::domain::classify::classify;
use crate::domain::monitor::{Canary, CanaryKind, Monitor};
use crate::domain::observation::{BeatKind, Footprint, Observation};
use crate::domain::outcome::{AskVerdict, Verdict};
use crate::domain::quality::propose::Proposal;
use crate::domain::schedule::PlannedAsk;
use crate::domain::server_profile::ServerProfile;
use crate::domain::wanted::{ExpectedText, Wanted};
use crate::probe::assignment::{Assignment, Further};
use crate::probe::prober::Prober;

/// Times the proposal is probed: with the exploration, each canary was then right three times.
pub(crate) const CONFIRMATIONS: usize = 2;

/// A canary, with the highest score allowed to a negative one.
pub(crate) type Proposed = (Proposal, Option<f64>);

/// Keeps of a draft what its server, a monitor of a file, answers as before; how many requests that took.
pub(crate) async fn confirmed(
    prober: &Prober,
    draft: &mut Draft,
    monitor: &Monitor,
    mut profile: ServerProfile,
) -> u32 {
    let mut requests = 0;
    for _ in 0..CONFIRMATIONS {
        let canaries = draft.canaries.iter().enumerate().map(|(nth, canary)| as_canary(nth, canary)).collect();
        let asking = Arc::new(Monitor { canaries, ..monitor.clone() });
        let (footprint, next) = once_more(prober, draft, &asking, profile).await;
        (profile, requests) = (next, requests + footprint.requests);
    }
    requests
}

/// A proposal as it would be declared.
fn as_canary(nth: usize, (proposal, max_score): &Proposed) -> Canary {
    let contains: Vec<Wanted> = proposal.contains.iter().cloned().map(Wanted::Words).collect();
    let expects = contains.is_empty() && proposal.kind != CanaryKind::Negative;
    Canary {
        expect: if expects { vec![proposal.source.clone()] } else { Vec::new() },
        within: proposal.within(),
        max_score: *max_score,
        text: (!contains.is_empty()).then(|| Box::new(ExpectedText { contains, not_contains: Vec::new() })),
        ..Canary::undeclared(&nth.to_string(), &proposal.query, proposal.kind)
    }
}

/// Probes once more and keeps what was answered as before.
pub(crate) async fn once_more(
    prober: &Prober,
    draft: &mut Draft,
    monitor: &Arc<Monitor>,
    profile: ServerProfile,
) -> (Footprint, ServerProfile) {
    let (seen, next) = probe(prober, monitor, profile).await;
    let outcome = classify(monitor, &seen);
    let place = |ask: &Ask| monitor.canaries.iter().position(|canary| canary.id == ask.canary);
    let asked = seen.asks.iter().zip(&outcome.asks);
    let verdicts: Vec<_> = asked.filter_map(|(ask, verdict)| Some((place(ask)?, verdict))).collect();
    keep_right(draft, &verdicts);
    let lasting = outcome.findings.iter().filter(|_| outcome.verdict == Verdict::Down);
    draft.doubts.extend(lasting.map(|finding| format!("probed again, it was down: {}", finding.summary)));
    (seen.footprint, next)
}

/// Keeps canaries that were answered as before, and those that were not asked, with a doubt. `verdicts` are by place.
pub(crate) fn keep_right(draft: &mut Draft, verdicts: &[(usize, &AskVerdict)]) {
    for (nth, canary) in std::mem::take(&mut draft.canaries).into_iter().enumerate() {
        let verdict = verdicts.iter().find(|(place, _)| *place == nth).map(|(_, verdict)| *verdict);
        let query = &canary.0.query;
        let (is_kept, doubt) = match verdict {
            Some(AskVerdict::Right { .. }) => (true, None),
            None | Some(AskVerdict::NotAsked) => {
                (true, Some(format!("'{query}' was not asked again, for want of time or of an answer: unconfirmed")))
            }
            Some(AskVerdict::Failed { reason }) => {
                (false, Some(format!("asked again, '{query}' got no answer ({}): left out", reason.slug())))
            }
            Some(AskVerdict::Wrong { .. }) => {
                (false, Some(format!("asked again, '{query}' was not answered as before: left out")))
            }
        };
        // Each round may say the same.
        if let Some(doubt) = doubt.filter(|doubt| !draft.doubts.contains(doubt)) {
            draft.doubts.push(doubt);
        }
        draft.canaries.extend(is_kept.then_some(canary));
    }
}

async fn probe(prober: &Prober, monitor: &Arc<Monitor>, profile: ServerProfile) -> (Observation, ServerProfile) {
    let now = Utc::now();
    let assignment = Assignment {
        monitor: Arc::clone(monitor),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks: PlannedAsk::every(monitor, Variant::Fresh),
        further: Further::NONE,
        source_pages: 0,
        source_names: false,
        profile,
        lists: crate::tool_lists::known::KnownLists::default(),
    };
    prober.run(&assignment).await
}
