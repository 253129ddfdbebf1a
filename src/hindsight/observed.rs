//! A beat of the record as it is weighed again: what the probe saw, as far as it is judged, and what that came to.
//!
//! It is what live weighing got, with three things left out that nothing is decided by: headlines, evidence, and steps that
//! went well. Where the record cannot give what is decided by, it says nothing, as on a beat that did not look.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::domain::answer::{Answer, Ask, Hit, KeptText, TEXT_NAME, Turn};
use crate::domain::classify::{HEALTH_URL, reason_of};
use crate::domain::fault::Fault;
use crate::domain::leak;
use crate::domain::observation::{Harvested, HealthSeen, Observation, Phases, ServerIdentity, Stage, Step, ToolsSeen};
use crate::domain::outcome::{AskVerdict, Evidence, Finding, Outcome, Verdict};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::search::FreshWay;
use crate::domain::signal::{Level, Signal};
use crate::domain::sources::{NewestSource, SourcesLeft, SourcesSeen};
use crate::domain::tools::{Drift, Listing};
use crate::hindsight::declared::{AskUse, Declared};
use crate::hindsight::faults::fault;
use crate::hindsight::texts::{Texts, with_text};
use crate::store::values::past::{PastAsk, PastBeat};
use crate::store::write::listing::ListingLine;

/// Stands for the accepted list of tools: which one it was, no beat says.
pub(crate) const ACCEPTED: &str = "accepted";
/// A list of tools that stays is written down once in an hour.
const LISTED_EVERY: TimeDelta = TimeDelta::hours(1);

/// What is known of a beat beside its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'r> {
    /// Sources of ranked lists by their numbers.
    pub(crate) lists: &'r SourceLists,
    /// Texts that are judged again.
    pub(crate) texts: &'r Texts,
    /// The lists of tools that the server gave, the latest first.
    pub(crate) listings: &'r [ListingLine],
    /// Whether the server's caches could be passed.
    pub(crate) knows_way: bool,
    /// How often the server was seen to be started anew until then.
    pub(crate) starts: usize,
}

/// Sources of ranked lists by the lists' numbers.
pub(crate) type SourceLists = HashMap<i64, Arc<[String]>>;

/// What was seen, and what that came to; and how many answers are left out, since nobody knows what their texts said.
pub(crate) fn observed(past: &PastBeat, declared: &Declared, around: Around<'_>) -> (Observation, Outcome, u64) {
    let monitor = &declared.monitor;
    let mut seen = Observation {
        elapsed: past.elapsed,
        era: past.shape.era,
        transport: Some(past.shape.transport),
        steps: steps(past),
        tools: tools(past, around),
        health: health(past, declared),
        sources: past.sources.map(|look| SourcesSeen {
            count: look.count,
            total: None,
            last_indexed_at: look.newest,
            newest_said: look.knows_newest,
            // A whole walk and one whose newest was told are not told apart.
            left: (!look.knows_newest).then_some(SourcesLeft::Spared),
        }),
        ..Observation::blank(monitor.id.clone(), past.shape.kind, past.scheduled_at, past.started_at)
    };
    if past.shape.verdict != Verdict::Down {
        let version = around.starts.to_string();
        seen.server = Some(ServerIdentity { version, ..ServerIdentity::default() });
    }
    let (mut verdicts, mut untold) = (Vec::with_capacity(past.asks.len()), 0);
    let is_of_use = |ask: &&PastAsk| declared.use_of(&ask.canary) != AskUse::Left;
    let (harvested, asked_of): (Vec<&PastAsk>, Vec<&PastAsk>) =
        past.asks.iter().partition(|ask| ask.shape.turn == Turn::Harvested);
    seen.harvested = harvested
        .first()
        .map(|ask| Box::new(Harvested { ask: ask_of(ask, result(ask, around.lists)), rank: ask.shape.rank }));
    let (altered, own): (Vec<&PastAsk>, Vec<&PastAsk>) =
        asked_of.into_iter().filter(is_of_use).partition(|ask| ask.shape.turn.is_altered());
    seen.altered = altered.first().map(|ask| Box::new(ask_of(ask, result(ask, around.lists))));
    for ask in own {
        match asked(ask, declared, around) {
            Some((ask, verdict)) => {
                seen.asks.push(ask);
                verdicts.push(verdict);
            }
            None => untold += 1,
        }
    }
    // Which sources had left the list is known by what it came to.
    if past.shape.judged[Signal::Quality as usize].reason == Some(FailureReason::CanaryStale) {
        let wrong = seen.asks.iter().zip(&verdicts).filter(|(_, verdict)| matches!(verdict, AskVerdict::Wrong { .. }));
        seen.unlisted = Some(wrong.map(|(ask, _)| ask.canary.clone()).collect());
    }
    let findings = findings(past, declared, &seen, &verdicts);
    let outcome = Outcome { verdict: past.shape.verdict, findings, asks: verdicts };
    (seen, outcome, untold)
}

