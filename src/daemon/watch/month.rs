//! A month as the daemon makes it, beat by beat through the real store and janitor, for what is read of it afterwards:
//! outages, wrong and slow answers, changed tools, restarts of Serin, edits of the file and another lock.
//! What happens when, and what is made of it, are read together, which is why they stay in this file.

use std::ops::Range;
use std::path::Path;

use chrono::TimeDelta;
use tokio::task::JoinHandle;

use super::*;
use crate::config::check::checker::Unset;
use crate::config::read::source::ConfigSource;
use crate::config::{self, Loaded};
use crate::daemon::janitor::JanitorPlan;
use crate::daemon::{changes, janitor, resume};
use crate::domain::answer::{Answer, Ask, Hit, Turn, Variant};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::Retention;
use crate::domain::fleet_files::FileWord;
use crate::domain::fleet_files::FleetFiles;
use crate::domain::lease::Leases;
use crate::domain::monitor::Canary;
use crate::domain::observation::{Harvested, Phases, Stage, Step, ToolsSeen};
use crate::domain::pinned::{Pinned, PinnedCanary, Relation};
use crate::domain::quality::harvest::HARVESTED;
use crate::domain::shard::Shards;
use crate::domain::tools::{Drift, Listing, ToolSeen};

mod minutes;

pub(crate) use minutes::{by_minutes, by_minutes_with_window};

/// Days of the month.
const DAYS: i64 = 30;
/// Beats are so far apart.
const EVERY_MIN: i64 = 20;
const DAY_BEATS: i64 = 24 * 60 / EVERY_MIN;

/// The file: `rules` and `canaries` are what its versions differ by.
pub(crate) fn yaml(rules: &str, err: &str) -> String {
    format!(
        "version: 1\n\
         serin: {{ database: serin.db }}\n\
         receivers: {{ oncall: {{ webhook: {{ url: \"https://oncall.example.org/\", secret: \"${{env:ONCALL_SECRET}}\" }} }} }}\n\
         routes: [ {{ to: [oncall] }} ]\n\
         monitors:\n\
         \x20 - id: docs\n\
         \x20   url: http://127.0.0.1:9/mcp\n\
         \x20   every: {EVERY_MIN}m\n\
         \x20   search: {{ harvest: true }}\n\
         \x20   canaries:\n\
         \x20     - {{ id: life, query: how long does a token live, expect: [auth/tokens.md], kind: meaning }}\n\
         \x20     - {{ id: err, query: ERR-4417, {err}, kind: keyword }}\n\
         \x20     - {{ id: door, query: who may open the door, expect: [doors.md], kind: meaning }}\n\
         \x20   rules: {{ {rules} }}\n"
    )
}

pub(crate) const EXPECT: &str = "expect: [errors/4417.md]";
pub(crate) const RULES: &str =
    "availability: { after: 3 }, latency: { p95: 800ms, window: 6h, for: 2h }, quality: { after: 3 }";

fn loaded(text: &str) -> Loaded {
    let source = ConfigSource::new(Path::new("monitors.yaml"), text.as_bytes().to_vec(), None);
    config::load(&source, &|_| None, Unset::Warn).unwrap_or_else(|faults| panic!("{faults}"))
}

fn files(text: &str) -> FleetFiles {
    FleetFiles::single("monitors.yaml", text)
}

/// The fleet of a text, with a lock of that hash beside it.
pub(crate) fn fleet(text: &str, lock: Option<&str>) -> Fleet {
    let mut fleet = loaded(text).fleet;
    let monitor = Arc::make_mut(&mut fleet.monitors[0]);
    monitor.pinned = lock.map(|hash| Arc::new(pinned(hash, monitor)));
    fleet
}

fn pinned(hash: &str, monitor: &Monitor) -> Pinned {
    let canary = |canary: &Canary| {
        let pin = PinnedCanary {
            definition_hash: canary.definition_hash.clone(),
            lists: vec![vec![canary.expect[0].clone(), "other.md".to_owned()]],
            top_score: None,
            results: (2, 2),
            chars: Some(400),
            first_chars: Some(400),
            text_chars: None,
            repeats: false,
            sorted: true,
        };
        (canary.id.clone(), pin)
    };
    Pinned {
        hash: hash.to_owned(),
        place: ("monitors.lock".to_owned(), 1),
        runs: 20,
        reached_index: true,
        relations: vec![Relation::SameTwice, Relation::Prefix, Relation::CaseAndBlanks],
        canaries: monitor.canaries.iter().map(canary).collect(),
        ..Pinned::default()
    }
}

