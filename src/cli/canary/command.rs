//! `serin canary`: which of the two is meant.

use std::process::ExitCode;

use crate::cli::canary::{lint, suggest};

/// Looks at a monitor's canaries: whether they prove what they should, and which more it could have.
#[derive(Debug, clap::Args)]
pub(crate) struct CanaryArgs {
    #[command(subcommand)]
    command: CanaryCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CanaryCommand {
    Lint(lint::LintArgs),
    Suggest(suggest::SuggestArgs),
}

/// Runs the one that was named.
///
/// # Errors
/// Where the file has faults, or declares no such monitor.
pub(crate) async fn run(args: CanaryArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        CanaryCommand::Lint(args) => lint::run(args).await,
        CanaryCommand::Suggest(args) => suggest::run(args).await,
    }
}
