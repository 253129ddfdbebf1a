//! `serin migrate-store`: everything that is remembered, into another database.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;

use crate::domain::database_address::DatabaseAddress;
use crate::domain::wording::counted;
use crate::store::write::moving::bring;

/// Where from, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct MigrateStoreArgs {
    /// What is to be brought along: a file, or `postgres://…`. No Serin runs on it; its tables are
    /// brought to this version, and nothing else of it changes.
    #[arg(value_name = "FROM")]
    from: String,
    /// What it is brought into, and is empty: a file, best one that is not there yet, or a database of a server, `postgres://…`. A password
    /// may stand in the variable PGPASSWORD instead.
    #[arg(value_name = "TO")]
    to: String,
}

/// Copies, compares and says what came along.
///
/// # Errors
/// Where one of them is in use or does not answer, or the new one is not empty; it stays as it was then.
pub(crate) async fn run(args: MigrateStoreArgs) -> anyhow::Result<ExitCode> {
    let read = |text: &str, which: &str| {
        // An address may hold a password: it is not repeated.
        DatabaseAddress::parse(text).map_err(|why| anyhow::anyhow!("{which} names no database: {why}"))
    };
    let (from, to) = (read(&args.from, "FROM")?, read(&args.to, "TO")?);
    let since = Instant::now();
    let tables = bring(&from, &to).await.with_context(|| format!("{from} was not brought into {to}"))?;
    for table in tables.iter().filter(|table| table.rows > 0) {
        anstream::println!("{:>12} {}", table.rows, table.name);
    }
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    anstream::println!(
        "{} in {:.1} s, counted on both sides; `serin: {{ database: … }}` names {to} from now on, and {from} is as it was",
        counted(rows, "row", "rows"),
        since.elapsed().as_secs_f64(),
    );
    Ok(ExitCode::SUCCESS)
}
