//! `serin probe ID --replay INCIDENT`: the sequence of the beat that failed, once more, and what is different now.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use chrono::Utc;
use serde_json::{Value, json};

use crate::cli::observe::{INTERRUPTED, observe, recalled};
use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::said_once;
use crate::domain::classify::classify;
use crate::domain::monitor::Monitor;
use crate::domain::observation::BeatKind;
use crate::domain::schedule::PlannedAsk;
use crate::domain::sources::SOURCE_PAGES_MAX;
use crate::domain::wording::counted;
use crate::probe::assignment::{Assignment, Further};
use crate::probe::stages::secrets::secrets_of;
use crate::probe::wire::head::{AnswerSeen, FindingSeen, Head, StepSeen};
use crate::tool_lists::known::KnownLists;

/// The exit code where nothing can be said: no transcript, or the question could not be asked again.
pub(crate) const UNTRIED: u8 = 3;

/// What became of the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplayVerdict {
    /// It does not show any more.
    Gone(String),
    StillThere(String),
    /// Something else is wrong now.
    Another(String),
    /// What failed then was not asked now.
    Untried(String),
}

/// One step of the two probes.
#[derive(Debug, PartialEq)]
pub(crate) struct ReplayPair<'h> {
    then: Option<(&'h StepSeen, Option<&'h AnswerSeen>)>,
    now: Option<(&'h StepSeen, Option<&'h AnswerSeen>)>,
}

/// What a running Serin keeps of an incident.
struct KeptTranscript {
    head: Head,
    signal: String,
}

/// Fetches, probes, compares and prints. The exit code: 0 gone, 1 still there, 2 another fault, 3 nothing can be said.
///
/// # Errors
/// Where the output cannot be written.
pub(crate) async fn command(
    remote: &RemoteArgs,
    incident: &str,
    monitor: anyhow::Result<Arc<Monitor>>,
    (as_json, transcript): (bool, bool),
) -> anyhow::Result<ExitCode> {
    let fetched = async {
        let monitor = monitor?;
        anyhow::Ok((fetch(remote, incident, &monitor).await?, monitor))
    };
    let (kept, monitor) = match fetched.await {
        Ok(fetched) => fetched,
        // Code 1 is an answer of its own.
        Err(error) => {
            anstream::eprintln!("{}", said_once::error(&error));
            return Ok(ExitCode::from(UNTRIED));
        }
    };
    let (mut assignment, notes) = again(&kept.head, &monitor);
    // What protects the server comes from now: what was learnt since is not unlearnt for a replay.
    assignment.profile.heed(&recalled(&remote.config, &monitor).await);
    let Some(seen) = observe(&assignment).await else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let outcome = classify(&monitor, &seen);
    let now = Head::of(&assignment, &seen, &outcome, &secrets_of(&monitor));
    let verdict = judge(&kept.head, &now, &kept.signal);
    let out = &mut io::stdout().lock();
    if as_json {
        let mut value = as_value(incident, &kept.head, &now, &verdict, &notes);
        if transcript {
            value["transcript"] = json!(seen.transcript.as_deref());
        }
        writeln!(out, "{value:#}")?;
    } else {
        explain(incident, (&kept.head, &now), &verdict, &notes, out)?;
        if transcript {
            write!(out, "\n{}", seen.transcript.as_deref().unwrap_or_default())?;
        }
    }
    Ok(ExitCode::from(verdict.code()))
}