/// The step that failed before any search, and the listing of tools, whose time is a sample where nothing is asked.
fn steps(past: &PastBeat) -> Vec<Step> {
    let step = |stage: Stage, elapsed, fault: Option<Fault>| Step {
        stage,
        label: String::new(),
        elapsed,
        phases: Phases::default(),
        fresh_connection: past.shape.fresh_connection,
        fault,
        notes: Vec::new(),
    };
    let listed = past.stages.tools.map(|elapsed| step(Stage::Tools, elapsed, None));
    let is_throttled = is_throttled(past);
    let failed = past.shape.reason.filter(|_| past.shape.verdict == Verdict::Down || is_throttled).map(|reason| {
        let (reason, stage) = match past.shape.stage {
            Some(stage) if !is_throttled => (reason, stage),
            _ => (FailureReason::RateLimited, Stage::Tools),
        };
        step(stage, past.elapsed, Some(fault(reason)))
    });
    listed.into_iter().chain(failed).collect()
}

/// Whether the server asked for quiet before it was asked anything.
fn is_throttled(past: &PastBeat) -> bool {
    let before_search = matches!(past.shape.stage, Some(Stage::Connect | Stage::Handshake | Stage::Tools));
    past.shape.verdict == Verdict::Degraded && before_search && past.shape.reason == Some(FailureReason::RateLimited)
}

/// The list of tools: the accepted one, or how that differs which was listed about then.
fn tools(past: &PastBeat, around: Around<'_>) -> Option<ToolsSeen> {
    let judged = past.shape.judged[Signal::Contract as usize];
    if judged.level == Level::Unknown && past.stages.tools.is_none() {
        return None;
    }
    let at = past.started_at;
    let drifted = matches!(judged.reason, Some(FailureReason::SchemaDrift | FailureReason::ToolMissing));
    let about_then = |line: &&ListingLine| line.first_seen <= at && at <= line.last_seen + LISTED_EVERY;
    let drift =
        around.listings.iter().filter(|_| drifted).filter(about_then).find(|line| !line.drift.changes.is_empty());
    let listed = around.listings.iter().filter(about_then).max_by_key(|line| line.first_seen);
    let listing = Listing {
        hash: drift.map_or(ACCEPTED, |line| &line.hash).to_owned(),
        tokens: listed.and_then(|line| line.tokens),
        ..Listing::default()
    };
    Some(ToolsSeen {
        listing: Arc::new(listing),
        fresh: around.knows_way.then_some(FreshWay::Given),
        drift: drift.map(|line| Arc::new(Drift { against: ACCEPTED.to_owned(), ..line.drift.clone() })),
        ..ToolsSeen::default()
    })
}

/// That the health addresses were asked. What they answered stands in the finding.
fn health(past: &PastBeat, declared: &Declared) -> Vec<HealthSeen> {
    let judged = past.shape.judged[Signal::Health as usize];
    if judged.level == Level::Unknown {
        return Vec::new();
    }
    let address = declared.monitor.health.first().map(|address| address.shown.clone()).unwrap_or_default();
    vec![HealthSeen {
        address,
        status: None,
        ok: judged.level == Level::Calm,
        reason: None,
        cache_warm: None,
        instance: None,
        process_started_at: None,
        version: None,
        fault: None,
    }]
}

