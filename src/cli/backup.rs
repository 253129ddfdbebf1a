//! `serin backup FILE`: a sound copy of the database, while Serin runs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::cli::database::{DatabaseArgs, size};
use crate::domain::wording::counted;
use crate::store::file::backup;
use crate::store::file::integrity::Contents;

/// Copies the database to a file, while Serin runs or while it does not.
///
/// The copy is one moment's state, looked at whole before it gets its name; no beat waits for it. `serin restore` puts
/// it back.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// Where to: a new file, best on another disk.
    #[arg(value_name = "FILE")]
    pub to: PathBuf,
    /// Replace the file where it is there already.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Copies, checks and says what it holds.
///
/// # Errors
/// Where there is no database, the file is there already, or the copy cannot be written or is found unsound.
pub(crate) async fn run(args: BackupArgs) -> anyhow::Result<ExitCode> {
    let database = args.database.file()?;
    let since = Instant::now();
    let backup = backup::write(&database, &args.to, args.force).await?;
    anstream::println!(
        "{}: {} in {:.1} s, sound: {}",
        args.to.display(),
        size(backup.bytes),
        since.elapsed().as_secs_f64(),
        told(&backup.contents)
    );
    Ok(ExitCode::SUCCESS)
}

/// What a database holds, in a line.
pub(in crate::cli) fn told(contents: &Contents) -> String {
    let last = contents
        .last_beat
        .map_or_else(|| "no raw beat".to_owned(), |at| format!("last beat {}", at.format("%Y-%m-%d %H:%M:%S UTC")));
    format!(
        "{}, {} ({} open), {last}; tables of version {}",
        counted(contents.monitors, "monitor", "monitors"),
        counted(contents.incidents, "incident", "incidents"),
        contents.open,
        contents.schema
    )
}