/// The first transcript that the incident kept, as its head tells it.
async fn fetch(remote: &RemoteArgs, incident: &str, monitor: &Monitor) -> anyhow::Result<KeptTranscript> {
    let remote = Remote::find(remote)?;
    let id: String = url::form_urlencoded::byte_serialize(incident.as_bytes()).collect();
    let list = remote.get(&format!("/incidents/{id}/transcripts")).await?;
    anyhow::ensure!(list.status < 300, "{}", list.error());
    let whose = list.body["monitor"].as_str().unwrap_or_default();
    anyhow::ensure!(
        whose == monitor.id.as_str(),
        "incident {incident} is of the monitor '{whose}': serin probe {whose} --replay {incident}"
    );
    let Some(hash) = list.body["transcripts"][0]["hash"].as_str() else {
        anyhow::bail!(
            "incident {incident} kept no transcript: what it is about shows in no single answer, or it is more than \
             30 days ago. `serin probe {whose}` looks as it is now"
        );
    };
    let text = remote.get(&format!("/transcripts/{hash}")).await?;
    anyhow::ensure!(text.status < 300, "{}", text.error());
    let head = Head::read(text.body["text"].as_str().unwrap_or_default());
    let head = head.ok_or_else(|| anyhow::anyhow!("this version of serin cannot read the transcript {hash}"))?;
    Ok(KeptTranscript { head, signal: list.body["signal"].as_str().unwrap_or_default().to_owned() })
}

/// The same sequence as an assignment for now, and where it cannot be the same.
fn again(head: &Head, monitor: &Arc<Monitor>) -> (Assignment, Vec<String>) {
    let mut notes = Vec::new();
    if head.definition != monitor.definition_hash {
        notes.push("the monitor is declared differently now".to_owned());
    }
    let mut asks = Vec::with_capacity(head.asks.len());
    for asked in &head.asks {
        match monitor.canaries.iter().position(|canary| canary.id == asked.canary) {
            Some(canary) => asks.push(PlannedAsk::new(canary, asked.why(), asked.how())),
            None => notes.push(format!("the canary {} is no longer declared, and left out", asked.canary)),
        }
    }
    let now = Utc::now();
    let assignment = Assignment {
        monitor: Arc::clone(monitor),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks,
        further: Further::NONE,
        source_pages: if head.sources { SOURCE_PAGES_MAX } else { 0 },
        source_names: false,
        profile: head.before.profile(head.started_at, now),
        // What the tools once were is the running Serin's to know.
        lists: KnownLists::default(),
    };
    (assignment, notes)
}

/// What became of the fault that fed `signal`, else of the leading one.
pub(crate) fn judge(then: &Head, now: &Head, signal: &str) -> ReplayVerdict {
    let same = |one: &FindingSeen, other: &FindingSeen| one.signal == other.signal && one.reason == other.reason;
    let Some(fault) = then.findings.iter().find(|finding| finding.signal == signal).or(then.findings.first()) else {
        return ReplayVerdict::Untried("the transcript tells of no fault".to_owned());
    };
    let said = |finding: &FindingSeen| said_once::finding(&finding.reason, &finding.stage, &finding.summary);
    if let Some(found) = now.findings.iter().find(|found| same(found, fault)) {
        return ReplayVerdict::StillThere(said(found));
    }
    // What was wrong beside it then is not what the replay asks about.
    if let Some(new) = now.findings.iter().find(|found| !then.findings.iter().any(|known| same(known, found))) {
        return ReplayVerdict::Another(said(new));
    }
    let failing = then.answers.iter().filter(|answer| matches!(answer.verdict.as_str(), "wrong" | "failed"));
    let failing: Vec<&AnswerSeen> = failing.collect();
    let asked = |answer: &&AnswerSeen| {
        now.answers.iter().any(|again| again.canary == answer.canary && again.verdict != "not_asked")
    };
    if fault.stage == "search" && !failing.is_empty() && !failing.iter().any(asked) {
        return ReplayVerdict::Untried(format!("the canary {} was not asked", failing[0].canary));
    }
    let beside: Vec<&str> = now.findings.iter().map(|found| found.reason.as_str()).collect();
    let beside = if beside.is_empty() { String::new() } else { format!("; beside it, as then: {}", beside.join(", ")) };
    ReplayVerdict::Gone(format!("{} at {} does not show{beside}", fault.reason, fault.stage))
}