/// An ask and its judgement; none where it is judged again by a text that nobody knows.
fn asked(past: &PastAsk, declared: &Declared, around: Around<'_>) -> Option<(Ask, AskVerdict)> {
    let result = result(past, around.lists);
    let verdict = match (&result, declared.use_of(&past.canary)) {
        // How long a text was is known, and judged anew.
        (Some(Ok(answer)), AskUse::Rejudged) if answer.kept.is_some() || !is_of_form(past.shape.reason) => {
            let canary = declared.canary(&past.canary)?;
            declared.judge(canary, past.shape.variant, &with_text(answer.clone(), canary, around.texts)?)
        }
        _ => recorded(past),
    };
    Some((ask_of(past, result), verdict))
}

/// What came back; none where nothing was asked.
fn result(past: &PastAsk, lists: &SourceLists) -> Option<Result<Answer, Fault>> {
    match past.shape.verdict {
        "failed" => Some(Err(fault(past.shape.reason.unwrap_or(FailureReason::ProtocolError)))),
        "right" | "wrong" if is_unreadable(past) => Some(Err(fault(FailureReason::ResultMalformed))),
        "right" | "wrong" => Some(Ok(answer(past, lists))),
        _ => None,
    }
}

fn ask_of(past: &PastAsk, result: Option<Result<Answer, Fault>>) -> Ask {
    Ask {
        canary: past.canary.to_string(),
        variant: past.shape.variant,
        turn: past.shape.turn,
        elapsed: past.elapsed,
        fresh_connection: past.shape.fresh_connection,
        result,
    }
}

/// What was wrong before anybody asked whether it was right: that stays so, whatever is expected.
fn is_of_form(reason: Option<FailureReason>) -> bool {
    matches!(reason, Some(FailureReason::ResultMalformed | FailureReason::ChunkSizeAnomaly))
}

/// An answer in which no list of results was found.
fn is_unreadable(past: &PastAsk) -> bool {
    past.shape.reason == Some(FailureReason::ResultMalformed) && past.bytes == 0
}

fn recorded(past: &PastAsk) -> AskVerdict {
    let (reason, rank) = (past.shape.reason, past.shape.rank);
    match (past.shape.verdict, reason) {
        ("right", _) => AskVerdict::Right { rank },
        ("wrong", Some(reason)) => AskVerdict::Wrong { reason, rank, seen: String::new() },
        ("failed", Some(reason)) => AskVerdict::Failed { reason },
        _ => AskVerdict::NotAsked,
    }
}

fn answer(past: &PastAsk, lists: &SourceLists) -> Answer {
    let mut answer = Answer {
        cache: past.shape.cache,
        bytes: past.bytes,
        tokens: past.tokens,
        self_reported: past.self_reported.iter().flat_map(|said| said.lines().map(str::to_owned)).collect(),
        ..Answer::default()
    };
    let Some(kept) = &past.answer else { return answer };
    let sources = lists.get(&kept.list).map(|sources| &**sources).unwrap_or_default();
    let chars = |place: usize| kept.lengths.get(place).copied().unwrap_or_default();
    if let [text] = sources
        && text.starts_with(TEXT_NAME)
    {
        let text = KeptText { name: text.as_str().into(), bytes: past.bytes, chars: chars(0), begins: "".into() };
        (answer.text_only, answer.kept) = (true, Some(Box::new(text)));
        return answer;
    }
    let score = |place: usize| kept.scores.get(place).copied().filter(|score| !score.is_nan()).map(f64::from);
    let hit = |(place, source): (usize, &String)| Hit {
        source: source.clone(),
        score: score(place),
        chars: chars(place),
        excerpt: String::new(),
    };
    answer.hits = sources.iter().enumerate().map(hit).collect();
    answer
}

