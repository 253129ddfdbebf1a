//! A fleet of a million monitors without sockets, database and waiting: how evenly machines share it, how evenly its beats
//! fall due, and what scheduling and deciding cost the machine that has the most of it.
//!
//! Sharing, due times, judgement and decision are the very functions of the program. What stands between them here is a heap
//! of due times and a clock that jumps; there is no probe, no commit and no page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::answer::{Answer, Ask, Hit, Variant};
use serin::domain::classify::classify;
use serin::domain::fault::{Fault, FaultKind};
use serin::domain::fleet::Provenance;
use serin::domain::lease::{Holding, Lease, Leases, Node, next_move};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use serin::domain::monitor_state::{Beat, Decision, MonitorState};
use serin::domain::observation::{BeatKind, Observation, Phases, Stage, Step};
use serin::domain::outcome::Verdict;
use serin::domain::paging::common_cause::Failing;
use serin::domain::paging::quiet::QuietBook;
use serin::domain::route::Route;
use serin::domain::schedule::{self, Doubt, Rhythm};
use serin::domain::secret::{Address, Secret};
use serin::domain::shard::{Shard, Shards};
use serin::domain::signal::{Phase, Signal};

use crate::report::row;
use crate::usage;

const EVERY: Duration = Duration::from_secs(60);
/// Between two turns in which a machine says that it lives.
const TURN_SECONDS: u64 = 2;
/// Turns within which every shard has found its machine, or the bench gives up.
const TURNS_MAX: u64 = 64;
/// When servers break, and when they are mended, in minutes from the start.
const BROKEN: [i64; 2] = [3, 6];

/// Measures what sharing, scheduling and deciding cost at any size, without sockets and database.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SimulateBench {
    /// Monitors of the whole fleet, with a beat a minute; some 6 kB of memory for each of one machine's part.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    monitors: u64,
    /// Machines that share it.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=200))]
    machines: u64,
    /// Minutes that the part of one machine lives through.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(8..=1_440))]
    minutes: i64,
    /// Servers in 1,000 that are down for three of these minutes.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    down: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where shards find no machine.
pub(crate) fn run(args: &SimulateBench) -> anyhow::Result<()> {
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let part = shared(args)?;
    let due = due_evenly(args.monitors);
    row(&format!("{} beats a second, the busiest of 60 seconds", args.monitors / 60), &due, "stated");
    lived(args, part);
    Ok(())
}

fn id(nth: u64) -> MonitorId {
    MonitorId::new(&format!("m{nth}"))
}

/// Has machines share the fleet, ends one of them, and answers the numbers of the monitors that the busiest has before that.
fn shared(args: &SimulateBench) -> anyhow::Result<Vec<u64>> {
    let before = usage::cpu();
    let shards: Vec<u8> = (0..args.monitors).map(|nth| Shard::of(id(nth).as_str()).number()).collect();
    let each = (usage::cpu() - before).as_secs_f64() / args.monitors as f64;
    row("finding the shard of a monitor", &format!("{:.2} µs of CPU", each * 1e6), "stated");
    let mut fleet = Sharing::new(args.machines);
    let turns = fleet.settle()?;
    let owners = fleet.owners();
    let of = |machine: usize| shards.iter().filter(|shard| owners[usize::from(**shard)] == machine).count();
    let parts: Vec<usize> = (0..fleet.ids.len()).map(of).collect();
    let (busiest, most) = parts.iter().copied().enumerate().max_by_key(|(_, part)| *part).unwrap_or_default();
    let least = parts.iter().min().copied().unwrap_or_default();
    let said = format!("{least} to {most} monitors each, within {} s of the first", turns * TURN_SECONDS);
    row(&format!("{} machines share {} monitors", args.machines, args.monitors), &said, "stated");
    if args.machines > 1 {
        fleet.gone[0] = true;
        let turns = fleet.settle()?;
        let after = fleet.owners();
        let moved = shards.iter().filter(|shard| owners[usize::from(**shard)] != after[usize::from(**shard)]).count();
        let of_it = parts[0];
        let most = (1..fleet.ids.len())
            .map(|machine| shards.iter().filter(|shard| after[usize::from(**shard)] == machine).count())
            .max();
        let said = format!(
            "{moved} monitors change hands, {of_it} of them its own, within {} s of its end being known; then at most {} a machine",
            turns * TURN_SECONDS,
            most.unwrap_or_default()
        );
        row("one of them ends", &said, "its own alone");
    }
    let ours = shards.iter().zip(0..).filter(|(shard, _)| owners[usize::from(**shard)] == busiest);
    Ok(ours.map(|(_, nth)| nth).collect())
}

