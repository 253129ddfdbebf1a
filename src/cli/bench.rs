//! `serin bench`: where the bench went.

use std::process::ExitCode;

/// The bench is a package of its own: says how to run it
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct BenchArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    given: Vec<String>,
}

/// Prints the command that measures, with what was given here; exit code 2, since nothing was measured.
pub(crate) fn run(args: &BenchArgs) -> ExitCode {
    let given: String = args.given.iter().map(|word| format!(" {word}")).collect();
    anstream::eprintln!(
        "the bench is a package of its own; in a checkout of Serin run\n\n  \
         cargo run --profile dist -p serin-bench --{given}\n"
    );
    ExitCode::from(2)
}