/// What was found, signal by signal: as the record has it, or judged anew from what it holds.
fn findings(past: &PastBeat, declared: &Declared, seen: &Observation, verdicts: &[AskVerdict]) -> Vec<Finding> {
    let of_record = |signal: Signal, stage: Stage| {
        let judged = past.shape.judged[signal as usize];
        judged.reason.filter(|_| judged.level == Level::Elevated).map(|reason| finding(signal, reason, stage))
    };
    let stage = past.shape.stage.unwrap_or(Stage::Handshake);
    let access = of_record(Signal::Access, stage).map(|found| Finding { severity: severity_of(found.reason), ..found });
    // By the patterns of the file that is tried.
    let access = match access.filter(|found| found.reason != FailureReason::TenantLeak) {
        None => leak::finding(&declared.monitor, seen),
        found => found,
    };
    let health = of_record(Signal::Health, Stage::Health).map(|found| with_address(found, seen));
    let found = [
        of_record(Signal::Availability, stage),
        access,
        errors(past, seen, verdicts),
        contract(past, seen),
        verdicts.iter().find_map(|verdict| match verdict {
            AskVerdict::Wrong { reason, .. } => Some(finding(Signal::Quality, *reason, Stage::Search)),
            _ => None,
        }),
        freshness(declared, seen),
        health,
    ];
    found.into_iter().flatten().collect()
}

fn finding(signal: Signal, reason: FailureReason, stage: Stage) -> Finding {
    Finding { signal, reason, severity: None, stage, summary: String::new(), evidence: Vec::new() }
}

/// How loud a finding about access is by itself.
const fn severity_of(reason: FailureReason) -> Option<Severity> {
    match reason {
        FailureReason::CertificateExpiring | FailureReason::CredentialExpiring => Some(Severity::Ticket),
        _ => None,
    }
}

fn with_address(found: Finding, seen: &Observation) -> Finding {
    let severity = Some(found.reason.facts().severity).filter(|severity| *severity == Severity::Notice);
    let address = seen.health.first().map(|health| health.address.clone()).unwrap_or_default();
    let evidence = vec![Evidence::new(HEALTH_URL, address)];
    Finding { severity, evidence, ..found }
}

fn errors(past: &PastBeat, seen: &Observation, verdicts: &[AskVerdict]) -> Option<Finding> {
    if is_throttled(past) {
        let stage = past.shape.stage.unwrap_or(Stage::Tools);
        return Some(finding(Signal::Errors, FailureReason::RateLimited, stage));
    }
    let failed = seen.asks.iter().zip(verdicts).find_map(|(ask, verdict)| match (verdict, &ask.result) {
        (AskVerdict::Failed { .. }, Some(Err(fault))) => Some(fault.kind),
        _ => None,
    });
    let (reason, signal) = reason_of(Stage::Search, failed?);
    (signal == Signal::Errors).then(|| finding(Signal::Errors, reason, Stage::Search))
}

/// Calls that do not fit; a list that merely differs is judged against the accepted one.
fn contract(past: &PastBeat, seen: &Observation) -> Option<Finding> {
    let judged = past.shape.judged[Signal::Contract as usize];
    let reason =
        judged.reason.filter(|reason| matches!(reason, FailureReason::SchemaDrift | FailureReason::ToolMissing))?;
    let is_drift = seen.tools.as_ref().is_some_and(|tools| tools.drift.is_some());
    let is_broken = past.shape.reason == Some(reason) || !is_drift;
    is_broken.then(|| finding(Signal::Contract, reason, Stage::Tools))
}

fn freshness(declared: &Declared, seen: &Observation) -> Option<Finding> {
    let rule = declared.monitor.rules.freshness.as_ref()?;
    let found = seen.sources.as_ref()?.newest(rule.older_than, seen.started_at)?;
    matches!(found, NewestSource::Old(_)).then(|| finding(Signal::Freshness, FailureReason::SourceStale, Stage::Search))
}