/// Machines that share shards, as the database has them.
struct Sharing {
    ids: Vec<String>,
    gone: Vec<bool>,
    held: Vec<Leases>,
    holdings: Vec<Holding>,
}

impl Sharing {
    fn new(machines: u64) -> Self {
        let ids: Vec<String> = (0..machines).map(|nth| format!("machine-{nth:03}")).collect();
        let holdings = Shards::ALL.iter().map(|shard| Holding { shard, node: None, epoch: 0 }).collect();
        let held = ids.iter().map(|_| Leases::none()).collect();
        Self { gone: vec![false; ids.len()], held, holdings, ids }
    }

    /// Has each take its turn until nothing moves any more; how many turns that took.
    fn settle(&mut self) -> anyhow::Result<u64> {
        for turn in 0..TURNS_MAX {
            if !self.turn() {
                return Ok(turn);
            }
        }
        anyhow::bail!("shards move for ever")
    }

    /// Whether anything moved.
    fn turn(&mut self) -> bool {
        let known = self.ids.iter().zip(&self.gone);
        let nodes: Vec<Node> =
            known.map(|(id, gone)| Node { id: id.clone(), has_file: true, is_gone: *gone }).collect();
        let mut has_moved = false;
        for (machine, id) in self.ids.iter().enumerate().filter(|(machine, _)| !self.gone[*machine]) {
            let next = next_move(id, &self.held[machine], &nodes, &self.holdings);
            for holding in &mut self.holdings {
                let (gives, takes) = (next.give_up.contains(&holding.shard), next.take.contains(&holding.shard));
                if gives || takes {
                    holding.node = takes.then(|| id.clone());
                    holding.epoch += 1;
                    has_moved = true;
                }
            }
            let ours = self.holdings.iter().filter(|holding| holding.node.as_ref() == Some(id));
            self.held[machine] =
                ours.map(|holding| Lease { shard: holding.shard, epoch: holding.epoch }).collect::<Leases>();
        }
        has_moved
    }

    /// Whose each shard is, by its number.
    fn owners(&self) -> Vec<usize> {
        let place = |holding: &Holding| self.ids.iter().position(|id| Some(id) == holding.node.as_ref());
        self.holdings.iter().map(|holding| place(holding).unwrap_or(usize::MAX)).collect()
    }
}

/// How many beats of the whole fleet are due in the busiest second of a minute, beside the average.
fn due_evenly(monitors: u64) -> String {
    let (start, mut seconds) = (at(0), [0_u64; 60]);
    for nth in 0..monitors {
        let due = Rhythm::alone(&id(nth), EVERY).next_due(7, start) - start;
        seconds[(due.num_seconds().unsigned_abs() % 60) as usize] += 1;
    }
    let busiest = seconds.iter().max().copied().unwrap_or_default();
    format!("{busiest} beats, {:.2}× the average", busiest as f64 / (monitors as f64 / 60.0))
}

/// One monitor of the part.
struct Watched {
    monitor: Monitor,
    rhythm: Rhythm,
    state: MonitorState,
    round: Vec<usize>,
    turn: usize,
    is_struck: bool,
}

