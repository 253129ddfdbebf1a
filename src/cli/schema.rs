//! `serin schema`: what may stand in monitors.yaml, for editors and other programs.

use std::process::ExitCode;

use clap::Args;

use crate::config::describe::schema;

/// Prints the JSON Schema of monitors.yaml.
#[derive(Debug, Clone, Args)]
pub(crate) struct SchemaArgs {
    /// The schema of a file that monitors.yaml includes.
    #[arg(long)]
    pub included: bool,
}

/// Prints it; 0.
pub(crate) fn run(args: SchemaArgs) -> ExitCode {
    let schema = if args.included { schema::included_schema() } else { schema::schema() };
    match serde_json::to_string_pretty(&schema) {
        Ok(text) => {
            anstream::println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            anstream::eprintln!("error: the schema cannot be written as JSON: {error}");
            ExitCode::FAILURE
        }
    }
}
