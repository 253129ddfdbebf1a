//! `serin export`: the past as a file, for spreadsheets and notebooks.
//!
//! Read row by row beside a Serin that may be running, so memory does not grow with the past. Read: `rows` (the file).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};
use futures_util::TryStreamExt as _;
use serde_json::{Map, Value, json};

use crate::cli::database::DatabaseArgs;
use crate::cli::export::rows::{Rows, Shape};
use crate::domain::fleet::MonitorId;
use crate::domain::incident::{Incident, ResolveCause};
use crate::store::export::{Export, Stretch};

pub mod rows;

/// What can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
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
    let mut past = Export::open(&database).await.map_err(failed)?;
    let stretch = Stretch {
        monitor: args.monitor.as_deref().map(MonitorId::new),
        from: args.from.unwrap_or(DateTime::UNIX_EPOCH),
        to: args.to.unwrap_or(DateTime::<Utc>::MAX_UTC),
    };
    anyhow::ensure!(stretch.from < stretch.to, "--from lies after --to, so there is nothing between them");
    let Some(output) = &args.output else {
        let to = BufWriter::new(io::stdout().lock());
        return match export(&mut past, args.what, &stretch, args.format, to).await {
            // Whoever reads has seen enough, such as `head`.
            Err(error) if is_pipe(&error) => Ok(ExitCode::SUCCESS),
            end => end.map(|_| ExitCode::SUCCESS),
        };
    };
    anyhow::ensure!(args.force || !output.exists(), "{} is there already; replace it with --force", output.display());
    let rows = to_file(&mut past, &args, &stretch, output).await?;
    anstream::eprintln!("{}: {rows} rows", output.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes to a name of its own until it is whole.
async fn to_file(past: &mut Export, args: &ExportArgs, stretch: &Stretch, output: &Path) -> anyhow::Result<u64> {
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let told = |error: io::Error| anyhow::anyhow!("cannot write {}: {error}", output.display());
    let file = BufWriter::new(File::create(&partial).map_err(told)?);
    let written = export(past, args.what, stretch, args.format, file).await;
    let written = written.and_then(|rows| std::fs::rename(&partial, output).map(|()| rows).map_err(told));
    if written.is_err() {
        // What cannot be taken away is overwritten by the next export to that name.
        drop(std::fs::remove_file(&partial));
    }
    written
}

async fn export(past: &mut Export, what: What, stretch: &Stretch, shape: Shape, to: impl Write) -> anyhow::Result<u64> {
    match what {
        What::Incidents => incidents(past, stretch, shape, to).await,
    }
}

const INCIDENT_COLUMNS: &[&str] = &[
    "id",
    "monitor",
    "signal",
    "subject",
    "severity",
    "failure_reason",
    "failed_stage",
    "summary",
    "opened_at",
    "resolved_at",
    "duration_seconds",
    "resolve_cause",
    "absorbed_into",
    "acknowledged_by",
    "acknowledged_at",
    "rule_file",
    "rule_line",
    "rule_commit",
    "evidence",
];

async fn incidents(past: &mut Export, stretch: &Stretch, shape: Shape, to: impl Write) -> anyhow::Result<u64> {
    let mut rows = Rows::new(shape, INCIDENT_COLUMNS, to)?;
    let mut written = 0;
    let mut found = past.incidents(stretch);
    while let Some(incident) = found.try_next().await? {
        rows.row(incident_values(incident))?;
        written += 1;
    }
    rows.end()?.flush()?;
    Ok(written)
}

fn incident_values(incident: Incident) -> Vec<Value> {
    let (acknowledged_by, acknowledged_at) = incident.acknowledged.unzip();
    let duration = incident.resolved_at.map(|at| (at - incident.opened_at).as_seconds_f64());
    let evidence: Map<String, Value> =
        incident.evidence.into_iter().map(|piece| (piece.key, Value::String(piece.value))).collect();
    let into = match &incident.resolve_cause {
        Some(ResolveCause::Absorbed { into }) => Some(into.clone()),
        _ => None,
    };
    vec![
        json!(incident.id),
        json!(incident.monitor.as_str()),
        json!(incident.signal.slug()),
        json!(incident.subject),
        json!(incident.severity.slug()),
        json!(incident.reason.slug()),
        json!(incident.stage),
        json!(incident.summary),
        json!(moment(incident.opened_at)),
        json!(incident.resolved_at.map(moment)),
        json!(duration),
        json!(incident.resolve_cause.as_ref().map(ResolveCause::slug)),
        json!(into),
        json!(acknowledged_by),
        json!(acknowledged_at.map(moment)),
        json!(incident.rule.file),
        json!(incident.rule.line),
        json!(incident.rule.commit),
        Value::Object(evidence),
    ]
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
