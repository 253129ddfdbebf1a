//! `serin canary suggest`: further canaries for a monitor, or the first ones for those of a list, by the proposer of `serin init`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use chrono::Utc;

use crate::cli::canary::declared;
use crate::cli::config_file::ConfigFile;
use crate::cli::init::compose::Draft;
use crate::cli::init::confirming::{CONFIRMATIONS, confirmed};
use crate::cli::init::scalar::comment;
use crate::cli::known_ids::instead;
use crate::cli::observe::recalled;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::Monitor;
use crate::domain::quality::propose::Proposal;
use crate::domain::secret::Secret;
use crate::domain::wording::counted;
use crate::probe::explore::explored::{CANARIES_MAX, Wish};
use crate::probe::explore::talk::REQUESTS_MAX;
use crate::probe::prober::Prober;

/// Nothing was found that is not declared already.
const NOTHING: u8 = 2;
/// Blanks before what stands below a source.
const LISTED_INDENT: usize = 8;
/// Shorter secrets are ordinary words.
const SECRET_CHARS_MIN: usize = 6;

/// Proposes further canaries for a monitor, each answered so three times, as YAML to paste into its `canaries`.
///
/// Nothing is proposed that is declared already, and sources that no canary expects come first. Exit code 0: some were found; 2: none was.
#[derive(Debug, clap::Args)]
pub(crate) struct SuggestArgs {
    /// The monitor's id.
    #[arg(value_name = "ID", required_unless_present = "list", conflicts_with = "list")]
    id: Option<String>,
    /// Instead of one: each monitor of this source of `discover` that has no canary yet, as YAML to paste below the source.
    #[arg(long, value_name = "SOURCE")]
    list: Option<String>,
    /// Calls that all of a source may take; servers that do not fit into it are looked at by the next run.
    #[arg(long, value_name = "CALLS", default_value_t = 2_000)]
    calls: u64,
    #[command(flatten)]
    file: ConfigFile,
    #[command(flatten)]
    questions: Questions,
}

#[derive(Debug, clap::Args)]
struct Questions {
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

/// Explores servers as their monitors reach them, and prints what was confirmed.
///
/// # Errors
/// Where the file has faults, or declares no such monitor or source.
pub(crate) async fn run(args: SuggestArgs) -> anyhow::Result<ExitCode> {
    let path: PathBuf = args.file.path()?;
    let loaded = declared::loaded(&path)?;
    anyhow::ensure!(args.questions.canaries <= CANARIES_MAX, "at most {CANARIES_MAX} canaries are looked for");
    let prober = Prober::new(1);
    let suggesting = Suggesting { path: &path, prober: &prober, questions: &args.questions };
    let found = match (&args.id, &args.list) {
        (Some(id), _) => suggesting.for_one(declared::monitor(&loaded, id)?).await,
        (None, list) => suggesting.for_list(&loaded.fleet, list.as_deref().unwrap_or_default(), args.calls).await?,
    };
    prober.release_all().await;
    Ok(ExitCode::from(if found { 0 } else { NOTHING }))
}

struct Suggesting<'a> {
    path: &'a Path,
    prober: &'a Prober,
    questions: &'a Questions,
}