impl ReplayVerdict {
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Gone(_) => 0,
            Self::StillThere(_) => 1,
            Self::Another(_) => 2,
            Self::Untried(_) => UNTRIED,
        }
    }

    const fn slug(&self) -> &'static str {
        match self {
            Self::Gone(_) => "gone",
            Self::StillThere(_) => "still_there",
            Self::Another(_) => "another",
            Self::Untried(_) => "untried",
        }
    }

    pub(crate) fn said(&self) -> String {
        match self {
            Self::Gone(said) => format!("the fault is gone: {said}"),
            Self::StillThere(said) => format!("still there: {said}"),
            Self::Another(said) => format!("another fault: {said}"),
            Self::Untried(said) => format!("nothing can be said: {said}"),
        }
    }
}

/// Sets the steps of the two side by side: those of then in their order, then what is only there now.
pub(crate) fn pairs<'h>(then: &'h Head, now: &'h Head) -> Vec<ReplayPair<'h>> {
    let mut rest: Vec<&StepSeen> = now.steps.iter().collect();
    let mut pairs: Vec<ReplayPair<'h>> = Vec::with_capacity(then.steps.len());
    for step in &then.steps {
        let place = rest.iter().position(|one| one.stage == step.stage && one.label == step.label);
        let again = place.map(|place| rest.remove(place));
        pairs.push(ReplayPair {
            then: Some((step, answer(then, step))),
            now: again.map(|again| (again, answer(now, again))),
        });
    }
    pairs.extend(rest.into_iter().map(|step| ReplayPair { then: None, now: Some((step, answer(now, step))) }));
    pairs
}

fn answer<'h>(head: &'h Head, step: &StepSeen) -> Option<&'h AnswerSeen> {
    head.answers.iter().find(|answer| step.stage == "search" && answer.canary == step.label)
}

fn explain(
    incident: &str,
    (then, now): (&Head, &Head),
    verdict: &ReplayVerdict,
    notes: &[String],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{} · incident {incident}", then.monitor)?;
    for (word, head) in [("then", then), ("now", now)] {
        let at = head.started_at.format("%Y-%m-%d %H:%M:%S UTC");
        let spoken = [head.transport.as_deref(), head.era.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let spoken = if spoken.is_empty() { String::new() } else { format!(" · {}", spoken.join(", ")) };
        writeln!(out, "{word:<5}      {at} · {:.1} ms{spoken}", head.elapsed_ms)?;
    }
    for note in notes {
        writeln!(out, "           note: {note}")?;
    }
    for pair in pairs(then, now) {
        let Some((step, _)) = pair.then.or(pair.now) else { continue };
        let changed = if pair.is_alike() { '=' } else { '≠' };
        writeln!(out, "{:<10} {changed} {}", step.stage, step.label)?;
        writeln!(out, "           then  {}", told(pair.then))?;
        writeln!(out, "           now   {}", told(pair.now))?;
    }
    writeln!(out, "{}", verdict.said())
}

fn told(step: Option<(&StepSeen, Option<&AnswerSeen>)>) -> String {
    let Some((step, answer)) = step else { return "not reached".to_owned() };
    let status = step.fault.as_deref().unwrap_or("ok");
    let detail = step.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
    let ranked = match answer.filter(|_| step.fault.is_none()) {
        Some(answer) if answer.results == 0 => format!(" · {} · no results", answer.verdict),
        Some(answer) => format!(
            " · {} · {}: {}",
            answer.verdict,
            counted(answer.results, "result", "results"),
            answer.ranked.join(", ")
        ),
        None => String::new(),
    };
    format!("{status} · {:.1} ms{detail}{ranked}", step.elapsed_ms)
}

impl ReplayPair<'_> {
    /// Whether the two went alike but for their times.
    fn is_alike(&self) -> bool {
        let outcome = |step: &Option<(&StepSeen, Option<&AnswerSeen>)>| {
            step.map(|(step, answer)| (step.fault.clone(), answer.cloned()))
        };
        outcome(&self.then) == outcome(&self.now)
    }
}

