//! `serin export`: the past as a file, for spreadsheets and notebooks.
//!
//! Read bit by bit beside a Serin that may be running, so memory does not grow with the past. Read: `rows` (the file),
//! then what is in it: `beats`, `percentiles`, `incidents`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};

use crate::cli::database::DatabaseArgs;
use crate::cli::export::rows::{Rows, Shape};
use crate::domain::fleet::MonitorId;
use crate::domain::wording::counted;
use crate::store::file::private;
use crate::store::file::readers::Readers;
use crate::store::read::export::Span;

mod beats;
mod incidents;
mod percentiles;
pub mod rows;

/// What can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    /// A row a beat, by monitor and moment; as far back as packs are kept.
    Beats,
    /// A row a monitor, day, stage and variant; as far back as days are kept.
    Percentiles,
    /// A row an incident, by when it was opened.
    Incidents,
}

/// Writes the past as CSV or JSON lines, while Serin runs or while it does not.
///
/// Moments are RFC 3339 in UTC. The README lists the columns.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// What.
    #[arg(value_enum)]
    pub what: What,
    /// Only of this monitor.
    #[arg(long, value_name = "ID")]
    pub monitor: Option<String>,
    /// From this moment or day (UTC) on, such as `2026-11-01` or `2026-11-01T09:00:00Z`.
    #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
    pub from: Option<DateTime<Utc>>,
    /// Before this moment or day (UTC).
    #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
    pub to: Option<DateTime<Utc>>,
    /// The shape of the file.
    #[arg(long, value_enum, default_value = "csv")]
    pub format: Shape,
    /// Where to; without it, standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file where it is there already.
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Reads and writes, row by row.
///
/// # Errors
/// Where the database cannot be read or the file not be written; a file that was begun is then taken away.
pub async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let database = args.database.path()?;
    let failed = |error| anyhow::anyhow!("{}: {error}", database.display());
    let store = Readers::beside(&database).await.map_err(failed)?;
    let span = Span {
        monitor: args.monitor.as_deref().map(MonitorId::new),
        from: args.from.unwrap_or(DateTime::UNIX_EPOCH),
        to: args.to.unwrap_or_else(Utc::now),
    };
    anyhow::ensure!(span.from < span.to, "--from does not lie before --to, so there is nothing between them");
    let Some(output) = &args.output else {
        let to = BufWriter::new(io::stdout().lock());
        return match export(&store, args.what, &span, args.format, to).await {
            // Whoever reads has seen enough, such as `head`.
            Err(error) if is_pipe(&error) => Ok(ExitCode::SUCCESS),
            end => end.map(|_| ExitCode::SUCCESS),
        };
    };
    anyhow::ensure!(args.force || !output.exists(), "{} is there already; replace it with --force", output.display());
    let rows = to_file(&store, &args, &span, output).await?;
    anstream::eprintln!("{}: {}", output.display(), counted(rows, "row", "rows"));
    Ok(ExitCode::SUCCESS)
}

/// Writes to a name of its own until it is whole.
async fn to_file(store: &Readers, args: &ExportArgs, span: &Span, output: &Path) -> anyhow::Result<u64> {
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let told = |error: io::Error| anyhow::anyhow!("cannot write {}: {error}", output.display());
    let file = private::open(&partial).and_then(|file| private::begin_anew(&file).map(|()| file)).map_err(told)?;
    let file = BufWriter::new(file);
    let written = export(store, args.what, span, args.format, file).await;
    let written = written.and_then(|rows| std::fs::rename(&partial, output).map(|()| rows).map_err(told));
    if written.is_err() {
        // What cannot be taken away is overwritten by the next export to that name.
        drop(std::fs::remove_file(&partial));
    }
    written
}

async fn export(store: &Readers, what: What, span: &Span, shape: Shape, to: impl Write) -> anyhow::Result<u64> {
    match what {
        What::Beats => beats::write(store, span, Rows::new(shape, beats::COLUMNS, to)?).await,
        What::Percentiles => percentiles::write(store, span, Rows::new(shape, percentiles::COLUMNS, to)?).await,
        What::Incidents => incidents::write(store, span, Rows::new(shape, incidents::COLUMNS, to)?).await,
    }
}

/// The monitors of a span, each with the first moment that is worth a look.
async fn monitors(store: &Readers, span: &Span) -> anyhow::Result<Vec<(MonitorId, DateTime<Utc>)>> {
    let mut known = store.monitors_ever().await?;
    if let Some(wanted) = &span.monitor {
        known.retain(|(id, _)| id == wanted);
        anyhow::ensure!(!known.is_empty(), "no monitor {wanted} was ever in the fleet");
    }
    Ok(known.into_iter().map(|(id, first_seen)| (id, span.from.max(day_of(first_seen)))).collect())
}

/// The first moment of a day (UTC).
fn day_of(at: DateTime<Utc>) -> DateTime<Utc> {
    at.date_naive().and_time(NaiveTime::MIN).and_utc()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// A moment with its zone, or the first moment of a day in UTC.
fn moment_of(text: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(NaiveTime::MIN).and_utc());
    }
    let moment = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
    moment.map_err(|_| "write a day as 2026-11-01, or a moment with its zone as 2026-11-01T09:00:00Z".to_owned())
}

fn is_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_a_moment_are_understood() {
        let rows = [
            ("2026-11-01", Some("2026-11-01T00:00:00.000000Z"), "a day begins at midnight UTC"),
            ("2026-11-01T09:00:00+01:00", Some("2026-11-01T08:00:00.000000Z"), "a moment in its zone"),
            ("2026-11-01T09:00:00", None, "a moment without a zone is no moment"),
            ("yesterday", None, "nor is a word"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(moment_of(text).ok().map(moment).as_deref(), expected, "{sentence}");
        }
    }
}
