//! `serin export`: the past as a file, for spreadsheets and notebooks.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chrono::{DateTime, Utc};

use crate::cli::database::DatabaseArgs;
use crate::cli::export::rows::{FileFormat, RowWriter};
use crate::cli::export::timestamps::timestamp_of;
use crate::cli::export::{beats, incidents, percentiles};
use crate::domain::monitor::MonitorId;
use crate::domain::wording::counted;
use crate::store::file::private;
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

/// What can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportWhat {
    /// A row a beat, by monitor and moment; as far back as packs are kept.
    Beats,
    /// A row a monitor, day, stage and variant; as far back as days are kept.
    Percentiles,
    /// A row an incident, by when it was opened.
    Incidents,
}

/// Writes the past as CSV or JSON lines, while Serin runs or while it does not.
///
/// Moments are RFC 3339 in UTC. docs/operating.md lists the columns.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Which rows: a beat, a day or an incident each.
    #[arg(value_enum)]
    pub what: ExportWhat,
    /// Only of this monitor.
    #[arg(long, value_name = "ID")]
    pub monitor: Option<String>,
    /// From this moment or day (UTC) on, such as `2026-11-01` or `2026-11-01T09:00:00Z`.
    #[arg(long, value_name = "MOMENT", value_parser = timestamp_of)]
    pub from: Option<DateTime<Utc>>,
    /// Before this moment or day (UTC).
    #[arg(long, value_name = "MOMENT", value_parser = timestamp_of)]
    pub to: Option<DateTime<Utc>>,
    /// The shape of the file.
    #[arg(long, value_enum, default_value = "csv")]
    pub format: FileFormat,
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
pub(crate) async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let database = args.database.address()?;
    let failed = |error| anyhow::anyhow!("{database}: {error}");
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

async fn export(
    store: &Readers,
    what: ExportWhat,
    span: &Span,
    shape: FileFormat,
    to: impl Write,
) -> anyhow::Result<u64> {
    match what {
        ExportWhat::Beats => beats::write(store, span, RowWriter::new(shape, beats::COLUMNS, to)?).await,
        ExportWhat::Percentiles => {
            percentiles::write(store, span, RowWriter::new(shape, percentiles::COLUMNS, to)?).await
        }
        ExportWhat::Incidents => incidents::write(store, span, RowWriter::new(shape, incidents::COLUMNS, to)?).await,
    }
}

fn is_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