fn as_value(incident: &str, then: &Head, now: &Head, verdict: &ReplayVerdict, notes: &[String]) -> Value {
    let side = |step: Option<(&StepSeen, Option<&AnswerSeen>)>| {
        step.map(|(step, answer)| {
            json!({"elapsed_ms": step.elapsed_ms, "fault": step.fault, "detail": step.detail, "answer": answer})
        })
    };
    let steps = pairs(then, now).into_iter().filter_map(|pair| {
        let (step, _) = pair.then.or(pair.now)?;
        Some(json!({
            "stage": step.stage, "label": step.label, "alike": pair.is_alike(),
            "then": side(pair.then), "now": side(pair.now),
        }))
    });
    json!({
        "incident": incident,
        "verdict": verdict.slug(),
        "said": verdict.said(),
        "notes": notes,
        "steps": steps.collect::<Vec<_>>(),
        "then": then,
        "now": now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::wire::head::Before;

    fn head(findings: &[(&str, &str, &str)], answers: &[(&str, &str)]) -> Head {
        let step = |label: &str| StepSeen {
            stage: "search".to_owned(),
            label: label.to_owned(),
            elapsed_ms: 1.0,
            fault: None,
            detail: None,
        };
        Head {
            monitor: "docs".to_owned(),
            definition: String::new(),
            kind: "scheduled".to_owned(),
            started_at: chrono::DateTime::UNIX_EPOCH,
            elapsed_ms: 1.0,
            before: Before::default(),
            era: None,
            transport: None,
            asks: Vec::new(),
            sources: false,
            steps: answers.iter().map(|(canary, _)| step(canary)).collect(),
            answers: answers
                .iter()
                .map(|(canary, verdict)| AnswerSeen {
                    canary: (*canary).to_owned(),
                    verdict: (*verdict).to_owned(),
                    results: 0,
                    ranked: Vec::new(),
                })
                .collect(),
            findings: findings
                .iter()
                .map(|(signal, reason, stage)| FindingSeen {
                    signal: (*signal).to_owned(),
                    reason: (*reason).to_owned(),
                    stage: (*stage).to_owned(),
                    summary: String::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn a_replay_says_what_became_of_the_fault() {
        type ReplayFindings = &'static [(&'static str, &'static str, &'static str)];
        type ReplayAnswers = &'static [(&'static str, &'static str)];
        let empty: ReplayFindings = &[("quality", "empty_results", "search")];
        let both: ReplayFindings = &[("quality", "empty_results", "search"), ("freshness", "source_stale", "search")];
        let refused: ReplayFindings = &[("availability", "connection_refused", "connect")];
        let rows: [(ReplayFindings, ReplayAnswers, ReplayFindings, ReplayAnswers, &str, u8, &str); 7] = [
            (refused, &[], &[], &[], "availability", 0, "nothing is wrong any more"),
            (refused, &[], refused, &[], "availability", 1, "the same again"),
            (empty, &[("a", "wrong")], refused, &[("a", "not_asked")], "quality", 2, "it cannot even be asked"),
            (both, &[("a", "wrong")], &both[1..], &[("a", "right")], "quality", 0, "what was beside it stays"),
            (both, &[("a", "wrong")], both, &[("a", "wrong")], "freshness", 1, "the incident's own fault is meant"),
            (empty, &[("a", "wrong")], &[], &[], "quality", 3, "the canary that failed is no longer asked"),
            (&[], &[], &[], &[], "quality", 3, "nothing was wrong then"),
        ];
        for (then, then_answers, now, now_answers, signal, code, sentence) in rows {
            let verdict = judge(&head(then, then_answers), &head(now, now_answers), signal);
            assert_eq!(verdict.code(), code, "{sentence}: {verdict:?}");
        }
    }

    #[test]
    fn steps_stand_side_by_side() {
        let (then, now) = (head(&[], &[("a", "wrong"), ("b", "right")]), head(&[], &[("b", "right"), ("c", "right")]));
        let labels = |pair: &ReplayPair<'_>| {
            let label = |side: Option<(&StepSeen, Option<&AnswerSeen>)>| side.map(|(step, _)| step.label.clone());
            (label(pair.then), label(pair.now), pair.is_alike())
        };
        let text = |text: &str| Some(text.to_owned());
        let seen: Vec<_> = pairs(&then, &now).iter().map(labels).collect();
        let expected = [(text("a"), None, false), (text("b"), text("b"), true), (None, text("c"), false)];
        assert_eq!(seen, expected);
    }
}
