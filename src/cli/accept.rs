//! `serin accept ID`: makes the tools a server gives now the accepted ones, in somebody's name; or says what to commit,
//! where a lock holds them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::init::append::replace;
use crate::cli::known_ids::no_monitor;
use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::config::describe::lock::with_entry;
use crate::domain::wording::counted;

/// The move is one commit away; a Serin whose database stands still tries on by itself.
const MOVED_WITHIN: Duration = Duration::from_secs(15);
/// Between two looks whether it has moved.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Makes the tools that a monitor's server gives now the accepted ones.
///
/// Prints what changed, then has the running Serin move the accepted list to exactly this one. An incident about the
/// change ends with cause `accepted`; one about searches that no longer fit stays open until they fit.
///
/// Where monitors.lock holds the accepted list, nothing moves: the entry to commit there is printed, the incident is
/// taken in your name, and ends when such a lock is loaded.
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
    /// Put the entry to commit into this lock instead of printing it; every other entry there stays as it is.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Shows, asks and waits for the move.
///
/// # Errors
/// Where no Serin answers, it knows no such monitor, or it refuses: nothing differs, the list is old.
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
    let lock = answer.body["lock"].as_str();
    anyhow::ensure!(
        lock.is_some() || args.out.is_none(),
        "nothing is pinned of '{}', so there is no entry to write; leave --out away, or run `serin pin`",
        args.monitor
    );
    // The list that was just printed, and no other.
    let hash = answer.body["seen"]["hash"].clone();
    let actor = args.actor.clone().unwrap_or_else(somebody);
    let asked = remote.post(&format!("/monitors/{id}/accept"), &json!({ "actor": actor, "hash": hash })).await?;
    anyhow::ensure!(asked.status < 300, "not accepted: {}", asked.error());
    if let Some(lock) = lock {
        return locked(&args, lock, &answer.body, &actor);
    }
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

/// Prints the entry to commit, or writes it; the incident was taken already.
fn locked(args: &AcceptArgs, lock: &str, body: &Value, actor: &str) -> anyhow::Result<ExitCode> {
    let entry = body["lock_entry"].as_str();
    let entry =
        entry.ok_or_else(|| anyhow::anyhow!("this list cannot be pinned: it is too long, or names a tool twice"))?;
    let ends = format!(
        "{lock} holds the accepted tools: accepted by {actor}; the incident ends when a lock with these is loaded"
    );
    match &args.out {
        None => {
            anstream::println!("{entry}");
            anstream::eprintln!("{ends}\nput this in place of the entry '{}' and commit it", args.monitor);
        }
        Some(out) => {
            write(out, &args.monitor, entry)?;
            anstream::println!("{ends}\n{} has the entry: commit it", out.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(out: &Path, monitor: &str, entry: &str) -> anyhow::Result<()> {
    let before = match std::fs::read_to_string(out) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => anyhow::bail!("{} cannot be read: {error}", out.display()),
    };
    let text = with_entry(&before, monitor, entry)
        .map_err(|mend| anyhow::anyhow!("{} cannot be added to: {mend}", out.display()))?;
    replace(out, &text).map_err(|error| anyhow::anyhow!("{} cannot be written: {error}", out.display()))
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
