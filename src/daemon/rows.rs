//! What a beat saw and changed, as the rows that are written of it.

use chrono::{DateTime, Utc};

use crate::daemon::runtime::MonitorRuntime;
use crate::domain::answer::{Answer, Ask, CacheWord};
use crate::domain::classify::{self, reason_of};
use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::MonitorState;
use crate::domain::observation::{Observation, Stage};
use crate::domain::outcome::{AskVerdict, Judged, Outcome, Verdict};
use crate::domain::paging::hold::TellingHold;
use crate::domain::quality::pinning::held;
use crate::domain::reason::FailureReason;
use crate::domain::recent_beats::RecentBeats;
use crate::domain::signal::{Phase, Signal, SignalState};
use crate::store::values::change_set::SourcesLook;
use crate::store::values::change_set::StageTimes;
use crate::store::values::change_set::{AskRow, BeatRow, BeatSeen, MarksRow, SignalRow};

/// A canary's own way to a leak is kept under this prefix of the access signal's subject.
pub(super) const LEAK: &str = "leak:";
/// What all canaries have shown so far is kept under this subject of the quality signal.
pub(super) const TRACK: &str = "track";

/// Signals that changed with the monitor's state, as they are written.
pub(crate) fn changed_signals(runtime: &MonitorRuntime, next: &MonitorState) -> Vec<SignalRow> {
    let row = |signal: Signal, subject: String, state: &SignalState, rule_hash: &str| SignalRow {
        monitor: runtime.monitor.id.clone(),
        signal,
        subject,
        state: state.clone(),
        rule_hash: rule_hash.to_owned(),
        detector: None,
    };
    let before = &runtime.state;
    let signals = Signal::ALL.into_iter().filter(|signal| {
        before.signal(*signal) != next.signal(*signal) || before.recent_beats(*signal) != next.recent_beats(*signal)
    });
    let whole = |signal: Signal| SignalRow {
        detector: next.recent_beats(signal).map(RecentBeats::to_bytes),
        ..row(signal, String::new(), next.signal(signal), &runtime.monitor.definition_hash)
    };
    let mut rows: Vec<SignalRow> = signals.map(whole).collect();
    rows.extend(
        changed_leaks(runtime, next).map(|(id, state, hash)| row(Signal::Access, format!("{LEAK}{id}"), &state, hash)),
    );
    for (id, canary) in next.canaries.iter() {
        let before = runtime.state.canaries.get(id).map(|canary| &canary.state);
        let untouched = before.is_none() && canary.state.phase == Phase::Quiet;
        if !untouched && before != Some(&canary.state) {
            rows.push(row(Signal::Quality, format!("canary:{id}"), &canary.state, &canary.definition_hash));
        }
    }
    for (id, canary) in runtime.state.canaries.iter() {
        if next.canaries.get(id).is_none() && canary.state.phase != Phase::Quiet {
            let quiet = SignalState::quiet(canary.state.since);
            rows.push(row(Signal::Quality, format!("canary:{id}"), &quiet, &canary.definition_hash));
        }
    }
    rows.extend(changed_track(runtime, next));
    rows
}

/// The track record, where there is news in it.
fn changed_track(runtime: &MonitorRuntime, next: &MonitorState) -> Option<SignalRow> {
    let record = next.track_record();
    let salt =
        runtime.monitor.id.as_str().bytes().fold(0, |salt: u32, byte| salt.wrapping_mul(31).wrapping_add(byte.into()));
    record.is_news(runtime.state.track_record(), salt).then(|| SignalRow {
        monitor: runtime.monitor.id.clone(),
        signal: Signal::Quality,
        subject: TRACK.to_owned(),
        state: SignalState::quiet(runtime.state.signal(Signal::Quality).since),
        rule_hash: runtime.monitor.definition_hash.clone(),
        detector: Some(record.to_bytes()),
    })
}

/// Holds that began or ended with the monitor's state. What held an incident that ended is ended with it.
pub(crate) fn changed_holds(runtime: &MonitorRuntime, next: &MonitorState) -> Vec<TellingHold> {
    let before: Vec<&TellingHold> = runtime.state.holds().collect();
    next.holds().filter(|hold| !before.contains(hold)).cloned().collect()
}

/// Incidents that got worse than what somebody took, each with when that one took it.
pub(crate) fn lapsed<'s>(
    runtime: &'s MonitorRuntime,
    next: &'s MonitorState,
) -> impl Iterator<Item = (&'s str, DateTime<Utc>)> {
    let had = |incident: &'s Incident| {
        let before = runtime.state.incident(incident.signal).filter(|before| before.id == incident.id)?;
        let (_, at) = before.acknowledged.as_ref().filter(|_| incident.acknowledged.is_none())?;
        Some((incident.id.as_str(), *at))
    };
    next.incidents().filter_map(had)
}

