//! `serin canary suggest ID`: further canaries for a monitor that has some, by the proposer of `serin init`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use chrono::Utc;

use crate::cli::canary::declared;
use crate::cli::config_file::ConfigFile;
use crate::cli::init::compose::Draft;
use crate::cli::init::confirming::{CONFIRMATIONS, confirmed};
use crate::cli::init::scalar::comment;
use crate::cli::observe::recalled;
use crate::domain::monitor::Monitor;
use crate::domain::quality::propose::Proposal;
use crate::domain::secret::Secret;
use crate::domain::wording::counted;
use crate::probe::explore::explored::{CANARIES_MAX, Wish};
use crate::probe::explore::talk::REQUESTS_MAX;
use crate::probe::prober::Prober;

/// Nothing was found that is not declared already.
const NOTHING: u8 = 2;
/// Shorter secrets are ordinary words.
const SECRET_CHARS_MIN: usize = 6;

/// Proposes further canaries for a monitor, each answered so three times, as YAML to paste into its `canaries`.
///
/// Nothing is proposed that is declared already, and sources that no canary expects come first. Exit code 0: some were found; 2: none was.
#[derive(Debug, clap::Args)]
pub(crate) struct SuggestArgs {
    /// The monitor's id.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    file: ConfigFile,
    /// A question that finds something; may be repeated. Without one, the server's own words are asked.
    #[arg(long = "ask", value_name = "QUESTION")]
    asks: Vec<String>,
    /// A question that finds nothing; may be repeated. Without one, nonsense is asked.
    #[arg(long = "ask-nothing", value_name = "QUESTION")]
    asks_nothing: Vec<String>,
    /// Canaries to look for, at most 8.
    #[arg(long, value_name = "N", default_value_t = 5)]
    canaries: usize,
}

/// Explores the server as its monitor reaches it, and prints what was confirmed.
///
/// # Errors
/// Where the file has faults, or declares no such monitor.
pub(crate) async fn run(args: SuggestArgs) -> anyhow::Result<ExitCode> {
    let path: PathBuf = args.file.path()?;
    let loaded = declared::loaded(&path)?;
    let monitor = Arc::clone(declared::monitor(&loaded, &args.id)?);
    anyhow::ensure!(args.canaries <= CANARIES_MAX, "at most {CANARIES_MAX} canaries are looked for");
    // The exploration, and each confirmation a look of its own.
    let one_look = monitor.calls_of_all() - monitor.canaries.len() as u64 + args.canaries as u64;
    let calls = u64::from(REQUESTS_MAX) + args.canaries as u64 + CONFIRMATIONS as u64 * one_look;
    anstream::eprintln!("explores {} and asks again what it finds: up to {calls} calls", monitor.url.shown);
    let wish = Wish {
        asks: args.asks,
        asks_nothing: args.asks_nothing,
        canaries: args.canaries,
        declared: Some(Arc::clone(&monitor)),
        ..Wish::default()
    };
    let prober = Prober::new(1);
    let profile = recalled(&path, &monitor).await;
    let explored = Box::pin(prober.explore(&monitor, &wish, profile, Utc::now())).await;
    let mut draft = Draft { doubts: explored.gaps.clone(), ..Draft::default() };
    draft.doubts.extend(explored.guesses.iter().cloned());
    draft.canaries = explored.canaries.iter().filter(|(found, _)| is_new(&monitor, found)).cloned().collect();
    let mut requests = explored.seen.footprint.requests;
    if explored.was_throttled() {
        draft.canaries.clear();
        draft
            .doubts
            .push("the server asked for quiet (429), so that nothing was confirmed; try again later".to_owned());
    } else if !draft.canaries.is_empty() {
        requests += confirmed(&prober, &mut draft, &monitor, explored.profile.clone()).await;
    }
    prober.release_all().await;
    for doubt in &draft.doubts {
        anstream::eprintln!("  look: {}", comment(doubt));
    }
    let found = counted(draft.canaries.len(), "further canary", "further canaries");
    anstream::eprintln!("  {found} of '{}', {} sent", monitor.id, counted(requests, "request", "requests"));
    anstream::print!("{}", draft.canaries_to_paste(&monitor));
    Ok(ExitCode::from(if draft.canaries.is_empty() { NOTHING } else { 0 }))
}

/// Whether the file asks nothing like it, and it repeats no secret of ours.
fn is_new(monitor: &Monitor, found: &Proposal) -> bool {
    let is_asked = |query: &str| query.trim().to_lowercase() == found.query.trim().to_lowercase();
    let secrets = monitor.auth.bearer.iter().chain(monitor.auth.headers.iter().map(|(_, value)| value));
    let mut secrets = secrets.map(Secret::expose).filter(|secret| secret.chars().count() >= SECRET_CHARS_MIN);
    let texts = [&found.query, &found.source];
    let betrays = |secret: &str| texts.into_iter().chain(&found.contains).any(|text| text.contains(secret));
    !monitor.canaries.iter().any(|canary| is_asked(&canary.query)) && !secrets.any(betrays)
}
