//! The command line: which command is meant, and what runs it.

use clap::{Args, Subcommand};

use crate::cli::{figures, lifecycle, lookups, model, serving, wipe};

/// The retrieval server that ships with Serin: index a project, serve it, break it, mend it.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Subcommand)]
enum ReferenceCommand {
    /// Set a project up: write the configuration of its index
    Setup(lifecycle::SetupArgs),
    /// Index what is new or changed in the project, and take away what is gone
    Index(lifecycle::IndexArgs),
    /// Get weights that the project is searched by meaning with
    Model(model::ModelArgs),
    /// Ask the project's index a question
    Query(lookups::QueryArgs),
    /// Serve search by MCP and HTTP: over the project, over a folder, or over our own documentation
    Serve(serving::ServeArgs),
    /// Ask a running server how it is; exit code 1 where it is not well
    Health(lookups::HealthArgs),
    /// Show the project's index: what is in it, how the last run ended, who writes, what is broken
    Status(lifecycle::StatusArgs),
    /// Bring the index of an older version to this one
    Migrate(lifecycle::MigrateArgs),
    /// Delete the project's index, also one that cannot be read; the configuration stays
    Wipe(wipe::WipeArgs),
    /// Check a change against the project's constraints; exit code 1 where one applies
    CheckConstraints(lookups::ConstraintsArgs),
    /// List every fault that can be switched on, and where it acts
    Faults,
    /// Write a corpus of fictional manuals, and questions whose answers are known
    Generate(figures::GenerateArgs),
    /// Ask a server questions with known answers, and print figures by kind
    Figures(figures::FiguresArgs),
}

/// Runs the command until it is done, or until Ctrl-C or SIGTERM.
///
/// # Errors
/// What kept it from being done.
pub async fn run(args: ReferenceArgs) -> anyhow::Result<std::process::ExitCode> {
    let done = std::process::ExitCode::SUCCESS;
    match args.command {
        ReferenceCommand::Setup(args) => lifecycle::setup(args).map(|()| done),
        ReferenceCommand::Index(args) => lifecycle::index(args).await,
        ReferenceCommand::Model(args) => model::model(args).await.map(|()| done),
        ReferenceCommand::Query(args) => lookups::query(args).await,
        ReferenceCommand::Serve(args) => serving::serve(args).await.map(|()| done),
        ReferenceCommand::Health(args) => lookups::health(args).await,
        ReferenceCommand::Status(args) => lifecycle::status(args).await.map(|()| done),
        ReferenceCommand::Migrate(args) => lifecycle::migrate(args).await.map(|()| done),
        ReferenceCommand::Wipe(args) => wipe::wipe(args).await.map(|()| done),
        ReferenceCommand::CheckConstraints(args) => lookups::check_constraints(args).await,
        ReferenceCommand::Generate(args) => figures::generate(&args).map(|()| done),
        ReferenceCommand::Figures(args) => figures::figures(args).await.map(|()| done),
        ReferenceCommand::Faults => {
            serving::faults();
            Ok(done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: ReferenceArgs,
    }

    fn check(says: &str, line: &str, faults: Option<usize>) {
        let words = std::iter::once("reference").chain(line.split(' '));
        let read = CommandLine::try_parse_from(words).ok().map(|line| match line.args.command {
            ReferenceCommand::Serve(args) => args.faults(),
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
        check("a gate names its rank", "check-constraints --max-rank 3", Some(0));
        check("but not none", "check-constraints --max-rank 0", None);
    }
}