/// Where canaries stand on their way to a leak and back, as far as that changed; quiet where nothing is left of it.
fn changed_leaks<'s>(
    runtime: &'s MonitorRuntime,
    next: &'s MonitorState,
) -> impl Iterator<Item = (&'s str, SignalState, &'s str)> {
    let (before, after) = (&runtime.state.canaries, &next.canaries);
    let gone = before.iter().filter(|(id, _)| after.get(id).is_none());
    after.iter().chain(gone).filter_map(move |(id, canary)| {
        let was = before.get(id).and_then(|canary| canary.leak.as_deref());
        let is = after.get(id).and_then(|canary| canary.leak.as_deref());
        let state = is.or(was).filter(|_| was != is)?;
        let state = if is.is_some() { state.clone() } else { SignalState::quiet(state.since) };
        Some((id, state, &*canary.definition_hash))
    })
}

pub(super) fn marks_row(runtime: &MonitorRuntime, next: &MonitorState) -> MarksRow {
    MarksRow {
        monitor: runtime.monitor.id.to_string(),
        instance: next.marks.instances.last().cloned(),
        version: next.marks.version.clone(),
        process_started_at: next.marks.process_started_at,
        restarted_at: next.marks.restarted_at,
    }
}

pub(super) fn beat_row(
    seen: &Observation,
    outcome: &Outcome,
    next: &MonitorState,
    (config_hash, monitor): (&str, &Monitor),
) -> BeatRow {
    let tools = seen.steps.iter().find(|step| step.stage == Stage::Tools && step.fault.is_none());
    BeatRow {
        monitor: seen.monitor.clone(),
        scheduled_at: seen.scheduled_at,
        started_at: seen.started_at,
        kind: seen.kind,
        era: seen.era,
        transport: seen.transport,
        seen: match outcome.reason() {
            Some(FailureReason::MonitorUplink) => BeatSeen::Uplink,
            Some(FailureReason::MonitorInternal) => BeatSeen::Internal,
            _ => BeatSeen::Seen,
        },
        verdict: outcome.verdict,
        reason: outcome.reason(),
        stage: outcome.findings.first().map(|finding| finding.stage),
        elapsed: seen.elapsed,
        // What time a standstill took, no server did.
        stages: if outcome.verdict == Verdict::Unknown { StageTimes::default() } else { stage_times(seen) },
        fresh_connection: tools.is_some_and(|step| step.fresh_connection),
        config_hash: config_hash.to_owned(),
        lock_hash: monitor.pinned.as_ref().map(|pinned| pinned.hash.as_str().into()),
        // What showed us nothing was weighed by nobody.
        judged: if outcome.verdict == Verdict::Unknown { [Judged::UNKNOWN; 8] } else { next.judged() },
        sources: seen.sources.as_ref().map(|sources| SourcesLook {
            count: sources.count,
            newest: sources.last_indexed_at,
            knows_newest: sources.knows_newest(),
        }),
        in_maintenance: false,
    }
}

/// How long each stage took that was answered. A connection's time is known by the phases of the step that opened it.
pub(super) fn stage_times(seen: &Observation) -> StageTimes {
    let of = |stage: Stage| seen.steps.iter().filter(move |step| step.stage == stage && step.fault.is_none());
    let opened = seen.steps.iter().find(|step| step.fresh_connection && step.fault.is_none());
    StageTimes {
        connect: opened.and_then(|step| step.phases.tls.or(step.phases.connect)),
        // To go on in a kept session takes no time, and is no sample.
        handshake: of(Stage::Handshake).map(|step| step.elapsed).find(|elapsed| !elapsed.is_zero()),
        tools: of(Stage::Tools).map(|step| step.elapsed).next(),
        health: of(Stage::Health).map(|step| step.elapsed).max(),
    }
}

