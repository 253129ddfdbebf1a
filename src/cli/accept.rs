//! `serin accept ID`: makes the tools a server gives now the accepted ones, in somebody's name.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::known_ids::no_monitor;
use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::domain::wording::counted;

/// The move is one commit away; a Serin whose database stands still tries on by itself.
const MOVED_WITHIN: Duration = Duration::from_secs(15);
/// Between two looks whether it has moved.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Makes the tools that a monitor's server gives now the accepted ones.
///
/// Prints what changed, then has the running Serin move the accepted list to exactly this one. An incident about the
/// change ends with cause `accepted`; one about searches that no longer fit stays open until they fit.
#[derive(Debug, clap::Args)]
pub(crate) struct AcceptArgs {
    /// The monitor's id.
    #[arg(value_name = "ID")]
    pub monitor: String,
    /// Who accepts; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    pub actor: Option<String>,
    /// Only print what changed.
    #[arg(long)]
    pub show: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Shows, asks and waits for the move.
///
/// # Errors
/// Where no Serin answers, it knows no such monitor, or it refuses: nothing differs, the list is old, a lock file holds it.
pub(crate) async fn run(args: AcceptArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let id: String = url::form_urlencoded::byte_serialize(args.monitor.as_bytes()).collect();
    let path = format!("/monitors/{id}/tools");
    let answer = remote.get(&path).await?;
    if answer.status == 404 {
        return Err(no_monitor(&remote, &args.monitor, &answer).await);
    }
    anyhow::ensure!(answer.status < 300, "{}", answer.error());
    anstream::println!("{}", told(&args.monitor, &answer.body));
    if args.show {
        return Ok(ExitCode::SUCCESS);
    }
    // The list that was just printed, and no other.
    let hash = answer.body["seen"]["hash"].clone();
    let actor = args.actor.clone().unwrap_or_else(somebody);
    let asked = remote.post(&format!("/monitors/{id}/accept"), &json!({ "actor": actor, "hash": hash })).await?;
    anyhow::ensure!(asked.status < 300, "not accepted: {}", asked.error());
    let since = Instant::now();
    while since.elapsed() < MOVED_WITHIN {
        let now = remote.get(&path).await?;
        if now.body["accepted"]["hash"] == hash {
            anstream::println!("accepted by {actor}");
            if let Some(broken) = now.body["broken_calls"].as_u64().filter(|broken| *broken > 0) {
                let known = &now.body["known_calls"];
                anstream::println!(
                    "{broken} of {known} known calls do not fit these tools: change `search` or the canaries; until then the incident stays open"
                );
            }
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    anyhow::bail!("asked for, and not done within {} s; the monitor's page shows when it is", MOVED_WITHIN.as_secs())
}

/// What changed, for a terminal. Everything in it was escaped by the probe.
fn told(id: &str, body: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |list: &Value| list["tools"].as_array().map_or(0, Vec::len);
    let mut lines = vec![format!(
        "{id}: {} accepted by {}, {} seen now",
        counted(count(&body["accepted"]), "tool", "tools"),
        body["accepted"]["by"].as_str().unwrap_or("nobody"),
        counted(count(&body["seen"]), "tool", "tools")
    )];
    for change in body["changes"].as_array().into_iter().flatten() {
        lines.push(format!("  {:<11} {}: {}", text(&change["class"]), text(&change["tool"]), text(&change["what"])));
    }
    if let Some(more) = body["changes_more"].as_u64().filter(|more| *more > 0) {
        lines.push(format!("  and {more} more"));
    }
    lines.join("\n")
}
