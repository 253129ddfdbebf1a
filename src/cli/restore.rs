//! `serin restore FILE`: a backup, back in the database's place.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use chrono::Utc;

use crate::cli::backup::told;
use crate::cli::database::{DatabaseArgs, size};
use crate::store::file::restore;

/// Puts a backup in the database's place, while no Serin runs on it.
///
/// The backup is looked at first. The database that it replaces is kept beside it under a dated name. What was to be
/// sent when the backup was made and was sent since is sent once more: receivers know it by its id.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// What `serin backup` wrote.
    #[arg(value_name = "FILE")]
    pub backup: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Checks, replaces and says what is there now.
///
/// # Errors
/// Where a Serin runs on the database, or the backup is unsound or of a newer Serin; nothing is changed then.
pub(crate) async fn run(args: RestoreArgs) -> anyhow::Result<ExitCode> {
    let database = args.database.file()?;
    let since = Instant::now();
    let restored = restore::restore(&args.backup, &database, Utc::now()).await?;
    anstream::println!(
        "{}: {} in {:.1} s, sound: {}",
        database.display(),
        size(restored.bytes),
        since.elapsed().as_secs_f64(),
        told(&restored.contents)
    );
    match restored.aside {
        Some(aside) => anstream::println!("the one before is kept as {}; remove it when you are sure", aside.display()),
        None => anstream::println!("there was none before"),
    }
    Ok(ExitCode::SUCCESS)
}