/// What a stretch of the month is like; the first beat and the one behind the last, by their numbers.
struct Trouble {
    beats: Range<i64>,
    show: fn(&mut Observation),
}

fn trouble(day: i64, hour: i64, beats: i64, show: fn(&mut Observation)) -> Trouble {
    let first = day * DAY_BEATS + hour * 60 / EVERY_MIN;
    Trouble { beats: first..first + beats, show }
}

fn down(seen: &mut Observation) {
    seen.steps = vec![step(Stage::Handshake, 10_000, Some(FaultKind::Silent))];
    (seen.tools, seen.asks) = (None, Vec::new());
}

fn refused(seen: &mut Observation) {
    seen.steps = vec![step(Stage::Connect, 2, Some(FaultKind::Refused))];
    (seen.tools, seen.asks) = (None, Vec::new());
}

fn slow(seen: &mut Observation) {
    seen.asks.iter_mut().for_each(|ask| ask.elapsed = Duration::from_micros(1_212_345));
}

fn wrong(seen: &mut Observation) {
    for ask in seen.asks.iter_mut().filter(|ask| ask.canary == "err") {
        ask.result = Some(Ok(hits(&["other.md", "errors/4418.md"])));
    }
}

/// Found, and behind six others.
fn buried(seen: &mut Observation) {
    let sources = ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "errors/4417.md"];
    for ask in seen.asks.iter_mut().filter(|ask| ask.canary == "err") {
        ask.result = Some(Ok(hits(&sources)));
    }
}

/// Chunks three times as long as pinned.
fn resized(seen: &mut Observation) {
    let answers = seen.asks.iter_mut().filter_map(|ask| ask.result.as_mut()?.as_mut().ok());
    answers.flat_map(|answer| &mut answer.hits).for_each(|hit| hit.chars = 1_200);
}

/// Capitals and blanks change what a question brings.
fn capitals(seen: &mut Observation) {
    let altered = seen.altered.iter_mut().filter(|ask| ask.turn == Turn::Respelled);
    altered.for_each(|ask| ask.result = Some(Ok(hits(&["other.md"]))));
}

/// Sentences that are asked back bring other sources than theirs.
fn forgetful(seen: &mut Observation) {
    seen.harvested.iter_mut().for_each(|harvested| harvested.rank = None);
}

fn failing(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.result = Some(Err(Fault { kind: FaultKind::ToolError, detail: "as seen".to_owned() }));
    }
}

fn drifted(seen: &mut Observation) {
    let (was, is) = (tools("v1"), tools("v2"));
    let drift = Drift::by_hashes(&was.hash, &was.tools, &is.tools);
    seen.tools = Some(ToolsSeen { drift: Some(Arc::new(drift)), ..is });
}

/// A sentence that brought its source: more often than a server is asked for one, that a month is enough to know it.
fn sentence_found() -> Harvested {
    let ask = Ask {
        canary: HARVESTED.to_owned(),
        variant: Variant::Fresh,
        turn: Turn::Harvested,
        elapsed: Duration::from_millis(130),
        fresh_connection: false,
        result: Some(Ok(Answer { bytes: 900, ..Answer::default() })),
    };
    Harvested { ask, rank: Some(1) }
}

fn step(stage: Stage, ms: u64, fault: Option<FaultKind>) -> Step {
    Step {
        stage,
        label: stage.slug().to_owned(),
        elapsed: Duration::from_millis(ms),
        phases: Phases::default(),
        fresh_connection: true,
        fault: fault.map(|kind| Fault { kind, detail: "as seen".to_owned() }),
        notes: Vec::new(),
    }
}

fn tools(shape: &str) -> ToolsSeen {
    let tool = ToolSeen { name: "search".to_owned(), full_hash: shape.to_owned(), shape_hash: "same".to_owned() };
    let listing = Listing { hash: shape.to_owned(), tools: vec![tool], ..Listing::default() };
    ToolsSeen { listing: Arc::new(listing), search_tool: Some("search".to_owned()), ..ToolsSeen::default() }
}

