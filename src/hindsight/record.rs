//! What the record has of incidents: what held them, who was told and by which route of the file of then.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::paging::silence::Silence;
use crate::domain::route::{Route, Subject, fitting, hearers};
use crate::domain::rule_text::rule_text;
use crate::domain::rules::RulePlace;
use crate::domain::signal::Signal;
use crate::domain::why::answer::{FileOfThen, HoldThen, IncidentThen, Listener, ToldThen};
use crate::hindsight::declared::{FileThen, FilesThen};
use crate::hindsight::replaying::Retraced;
use crate::store::StoreError;
use crate::store::read::readers::Readers;
use crate::store::read::why::Telling;

/// What is on record of a moment.
pub(crate) struct Story {
    /// In the order given.
    pub(crate) incidents: Vec<IncidentThen>,
    /// The silences that held then.
    pub(crate) silences: Vec<Silence>,
}

/// Reads what became of telling these incidents, and which silences held at a moment. `numbers`: which file was in force when.
pub(crate) async fn of_record(
    store: &Readers,
    (incidents, at): (Vec<Incident>, DateTime<Utc>),
    files: &FilesThen,
    numbers: &HashMap<DateTime<Utc>, i64>,
) -> Result<Story, StoreError> {
    let ids: Vec<&str> = incidents.iter().map(|one| one.id.as_str()).collect();
    let holds = store.holds_of_all(&ids).await?;
    let tellings = store.tellings_of_all(&ids).await?;
    let named: Vec<&str> =
        holds.iter().filter(|hold| hold.kind == HoldKind::Silence).map(|hold| hold.by.as_str()).collect();
    let mut silences = store.silences_at(at, &named).await?;
    let told = |incident: Incident| {
        let file = numbers.get(&incident.opened_at).and_then(|number| files.file(*number));
        let file = file.and_then(|file| Some((file, &**file.monitors.get(&incident.monitor)?)));
        let holds = holds.iter().filter(|hold| hold.incident == incident.id);
        IncidentThen {
            opens: file
                .and_then(|(_, monitor)| rule_text(monitor, incident.signal))
                .map(|text| text.opens)
                .unwrap_or_default(),
            listeners: file
                .map(|(file, monitor)| listeners(file, Subject::of(monitor, incident.severity, Some(&incident)))),
            holds: holds.map(|hold| HoldThen { hold: hold.clone(), said: said(hold, &silences) }).collect(),
            tellings: tellings
                .iter()
                .filter(|telling| telling.incident == incident.id)
                .map(|telling| {
                    let named = telling.fallback_of.as_ref().unwrap_or(&telling.receiver);
                    let subject = |monitor| Subject::of(monitor, incident.severity, Some(&incident));
                    told_then(telling, file.and_then(|(file, monitor)| route_of(file, subject(monitor), named)))
                })
                .collect(),
            incident,
        }
    };
    let incidents = incidents.into_iter().map(told).collect();
    silences.retain(|silence| {
        let ends = [silence.until, silence.ended.as_ref().map(|(at, _)| *at)];
        silence.from <= at && ends.into_iter().flatten().all(|end| end > at)
    });
    Ok(Story { incidents, silences })
}

/// Whom the routes of a file tell.
pub(crate) fn listeners(file: &FileThen, subject: Subject<'_>) -> Vec<Listener> {
    let listener = |hearer: crate::domain::route::Hearer<'_>| Listener {
        receiver: hearer.receiver.to_owned(),
        fallback: hearer.fallback.map(str::to_owned),
        route: file.provenance.rule(hearer.line),
    };
    hearers(&*file.routes, subject).into_iter().map(listener).collect()
}

/// What a hold is in words; of a silence, whose it is and why.
fn said(hold: &TellingHold, silences: &[Silence]) -> String {
    let silence = silences.iter().find(|silence| hold.kind == HoldKind::Silence && silence.id == hold.by);
    silence.map_or_else(|| hold.said(), silenced)
}

/// Such as `silenced by kim: reindexing`.
pub(crate) fn silenced(silence: &Silence) -> String {
    format!("silenced by {}: {}", silence.author, silence.comment)
}

/// A delivery, and the route that named its receiver.
pub(crate) fn told_then(telling: &Telling, route: Option<RulePlace>) -> ToldThen {
    ToldThen {
        event: telling.event.clone(),
        receiver: telling.receiver.clone(),
        fallback_of: telling.fallback_of.clone(),
        at: telling.at,
        state: telling.state.clone(),
        tried_at: telling.tried_at,
        answer: telling.answer.clone(),
        route,
    }
}

/// The route by which a receiver hears of it: one that fits, by itself or by a step of `escalate`, else any that names it.
fn route_of(file: &FileThen, subject: Subject<'_>, receiver: &str) -> Option<RulePlace> {
    let tells = |route: &&Route| route.to.iter().any(|name| name == receiver);
    let follows = |route: &&Route| route.escalate.iter().any(|step| step.to.iter().any(|name| name == receiver));
    let fit: Vec<&Route> = fitting(&*file.routes, subject).collect();
    let found = fit.iter().find(|route| tells(route)).or_else(|| fit.iter().find(|route| follows(route))).copied();
    let found = found.or_else(|| file.routes.iter().find(tells));
    found.map(|route| file.provenance.rule(route.line))
}

/// The file that was in force.
pub(crate) fn file_of_then(files: &FilesThen, number: Option<i64>) -> Option<FileOfThen> {
    let file = files.file(number?)?;
    let from = &file.provenance;
    Some(FileOfThen { name: from.file.clone(), commit: from.commit.clone(), since: file.loaded_at })
}

/// What the record cannot say, and where it and the beats say different things.
pub(crate) fn notes(retraced: Option<&Retraced>, incidents: &[IncidentThen], at: DateTime<Utc>) -> Vec<String> {
    let Some(retraced) = retraced else {
        return vec![
            "no file of then that declares the monitor is kept, so that its beats are not weighed again".to_owned(),
        ];
    };
    let replayed = &retraced.replayed;
    let mut notes = Vec::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} of its beats {what}"));
        }
    };
    note(replayed.without_file, "are of a file that is not kept or read no more, and are weighed by a later one");
    note(replayed.other_lock, "were judged by a lock that is not kept; what differs from a lock is not judged there");
    note(replayed.unjudged, "are of a Serin that did not record what it judged, and are left out");
    let Some((state, declared)) = &retraced.stood else { return notes };
    if let Some(original) = declared.monitor.original() {
        notes.push(format!("replica_divergence is not weighed again: how {} stood is in no record", original.id));
    }
    let is_open = |signal: Signal| incidents.iter().any(|one| one.incident.signal == signal && one.is_open(at));
    // Of an incident that was asked about, the others of its monitor are not at hand.
    let of_record = |signal: &Signal| is_open(*signal) && !state.signal(*signal).phase.has_incident();
    for signal in Signal::ALL.into_iter().filter(of_record) {
        notes.push(format!(
            "by the record {} was open then; its beats weighed again come to something else",
            signal.slug()
        ));
    }
    notes
}