impl Watched {
    fn new(nth: u64, down: u64) -> Self {
        let monitor = monitor(nth);
        Self {
            rhythm: Rhythm::alone(&monitor.id, EVERY),
            state: MonitorState::new(at(0)),
            round: schedule::round(&monitor),
            turn: 0,
            // Every server in turn: those of one shard are not struck together.
            is_struck: nth % 1_000 < down,
            monitor,
        }
    }

    /// What a probe would have seen.
    fn seen(&mut self, kind: BeatKind, now: DateTime<Utc>) -> Observation {
        let mut seen = Observation::blank(self.monitor.id.clone(), kind, now, now);
        let [from, until] = BROKEN.map(|minute| at(minute * 60));
        if self.is_struck && (from..until).contains(&now) {
            seen.steps = vec![step(Stage::Connect, Some(FaultKind::Refused))];
            return seen;
        }
        let failing = self.state.wants_asking();
        let (unheard, share) = self.state.wants_hearing(&self.monitor);
        let doubt = Doubt { failing: &failing, knows_way: false, unheard: &unheard, share, spare: schedule::ASKS_MAX };
        let planned = schedule::asks(&self.monitor, &self.round, self.turn, doubt);
        self.turn += planned.len();
        seen.steps = [Stage::Connect, Stage::Handshake, Stage::Search].map(|stage| step(stage, None)).into();
        let asked = |ask: &schedule::PlannedAsk| {
            let canary = &self.monitor.canaries[ask.canary];
            Ask {
                canary: canary.id.clone(),
                variant: Variant::Plain,
                turn: ask.turn,
                elapsed: Duration::from_millis(20),
                fresh_connection: false,
                result: Some(Ok(answer(&canary.expect[0]))),
            }
        };
        seen.asks = planned.iter().map(asked).collect();
        seen
    }
}

/// What came of it.
#[derive(Debug, Default)]
struct Told {
    beats: u64,
    suspects: u64,
    opened: u64,
    common: u64,
    resolved: u64,
}

/// Lives through some minutes of one machine's part, as fast as it goes.
fn lived(args: &SimulateBench, part: Vec<u64>) {
    let memory = usage::anonymous_mb();
    let mut watched: Vec<Watched> = part.iter().map(|nth| Watched::new(*nth, args.down)).collect();
    let end = at(args.minutes * 60);
    let mut dues: BinaryHeap<Reverse<(DateTime<Utc>, usize, bool)>> = BinaryHeap::with_capacity(watched.len());
    for (place, one) in watched.iter().enumerate() {
        dues.push(Reverse((one.rhythm.next_due(7, at(0)), place, false)));
    }
    let (mut told, mut failing, before) = (Told::default(), Failing::default(), usage::cpu());
    while let Some(Reverse((now, place, is_suspect))) = dues.pop().filter(|Reverse((due, ..))| *due < end) {
        let one = &mut watched[place];
        if !is_suspect {
            dues.push(Reverse((one.rhythm.next_due(7, now), place, false)));
        }
        for at in beat(one, is_suspect, now, (&mut failing, &mut told, part.len())) {
            dues.push(Reverse((at, place, true)));
        }
    }
    let cpu = (usage::cpu() - before).as_secs_f64();
    let beats = told.beats as f64;
    let of = format!("{} monitors for {} minutes, {} in 1,000 down for three", part.len(), args.minutes, args.down);
    let each = format!("{:.3} CPU-s per 10,000 beats ({:.0} beats, {cpu:.1} s)", cpu / beats * 1e4, beats);
    row(&format!("scheduling, judging and deciding: {of}"), &each, "stated");
    let share = cpu / (args.minutes as f64 * 60.0);
    row("cores that this takes", &format!("{share:.2}"), "stated");
    let kept = (usage::anonymous_mb() - memory) * 1_048_576.0 / part.len() as f64;
    row("memory of a monitor's declaration and state", &format!("{:.1} kB", kept / 1e3), "stated");
    let struck = watched.iter().filter(|one| one.is_struck).count();
    let said = format!(
        "{} opened, {} resolved, {} of them known as one of many; {} looks more than the schedule's",
        told.opened, told.resolved, told.common, told.suspects
    );
    row(&format!("{struck} outages"), &said, "each once");
}

