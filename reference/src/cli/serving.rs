//! `serin reference serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::index::corpus::Corpus;
// Laboratory: whoever serves by hand wants it broken, and by the admin endpoint too.
use crate::lab::kinds::{self as fault, Dose, Fault};
use crate::lab::options::LabOptions;
use crate::lab::server;
use crate::project::opened::{Project, ProjectError};
use crate::project::place::PlaceError;

/// Arguments of `serin reference serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:9101")]
    listen: SocketAddr,
    /// Where the admin endpoint listens, on loopback
    #[arg(long, default_value = "127.0.0.1:0")]
    admin: SocketAddr,
    /// Break something from the start, such as `latency_step=900,share=0.5,seed=7`; may be repeated
    #[arg(long = "fault", value_name = "NAME[=VALUE]", value_parser = fault::parse)]
    faults: Vec<(Fault, Option<Dose>)>,
    /// Search the .md and .txt files below this folder instead of our own documentation
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The index file; without it, a temporary one
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
    /// Serve the index of the project that this folder belongs to; taken from where you are, unless
    /// --corpus or --database is given
    #[arg(long, value_name = "DIR", conflicts_with_all = ["corpus", "database"])]
    project: Option<PathBuf>,
    /// Serve our own documentation even within a project
    #[arg(long, conflicts_with_all = ["corpus", "database", "project"])]
    documentation: bool,
    /// The folder that `index_document` may read files from; the project's where one is served
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// After how many hours without indexing a source is stale, and /health says so
    #[arg(long, value_name = "HOURS")]
    stale_after: Option<u64>,
    /// Networks that `index_document` may read URLs from although they are not public
    #[arg(long, value_name = "CIDR")]
    allow_private: Vec<IpNet>,
    /// The name the server goes by
    #[arg(long, default_value = "serin-reference")]
    name: String,
    /// The bearer token that callers must bring
    #[arg(long, env = "SERIN_REFERENCE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Serves until it is told to stop.
///
/// # Errors
/// What kept it from starting.
pub async fn serve(args: ServeArgs) -> anyhow::Result<()> {
    let project = project(&args)?;
    let corpus = match (&project, args.corpus) {
        (_, Some(folder)) => Corpus::Folder(folder),
        (Some(_), None) => Corpus::Empty,
        (None, None) => Corpus::Documentation,
    };
    let note = project.as_ref().map(|project| project.place.server_note());
    if let Some(project) = &project {
        anstream::println!("project {}", project.place.root.display());
    }
    let options = LabOptions {
        listen: args.listen,
        admin: Some(args.admin),
        database: args.database,
        corpus,
        project,
        root: args.root,
        allow_private: args.allow_private,
        stale_after: args.stale_after.map(|hours| Duration::from_secs(hours.saturating_mul(3_600))),
        faults: args.faults.into_iter().filter_map(|(fault, dose)| Some((fault, dose?))).collect(),
        name: args.name,
        bearer: args.token,
        may_exit: true,
    };
    let stop = CancellationToken::new();
    let running = server::serve(options, stop.clone()).await?;
    anstream::println!("mcp     {}", running.mcp_url());
    anstream::println!("legacy  {}", running.legacy_url());
    anstream::println!("search  {}  {}", running.url("search"), running.url("openapi.json"));
    anstream::println!(
        "health  {}  {}  {}  {}",
        running.url("live"),
        running.url("ready"),
        running.url("health"),
        running.url("metrics")
    );
    if let Some(admin) = running.admin {
        anstream::println!("admin   http://{admin}/admin/faults");
    }
    if let Some(note) = &note {
        let running = json!({
            "pid": std::process::id(), "mcp": running.mcp_url(), "health": running.url("health"),
            "admin": running.admin.map(|admin| format!("http://{admin}")),
        });
        std::fs::write(note, running.to_string())?;
    }
    tokio::spawn(async move {
        asked_to_stop().await;
        stop.cancel();
    });
    running.ended().await;
    if let Some(note) = &note {
        // Somebody may have wiped the project meanwhile.
        let _gone = std::fs::remove_file(note);
    }
    Ok(())
}

/// Lists every fault, and where it acts.
pub fn faults() {
    for fault in Fault::ALL {
        let facts = fault.facts();
        let unit = if facts.unit.is_empty() { String::new() } else { format!("={} {}", facts.amount, facts.unit) };
        let unit = if facts.modes.is_empty() { unit } else { format!("={}", facts.modes.join("|")) };
        anstream::println!("{:<36} {}", format!("{}{unit}", facts.name), facts.acts);
    }
}

impl ServeArgs {
    /// Faults that are switched on from the start.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.faults.len()
    }
}

/// The project to serve, where there is one.
fn project(args: &ServeArgs) -> anyhow::Result<Option<Project>> {
    if let Some(folder) = &args.project {
        return Ok(Some(Project::find(&folder.canonicalize()?)?));
    }
    if args.documentation || args.corpus.is_some() || args.database.is_some() {
        return Ok(None);
    }
    match Project::find(&std::env::current_dir()?) {
        Err(ProjectError::Place(PlaceError::Missing(_))) => Ok(None),
        found => Ok(Some(found?)),
    }
}

async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _interrupted = tokio::signal::ctrl_c() => {}
                    _terminated = terminate.recv() => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM is not listened to");
                let _interrupted = tokio::signal::ctrl_c().await;
            }
        }
    }
    #[cfg(not(unix))]
    let _interrupted = tokio::signal::ctrl_c().await;
}
