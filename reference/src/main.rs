//! The reference server by itself: what `serin reference` does, without the monitor.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;
#[cfg(feature = "cli")]
use serin_reference::cli as command;
#[cfg(not(feature = "cli"))]
use serin_reference::serve::command;
use tracing_subscriber::EnvFilter;

/// Index a project, serve it by MCP and HTTP, break it, mend it.
#[derive(Debug, Parser)]
#[command(name = "serin-reference", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    reference: command::ReferenceArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Of the libraries only warnings: what they log further down is not ours to keep free of secrets.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,serin_reference=info"));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(filter)
        .init();
    #[cfg(feature = "fetch")]
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed already");
    }
    command::run(arguments.reference).await.unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
