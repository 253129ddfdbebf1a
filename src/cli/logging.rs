//! What is logged, where to, and how that is changed while Serin runs.
//!
//! Logs go to standard error. The variable `SERIN_LOG` counts most, such as `info,probe=debug`; then `RUST_LOG`, in
//! tracing's own words, for whoever develops Serin; then `serin.log` of the file, which may change while Serin runs.
//! `--log-format` counts more than the file, whose format counts from the start on.

use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::Mutex;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::app::Logging;
use crate::config::check::logging::{Format, Log};

/// The variable that says what is logged.
const VARIABLE: &str = "SERIN_LOG";

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Lines of the one or the other shape.
type LogLines = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging as the command line and the variables want it; `quiet` commands say only what goes wrong.
/// Answers what puts a file's wishes in force, as far as those leave them any.
///
/// # Errors
/// Where a variable cannot be understood.
pub fn start(format: Option<LogFormat>, quiet: bool) -> anyhow::Result<Logging> {
    let wanted = wanted()?;
    let usual = if quiet { "error".to_owned() } else { Log::default().directives() };
    let (lines, reshape) = reload::Layer::new(lines(format == Some(LogFormat::Json)));
    let (filter, refilter) = reload::Layer::new(EnvFilter::new(wanted.as_deref().unwrap_or(&usual)));
    tracing_subscriber::registry().with(lines).with(filter).init();
    let from_file = Mutex::new(None);
    Ok(Arc::new(move |log: &Log| {
        // First, so that what follows is said at the new level.
        if wanted.is_none() {
            applied(refilter.reload(EnvFilter::new(log.directives())));
        }
        if format.is_none() {
            // Lines of a span that began in the one shape cannot be ended in the other, so it is chosen once, before
            // anything begins.
            let wanted = log.format.unwrap_or_default();
            let mut chosen = from_file.lock();
            match *chosen {
                None if wanted == Format::Json => applied(reshape.reload(self::lines(true))),
                Some(now) if now != wanted => tracing::warn!("the log's format takes effect with the next start"),
                _ => {}
            }
            chosen.get_or_insert(wanted);
        }
    }))
}

fn lines(json: bool) -> LogLines {
    // As it is with all that we print: a file or a journal shows what a terminal takes for colours as signs.
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    if json { lines.json().boxed() } else { lines.boxed() }
}

fn applied(end: Result<(), reload::Error>) {
    if let Err(error) = end {
        tracing::warn!(%error, "what is logged could not be changed");
    }
}

/// The directives that a variable asks for.
fn wanted() -> anyhow::Result<Option<String>> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    if let Some(line) = variable(VARIABLE) {
        let log = Log::from_line(&line).map_err(|mend| anyhow::anyhow!("{VARIABLE}: {mend}"))?;
        return Ok(Some(log.directives()));
    }
    let Some(directives) = variable("RUST_LOG") else { return Ok(None) };
    EnvFilter::try_new(&directives)
        .context("RUST_LOG is not understood; SERIN_LOG takes such as `info,probe=debug`")?;
    Ok(Some(directives))
}