fn hits(sources: &[&str]) -> Answer {
    let hit = |(place, source): (u32, &&str)| Hit {
        source: (*source).to_owned(),
        score: Some(1.0 / f64::from(place + 2) + 0.000_123),
        chars: 400,
        excerpt: format!("{source} {place}"),
    };
    Answer { hits: (0..).zip(sources).map(hit).collect(), bytes: 900, ..Answer::default() }
}

/// What stood in the way of a quiet month. Suspect beats come as they come.
fn troubles() -> Vec<Trouble> {
    vec![
        trouble(2, 3, 1, down),
        trouble(3, 9, 12, down),
        trouble(5, 1, 5, refused),
        trouble(7, 0, 40, slow),
        trouble(9, 12, 4, wrong),
        trouble(10, 12, 30, forgetful),
        trouble(12, 6, 60, wrong),
        trouble(15, 0, 30, failing),
        trouble(17, 4, 24, down),
        trouble(19, 8, 48, slow),
        trouble(21, 5, 20, drifted),
        trouble(23, 2, 40, buried),
        trouble(25, 6, 30, resized),
        trouble(27, 20, 3, down),
        trouble(28, 2, 40, capitals),
        // To the end, and beyond.
        trouble(29, 20, 12, down),
    ]
}

/// A daemon that lives through the month.
pub(crate) struct Month {
    pub(crate) context: LoopContext,
    pub(crate) fleet: Fleet,
    pub(crate) runtime: MonitorRuntime,
    pub(crate) now: DateTime<Utc>,
    began: (DateTime<Utc>, Instant),
    dice: u64,
    /// Beats on their way to the disk: many share a commit, as those of many monitors do.
    under_way: Vec<JoinHandle<Result<(), StoreError>>>,
}

impl Month {
    pub(crate) async fn begin(folder: &Path, text: &str, now: DateTime<Utc>) -> Self {
        let fleet = fleet(text, Some("lock-1"));
        let context = LoopContext::idle(folder, fleet.clone()).await;
        context.store.config_loaded(&fleet, (&files(text), FileWord::Start), now).await.unwrap();
        let runtime = MonitorRuntime::new(Arc::clone(&fleet.monitors[0]), now);
        Self { context, fleet, runtime, now, began: (now, Instant::now()), dice: 7, under_way: Vec::new() }
    }

