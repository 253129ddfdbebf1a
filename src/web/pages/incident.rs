//! `/incidents/{id}`: what, why, since when, who was told, and what would end it.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::domain::fleet::Fleet;
use crate::domain::incident::{Course, Incident, ResolveCause};
use crate::domain::monitor::MonitorId;
use crate::domain::outcome::Evidence;
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::rule_text;
use crate::domain::why::answer::{HoldThen, IncidentThen};
use crate::domain::why::heard::{Heard, heard};
use crate::domain::why::sentence::telling;
use crate::hindsight::record::told_then;
use crate::store::read::ledger::DeliveryFilter;
use crate::store::read::pages::TimelineLine;
use crate::store::read::why::Telling;
use crate::web::admitted::Visit;
use crate::web::draw::glyph::{self, Glyph};
use crate::web::format::{self, Timestamp};
use crate::web::forms;
use crate::web::pages::around::{self, Around};
use crate::web::pages::deliveries::{self, DeliveryRow};
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::incidents::{self, IncidentRow};
use crate::web::pages::moved::MovedPart;
use crate::web::pages::recheck;
use crate::web::pages::silences::LENGTHS;
use crate::web::pages::then_and_now;
use crate::web::pages::unknown;
use crate::web::state::WebState;

/// What the address may tell.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncidentPageQuery {
    said: Option<String>,
    at: Option<i64>,
}

#[derive(Debug, Template)]
#[template(path = "incident.html")]
struct IncidentPage {
    frame: Frame,
    id: String,
    monitor: WatchedMonitor,
    head: IncidentHead,
    cause: IncidentCause,
    rule: RuleStory,
    timeline: Vec<TimelineEntry>,
    deliveries: Vec<DeliveryRow>,
    /// What holds or held it, the latest first.
    holds: Vec<HoldRow>,
    /// What it explains or explained, the newest first.
    explained: Vec<IncidentRow>,
    /// Why somebody was told of it, or nobody.
    why: String,
    transcripts: usize,
    /// Lists of the canaries that it is about, as they were and as they came.
    moved: Vec<MovedPart>,
    /// Its signal around that time; none where nothing is kept of it.
    around: Option<Around>,
    /// Whether the database does not answer.
    away: bool,
    /// The name that the visitor gave last.
    actor: String,
    /// How long a silence may last.
    lengths: [(&'static str, &'static str); 6],
    said: Option<String>,
}

#[derive(Debug)]
struct WatchedMonitor {
    id: String,
    name: String,
    /// Whether it is still declared, so that it can be looked at.
    is_watched: bool,
}

/// What happened, how loud, and how long it took.
#[derive(Debug)]
struct IncidentHead {
    signal: &'static str,
    subject: String,
    glyph: Glyph,
    severity: &'static str,
    summary: String,
    /// The first failed beat that led to it.
    since: Timestamp,
    /// When it was confirmed.
    opened: Timestamp,
    ended: Option<Ended>,
    lasted: String,
    /// Who took it, and when.
    taken: Option<(String, Timestamp)>,
    /// What keeps it open although it is calm, in words.
    flapping: Option<String>,
}

/// Why, and what to do about it.
#[derive(Debug)]
struct IncidentCause {
    reason: &'static str,
    meaning: &'static str,
    layer: &'static str,
    stage: String,
    evidence: Vec<Evidence>,
    runbook: String,
    own_runbook: String,
    /// The command that repeats the probe.
    reproduce: String,
}

/// The rule that opened it; `opens` and `resolves` are empty where it is no longer in the file.
#[derive(Debug)]
struct RuleStory {
    place: String,
    opens: String,
    resolves: String,
}

#[derive(Debug)]
struct Ended {
    at: Timestamp,
    cause: String,
    into: Option<String>,
}

/// What holds this one, or did: another incident, a silence or a window.
#[derive(Debug)]
struct HoldRow {
    said: String,
    /// Where more is said of it.
    href: Option<String>,
    since: Timestamp,
    until: Option<Timestamp>,
    ended: Option<Timestamp>,
}

#[derive(Debug)]
struct TimelineEntry {
    at: Timestamp,
    line: TimelineLine,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Query(asked): Query<IncidentPageQuery>,
    headers: HeaderMap,
) -> Response {
    let now = Utc::now();
    let found = match state.ask(state.store.incident(&id)).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => return unknown::missing(&state, visit, "There is no incident with this id."),
        Err(away) => Err(away),
    };
    let away = found.is_err();
    let Some(incident) = found.ok().or_else(|| from_live(&state, &id)) else {
        return unknown::away(&state, visit);
    };
    let of_record = incident.clone();
    let (moved, around) = if away {
        (Ok(Vec::new()), Ok(None))
    } else {
        tokio::join!(then_and_now::of_incident(&state, &incident, now), around::of_incident(&state, &incident, now))
    };
    let actor = forms::actor(&headers, &visit);
    let mut page = told(&state, visit, incident, now);
    if !away {
        add_kept(&state, &mut page, &of_record, now).await;
        page.moved = moved.unwrap_or_default();
        page.around = around.ok().flatten();
    }
    page.away = away;
    page.actor = actor;
    page.said = match asked.said.as_deref() {
        Some("recheck") => {
            let view = state.view(&MonitorId::new(&page.monitor.id)).await;
            Some(recheck::told(view.as_ref(), asked.at.and_then(|at| DateTime::from_timestamp(at, 0))))
        }
        Some(word) if deliveries::said(word).is_some() => deliveries::said(word).map(str::to_owned),
        word => said(word, page.head.taken.as_ref().map(|(actor, _)| actor.as_str())),
    };
    show(StatusCode::OK, &page)
}

