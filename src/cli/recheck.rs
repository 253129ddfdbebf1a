//! `serin recheck ID`: has the running Serin look at a monitor now, and says what came of it.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::known_ids::no_monitor;
use crate::cli::remote::{Remote, RemoteArgs};

/// The wait that is asked for: a whole probe budget, and a beat under way before it.
const WAIT_SECONDS: u64 = 60;

/// Has the running Serin look at a monitor now, and waits for what it sees.
///
/// The look counts as a beat: it confirms a fix without waiting for the schedule. The exit code follows what was
/// seen: 0 good, 1 degraded, 2 down, 3 unknown.
#[derive(Debug, clap::Args)]
pub(crate) struct RecheckArgs {
    /// The monitor's id.
    #[arg(value_name = "ID")]
    pub monitor: String,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Asks, waits and prints.
///
/// # Errors
/// Where no Serin answers, or it knows no such monitor.
pub(crate) async fn run(args: RecheckArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let id: String = url::form_urlencoded::byte_serialize(args.monitor.as_bytes()).collect();
    let answer = remote.post(&format!("/monitors/{id}/recheck?wait={WAIT_SECONDS}"), &json!({})).await?;
    if answer.status == 404 {
        return Err(no_monitor(&remote, &args.monitor, &answer).await);
    }
    anyhow::ensure!(answer.status < 300, "{}", answer.error());
    if args.json {
        anstream::println!("{:#}", answer.body);
    } else {
        anstream::println!("{}", told(&args.monitor, &answer.body));
    }
    Ok(ExitCode::from(code(&answer.body)))
}

fn told(id: &str, body: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Some(look) = body["recheck"].as_object() else {
        return format!("{id}: asked for; it was not over within {WAIT_SECONDS} s. See its page.");
    };
    let mut lines = vec![format!(
        "{id}: {} in {:.0} ms, the monitor is {}",
        text(&look["verdict"]),
        look["elapsed_ms"].as_f64().unwrap_or_default(),
        text(&body["monitor"]["state"])
    )];
    lines.extend(look["summary"].as_str().map(|summary| format!("  {summary}")));
    for signal in body["monitor"]["signals"].as_array().into_iter().flatten() {
        if signal["phase"] != "quiet" {
            lines.push(format!(
                "  {} {}: {}",
                text(&signal["signal"]),
                text(&signal["phase"]),
                text(&signal["figure"])
            ));
        }
    }
    lines.extend(body["monitor"]["trouble"].as_str().map(|trouble| format!("  Serin's own problem: {trouble}")));
    lines.join("\n")
}

fn code(body: &Value) -> u8 {
    match body["recheck"]["verdict"].as_str() {
        Some("good") => 0,
        Some("degraded") => 1,
        Some("down") => 2,
        _ => 3,
    }
}