/// What was asked, and what that came to. An altered question is recorded last, as right where what holds between its answer
/// and the canary's own held: whoever reads the record tells it from the canary's by its turn. So it tells a sentence that
/// was asked back, of which the rank is kept and no list.
pub(super) fn ask_rows(seen: &Observation, outcome: &Outcome) -> Vec<AskRow> {
    let own = seen.asks.iter().zip(&outcome.asks).map(|(ask, verdict)| ask_row(ask, verdict));
    let altered = seen.altered.iter().map(|ask| {
        let verdict = match (&ask.result, held(seen)) {
            (Some(Err(fault)), _) => AskVerdict::Failed { reason: reason_of(Stage::Search, fault.kind).0 },
            (_, Some(false)) => {
                AskVerdict::Wrong { reason: FailureReason::InconsistentResults, rank: None, seen: String::new() }
            }
            _ => AskVerdict::Right { rank: None },
        };
        ask_row(ask, &verdict)
    });
    let harvested = seen.harvested.iter().filter_map(|harvested| Some((&harvested.ask, classify::harvested(seen)?)));
    own.chain(altered).chain(harvested.map(|(ask, verdict)| ask_row(ask, &verdict))).collect()
}

fn ask_row(ask: &Ask, verdict: &AskVerdict) -> AskRow {
    let (reason, rank) = match verdict {
        AskVerdict::Right { rank } => (None, *rank),
        AskVerdict::Wrong { reason, rank, .. } => (Some(*reason), *rank),
        AskVerdict::Failed { reason } => (Some(*reason), None),
        AskVerdict::NotAsked => (None, None),
    };
    let answer = ask.result.as_ref().and_then(|result| result.as_ref().ok());
    let hits = answer.map_or(&[][..], |answer| &answer.hits);
    // In the place of its sources, so that lists, packs and exports know one layout.
    let text = answer.and_then(|answer| answer.kept.as_deref());
    AskRow {
        canary: ask.canary.clone(),
        variant: ask.variant,
        turn: ask.turn,
        elapsed: ask.elapsed,
        fresh_connection: ask.fresh_connection,
        verdict: verdict.slug(),
        reason,
        rank,
        sources: answer.into_iter().flat_map(Answer::sources).map(str::to_owned).collect(),
        scores: hits.iter().map(|hit| hit.score).chain(text.map(|_| None)).collect(),
        lengths: hits.iter().map(|hit| hit.chars).chain(text.map(|text| text.chars)).collect(),
        bytes: answer.map_or(0, |answer| answer.bytes),
        tokens: answer.and_then(|answer| answer.tokens),
        cache: answer.map_or(CacheWord::Unsaid, |answer| answer.cache),
        self_reported: answer.map(|answer| answer.self_reported.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::answer::{Hit, KeptText, Turn, Variant};
    use crate::domain::observation::{BeatKind, Phases, Step};
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn an_answer_becomes_a_ranked_list() {
        let hit = |source: &str, score| Hit { source: source.to_owned(), score, chars: 80, excerpt: String::new() };
        let hits = vec![hit("a.md", Some(0.5)), hit("b.md", None)];
        let text = KeptText { name: "text:ab".into(), bytes: 13, chars: 12, begins: "ä text alone".into() };
        let rows = [
            (Answer { hits, ..Answer::default() }, "a.md b.md [Some(0.5), None] [80, 80]", "results"),
            (Answer::default(), " [] []", "no results"),
            (
                Answer { text_only: true, kept: Some(Box::new(text)), ..Answer::default() },
                "text:ab [None] [12]",
                "a text is one source without a score",
            ),
        ];
        for (answer, expected, sentence) in rows {
            let ask = Ask {
                canary: "c".to_owned(),
                variant: Variant::Plain,
                turn: Turn::Scheduled,
                elapsed: Duration::ZERO,
                fresh_connection: false,
                result: Some(Ok(answer)),
            };
            let row = ask_row(&ask, &AskVerdict::Right { rank: None });
            let written = format!("{} {:?} {:?}", row.sources.join(" "), row.scores, row.lengths);
            assert_eq!(written, expected, "{sentence}");
        }
    }
    #[test]
    fn what_a_standstill_took_is_no_time_of_a_stage() {
        let at = DateTime::UNIX_EPOCH;
        let monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
        let step = Step {
            stage: Stage::Tools,
            label: "tools/list".to_owned(),
            elapsed: Duration::from_secs(9),
            phases: Phases::default(),
            fresh_connection: false,
            fault: None,
            notes: Vec::new(),
        };
        let seen =
            Observation { steps: vec![step], ..Observation::blank(monitor.id.clone(), BeatKind::Scheduled, at, at) };
        for (verdict, tools) in [(Verdict::Down, Some(Duration::from_secs(9))), (Verdict::Unknown, None)] {
            let outcome = Outcome { verdict, findings: Vec::new(), asks: Vec::new() };
            let row = beat_row(&seen, &outcome, &MonitorState::new(at), ("", &monitor));
            assert_eq!(row.stages.tools, tools, "{verdict:?}");
        }
    }
}
