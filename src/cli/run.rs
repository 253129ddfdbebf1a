//! `serin run`: watch a fleet until told to stop.

use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::app::{self, Logging, Options};
use crate::cli::config_file::ConfigFile;
use crate::cli::systemd;
use crate::domain::wording::counted;

/// Watches the fleet that a file declares.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    config: ConfigFile,
    /// Where the database is found damaged, keep it beside under a dated name and start anew without any history;
    /// receivers of `internal` are told.
    #[arg(long)]
    pub set_aside_damaged: bool,
}

/// Runs until SIGINT or SIGTERM; SIGHUP looks at the file again.
///
/// # Errors
/// Where it cannot start, or a loop ends that should never end.
pub(crate) async fn run(args: RunArgs, logging: Logging) -> anyhow::Result<ExitCode> {
    let shutdown = stop_on_signal()?;
    let look = Arc::new(Notify::new());
    let mut hangups = signal(SignalKind::hangup())?;
    let told = Arc::clone(&look);
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            told.notify_one();
        }
    });
    // A file that may not grow any further is a full disk to us, not a reason to be killed (setrlimit(2)).
    let mut too_large = signal(SignalKind::from_raw(SIGXFSZ))?;
    tokio::spawn(async move { while too_large.recv().await.is_some() {} });
    let env: app::Environment = Arc::new(|name: &str| std::env::var(name).ok());
    let options =
        Options { look, set_aside_damaged: args.set_aside_damaged, logging, ..Options::new(args.config.path()?, env) };
    let running = match app::start(options, shutdown.clone()).await {
        // Told to stop before it had begun, which is no failure.
        Err(error) if shutdown.is_cancelled() => {
            tracing::info!("stopped before it began: {error:#}");
            return Ok(ExitCode::SUCCESS);
        }
        started => started?,
    };
    anstream::println!(
        "serin watches {}; pages at http://{}",
        counted(running.monitors, "monitor", "monitors"),
        running.address
    );
    systemd::begun(&running, shutdown);
    running.ended().await?;
    Ok(ExitCode::SUCCESS)
}

/// "File size limit exceeded" on Linux.
const SIGXFSZ: i32 = 25;

/// A token that SIGINT and SIGTERM cancel; a second one ends the process at once.
///
/// # Errors
/// Where the system does not let us listen for signals.
pub(crate) fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let shutdown = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop = shutdown.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stop.is_cancelled() {
                std::process::exit(130);
            }
            anstream::eprintln!("stopping: what is in flight gets a few seconds to end (again to stop at once)");
            stop.cancel();
        }
    });
    Ok(shutdown)
}
