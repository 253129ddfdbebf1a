//! The first line of a transcript: what was asked of the server and what came of it, for a program to read. By it the
//! very same sequence can be run again, and the two be compared.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::answer::{Ask, Turn, Variant};
use crate::domain::fault::FaultKind;
use crate::domain::observation::{Observation, Step};
use crate::domain::outcome::{AskVerdict, Finding, Outcome};
use crate::domain::protocol::{Era, Transport};
use crate::domain::server_profile::{Caution, ServerProfile};
use crate::probe::assignment::Assignment;
use crate::untrusted_text::{DETAIL_CHARS_MAX, NAME_CHARS_MAX, Scrub, escaped};

/// What the line starts with; the number changes when what follows can no longer be read by the same program.
const MARK: &str = "# serin transcript v1 ";

/// Bytes of the line: the rest of the transcript has to have room beside it.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Steps and canaries told of: a beat has a handful.
const ROWS_MAX: usize = 48;

/// Sources told of one answer; fewer where the line would grow too long.
const SOURCES_SHOWN: [usize; 4] = [10, 5, 2, 0];

/// One probe, as a program reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Id of the monitor in its file.
    pub monitor: String,
    /// Hash of its definition.
    pub definition: String,
    /// Why the beat took place.
    pub kind: String,
    /// When it started, RFC 3339.
    pub started_at: DateTime<Utc>,
    /// From first to last byte, milliseconds.
    pub elapsed_ms: f64,
    /// What was known of the server before: it decides what is asked first.
    pub before: Before,
    /// The era found, where one was.
    pub era: Option<String>,
    /// Slug of the transport; none where none was found.
    pub transport: Option<String>,
    /// Canaries to be asked, in order.
    pub asks: Vec<RequestHead>,
    /// Whether the source-listing tool was to be asked.
    pub sources: bool,
    /// The steps, in order.
    pub steps: Vec<StepSeen>,
    /// The canaries' answers, in order.
    pub answers: Vec<AnswerSeen>,
    /// The findings of the judgement, the leading one first.
    pub findings: Vec<FindingSeen>,
}

/// What was known before a probe; words as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Before {
    era: Option<String>,
    transport: Option<String>,
    era_found_at: Option<String>,
    discover: String,
    closing: String,
}

/// One canary that was to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestHead {
    /// Id of the canary in its monitor.
    pub canary: String,
    /// Whether it was its turn, or it was asked again.
    pub turn: String,
    /// Whether it was meant to go past caches; older transcripts, of plain searches, lack it.
    #[serde(default)]
    pub variant: String,
}

/// A step as the transcript's first line keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSeen {
    /// Slug of the stage, such as `handshake`.
    pub stage: String,
    /// A method, a canary's id or a health address.
    pub label: String,
    /// How long it took, milliseconds.
    pub elapsed_ms: f64,
    /// What broke: the word, with its figure.
    pub fault: Option<String>,
    /// What the fault's evidence was; none without a fault.
    pub detail: Option<String>,
}

/// How one canary was answered and judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSeen {
    /// Id of the canary.
    pub canary: String,
    /// `right`, `wrong`, `failed` or `not_asked`.
    pub verdict: String,
    /// How many results there were.
    pub results: usize,
    /// The first sources, in the order given.
    pub ranked: Vec<String>,
}

/// One thing that was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingSeen {
    /// Slug of the signal, such as `availability`.
    pub signal: String,
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: String,
    /// The stage of the probe in which it showed.
    pub stage: String,
    /// The headline, one line without markup.
    pub summary: String,
}

impl Head {
    /// What is told of a probe, without what `scrub` hides.
    pub fn of(assignment: &Assignment, seen: &Observation, outcome: &Outcome, scrub: &Scrub) -> Self {
        let canaries = &assignment.monitor.canaries;
        let asks = assignment.asks.iter().filter_map(|ask| Some((canaries.get(ask.canary)?, ask)));
        let asks = asks.map(|(canary, ask)| RequestHead {
            canary: canary.id.clone(),
            turn: ask.turn.slug().to_owned(),
            variant: ask.variant.slug().to_owned(),
        });
        let finding = |finding: &Finding| FindingSeen {
            signal: finding.signal.slug().to_owned(),
            reason: finding.reason.slug().to_owned(),
            stage: finding.stage.slug().to_owned(),
            summary: clean(scrub, &finding.summary, DETAIL_CHARS_MAX),
        };
        Self {
            monitor: seen.monitor.to_string(),
            definition: assignment.monitor.definition_hash.clone(),
            kind: seen.kind.slug().to_owned(),
            started_at: seen.started_at,
            elapsed_ms: millis(seen.elapsed),
            before: Before::of(&assignment.profile),
            era: seen.era.map(|era| era.slug().to_owned()),
            transport: seen.transport.map(|transport| transport.slug().to_owned()),
            asks: asks.take(ROWS_MAX).collect(),
            sources: assignment.source_pages > 0,
            steps: seen.steps.iter().take(ROWS_MAX).map(|step| step_of(step, scrub)).collect(),
            answers: seen
                .asks
                .iter()
                .zip(&outcome.asks)
                .take(ROWS_MAX)
                .map(|(ask, verdict)| answer_of(ask, verdict, scrub))
                .collect(),
            findings: outcome.findings.iter().map(finding).collect(),
        }
    }

