//! One monitor's past, weighed again beat by beat by the function that weighs live.
//!
//! It holds a day of beats at a time. What live weighing is given beside a beat is found in the record: the time covered
//! from starts, restarts of the server and accepted tools from what was written of them.
//! What stands around a beat, what is made of it and what is kept are read together, which is why this file is long.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::answer::{TEXT_NAME, Turn, Variant};
use crate::domain::fleet::Provenance;
use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::{Beat, Decision, MonitorState, TellPolicy};
use crate::domain::observation::ToolsSeen;
use crate::domain::outcome::{Judged, Verdict};
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::paging::quiet::QuietBook;
use crate::domain::signal::{Level, Phase, Reading, Signal};
use crate::domain::tools::Listing;
use crate::hindsight::declared::{Declared, Weighing};
use crate::hindsight::observed::{ACCEPTED, Around, SourceLists, observed};
use crate::hindsight::texts::Texts;
use crate::hindsight::windows::Windows;
use crate::store::StoreError;
use crate::store::read::circumstances::Occurrences;
use crate::store::read::readers::Readers;
use crate::store::values::past::PastBeat;
use crate::store::write::listing::ListingLine;

/// Beats that are weighed before anybody else has a turn.
const BEATS_AT_ONCE: usize = 50;
/// Beats that are held at once: those of a day.
const PART: TimeDelta = TimeDelta::days(1);
/// Ranked lists whose sources are held; beyond that they are read again.
const LISTS_MAX: usize = 20_000;
/// Texts that are held, 8 kB each; beyond that they are read again.
const TEXTS_MAX: usize = 2_000;

/// What happened between beats, of all monitors.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// Servers were seen to have been started anew.
    pub(crate) restarts: Occurrences,
    /// Lists of tools were accepted.
    pub(crate) acceptances: Occurrences,
    /// Hashes of what was pinned, by the numbers that beats name them by.
    pub(crate) locks: HashMap<i64, String>,
}

/// An incident, as it would have been.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToldIncident {
    pub(crate) incident: Incident,
    /// When people would have heard of it first; none: nobody would.
    pub(crate) told_at: Option<DateTime<Utc>>,
    /// Whether a window of maintenance kept it quiet for a while.
    pub(crate) in_maintenance: bool,
}

/// What a replay came to.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// Beats that were weighed.
    pub(crate) beats: u64,
    /// The first and the last of them.
    pub(crate) span: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Beats of a Serin that did not record what it judged.
    pub(crate) unjudged: u64,
    /// Beats whose file is not kept, or cannot be read any more.
    pub(crate) without_file: u64,
    /// Answers that would be judged anew by texts that are not kept, or not to where that shows.
    pub(crate) untold: u64,
    /// Beats that were judged against another lock.
    pub(crate) other_lock: u64,
    /// When another declaration of the monitor came into force.
    pub(crate) edits: Vec<DateTime<Utc>>,
    /// Beats on which each signal's level came out otherwise than it did live, though its rules are the same.
    pub(crate) otherwise: [u64; 8],
    /// In the order of their opening.
    pub(crate) incidents: Vec<ToldIncident>,
}

/// A replay under way.
struct Replay<'r> {
    weighing: &'r Weighing,
    happened: &'r Happened,
    listings: &'r [ListingLine],
    state: Option<MonitorState>,
    /// The declaration that weighed the last beat, and the file it is of.
    last: Option<Arc<Declared>>,
    last_at: Option<DateTime<Utc>>,
    places: HashMap<String, usize>,
    starts: usize,
    accepted: usize,
    /// None before the first beat.
    windows: Option<Windows>,
    replayed: Replayed,
    /// What the latest beats made of each signal, at most so many; none where nobody asks.
    looks: VecDeque<BeatLook>,
    looks_kept: usize,
}

/// What one beat made of each signal, in the order of [`Signal::ALL`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BeatLook {
    pub(crate) at: DateTime<Utc>,
    pub(crate) signals: [(Reading, Phase); 8],
}

/// How a monitor stood at a moment.
#[derive(Debug)]
pub(crate) struct Retraced {
    /// None where no beat that was seen is kept.
    pub(crate) stood: Option<(MonitorState, Arc<Declared>)>,
    /// The latest beats, the oldest first.
    pub(crate) looks: VecDeque<BeatLook>,
    /// The last beat of all, be it one that showed nothing.
    pub(crate) last: Option<PastBeat>,
    pub(crate) replayed: Replayed,
}

