//! The command line: which command is which file's, and the one place that all of them start from.
//!
//! It is a function of the library that takes no types, so that the binary is only a link: async bodies are generated
//! where they are polled, and would be once more in every program that polls them.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::logging::LogFormat;
use crate::cli::{
    accept, ack, backtest, backup, badge, bench, canary, check, deliveries, demo, discover, drill, export, incidents,
    init, key, logging, manual, mcp, migrate_store, pin, plan, probe, receiver, recheck, restore, route, run,
    said_once, schema, silence, status, user, why,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};

/// Watches MCP retrieval servers from the outside and pages a human, with a cause and a runbook, when one is down, slow, changed or quietly wrong.
#[derive(Debug, Parser)]
#[command(name = "serin", version, max_term_width = 100)]
struct CommandLine {
    /// How lines of the log look; what is logged is set by SERIN_LOG, such as `info,probe=debug`.
    #[arg(long, global = true, value_enum)]
    log_format: Option<LogFormat>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Run(run::RunArgs),
    Check(check::CheckArgs),
    Schema(schema::SchemaArgs),
    Plan(plan::PlanArgs),
    Route(route::RouteArgs),
    Backtest(backtest::BacktestArgs),
    Probe(probe::ProbeArgs),
    Pin(pin::PinArgs),
    Canary(canary::CanaryArgs),
    Recheck(recheck::RecheckArgs),
    Accept(accept::AcceptArgs),
    Incidents(incidents::IncidentsArgs),
    Why(why::WhyArgs),
    Ack(ack::AckArgs),
    Silence(silence::SilenceArgs),
    Discover(discover::DiscoverArgs),
    Key(key::KeyArgs),
    User(user::UserArgs),
    Audit(key::AuditArgs),
    Receiver(receiver::ReceiverArgs),
    Deliveries(deliveries::DeliveriesArgs),
    Badge(badge::BadgeArgs),
    Mcp(mcp::McpArgs),
    Status(status::StatusArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    /// Bring everything that is remembered into another, empty database: from a file to a server, or back.
    MigrateStore(migrate_store::MigrateStoreArgs),
    Export(export::ExportArgs),
    Demo(demo::DemoArgs),
    Drill(drill::DrillArgs),
    Reference(serin_reference::cli::ReferenceArgs),
    Bench(bench::BenchArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let arguments = CommandLine::try_parse().unwrap_or_else(|error| with_tip(error, std::env::args_os()).exit());
    // Demo and drill keep their stage clear.
    let is_show = matches!(arguments.command, Command::Demo(_) | Command::Drill(_));
    let logging = match logging::start(arguments.log_format, is_show) {
        Ok(logging) => logging,
        Err(error) => return refused(&error),
    };
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed already");
    }
    let end = match arguments.command {
        Command::Check(args) => wait(check::run(args)),
        Command::Schema(args) => return schema::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Route(args) => wait(route::run(args)),
        Command::Backtest(args) => wait(backtest::run(args)),
        Command::Init(args) => wait(init::command(args)),
        Command::Run(args) => wait(run::run(args, logging)),
        Command::Probe(args) => wait(probe::command(args)),
        Command::Pin(args) => wait(pin::run(args)),
        Command::Canary(args) => wait(canary::run(args)),
        Command::Recheck(args) => wait(recheck::run(args)),
        Command::Accept(args) => wait(accept::run(args)),
        Command::Incidents(args) => wait(incidents::run(args)),
        Command::Why(args) => wait(why::run(args)),
        Command::Ack(args) => wait(ack::run(args)),
        Command::Silence(args) => wait(silence::run(args)),
        Command::Discover(args) => wait(discover::run(args)),
        Command::Key(args) => wait(key::run(args)),
        Command::User(args) => user::run(args),
        Command::Audit(args) => wait(key::audit(args)),
        Command::Receiver(args) => wait(receiver::run(args)),
        Command::Deliveries(args) => wait(deliveries::run(args)),
        Command::Badge(args) => wait(badge::run(args)),
        Command::Mcp(args) => wait(mcp::run(args)),
        Command::Status(args) => wait(status::run(args)),
        Command::Backup(args) => wait(backup::run(args)),
        Command::Restore(args) => wait(restore::run(args)),
        Command::MigrateStore(args) => wait(migrate_store::run(args)),
        Command::Export(args) => wait(export::run(args)),
        Command::Demo(args) => wait(demo::run(args)),
        Command::Drill(args) => wait(drill::run(args)),
        Command::Bench(args) => return bench::run(&args),
        Command::Completions(args) => return manual::completions(CommandLine::command(), &args),
        Command::Man(args) => manual::pages(CommandLine::command(), &args),
        Command::Reference(args) => wait(serin_reference::cli::run(args)),
    };
    end.unwrap_or_else(|error| refused(&error))
}

/// Says where a program stands whose words were given to `init` as they are; clap's own tip leads nowhere there.
fn with_tip(mut error: clap::Error, words: impl Iterator<Item = OsString>) -> clap::Error {
    let mut words = words.skip(1).map(|word| word.to_string_lossy().into_owned());
    let is_init = words.find(|word| !word.starts_with('-')).as_deref() == Some("init");
    let rest: Vec<String> = words.collect();
    let is_program = rest.first().is_some_and(|word| !word.starts_with('-'))
        && !rest.iter().any(|word| word == "--" || word.contains("://"));
    if error.kind() == ErrorKind::UnknownArgument && is_init && is_program {
        let tip = "a program stands behind `--`, with all that is its own: serin init -- npx -y some-server";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn refused(error: &anyhow::Error) -> ExitCode {
    anstream::eprintln!("{}", said_once::error(error));
    ExitCode::FAILURE
}

/// How long a thread may still do what nobody waits for any more, such as ask a name server that does not answer.
const THREADS_ENDING_MAX: Duration = Duration::from_secs(1);

fn wait(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let end = runtime.block_on(command);
    runtime.shutdown_timeout(THREADS_ENDING_MAX);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_given_as_it_is_typed_is_told_where_it_stands() {
        let rows: [(&[&str], bool, &str); 6] = [
            (&["init", "node", "server.js"], true, "a program and a word of its own"),
            (&["init", "npx", "-y", "some-server"], true, "and a flag of its own"),
            (&["init", "https://a.example.org/mcp", "https://b.example.org/mcp"], false, "two addresses"),
            (&["init", "https://a.example.org/mcp", "--apend", "a.yaml"], false, "a flag that is misspelled"),
            (&["init", "--apend", "a.yaml", "node"], false, "the same in front"),
            (&["probe", "init", "--nope"], false, "another command"),
        ];
        for (words, expected, sentence) in rows {
            let words = ["serin"].iter().chain(words);
            let error = CommandLine::try_parse_from(words.clone()).unwrap_err();
            let said = with_tip(error, words.map(OsString::from)).to_string();
            assert_eq!(said.contains("serin init -- npx -y"), expected, "{sentence}: {said}");
            assert!(!expected || !said.contains("use '--"), "{sentence}: one tip, not two: {said}");
        }
    }
}