impl Suggesting<'_> {
    /// Whether there were any.
    async fn for_one(&self, monitor: &Arc<Monitor>) -> bool {
        let calls = self.calls_max(monitor);
        anstream::eprintln!("explores {} and asks again what it finds: up to {calls} calls", monitor.url.shown);
        let (draft, requests) = self.explored(monitor).await;
        for doubt in &draft.doubts {
            anstream::eprintln!("  look: {}", comment(doubt));
        }
        let found = counted(draft.canaries.len(), "further canary", "further canaries");
        anstream::eprintln!("  {found} of '{}', {} sent", monitor.id, counted(requests, "request", "requests"));
        anstream::print!("{}", draft.canaries_to_paste(monitor));
        !draft.canaries.is_empty()
    }

    /// The same for each of a source that has none, one after the other, as long as its most calls fit into what is left.
    async fn for_list(&self, fleet: &Fleet, source: &str, calls: u64) -> anyhow::Result<bool> {
        let sources: Vec<&str> = fleet.discovery.sources.iter().map(|source| source.id.as_str()).collect();
        let file = &fleet.provenance.file;
        anyhow::ensure!(
            sources.contains(&source),
            "{file} declares no source '{source}'; {}",
            instead(source, &sources, sources.len())
        );
        let is_on_it = |monitor: &&Arc<Monitor>| {
            let of = monitor.discovered.as_ref();
            monitor.canaries.is_empty() && of.is_some_and(|of| of.source == source && of.gone_since.is_none())
        };
        let bare: Vec<&Arc<Monitor>> = fleet.monitors.iter().filter(is_on_it).collect();
        let monitors = counted(bare.len(), "monitor has", "monitors have");
        anstream::eprintln!("{monitors} no canary; all of it takes up to {calls} calls");
        let (mut left, mut found, mut later) = (calls, 0_usize, 0_usize);
        for monitor in bare {
            if left < self.calls_max(monitor) {
                later += 1;
                continue;
            }
            let (draft, requests) = self.explored(monitor).await;
            left = left.saturating_sub(u64::from(requests));
            let item = draft.item(LISTED_INDENT);
            let why = match () {
                () if draft.canaries.is_empty() => draft.doubts.first().map_or("nothing was found", String::as_str),
                () if secrets(monitor).any(|secret| item.contains(secret)) => "the server repeats a secret of ours",
                () => {
                    if found == 0 {
                        anstream::println!("{:LISTED_INDENT$}# below `- id: {source}`", "");
                        anstream::println!("{:width$}monitors:", "", width = LISTED_INDENT - 2);
                    }
                    found += 1;
                    anstream::print!("{item}");
                    continue;
                }
            };
            anstream::eprintln!("  {}: {}", monitor.id, comment(why));
        }
        if later > 0 {
            anstream::eprintln!(
                "  {later} not looked at, for the calls: run it again once these are pasted, or raise --calls"
            );
        }
        let sent = calls - left;
        anstream::eprintln!("  canaries for {}, {sent} calls made", counted(found, "monitor", "monitors"));
        Ok(found > 0)
    }

    /// The exploration, and each confirmation a look of its own.
    fn calls_max(&self, monitor: &Monitor) -> u64 {
        let canaries = self.questions.canaries as u64;
        let one_look = monitor.calls_of_all() - monitor.canaries.len() as u64 + canaries;
        u64::from(REQUESTS_MAX) + canaries + CONFIRMATIONS as u64 * one_look
    }

    /// What is confirmed of one server, and how many requests that took.
    async fn explored(&self, monitor: &Arc<Monitor>) -> (Draft, u32) {
        let is_searched = monitor.search.tool.is_some();
        let wish = Wish {
            asks: self.questions.asks.clone(),
            asks_nothing: self.questions.asks_nothing.clone(),
            canaries: self.questions.canaries,
            declared: is_searched.then(|| Arc::clone(monitor)),
            ..Wish::default()
        };
        let profile = recalled(self.path, monitor).await;
        let explored = Box::pin(self.prober.explore(monitor, &wish, profile, Utc::now())).await;
        let search = explored.search.clone().filter(|_| !is_searched);
        let asked = Monitor { search: search.clone().unwrap_or_else(|| monitor.search.clone()), ..(**monitor).clone() };
        let id = monitor.id.to_string();
        let mut draft = Draft { id, search, is_listed: true, by_defaults: true, ..Draft::default() };
        draft.doubts = explored.gaps.iter().chain(&explored.guesses).cloned().collect();
        draft.canaries = explored.canaries.iter().filter(|(found, _)| is_new(monitor, found)).cloned().collect();
        let mut requests = explored.seen.footprint.requests;
        if explored.was_throttled() {
            draft.canaries.clear();
            let doubt = "the server asked for quiet (429), so that nothing was confirmed; try again later";
            draft.doubts.push(doubt.to_owned());
        } else if !draft.canaries.is_empty() {
            requests += confirmed(self.prober, &mut draft, &asked, explored.profile.clone()).await;
        }
        (draft, requests)
    }
}

/// Whether the file asks nothing like it, and it repeats no secret of ours.
fn is_new(monitor: &Monitor, found: &Proposal) -> bool {
    let is_asked = |query: &str| query.trim().to_lowercase() == found.query.trim().to_lowercase();
    let texts = [&found.query, &found.source];
    let betrays = |secret: &str| texts.into_iter().chain(&found.contains).any(|text| text.contains(secret));
    !monitor.canaries.iter().any(|canary| is_asked(&canary.query)) && !secrets(monitor).any(betrays)
}

/// What nobody may read in a file of ours.
fn secrets(monitor: &Monitor) -> impl Iterator<Item = &str> {
    let secrets = monitor.auth.bearer.iter().chain(monitor.auth.headers.iter().map(|(_, value)| value));
    secrets.map(Secret::expose).filter(|secret| secret.chars().count() >= SECRET_CHARS_MIN)
}
