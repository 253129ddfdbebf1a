//! `serin canary lint`: asks each canary once and says whether it proves what its kind is for, and which checks judge the
//! monitor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};

use crate::cli::canary::declared;
use crate::cli::config_file::ConfigFile;
use crate::cli::observe::{INTERRUPTED, recalled};
use crate::domain::answer::{Answer, SeenPassage, Turn, Variant};
use crate::domain::classify::classify;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::{BeatKind, Observation};
use crate::domain::outcome::AskVerdict;
use crate::domain::quality::lint::{Proof, lint};
use crate::domain::quality::unarmed::checks_seen;
use crate::domain::schedule::PlannedAsk;
use crate::domain::search::{Fresh, FreshWay};
use crate::domain::wording::counted;
use crate::probe::assignment::{Assignment, Further};
use crate::probe::prober::Prober;
use crate::tool_lists::known::KnownLists;

/// Some canary does not prove what it should.
const FAILS: u8 = 1;
/// None is known to fail, and of some nothing could be said.
const UNKNOWN: u8 = 3;
/// One monitor's look at the longest, however many canaries it has.
const LOOK_MAX: Duration = Duration::from_secs(600);

/// Asks each declared canary once and says whether it proves what its kind is for.
///
/// A meaning canary has to share no word with its source as the server returns it, a keyword one's word has to stand there, a self one's text too, a negative one has to find nothing now, and every other has to find its source. Beside it stands which checks judge the monitor, and what the others take. Exit code 0: all hold; 1: one does not; 3: of one nothing can be said, such as for want of an answer.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    /// A monitor's id; all that have canaries where none is named.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The file; monitors.yaml in this folder where none is named.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same, for scripts that say what each word is.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// Looks at the monitors one after the other.
///
/// # Errors
/// Where the file has faults, or declares no such monitor.
pub(crate) async fn run(args: LintArgs) -> anyhow::Result<ExitCode> {
    let path = ConfigFile { file: args.file, config: args.config }.path()?;
    let loaded = declared::loaded(&path)?;
    let monitors: Vec<Arc<Monitor>> = match &args.id {
        Some(id) => vec![Arc::clone(declared::monitor(&loaded, id)?)],
        None => loaded.fleet.monitors.iter().filter(|monitor| !monitor.canaries.is_empty()).cloned().collect(),
    };
    anyhow::ensure!(!monitors.is_empty(), "{} declares no canary", loaded.fleet.provenance.file);
    let calls: u64 = monitors.iter().map(|monitor| calls(monitor)).sum();
    let canaries: usize = monitors.iter().map(|monitor| monitor.canaries.len()).sum();
    anstream::eprintln!(
        "asks {} of {}: up to {}",
        counted(canaries, "canary", "canaries"),
        counted(monitors.len(), "monitor", "monitors"),
        counted(calls, "call", "calls")
    );
    let mut looks = Vec::with_capacity(monitors.len());
    for monitor in monitors {
        let Some(look) = look(&path, &monitor).await else { return Ok(ExitCode::from(INTERRUPTED)) };
        if !args.json {
            anstream::print!("{}", text(&look, |line| loaded.fleet.provenance.shown(line)));
        }
        looks.push(look);
    }
    if args.json {
        let all: Vec<Value> = looks.iter().map(as_json).collect();
        anstream::println!("{:#}", json!({ "monitors": all }));
    }
    Ok(ExitCode::from(code(&looks)))
}

