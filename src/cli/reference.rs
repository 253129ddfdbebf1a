//! `serin reference`: the server that ships with the monitor, and fails on request.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tokio_util::sync::CancellationToken;

use crate::cli::figures;
use crate::rag::fault::kinds::{self as fault, Dose, Fault};
use crate::rag::index::corpus::Corpus;
use crate::rag::serve::server::{self, Options};

/// The retrieval server that ships with Serin, to try it against: serve it, break it, mend it.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Subcommand)]
enum ReferenceCommand {
    /// Serve search over our own documentation, or over a folder, by MCP
    Serve(ServeArgs),
    /// List every fault that can be switched on, and where it acts
    Faults,
    /// Write a corpus of fictional manuals, and questions whose answers are known
    Generate(figures::GenerateArgs),
    /// Ask a server questions with known answers, and print figures by kind
    Figures(figures::FiguresArgs),
}

#[derive(Debug, Args)]
struct ServeArgs {
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
    /// The name the server goes by
    #[arg(long, default_value = "serin-reference")]
    name: String,
    /// The bearer token that callers must bring
    #[arg(long, env = "SERIN_REFERENCE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Runs the command until it is done, or until Ctrl-C or SIGTERM.
///
/// # Errors
/// What kept the server from starting.
pub async fn run(args: ReferenceArgs) -> anyhow::Result<()> {
    match args.command {
        ReferenceCommand::Serve(args) => serve(args).await,
        ReferenceCommand::Generate(args) => figures::generate(&args),
        ReferenceCommand::Figures(args) => figures::figures(args).await,
        ReferenceCommand::Faults => {
            for fault in Fault::ALL {
                let facts = fault.facts();
                let unit =
                    if facts.unit.is_empty() { String::new() } else { format!("={} {}", facts.amount, facts.unit) };
                anstream::println!("{:<32} {}", format!("{}{unit}", facts.name), facts.acts);
            }
            Ok(())
        }
    }
}

async fn serve(args: ServeArgs) -> anyhow::Result<()> {
    let options = Options {
        listen: args.listen,
        admin: Some(args.admin),
        database: args.database,
        corpus: args.corpus.map_or(Corpus::Documentation, Corpus::Folder),
        faults: args.faults.into_iter().filter_map(|(fault, dose)| Some((fault, dose?))).collect(),
        name: args.name,
        bearer: args.token,
        may_exit: true,
    };
    let stop = CancellationToken::new();
    let running = server::serve(options, stop.clone()).await?;
    anstream::println!("mcp     {}", running.mcp_url());
    anstream::println!("health  {}  {}  {}", running.url("live"), running.url("ready"), running.url("health"));
    if let Some(admin) = running.admin {
        anstream::println!("admin   http://{admin}/admin/faults");
    }
    tokio::spawn(async move {
        asked_to_stop().await;
        stop.cancel();
    });
    running.ended().await;
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ReferenceArgs,
    }

    fn check(says: &str, line: &str, faults: Option<usize>) {
        let words = std::iter::once("reference").chain(line.split(' '));
        let read = Line::try_parse_from(words).ok().map(|line| match line.args.command {
            ReferenceCommand::Serve(args) => args.faults.len(),
            _ => 0,
        });
        assert_eq!(read, faults, "{says}");
    }

    #[test]
    fn a_command_line_is_read_or_refused() {
        check("nothing is broken by default", "serve", Some(0));
        check("faults may be repeated", "serve --fault empty --fault latency_step=900,share=0.5", Some(2));
        check("an unknown fault is refused", "serve --fault emty", None);
        check("an address is an address", "serve --listen everywhere", None);
        check("faults can be listed", "faults", Some(0));
        check("a corpus has a size and a place", "generate --chunks 100 --out x", Some(0));
        check("a corpus without a size is none", "generate --out x", None);
        check("figures want questions", "figures", None);
        check("or make their own", "figures --signatures --chunks 500", Some(0));
    }
}
