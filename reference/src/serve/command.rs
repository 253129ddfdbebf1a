//! The command of the core by itself: a folder, served.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::index::corpus::Corpus;
use crate::serve::options::Options;
use crate::serve::server::{self, ServeError};

/// What is served, and where.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// The folder whose .md and .txt files are searched
    folder: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:9101")]
    listen: SocketAddr,
    /// The index file; without it, a temporary one
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
    /// The bearer token that callers must bring
    #[arg(long, env = "SERIN_REFERENCE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Serves until Ctrl-C.
///
/// # Errors
/// What kept it from starting.
pub async fn run(args: ReferenceArgs) -> Result<ExitCode, ServeError> {
    let ReferenceArgs { folder, listen, database, token } = args;
    let corpus = Corpus::Folder(folder);
    let options = Options { listen, database, corpus, bearer: token, ..Options::default() };
    let stop = CancellationToken::new();
    let running = server::serve(options, stop.clone()).await?;
    anstream::println!("mcp     {}", running.mcp_url());
    anstream::println!("search  {}  {}", running.url("search"), running.url("openapi.json"));
    anstream::println!("health  {}", running.url("health"));
    tokio::spawn(async move {
        // Without signals it runs until its process ends.
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    running.ended().await;
    Ok(ExitCode::SUCCESS)
}