/// What was found of one monitor.
#[derive(Debug)]
struct Look {
    monitor: Arc<Monitor>,
    /// Of each canary, in the order of the file.
    proofs: Vec<Proof>,
    /// Each check by its key, with why it is not armed.
    checks: Vec<(&'static str, Option<String>)>,
    /// By what searches get past caches, in words; none where they do not.
    past_caches: Option<String>,
    requests: u32,
}

/// Asks every canary past the server's caches, and holds it against what came; none where somebody interrupted it.
async fn look(path: &Path, monitor: &Arc<Monitor>) -> Option<Look> {
    let now = Utc::now();
    // A beat's budget is for a handful of them.
    let calls = u32::try_from(calls(monitor)).unwrap_or(u32::MAX);
    let probe_budget = monitor.timeout.saturating_mul(calls).clamp(monitor.probe_budget, LOOK_MAX);
    let assignment = Assignment {
        monitor: Arc::new(Monitor { probe_budget, ..Monitor::clone(monitor) }),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks: PlannedAsk::every(monitor, Variant::Fresh).into_iter().chain(in_other_words(monitor)).collect(),
        further: Further::NONE,
        source_pages: 0,
        source_names: false,
        profile: recalled(path, monitor).await,
        lists: KnownLists::default(),
    };
    let prober = Prober::new(1).keeping_passages();
    let (seen, _) = tokio::select! {
        seen = prober.run(&assignment) => seen,
        // What the look started ends with it.
        _ = tokio::signal::ctrl_c() => return None,
    };
    prober.release_all().await;
    Some(judged(Arc::clone(monitor), &seen))
}

/// The most requests of a look.
fn calls(monitor: &Monitor) -> u64 {
    monitor.calls_of_all() + in_other_words(monitor).count() as u64
}

/// Every canary in each of its other words, where nothing else may be known that gets past caches.
fn in_other_words(monitor: &Monitor) -> impl Iterator<Item = PlannedAsk> {
    let is_asked = monitor.search.fresh == Fresh::Found && !monitor.may_send_nonces();
    let canaries = monitor.canaries.iter().enumerate().filter(move |_| is_asked);
    canaries.flat_map(|(nth, canary)| {
        let ask = PlannedAsk::new(nth, Turn::Scheduled, Variant::Reworded);
        (0..).zip(&canary.also).map(move |(wording, _)| PlannedAsk { wording, ..ask })
    })
}

fn judged(monitor: Arc<Monitor>, seen: &Observation) -> Look {
    let outcome = classify(&monitor, seen);
    let answers = seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok());
    let passages: Vec<SeenPassage> = answers.flat_map(|answer: &Answer| answer.passages.clone()).collect();
    let verdict = |canary: &str| {
        let asked = seen.asks.iter().zip(&outcome.asks).find(|(ask, _)| ask.canary == canary);
        asked.map_or(&AskVerdict::NotAsked, |(_, verdict)| verdict)
    };
    // Asks come in the order of the plan, these last; a server that knows a way was asked by it.
    let verdicts = seen.asks.iter().zip(&outcome.asks).skip(monitor.canaries.len());
    let reworded = in_other_words(&monitor).zip(verdicts).filter(|(_, (ask, _))| ask.variant == Variant::Reworded);
    let in_words: Vec<(usize, Proof)> = reworded
        .filter_map(|(planned, (_, verdict))| {
            let canary = &monitor.canaries[planned.canary];
            let query = canary.also.get(planned.wording as usize)?;
            let proof = lint(&Canary { query: query.clone(), ..canary.clone() }, verdict, &passages);
            Some((planned.canary, proof.of_wording(query)))
        })
        .collect();
    let proof = |(nth, canary): (usize, &Canary)| {
        let own = lint(canary, verdict(&canary.id), &passages);
        let is_weak = |proof: &Proof| !matches!(proof, Proof::Holds(_));
        let mut weak =
            in_words.iter().filter(|(of, proof)| *of == nth && is_weak(proof)).map(|(_, proof)| proof.clone());
        if is_weak(&own) { own } else { weak.next().unwrap_or(own) }
    };
    let proofs = monitor.canaries.iter().enumerate().map(proof).collect();
    let checks = checks_seen(&monitor, seen.tools.as_ref());
    let past_caches = seen.tools.as_ref().and_then(|tools| tools.fresh).map(FreshWay::said);
    Look { monitor, proofs, checks, past_caches, requests: seen.footprint.requests }
}

/// `place` says where a line of the configuration stands.
fn text(look: &Look, place: impl Fn(u32) -> String) -> String {
    let mut text = String::new();
    let mut line = |said: String| {
        let _ = writeln!(text, "{said}");
    };
    let canaries = &look.monitor.canaries;
    line(format!(
        "{} · {} in {}",
        look.monitor.id,
        counted(canaries.len(), "canary", "canaries"),
        counted(look.requests, "request", "requests")
    ));
    let width = canaries.iter().map(|canary| canary.id.len()).max().unwrap_or(0);
    for (canary, proof) in canaries.iter().zip(&look.proofs) {
        let mark = match proof {
            Proof::Holds(_) => '✓',
            Proof::Fails(_) => '✗',
            Proof::Unknown(_) => '?',
        };
        line(format!("  {mark} {:width$}  {:8}  {}", canary.id, canary.kind.slug(), proof.said()));
        if !matches!(proof, Proof::Holds(_)) {
            line(format!("    {:width$}  {:8}  at {}", "", "", place(canary.line)));
        }
    }
    if let Some(way) = &look.past_caches {
        line(format!("  past caches by {way}"));
    }
    line("  checks".to_owned());
    let width = look.checks.iter().map(|(check, _)| check.len()).max().unwrap_or(0);
    for (check, why) in &look.checks {
        line(format!("    {check:width$}  {}", why.as_deref().unwrap_or("armed")));
    }
    text
}

fn as_json(look: &Look) -> Value {
    let canaries = look.monitor.canaries.iter().zip(&look.proofs).map(|(canary, proof)| {
        json!({ "id": canary.id, "kind": canary.kind.slug(), "proof": proof.slug(), "said": proof.said() })
    });
    let checks = look.checks.iter().map(|(check, why)| json!({ "check": check, "armed": why.is_none(), "takes": why }));
    json!({
        "id": look.monitor.id.as_str(),
        "requests": look.requests,
        "past_caches": look.past_caches,
        "canaries": canaries.collect::<Vec<_>>(),
        "checks": checks.collect::<Vec<_>>(),
    })
}

fn code(looks: &[Look]) -> u8 {
    let any = |is: fn(&Proof) -> bool| looks.iter().flat_map(|look| &look.proofs).any(is);
    if any(|proof| matches!(proof, Proof::Fails(_))) {
        FAILS
    } else if any(|proof| matches!(proof, Proof::Unknown(_))) {
        UNKNOWN
    } else {
        0
    }
}
