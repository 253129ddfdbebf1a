//! The answer as JSON: what the API gives and `serin why --json` prints.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::rules::RulePlace;
use crate::domain::signal::HeldBy;
use crate::domain::why::answer::{HoldThen, IncidentThen, Listener, LookThen, Record, SignalThen, ToldThen, Why};
use crate::domain::why::sentence::{not_yet, telling};
use crate::domain::why::text::stand;

/// Why people were told of a monitor or an incident, or were not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhyBody {
    /// The answer in one sentence.
    answer: String,
    monitor: String,
    /// The incident that was asked about; null where it was the monitor.
    incident: Option<String>,
    /// The moment whose readings are told.
    at: DateTime<Utc>,
    /// The moment up to which it is told who heard.
    until: DateTime<Utc>,
    record: RecordBody,
    /// The file in force at that moment; null where it is not kept.
    file: Option<FileBody>,
    /// How each signal stood; empty where no beat of then is kept.
    signals: Vec<SignalBody>,
    /// The incident that was asked about; of a monitor those that were open then or ended in the hour before.
    incidents: Vec<IncidentBody>,
    /// What the record cannot say.
    notes: Vec<String>,
}

/// What is kept of the beats before that moment.
#[derive(Debug, Serialize, JsonSchema)]
struct RecordBody {
    /// `weighed`: they were weighed again; `gone`: they are kept no more; `unseen`: nobody looked in the week before.
    kind: &'static str,
    said: String,
    /// How many beats were weighed.
    beats: u64,
    /// When the first of them began; of beats that are gone, from when on they are kept.
    from: Option<DateTime<Utc>>,
    /// When the last of them began that showed something.
    last: Option<DateTime<Utc>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileBody {
    name: String,
    commit: Option<String>,
    since: DateTime<Utc>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PlaceBody {
    file: String,
    line: u32,
    commit: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SignalBody {
    signal: &'static str,
    /// How it stood, in words.
    stood: String,
    level: &'static str,
    figure: String,
    samples: u32,
    failure_reason: Option<&'static str>,
    phase: &'static str,
    since: DateTime<Utc>,
    /// What kept it from opening: another signal, or `cold_start`.
    held_by: Option<&'static str>,
    /// How far it was from opening, and what was missing; null where it was not on its way.
    not_yet: Option<String>,
    opens: String,
    closes: String,
    severity: &'static str,
    rule: PlaceBody,
    /// Who would be told if it opened as it stood.
    listeners: Vec<ListenerBody>,
    /// What would have had nobody told.
    quiet: Vec<String>,
    /// Its latest beats, the oldest first.
    beats: Vec<LookBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListenerBody {
    receiver: String,
    fallback: Option<String>,
    route: PlaceBody,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LookBody {
    at: DateTime<Utc>,
    level: &'static str,
    figure: String,
    phase: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IncidentBody {
    id: String,
    signal: &'static str,
    severity: &'static str,
    failure_reason: &'static str,
    summary: String,
    opened_at: DateTime<Utc>,
    resolved_at: Option<DateTime<Utc>>,
    resolve_cause: Option<&'static str>,
    rule: PlaceBody,
    opens: String,
    /// Who was told of it until then, or why nobody was.
    telling: String,
    /// Whom the routes of then tell of it; null where the file of then is not kept.
    listeners: Option<Vec<ListenerBody>>,
    holds: Vec<HoldBody>,
    told: Vec<ToldBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HoldBody {
    kind: &'static str,
    by: String,
    said: String,
    since: DateTime<Utc>,
    /// When it was over; null where it holds on.
    over_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToldBody {
    event: String,
    receiver: String,
    fallback_of: Option<String>,
    at: DateTime<Utc>,
    state: String,
    tried_at: Option<DateTime<Utc>>,
    answer: String,
    route: Option<PlaceBody>,
}

impl WhyBody {
    /// The answer as JSON.
    pub(crate) fn of(why: &Why) -> Self {
        let file = why.file.as_ref();
        Self {
            answer: why.sentence(),
            monitor: why.monitor.to_string(),
            incident: why.incident.clone(),
            at: why.at,
            until: why.until,
            record: record(why),
            file: file.map(|file| FileBody { name: file.name.clone(), commit: file.commit.clone(), since: file.since }),
            signals: why.signals.iter().map(signal).collect(),
            incidents: why.incidents.iter().map(|one| incident(one, why)).collect(),
            notes: why.notes.clone(),
        }
    }
}

fn record(why: &Why) -> RecordBody {
    let (kind, beats, from, last) = match &why.record {
        Record::Weighed(weighed) => ("weighed", weighed.beats, Some(weighed.from), Some(weighed.last)),
        Record::Gone(since) => ("gone", 0, Some(*since), None),
        Record::Unseen => ("unseen", 0, None, None),
    };
    RecordBody { kind, said: why.basis(), beats, from, last }
}

fn place(place: &RulePlace) -> PlaceBody {
    PlaceBody { file: place.file.clone(), line: place.line, commit: place.commit.clone() }
}

fn signal(one: &SignalThen) -> SignalBody {
    let standing = &one.standing;
    SignalBody {
        signal: one.signal.slug(),
        stood: stand(one),
        level: standing.level.slug(),
        figure: standing.figure.clone(),
        samples: standing.samples,
        failure_reason: standing.reason.map(|reason| reason.slug()),
        phase: standing.phase.slug(),
        since: standing.since,
        held_by: standing.held_by.map(HeldBy::slug),
        not_yet: not_yet(one),
        opens: one.opens.clone(),
        closes: one.closes.clone(),
        severity: standing.severity.slug(),
        rule: place(&one.rule),
        listeners: one.listeners.iter().map(listener).collect(),
        quiet: one.quiet.clone(),
        beats: one.looks.iter().map(look).collect(),
    }
}

fn listener(one: &Listener) -> ListenerBody {
    ListenerBody { receiver: one.receiver.clone(), fallback: one.fallback.clone(), route: place(&one.route) }
}

fn look(one: &LookThen) -> LookBody {
    LookBody { at: one.at, level: one.level.slug(), figure: one.figure.clone(), phase: one.phase.slug() }
}

fn incident(one: &IncidentThen, why: &Why) -> IncidentBody {
    let incident = &one.incident;
    IncidentBody {
        id: incident.id.clone(),
        signal: incident.signal.slug(),
        severity: incident.severity.slug(),
        failure_reason: incident.reason.slug(),
        summary: incident.summary.clone(),
        opened_at: incident.opened_at,
        resolved_at: incident.resolved_at,
        resolve_cause: incident.resolve_cause.as_ref().map(|cause| cause.slug()),
        rule: place(&incident.rule),
        opens: one.opens.clone(),
        telling: telling(one, why.until, why.is_now),
        listeners: one.listeners.as_ref().map(|all| all.iter().map(listener).collect()),
        holds: one.holds.iter().map(hold).collect(),
        told: one.tellings.iter().map(told).collect(),
    }
}

fn hold(one: &HoldThen) -> HoldBody {
    HoldBody {
        kind: one.hold.kind.slug(),
        by: one.hold.by.clone(),
        said: one.said.clone(),
        since: one.hold.since,
        over_at: one.over_at(),
    }
}

fn told(one: &ToldThen) -> ToldBody {
    ToldBody {
        event: one.event.clone(),
        receiver: one.receiver.clone(),
        fallback_of: one.fallback_of.clone(),
        at: one.at,
        state: one.state.clone(),
        tried_at: one.tried_at,
        answer: one.answer.clone(),
        route: one.route.as_ref().map(place),
    }
}
