//! Why people were told, or were not: beats weighed again up to a moment by the file of then, beside what the record has of
//! incidents, of what held them and of whom they were told to. Of days whose beats are gone only the record answers.
//!
//! What it reads is bounded: a week of beats before the moment, and a few files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use crate::domain::fleet::Fleet;
use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::why::answer::{INCIDENTS_SHOWN, LOOKS_SHOWN, Record, Weighed, Why};
use crate::hindsight::declared::{FilesThen, Weighing};
use crate::hindsight::record::{Story, file_of_then, notes, of_record};
use crate::hindsight::replaying::{Happened, Retraced, retrace};
use crate::hindsight::signals::signals;
use crate::store::StoreError;
use crate::store::read::readers::Readers;
use crate::store::values::change_set::BeatSeen;

/// Beats from before the moment that are weighed, so that windows, streaks and track records stand as they stood.
const LEAD: TimeDelta = TimeDelta::days(7);
/// Beats of one monitor that are weighed at most: two weeks of one a minute; of one every second some hours.
const BEATS_MAX: u32 = 20_000;
/// Files that beats are weighed by, the latest; what older ones judged is judged by the latest.
const FILES_WEIGHED: u32 = 8;
/// Further files of which routes are read, for incidents that opened long before.
const FILES_OF_INCIDENTS: usize = 4;
/// How long an incident is over that an answer about a monitor still shows.
const LATELY: TimeDelta = TimeDelta::hours(1);
/// Characters of an incident's id that may stand for it.
pub(crate) const PART_CHARS_MIN: usize = 4;

/// What is asked about.
#[derive(Debug)]
pub(crate) enum Topic {
    /// One incident.
    Incident(Box<Incident>),
    /// One monitor, declared or removed since.
    Monitor(MonitorId),
}

/// What the words of a question may mean.
#[derive(Debug)]
pub(crate) enum Meant {
    One(Topic),
    /// Incidents whose ids all begin so.
    Several(Vec<String>),
    Nothing,
}

/// A question.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) topic: Topic,
    /// The moment; without it an incident's opening, else now.
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) now: DateTime<Utc>,
    /// In whose folder files of the past are read as if they lay there.
    pub(crate) path: PathBuf,
    /// The fleet in force, where it is at hand: its file need not be read once more.
    pub(crate) in_force: Option<Fleet>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The moment is still to come.
    #[error("that moment lies ahead: name one that has been, such as 2026-11-25T03:00:00+01:00")]
    Ahead,
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Weighing broke down.
    #[error("reading the files of then broke down: {0}")]
    Broken(String),
}

/// What an id means: a monitor's, an incident's, or the beginning of one.
///
/// # Errors
/// Where the database does not answer.
pub(crate) async fn meant(store: &Readers, id: &str) -> Result<Meant, StoreError> {
    let monitor = MonitorId::new(id);
    if store.was_declared(&monitor).await? {
        return Ok(Meant::One(Topic::Monitor(monitor)));
    }
    if id.chars().count() < PART_CHARS_MIN {
        return Ok(Meant::Nothing);
    }
    let mut found = store.incidents_beginning(id).await?;
    if let Some(place) = found.iter().position(|incident| incident.id == id) {
        found.swap(0, place);
        found.truncate(1);
    }
    Ok(match found.len() {
        0 => Meant::Nothing,
        1 => Meant::One(Topic::Incident(Box::new(found.remove(0)))),
        _ => Meant::Several(found.into_iter().map(|incident| incident.id).collect()),
    })
}

/// The answer.
///
/// # Errors
/// See [`NoAnswer`].
pub(crate) async fn why(store: &Readers, question: Question) -> Result<Why, NoAnswer> {
    let Question { topic, at: asked_at, now, path, in_force } = question;
    // Moments are kept to the microsecond, and looked up by that.
    let (asked_at, now) = (asked_at.map(|at| at.trunc_subsecs(6)), now.trunc_subsecs(6));
    if asked_at.is_some_and(|at| at > now) {
        return Err(NoAnswer::Ahead);
    }
    let (monitor, incident, at, until) = match &topic {
        Topic::Monitor(id) => (id.clone(), None, asked_at.unwrap_or(now), asked_at.unwrap_or(now)),
        Topic::Incident(one) => {
            (one.monitor.clone(), Some(one.id.clone()), asked_at.unwrap_or(one.opened_at), asked_at.unwrap_or(now))
        }
    };
    let mut notes_said = Vec::new();
    let incidents = match topic {
        Topic::Incident(one) => vec![*one],
        Topic::Monitor(_) => lately(store, &monitor, at, &mut notes_said).await?,
    };
    let declared = in_force.as_ref().and_then(|fleet| fleet.monitor(&monitor)).cloned();
    let files = files(store, (at, &incidents), path, in_force).await?;
    let retraced = match files.then.as_it_was(&monitor, declared.as_deref()) {
        Some(weighing) => Some((retraced(store, &weighing, at).await?, weighing.every())),
        None => None,
    };
    let record = record(store, retraced.as_ref().map(|(retraced, every)| (retraced, *every)), at).await?;
    let story = of_record(store, (incidents, at), &files.then, &files.numbers).await?;
    notes_said.extend(notes(retraced.as_ref().map(|(retraced, _)| retraced), &story.incidents, at));
    let signals = match &retraced {
        Some((retraced, _)) => signals(retraced, (&files.then, files.numbers.get(&at).copied()), &story, at),
        None => Vec::new(),
    };
    let Story { incidents, .. } = story;
    let file = file_of_then(&files.then, files.numbers.get(&at).copied());
    let is_now = until == now;
    Ok(Why { monitor, incident, at, until, is_now, record, file, signals, incidents, notes: notes_said })
}

