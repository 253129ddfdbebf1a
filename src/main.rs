//! The binary: one command a file, in `cli`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serin::cli::{accept, backup, bench, check, demo, init, probe, recheck, reference, restore, run, status};
use tracing_subscriber::EnvFilter;

/// Watches MCP retrieval servers from the outside and pages a human, with a cause and a runbook, when one is down, slow, changed or quietly wrong.
#[derive(Debug, Parser)]
#[command(name = "serin", version, max_term_width = 100)]
struct Arguments {
    /// Log as JSON lines instead of text. What is logged is set by RUST_LOG, such as `info,serin::probe=debug`.
    #[arg(long, global = true)]
    log_json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Run(run::RunArgs),
    Check(check::CheckArgs),
    Probe(probe::ProbeArgs),
    Recheck(recheck::RecheckArgs),
    Accept(accept::AcceptArgs),
    Status(status::StatusArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    Demo(demo::DemoArgs),
    Reference(reference::ReferenceArgs),
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log(arguments.log_json, matches!(arguments.command, Command::Demo(_)));
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed already");
    }
    let end = match arguments.command {
        Command::Check(args) => return check::run(args),
        Command::Init(args) => wait(init::command(args)),
        Command::Run(args) => wait(run::run(args)),
        Command::Probe(args) => wait(probe::command(args)),
        Command::Recheck(args) => wait(recheck::run(args)),
        Command::Accept(args) => wait(accept::run(args)),
        Command::Status(args) => wait(status::run(args)),
        Command::Backup(args) => wait(backup::run(args)),
        Command::Restore(args) => wait(restore::run(args)),
        Command::Demo(args) => wait(demo::run(args)),
        Command::Bench(args) => wait(bench::run(args)),
        Command::Reference(args) => wait(reference::run(args)),
    };
    end.unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn wait(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

/// Logs go to standard error; the demo keeps its stage clear and shows only what goes wrong.
fn log(json: bool, quiet: bool) {
    // The SDK of our reference server tells of each call three times at this level.
    let level = if quiet { "error" } else { "info,rmcp=warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let to = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json { to.json().init() } else { to.init() }
}