    /// The line, without its end; lists are shortened where it would grow too long.
    pub fn line(&self) -> String {
        let mut head = self.clone();
        let mut line = String::new();
        for sources in SOURCES_SHOWN {
            head.answers.iter_mut().for_each(|answer| answer.ranked.truncate(sources));
            line = serde_json::to_string(&head).unwrap_or_default();
            if line.len() <= HEAD_BYTES_MAX {
                return format!("{MARK}{line}");
            }
        }
        for rows in [ROWS_MAX / 2, ROWS_MAX / 4, 1] {
            head.steps.truncate(rows);
            head.answers.truncate(rows);
            line = serde_json::to_string(&head).unwrap_or_default();
            if line.len() <= HEAD_BYTES_MAX {
                break;
            }
        }
        format!("{MARK}{line}")
    }

    /// Reads it off a transcript; none where its first line is no such thing.
    pub fn read(transcript: &str) -> Option<Self> {
        serde_json::from_str(transcript.lines().next()?.strip_prefix(MARK)?).ok()
    }
}

impl Before {
    fn of(profile: &ServerProfile) -> Self {
        Self {
            era: profile.era.map(|era| era.slug().to_owned()),
            transport: profile.transport.map(|transport| transport.slug().to_owned()),
            era_found_at: profile.era_found_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Micros, true)),
            discover: profile.discover.slug().to_owned(),
            closing: profile.closing.slug().to_owned(),
        }
    }

    /// What is known of the server, as it was then, carried over from `then` to `now`: what had been found an hour
    /// before the one probe was found an hour before the other.
    pub fn profile(&self, then: DateTime<Utc>, now: DateTime<Utc>) -> ServerProfile {
        let found_at = self.era_found_at.as_deref().and_then(|at| at.parse::<DateTime<Utc>>().ok());
        ServerProfile {
            era: self.era.as_deref().and_then(Era::from_slug),
            transport: self.transport.as_deref().and_then(Transport::from_slug),
            era_found_at: found_at.map(|at| now - (then - at)),
            discover: Caution::from_slug(&self.discover).unwrap_or_default(),
            closing: Caution::from_slug(&self.closing).unwrap_or_default(),
            ..ServerProfile::default()
        }
    }
}

impl RequestHead {
    /// The turn that the stored word stands for.
    pub fn why(&self) -> Turn {
        [Turn::ReAsk, Turn::NotAsked].into_iter().find(|turn| turn.slug() == self.turn).unwrap_or(Turn::Scheduled)
    }

    /// The variant that the stored word stands for.
    pub fn how(&self) -> Variant {
        Variant::from_slug(&self.variant).unwrap_or(Variant::Plain)
    }
}

fn step_of(step: &Step, scrub: &Scrub) -> StepSeen {
    StepSeen {
        stage: step.stage.slug().to_owned(),
        label: clean(scrub, &step.label, NAME_CHARS_MAX),
        elapsed_ms: millis(step.elapsed),
        fault: step.fault.as_ref().map(|fault| fault_word(fault.kind)),
        detail: step.fault.as_ref().map(|fault| clean(scrub, &fault.detail, DETAIL_CHARS_MAX)),
    }
}

fn answer_of(ask: &Ask, verdict: &AskVerdict, scrub: &Scrub) -> AnswerSeen {
    let answer = ask.result.as_ref().and_then(|result| result.as_ref().ok());
    let hits = answer.map_or(&[][..], |answer| &answer.hits);
    AnswerSeen {
        canary: ask.canary.clone(),
        verdict: verdict.slug().to_owned(),
        results: hits.len(),
        ranked: hits.iter().take(SOURCES_SHOWN[0]).map(|hit| clean(scrub, &hit.source, NAME_CHARS_MAX)).collect(),
    }
}

fn clean(scrub: &Scrub, text: &str, chars: usize) -> String {
    escaped(&scrub.hidden(text), chars)
}

/// A fault's kind as a word, and its figure where it has one, such as `http_status 503`.
pub fn fault_word(kind: FaultKind) -> String {
    let word = kind_word(kind);
    match kind {
        FaultKind::HttpStatus(status) | FaultKind::Redirected(status) => format!("{word} {status}"),
        FaultKind::RpcError(code) => format!("{word} {code}"),
        _ => word,
    }
}

/// A fault's kind as a word, its figures left out.
pub fn kind_word(kind: FaultKind) -> String {
    let name = format!("{kind:?}");
    let mut word = String::with_capacity(name.len() + 4);
    for c in name.chars().take_while(|c| c.is_ascii_alphabetic()) {
        if c.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

/// Milliseconds, to the microsecond.
pub fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