    /// Milliseconds by which a beat is late.
    fn late_ms(&mut self) -> i64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.dice >> 33).unwrap() % 40
    }

    pub(crate) async fn live(&mut self) {
        let troubles = troubles();
        let start = self.now;
        for number in 0..DAYS * DAY_BEATS {
            let due = start + TimeDelta::minutes(number * EVERY_MIN);
            if number % DAY_BEATS == 0 {
                self.settle().await;
                self.maintain(due).await;
            }
            self.meddle(number, due).await;
            let show = troubles.iter().find(|trouble| trouble.beats.contains(&number)).map(|trouble| trouble.show);
            let mut dues = self.beat(BeatKind::Scheduled, due, show).await.unwrap_or_default();
            // As the scheduler does: a suspect beat may plan others in the place of those that were planned.
            while !dues.is_empty() {
                let due = dues.remove(0);
                dues = self.beat(BeatKind::Suspect, due, show).await.unwrap_or(dues);
            }
        }
        self.settle().await;
        self.now = start + TimeDelta::days(DAYS);
        self.maintain(self.now).await;
    }

    /// Lets the janitor seal what is over.
    async fn maintain(&self, now: DateTime<Utc>) {
        let mut plan = JanitorPlan::default();
        while janitor::turn(&self.context.store, &mut plan, (&Shards::ALL, Retention::default()), now).await.unwrap() {}
    }

    /// Waits until everything so far is on disk.
    async fn settle(&mut self) {
        for commit in self.under_way.drain(..) {
            commit.await.unwrap().unwrap();
        }
    }

    /// Restarts of Serin, edits of the file, another lock.
    async fn meddle(&mut self, number: i64, due: DateTime<Utc>) {
        let at = due - TimeDelta::seconds(90);
        let beat = |day: i64, hour: i64| day * DAY_BEATS + hour * 60 / EVERY_MIN;
        let edit = |rules: &str| yaml(rules, EXPECT);
        if [beat(3, 10), beat(7, 3), beat(12, 8), beat(25, 0)].contains(&number) {
            let text = edit(if number < beat(10, 0) { RULES } else { EDITED });
            self.restart(&text, at).await;
        }
        if number == beat(10, 0) {
            self.load(&edit(EDITED), "lock-1", at).await;
        }
        if number == beat(18, 0) {
            self.load(&edit(EDITED), "lock-2", at).await;
        }
        if number == beat(26, 0) {
            self.load(&edit(RULES), "lock-2", at).await;
        }
    }

    /// Another process takes over, with what the store has.
    async fn restart(&mut self, text: &str, at: DateTime<Utc>) {
        self.settle().await;
        let all =
            resume::started(&self.context.store, (&self.fleet, &files(text)), &Leases::whole(), at).await.unwrap();
        let declared = Arc::clone(&self.runtime.monitor);
        self.runtime = all.into_iter().find(|runtime| runtime.monitor.id == declared.id).unwrap();
        self.runtime.monitor = declared;
    }

    async fn load(&mut self, text: &str, lock: &str, at: DateTime<Utc>) {
        self.settle().await;
        self.fleet = fleet(text, Some(lock));
        self.context.store.config_loaded(&self.fleet, (&files(text), FileWord::Change), at).await.unwrap();
        let declared = Arc::clone(&self.fleet.monitors[0]);
        changes::edit(&self.context, &mut self.runtime, declared, at).await.unwrap();
    }

    async fn beat(
        &mut self,
        kind: BeatKind,
        due: DateTime<Utc>,
        show: Option<fn(&mut Observation)>,
    ) -> Option<Vec<DateTime<Utc>>> {
        self.now = due + TimeDelta::milliseconds(self.late_ms()) + TimeDelta::microseconds(137);
        let started = self.began.1 + (self.now - self.began.0).to_std().unwrap();
        let (now, monitor) = (self.now, Arc::clone(&self.runtime.monitor));
        let schedule::BeatAsks { asks, altered, .. } = self.runtime.asks(now);
        let ask = |planned: schedule::PlannedAsk| {
            let canary = &monitor.canaries[planned.canary];
            Ask {
                canary: canary.id.clone(),
                variant: Variant::Plain,
                turn: planned.turn,
                elapsed: Duration::from_micros(120_000 + self.dice % 70_000),
                fresh_connection: false,
                result: Some(Ok(hits(&[&canary.expect[0], "other.md"]))),
            }
        };
        let mut seen = Observation {
            elapsed: Duration::from_millis(420),
            steps: [Stage::Connect, Stage::Handshake, Stage::Tools].map(|stage| step(stage, 11, None)).into(),
            tools: Some(tools("v1")),
            asks: asks.into_iter().map(ask).collect(),
            altered: altered.map(|planned| Box::new(ask(planned))),
            harvested: (kind == BeatKind::Scheduled).then(|| Box::new(sentence_found())),
            ..Observation::blank(monitor.id.clone(), kind, due, now)
        };
        if let Some(show) = show {
            show(&mut seen);
        }
        let outcome = classify(&monitor, &seen);
        let observed = (seen, ServerProfile::default(), outcome);
        let quiets = self.context.quiets.book();
        let judged = judged(
            Known { store: &self.context.store, original: None, parents: &[] },
            &self.runtime,
            (&self.fleet, &quiets),
            observed,
            (started, now),
        );
        if !judged.decisions.is_empty() {
            // What is told depends on what was.
            self.settle().await;
        }
        let record =
            record(&self.context, &self.runtime, (&self.fleet, &quiets), (&judged, Vec::new()), now).await.unwrap();
        let store = self.context.store.clone();
        self.under_way.push(tokio::spawn(async move { store.commit(record).await }));
        let suspects = suspects(&self.runtime.state, &judged.next.state, &monitor, &judged.seen);
        let (next, _) = judged.kept(&mut self.runtime, now);
        self.runtime.state = next.state;
        self.runtime.history.last_started = Some(next.started);
        if next.noted.is_some() {
            self.runtime.listings.note(now);
        }
        suspects
    }
}

/// What was in force from the tenth day to the twenty-sixth.
const EDITED: &str = "availability: { after: 2 }, latency: { p95: 1000ms, window: 6h, for: 2h }, quality: { after: 4 }";