/// What the database adds to the page; what it does not answer is left out.
async fn add_kept(state: &WebState, page: &mut IncidentPage, incident: &Incident, now: DateTime<Utc>) {
    let id = &*incident.id;
    let ids = [id];
    let filter = DeliveryFilter::of_incident(id);
    let with_tries = async {
        let lines = state.ask(state.store.deliveries(&filter)).await.unwrap_or_default();
        let tries = state.ask(state.store.attempts(&lines)).await.unwrap_or_default();
        deliveries::rows(lines, tries, now)
    };
    let (timeline, deliveries, transcripts, holds, explained, tellings) = tokio::join!(
        state.ask(state.store.timeline(id)),
        with_tries,
        state.ask(state.store.transcripts(id)),
        state.ask(state.store.holds_of(id)),
        state.ask(state.store.explained_by(id)),
        state.ask(state.store.tellings_of_all(&ids))
    );
    let entry = |line: TimelineLine| TimelineEntry { at: Timestamp::new(line.at, now), line };
    let holds = holds.unwrap_or_default();
    let is_silence = |hold: &&TellingHold| hold.kind == HoldKind::Silence;
    let ids: Vec<String> = holds.iter().filter(is_silence).map(|hold| hold.by.clone()).collect();
    let silences = match ids.is_empty() {
        true => Vec::new(),
        false => state.ask(state.store.silences_of(&ids)).await.unwrap_or_default(),
    };
    let said = |hold: &TellingHold| match silences.iter().find(|silence| silence.id == hold.by) {
        Some(silence) => format!("silenced by {}: {}", silence.author, silence.comment),
        None => hold.said(),
    };
    let first_first = holds.iter().rev().map(|hold| HoldThen { hold: hold.clone(), said: said(hold) }).collect();
    page.why = telling_said(incident, first_first, tellings.unwrap_or_default(), now);
    let held = |hold: TellingHold| HoldRow {
        since: Timestamp::new(hold.since, now),
        until: hold.until.filter(|at| *at > now).map(|at| Timestamp::new(at, now)),
        ended: hold.over_at(now).map(|at| Timestamp::new(at, now)),
        href: match hold.kind {
            HoldKind::Cause => Some(format!("/incidents/{}", hold.by)),
            HoldKind::Silence | HoldKind::Window => Some("/silences".to_owned()),
            HoldKind::Parent if hold.by.contains("://") => None,
            HoldKind::Parent => Some(format!("/monitors/{}", hold.by)),
            HoldKind::Quarantine => None,
        },
        said: said(&hold),
    };
    page.timeline = timeline.unwrap_or_default().into_iter().map(entry).collect();
    page.deliveries = deliveries;
    page.transcripts = transcripts.map_or(0, |found| found.len());
    page.holds = holds.into_iter().map(held).collect();
    page.explained = explained.unwrap_or_default().into_iter().map(|one| incidents::row(one, None, now)).collect();
}

/// Why somebody was told, or nobody; empty where only the file of then could say it.
fn telling_said(incident: &Incident, holds: Vec<HoldThen>, tellings: Vec<Telling>, now: DateTime<Utc>) -> String {
    let tellings = tellings.into_iter().map(|telling| told_then(&telling, None)).collect();
    let (incident, opens) = (incident.clone(), String::new());
    let one = IncidentThen { incident, opens, listeners: None, holds, tellings };
    match heard(&one, now) {
        Heard::Unknown => String::new(),
        _ => sentence(&telling(&one, now, true)),
    }
}

fn said(word: Option<&str>, taken_by: Option<&str>) -> Option<String> {
    let said = match (word?, taken_by) {
        ("taken", Some(actor)) => return Some(format!("Acknowledged by {actor}.")),
        ("taken", None) => "Accepted. It shows here once it is recorded.",
        ("over", _) => "It is already acknowledged, or over.",
        ("away", _) => "That could not be recorded just now. Try again in a moment.",
        ("who", _) => "Give your name.",
        ("given", _) => "Un-acknowledged: reminders and escalations go on.",
        ("not_yours", _) => "It is over, or was not acknowledged.",
        ("silenced", _) => {
            "Silenced: nobody is notified of it meanwhile. Its resolve still goes to whoever was notified."
        }
        ("why", _) => "Not silenced: say who you are, and why.",
        _ => return None,
    };
    Some(said.to_owned())
}