/// Weighs a monitor's beats again up to a moment, that of a beat counted in, and says how it stood then. `looks_kept`: of
/// how many of the latest beats each signal's reading is kept.
///
/// # Errors
/// Where the database does not answer, or holds a pack that cannot be read.
pub(crate) async fn retrace(
    store: &Readers,
    weighing: &Weighing,
    happened: &Happened,
    (from, at): (DateTime<Utc>, DateTime<Utc>),
    looks_kept: usize,
) -> Result<Retraced, StoreError> {
    let listings = store.listings(&weighing.id).await?;
    let mut replays = [Replay { looks_kept, ..Replay::begin(weighing, happened, &listings) }];
    let last = walk(store, &weighing.id, &mut replays, (from, near(at) + TimeDelta::microseconds(1))).await?;
    let [Replay { state, last: declared, looks, replayed, .. }] = replays;
    Ok(Retraced { stood: state.zip(declared), looks, last, replayed })
}

/// Weighs a monitor's beats from one moment to another again, in each of several ways.
///
/// # Errors
/// Where the database does not answer, or holds a pack that cannot be read.
pub(crate) async fn replay(
    store: &Readers,
    monitor: &MonitorId,
    ways: &[&Weighing],
    happened: &Happened,
    (from, until): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Vec<Replayed>, StoreError> {
    let listings = store.listings(monitor).await?;
    let mut replays: Vec<Replay<'_>> = ways.iter().map(|way| Replay::begin(way, happened, &listings)).collect();
    walk(store, monitor, &mut replays, (from, until)).await?;
    Ok(replays.into_iter().map(|replay| replay.replayed).collect())
}

/// Takes every beat of a stretch into each of the replays; the last of them all.
async fn walk(
    store: &Readers,
    monitor: &MonitorId,
    replays: &mut [Replay<'_>],
    (from, until): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Option<PastBeat>, StoreError> {
    let reads_texts = replays.iter().any(|replay| replay.weighing.reads_texts());
    let mut last = None;
    let (mut lists, mut texts) = (SourceLists::new(), Texts::new());
    let mut at = from;
    while at < until {
        let to = (at + PART).min(until);
        let beats = store.past(monitor, at, to).await?;
        if texts.len() > TEXTS_MAX {
            lists.clear();
            texts.clear();
        }
        let learned = learn(store, &beats, &mut lists).await?;
        if reads_texts {
            let new = learned.iter().filter_map(|list| text_of(&lists, *list)).collect::<Vec<_>>();
            texts.extend(store.texts(&new).await?);
        }
        let mut of_canaries = beats.iter().flat_map(|beat| &beat.asks).filter(|ask| ask.shape.turn != Turn::Harvested);
        let knows_way = of_canaries.any(|ask| ask.shape.variant == Variant::Fresh);
        for replay in &mut *replays {
            for some in beats.chunks(BEATS_AT_ONCE) {
                some.iter().for_each(|past| replay.beat(past, (&lists, &texts), knows_way));
                // Whoever delivers may share the thread.
                tokio::task::yield_now().await;
            }
        }
        last = beats.into_iter().next_back().or(last);
        at = to;
    }
    Ok(last)
}

/// Reads the lists that these beats name and that are not held yet; their numbers.
async fn learn(store: &Readers, beats: &[PastBeat], lists: &mut SourceLists) -> Result<Vec<i64>, StoreError> {
    if lists.len() > LISTS_MAX {
        lists.clear();
    }
    let answers = beats.iter().flat_map(|beat| &beat.asks).filter_map(|ask| ask.answer.as_ref());
    let new: BTreeSet<i64> = answers.map(|answer| answer.list).filter(|list| !lists.contains_key(list)).collect();
    let new: Vec<i64> = new.into_iter().collect();
    if !new.is_empty() {
        let read = store.lists(&new).await?;
        lists.extend(read.into_iter().map(|(list, sources)| (list, sources.into())));
    }
    Ok(new)
}

/// The name of the text that a list stands for; none of a list of results.
fn text_of(lists: &SourceLists, list: i64) -> Option<&str> {
    match &**lists.get(&list)? {
        [name] if name.starts_with(TEXT_NAME) => Some(name),
        _ => None,
    }
}

impl<'r> Replay<'r> {
    fn begin(weighing: &'r Weighing, happened: &'r Happened, listings: &'r [ListingLine]) -> Self {
        Self {
            weighing,
            happened,
            listings,
            state: None,
            last: None,
            last_at: None,
            places: HashMap::new(),
            starts: 0,
            accepted: 0,
            windows: None,
            replayed: Replayed::default(),
            looks: VecDeque::new(),
            looks_kept: 0,
        }
    }

    fn beat(&mut self, past: &PastBeat, (lists, texts): (&SourceLists, &Texts), knows_way: bool) {
        // A good beat finds something well: one that says nothing of any signal is of before this was recorded.
        let is_unjudged = past.shape.judged == [Judged::UNKNOWN; 8];
        if past.shape.verdict == Verdict::Unknown {
            return;
        }
        if is_unjudged {
            self.replayed.unjudged += 1;
            return;
        }
        let now = past.started_at;
        let lock = self.happened.locks.get(&past.shape.lock);
        let (declared, is_kept) = self.weighing.at(past.shape.config, lock);
        let declared = Arc::clone(declared);
        self.replayed.without_file += u64::from(!is_kept);
        self.replayed.other_lock += u64::from(self.weighing.is_as_it_was() && lock != declared.lock());
        let mut state = self.state.take().unwrap_or_else(|| begun(now));
        self.edited(&mut state, &declared, past);
        let quiets = self.quiets(&mut state, &declared, past);
        let is_calm = past.shape.judged[Signal::Contract as usize].level == Level::Calm;
        self.note(&mut state, is_calm, now);
        let around = Around { lists, texts, listings: self.listings, knows_way, starts: self.starts };
        let (seen, outcome, untold) = observed(past, &declared, around);
        self.replayed.untold += untold;
        let covered = self.covered(&declared, now);
        let (monitor, provenance, routes) = (&*declared.monitor, &Provenance::default(), &*declared.routes);
        let (seen, outcome) = (&seen, &outcome);
        let beat = Beat {
            monitor,
            provenance,
            routes,
            quiets: &quiets.book,
            parents: &[],
            seen,
            outcome,
            original: None,
            covered,
            now,
        };
        let count = self.places.len();
        let mut ids = 0;
        let (next, decisions) = state.weigh(beat, &mut || {
            ids += 1;
            format!("replayed-{}", count + ids)
        });
        decisions.into_iter().for_each(|decision| self.keep(decision, now));
        self.note_windows(&next);
        if self.weighing.is_as_it_was() {
            self.compare(&next, past);
        }
        self.look(&next, now);
        self.state = Some(next);
        self.windows = Some(quiets);
        self.last = Some(declared);
        self.last_at = Some(now);
        self.replayed.beats += 1;
        self.replayed.span = Some((self.replayed.span.map_or(now, |(first, _)| first), now));
    }

    fn look(&mut self, next: &MonitorState, at: DateTime<Utc>) {
        if self.looks_kept == 0 {
            return;
        }
        if self.looks.len() == self.looks_kept {
            self.looks.pop_front();
        }
        let signals = Signal::ALL.map(|signal| (next.reading(signal).clone(), next.signal(signal).phase));
        self.looks.push_back(BeatLook { at, signals });
    }

    /// As in the daemon: one interval and a half at most, and what showed nothing covers nothing.
    fn covered(&self, declared: &Declared, now: DateTime<Utc>) -> Duration {
        let most = declared.monitor.every.mul_f64(1.5);
        let since = self.last_at.map(|last| (now - last).to_std().unwrap_or_default());
        since.map_or(Duration::ZERO, |since| since.min(most))
    }

    /// Takes an edit of the file over that came since the last beat.
    fn edited(&mut self, state: &mut MonitorState, declared: &Arc<Declared>, past: &PastBeat) {
        let (Some(last), Some(last_at)) = (&self.last, self.last_at) else { return };
        if Arc::ptr_eq(last, declared) || last.monitor.definition_hash == declared.monitor.definition_hash {
            return;
        }
        let at = self.weighing.edited_at(past.shape.config, last_at, past.started_at);
        self.replayed.edits.push(at);
        for ended in state.reconsider(&declared.monitor, at) {
            self.keep(Decision::Resolved(ended), at);
        }
    }

    /// The windows that are on at a beat. What one of them kept quiet that ended since the last beat is told as it ended.
    fn quiets(&mut self, state: &mut MonitorState, declared: &Declared, past: &PastBeat) -> Windows {
        let (now, last_at) = (past.started_at, self.last_at.unwrap_or(past.started_at));
        let mut quiets = self.windows.take().unwrap_or_else(|| Windows::at(&declared.windows, last_at));
        if self.last.as_ref().is_some_and(|last| last.windows != declared.windows) {
            let at = self.weighing.edited_at(past.shape.config, last_at, now);
            quiets = Windows::at(&declared.windows, at);
            self.let_go(state, declared, &quiets.book, at);
        }
        let mut at = last_at;
        while let Some(edge) = quiets.book.next_edge(at).filter(|edge| *edge <= now) {
            self.let_go(state, declared, &quiets.book, edge);
            at = edge;
        }
        if quiets.known_until <= now { Windows::at(&declared.windows, now) } else { quiets }
    }

    fn let_go(&mut self, state: &mut MonitorState, declared: &Declared, quiets: &QuietBook, at: DateTime<Utc>) {
        let policy = TellPolicy { monitor: &declared.monitor, routes: &declared.routes, quiets, parents: &[] };
        state.let_go(policy, at).into_iter().for_each(|decision| self.keep(decision, at));
    }

    /// Takes note of what happened since the last beat.
    fn note(&mut self, state: &mut MonitorState, is_calm: bool, now: DateTime<Utc>) {
        let id: &MonitorId = &self.weighing.id;
        let until =
            |moments: Option<&Vec<DateTime<Utc>>>| moments.map_or(0, |all| all.partition_point(|at| *at <= near(now)));
        self.starts = until(self.happened.restarts.get(id));
        let accepted = until(self.happened.acceptances.get(id));
        let was = std::mem::replace(&mut self.accepted, accepted);
        if accepted > was && is_calm {
            let at = self.happened.acceptances[id][accepted - 1];
            let ended = state.accept(&accepted_tools(), ACCEPTED, at);
            ended.into_iter().for_each(|ended| self.keep(Decision::Resolved(ended), at));
        }
    }

    fn keep(&mut self, decision: Decision, now: DateTime<Utc>) {
        let (incident, told) = match decision {
            Decision::Opened { incident, silent } => (incident, !silent),
            Decision::Told { incident, .. } => (incident, true),
            Decision::Updated(incident)
            | Decision::Flaps(incident)
            | Decision::LookedCloser(incident)
            | Decision::Refreshed(incident)
            | Decision::FollowedUp { incident, .. }
            | Decision::Resolved(incident) => (incident, false),
            Decision::Restarted(_) | Decision::ToolsSettled => return,
        };
        let place = *self.places.entry(incident.id.clone()).or_insert_with(|| {
            self.replayed.incidents.push(ToldIncident {
                incident: incident.clone(),
                told_at: None,
                in_maintenance: false,
            });
            self.replayed.incidents.len() - 1
        });
        let known = &mut self.replayed.incidents[place];
        known.incident = incident;
        known.told_at = known.told_at.or_else(|| told.then_some(now));
    }

    fn note_windows(&mut self, next: &MonitorState) {
        let is_window = |hold: &TellingHold| hold.kind == HoldKind::Window;
        for incident in next.incidents() {
            let holds = next.telling(incident.signal).map_or(&[][..], |telling| &telling.holds);
            if let Some(place) = self.places.get(&incident.id)
                && holds.iter().any(is_window)
            {
                self.replayed.incidents[*place].in_maintenance = true;
            }
        }
    }

    fn compare(&mut self, next: &MonitorState, past: &PastBeat) {
        for (signal, judged) in Signal::ALL.into_iter().zip(next.judged()) {
            let then = past.shape.judged[signal as usize];
            self.replayed.otherwise[signal as usize] += u64::from(judged.level != then.level);
        }
    }
}

/// A moment as it may have been before it was rounded to be kept.
fn near(at: DateTime<Utc>) -> DateTime<Utc> {
    at + TimeDelta::milliseconds(10)
}

fn accepted_tools() -> ToolsSeen {
    ToolsSeen { listing: Arc::new(Listing { hash: ACCEPTED.to_owned(), ..Listing::default() }), ..ToolsSeen::default() }
}

/// A monitor nobody has looked at yet, whose tools are the accepted ones where they are not said to differ.
fn begun(now: DateTime<Utc>) -> MonitorState {
    let mut state = MonitorState::new(now);
    state.tools.accept(accepted_tools().listing, ACCEPTED, now);
    state
}