/// One beat, judged and decided; when to look again soon.
fn beat(
    one: &mut Watched,
    is_suspect: bool,
    now: DateTime<Utc>,
    (failing, told, fleet): (&mut Failing, &mut Told, usize),
) -> Vec<DateTime<Utc>> {
    let phase = |state: &MonitorState| state.signal(Signal::Availability).phase;
    let before = phase(&one.state);
    if is_suspect && before == Phase::Quiet {
        // It was planned for an outage that is over.
        return Vec::new();
    }
    let seen = one.seen(if is_suspect { BeatKind::Suspect } else { BeatKind::Scheduled }, now);
    let outcome = classify(&one.monitor, &seen);
    let (provenance, quiets, covered) = (Provenance::default(), QuietBook::default(), EVERY);
    let routes = [Route { to: vec!["oncall".to_owned()], ..Route::default() }];
    let beat = Beat {
        monitor: &one.monitor,
        provenance: &provenance,
        routes: &routes,
        quiets: &quiets,
        parents: &[],
        seen: &seen,
        outcome: &outcome,
        original: None,
        covered,
        now,
    };
    let (next, decisions) = one.state.weigh(beat, &mut || uuid::Uuid::now_v7().to_string());
    told.beats += 1;
    told.suspects += u64::from(is_suspect);
    match outcome.verdict {
        Verdict::Down => failing.fails(&one.monitor.id, &one.monitor.host_and_port(), now),
        _ => failing.is_well(&one.monitor.id),
    }
    for decision in &decisions {
        match decision {
            Decision::Opened { .. } => {
                told.opened += 1;
                told.common += u64::from(failing.is_common(&one.monitor.id, 0.005, fleet, now));
            }
            Decision::Resolved(_) => told.resolved += 1,
            _ => {}
        }
    }
    one.state = next;
    if before == Phase::Quiet && phase(&one.state) == Phase::Pending {
        return schedule::suspects(now, now + TimeDelta::milliseconds(20), one.monitor.rules.availability.page_after);
    }
    Vec::new()
}

fn step(stage: Stage, fault: Option<FaultKind>) -> Step {
    Step {
        stage,
        label: stage.slug().to_owned(),
        elapsed: Duration::from_millis(5),
        phases: Phases::default(),
        fresh_connection: true,
        fault: fault.map(|kind| Fault { kind, detail: "connection refused".to_owned() }),
        notes: Vec::new(),
    }
}

fn answer(source: &str) -> Answer {
    let hit = |place: u32, source: &str| Hit {
        source: source.to_owned(),
        score: Some(1.0 / f64::from(place)),
        chars: 400,
        excerpt: format!("{source} {place}"),
    };
    Answer { hits: vec![hit(1, source), hit(2, "other.md"), hit(3, "more.md")], bytes: 900, ..Answer::default() }
}

/// Two canaries, a beat a minute, on one of 250,000 hosts.
fn monitor(nth: u64) -> Monitor {
    let url = format!("http://host-{}.example.org:8080/mcp", nth % 250_000);
    let mut monitor =
        Monitor::undeclared(id(nth).as_str(), Address { shown: url.clone(), resolved: Secret::new(&url) });
    let canary = |(name, query, kind): (&str, &str, CanaryKind)| Canary {
        id: name.to_owned(),
        query: query.to_owned(),
        kind,
        expect: vec![format!("docs/{name}.md")],
        within: 5,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: name.to_owned(),
    };
    let canaries =
        [("one", "how long does a token live", CanaryKind::Meaning), ("two", "ERR-4417", CanaryKind::Keyword)];
    monitor.canaries = canaries.into_iter().map(canary).collect();
    monitor
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap_or_default()
}