/// The incidents of a monitor that were open at a moment or ended in the hour before, the latest first.
async fn lately(
    store: &Readers,
    monitor: &MonitorId,
    at: DateTime<Utc>,
    notes: &mut Vec<String>,
) -> Result<Vec<Incident>, StoreError> {
    let mut incidents = store.incidents_between(monitor, at - LATELY, at + TimeDelta::microseconds(1)).await?;
    incidents.reverse();
    // What is open is not left out, however long it is.
    incidents.sort_by_key(|one| one.resolved_at.is_some_and(|ended| ended <= at));
    let more = incidents.len().saturating_sub(INCIDENTS_SHOWN);
    if more > 0 {
        notes.push(format!("{more} more incidents were open then or in the hour before; `serin incidents` lists them"));
        incidents.truncate(INCIDENTS_SHOWN);
    }
    Ok(incidents)
}

/// The files that judged, and which was in force at the moments that matter, by their numbers.
struct Files {
    then: FilesThen,
    numbers: HashMap<DateTime<Utc>, i64>,
}

async fn files(
    store: &Readers,
    (at, incidents): (DateTime<Utc>, &[Incident]),
    path: PathBuf,
    in_force: Option<Fleet>,
) -> Result<Files, NoAnswer> {
    let moments: Vec<_> = std::iter::once(at).chain(incidents.iter().map(|one| one.opened_at)).collect();
    let numbers = store.numbers_at(&moments).await?;
    let mut also: Vec<i64> = moments.iter().filter_map(|moment| numbers.get(moment)).copied().collect();
    also.dedup();
    also.truncate(FILES_OF_INCIDENTS + 1);
    let kept = store.files_in_force(at, FILES_WEIGHED, &also).await?;
    let read = move || {
        let known: Vec<&Fleet> = in_force.iter().collect();
        FilesThen::read(kept, &path, &known, DateTime::<Utc>::MIN_UTC)
    };
    let then = tokio::task::spawn_blocking(read).await.map_err(|broken| NoAnswer::Broken(broken.to_string()))?;
    Ok(Files { then, numbers })
}

async fn retraced(store: &Readers, weighing: &Weighing, at: DateTime<Utc>) -> Result<Retraced, StoreError> {
    let most = TimeDelta::from_std(weighing.every() * BEATS_MAX).unwrap_or(LEAD);
    let from = at - LEAD.min(most);
    let happened = Happened {
        restarts: store.restarts_seen(from).await?,
        acceptances: store.acceptances(from).await?,
        locks: store.locks_in_force().await?,
    };
    retrace(store, weighing, &happened, (from, at), LOOKS_SHOWN).await
}

async fn record(
    store: &Readers,
    retraced: Option<(&Retraced, Duration)>,
    at: DateTime<Utc>,
) -> Result<Record, StoreError> {
    let weighed = retraced.and_then(|(retraced, every)| {
        let (from, last) = retraced.replayed.span?;
        let later = retraced.last.as_ref().filter(|beat| beat.started_at > last);
        let blind = later.and_then(|beat| Some((beat.scheduled_at, blind(beat.shape.seen)?)));
        Some(Weighed { beats: retraced.replayed.beats, from, last, blind, every })
    });
    if let Some(weighed) = weighed {
        return Ok(Record::Weighed(weighed));
    }
    let since = store.packed_since().await?.filter(|since| at < *since);
    Ok(since.map_or(Record::Unseen, Record::Gone))
}

/// Why a beat showed nothing; none where it showed something.
const fn blind(seen: BeatSeen) -> Option<&'static str> {
    match seen {
        BeatSeen::Seen => None,
        BeatSeen::Missed => Some("missed"),
        BeatSeen::Internal => Some("internal"),
        BeatSeen::Uplink => Some("uplink"),
        BeatSeen::Held => Some("held"),
    }
}