/// The page without what the database adds to it.
fn told(state: &WebState, visit: Visit, incident: Incident, now: DateTime<Utc>) -> IncidentPage {
    let fleet = state.fleet_now();
    let standing = state.live.standing(&incident.monitor);
    let title = format!("{}: {}", incident.monitor, incident.reason.slug());
    IncidentPage {
        frame: Frame::new(state, visit, now, "incidents", title).watching(format!("incident:{}", incident.id)),
        monitor: WatchedMonitor {
            id: incident.monitor.to_string(),
            name: standing.as_ref().map_or(incident.monitor.as_str(), |one| one.declared().name).to_owned(),
            is_watched: standing.is_some(),
        },
        rule: rule(&incident, &fleet),
        timeline: Vec::new(),
        deliveries: Vec::new(),
        holds: Vec::new(),
        explained: Vec::new(),
        why: String::new(),
        transcripts: 0,
        moved: Vec::new(),
        around: None,
        away: false,
        actor: String::new(),
        lengths: LENGTHS,
        said: None,
        id: incident.id.clone(),
        head: head(&incident, now),
        cause: cause(incident, &fleet),
    }
}

fn head(incident: &Incident, now: DateTime<Utc>) -> IncidentHead {
    let lasted = incident.resolved_at.unwrap_or(now) - incident.since();
    let open = incident.resolved_at.is_none();
    IncidentHead {
        signal: incident.signal.slug(),
        subject: incident.subject.clone(),
        glyph: if open { glyph::of_severity(incident.severity) } else { Glyph { name: "right" } },
        severity: incident.severity.slug(),
        summary: incident.summary.clone(),
        since: Timestamp::new(incident.since(), now),
        opened: Timestamp::new(incident.opened_at, now),
        ended: incident.resolved_at.map(|at| ended(at, incident.resolve_cause.as_ref(), now)),
        lasted: format::span(lasted.to_std().unwrap_or_default()),
        taken: incident.acknowledged.as_ref().map(|(actor, at)| (actor.clone(), Timestamp::new(*at, now))),
        flapping: incident.course.flapping.filter(|_| open).map(|flapping| flapping.said()),
    }
}

fn cause(incident: Incident, fleet: &Fleet) -> IncidentCause {
    let (facts, reproduce) = (incident.reason.facts(), incident.reproduce());
    IncidentCause {
        reason: facts.slug,
        meaning: facts.meaning,
        layer: facts.layer.title(),
        stage: incident.stage,
        evidence: incident.evidence,
        runbook: fleet.runbook_url(incident.reason, &incident.monitor, Some(&incident.id), ""),
        own_runbook: format!("/runbooks/{}", facts.slug),
        reproduce,
    }
}

fn rule(incident: &Incident, fleet: &Fleet) -> RuleStory {
    let monitor = fleet.monitor(&incident.monitor);
    let opens = monitor.and_then(|monitor| rule_text::rule_text(monitor, incident.signal)).map(|said| said.opens);
    let resolves = monitor.and_then(|monitor| rule_text::resolves(monitor, incident));
    let commit = incident.rule.commit.as_ref().map(|commit| format!(" @ {commit}")).unwrap_or_default();
    RuleStory {
        place: format!("{}:{}{commit}", incident.rule.file, incident.rule.line),
        opens: opens.unwrap_or_default(),
        resolves: resolves.map(|resolves| sentence(&resolves)).unwrap_or_default(),
    }
}

/// With a capital letter in front and a stop behind.
fn sentence(said: &str) -> String {
    let mut chars = said.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

fn ended(at: DateTime<Utc>, cause: Option<&ResolveCause>, now: DateTime<Utc>) -> Ended {
    let into = match cause {
        Some(ResolveCause::Absorbed { into }) => Some(into.clone()),
        _ => None,
    };
    Ended {
        at: Timestamp::new(at, now),
        cause: cause.map(|cause| format::spaced(cause.slug())).unwrap_or_default(),
        into,
    }
}

/// What the live state knows of an open incident, while the database is away.
fn from_live(state: &WebState, id: &str) -> Option<Incident> {
    let fleet = state.fleet_now();
    let view = state.live.holder(id)?.view();
    let signal = view.signals.iter().find(|signal| signal.incident.as_ref().is_some_and(|open| open.id == id))?;
    let open = signal.incident.as_ref()?;
    let finding = view.last.as_ref().and_then(|last| last.1.finding(signal.signal));
    let said = fleet.monitor(&view.id).and_then(|monitor| rule_text::rule_text(monitor, signal.signal));
    let line = said.map_or(view.declared.line, |said| said.line);
    Some(Incident {
        id: open.id.clone(),
        monitor: view.id.clone(),
        signal: signal.signal,
        subject: String::new(),
        severity: open.severity,
        reason: open.reason,
        stage: finding.map(|finding| finding.stage.slug().to_owned()).unwrap_or_default(),
        summary: open.summary.clone(),
        evidence: finding.map(|finding| finding.evidence.clone()).unwrap_or_default(),
        rule: fleet.provenance.rule(line),
        opened_at: open.opened_at,
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 0,
        course: Course { flapping: open.flapping, began_at: Some(open.since), ..Course::default() },
    })
}
