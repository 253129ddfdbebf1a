//! `serin discover list|read|accept`: the lists of servers that the running Serin watches.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::status::at;
use crate::domain::wording::counted;

/// How long a command waits for a list to be read, and how often it looks: a registry's takes minutes.
const READ_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Newest changes of one source; the API has more.
const CHANGES_MAX: usize = 5;
/// Monitors named on one line.
const NAMED_MAX: usize = 20;

/// Lists of servers that others keep, as the running Serin reads them.
#[derive(Debug, clap::Args)]
pub(crate) struct DiscoverArgs {
    #[command(subcommand)]
    command: DiscoverCommand,
}

#[derive(Debug, clap::Subcommand)]
enum DiscoverCommand {
    /// Lists the sources: what is watched because of each, what is held, what cannot be watched. Exit code 0 all well, 1 not.
    List(ListArgs),
    /// Lets go what a list names no longer, where it lost so many at once that Serin watches them on.
    Accept(SourceArgs),
    /// Reads a list now, without waiting until it is due, and says how it stands then. Exit code 0 all well, 1 not.
    Read(SourceArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// As the API answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct SourceArgs {
    /// The source, by its id.
    #[arg(value_name = "SOURCE")]
    source: String,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Does what is asked for.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn run(args: DiscoverArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        DiscoverCommand::List(args) => list(args).await,
        DiscoverCommand::Accept(args) => accept(args).await,
        DiscoverCommand::Read(args) => read(args).await,
    }
}

async fn list(args: ListArgs) -> anyhow::Result<ExitCode> {
    let answer = Remote::find(&args.remote)?.get("/discover").await?;
    ensure!(answer.status < 300, "{}", answer.error());
    let sources = answer.body["sources"].as_array().cloned().unwrap_or_default();
    if args.json {
        anstream::println!("{:#}", answer.body);
    } else if sources.is_empty() {
        anstream::println!("the file declares no `discover`, or nothing of it was read yet");
    }
    for source in sources.iter().filter(|_| !args.json) {
        anstream::println!("{}", told(source));
    }
    Ok(if sources.iter().any(is_ill) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn accept(args: SourceArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    // What is let go is what is named here, and nothing that was lost meanwhile.
    let source = stands(&remote, &args.source).await?;
    let mark = source["held_mark"].as_str().map(|mark| format!("?held_mark={mark}")).unwrap_or_default();
    let answer = remote.post(&format!("/discover/{}/accept{mark}", args.source), &json!({})).await?;
    ensure!(answer.status == 202, "{}", answer.error());
    let count = answer.body["let_go"].as_u64().unwrap_or_default();
    let count = counted(usize::try_from(count).unwrap_or(usize::MAX), "monitor", "monitors");
    let named = listed_names(&names_of(&source, "held"));
    anstream::println!("{count} of {} let go ({named}); those that fail are watched until they recover", args.source);
    Ok(ExitCode::SUCCESS)
}

async fn read(args: SourceArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let before = stands(&remote, &args.source).await?["tried_at"].clone();
    let answer = remote.post(&format!("/discover/{}/read", args.source), &json!({})).await?;
    ensure!(answer.status == 202, "{}", answer.error());
    let until = Instant::now() + READ_WITHIN;
    while Instant::now() < until {
        let source = stands(&remote, &args.source).await?;
        if source["tried_at"] != before {
            anstream::println!("{}", told(&source));
            return Ok(if is_ill(&source) { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    anstream::println!("{} is still being read; `serin discover list` says what came of it", args.source);
    Ok(ExitCode::FAILURE)
}

/// How one list stands; null where nothing is known of it yet.
async fn stands(remote: &Remote, source: &str) -> anyhow::Result<Value> {
    let answer = remote.get("/discover").await?;
    ensure!(answer.status < 300, "{}", answer.error());
    let sources = answer.body["sources"].as_array().cloned().unwrap_or_default();
    Ok(sources.into_iter().find(|known| known["source"] == source).unwrap_or_default())
}

fn is_ill(source: &Value) -> bool {
    !source["trouble"].is_null() || source["held"].as_array().is_some_and(|held| !held.is_empty())
}

fn names_of<'s>(source: &'s Value, key: &str) -> Vec<&'s str> {
    source[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The first of some names, and how many more.
fn listed_names(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let first = names[..names.len().min(NAMED_MAX)].join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// One source, worst first.
fn told(source: &Value) -> String {
    let (names, listed) = (|key: &str| names_of(source, key), listed_names);
    let id = source["source"].as_str().unwrap_or_default();
    let read = if source["read_at"].is_null() {
        "not read yet".to_owned()
    } else {
        format!("read {}", at(&source["read_at"]))
    };
    let mut lines = vec![format!("{id}: {} watched, {read}", source["watched"])];
    lines.extend(source["trouble"].as_str().map(|why| format!("  ! {why}")));
    let held = names("held");
    if !held.is_empty() {
        lines.push(format!(
            "  ! held since {}: {} missing, watched on: {}",
            at(&source["held_since"]),
            held.len(),
            listed(&held)
        ));
        lines.push(format!("    `serin discover accept {id}` lets them go"));
    }
    let never_worked = names("never_worked");
    if !never_worked.is_empty() {
        lines.push(format!("  never worked, and tell nobody until they do: {}", listed(&never_worked)));
    }
    let gone = names("gone");
    if !gone.is_empty() {
        lines.push(format!("  gone, and watched until they are seen well: {}", listed(&gone)));
    }
    let changes = source["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines
        .extend(changes.iter().take(CHANGES_MAX).map(|change| format!("  {}: {}", at(&change["at"]), changed(change))));
    let refused = names("refused");
    let more = source["refused_count"].as_u64().unwrap_or_default().saturating_sub(refused.len() as u64);
    lines.extend(refused.iter().map(|why| format!("  not watched: {why}")));
    if more > 0 {
        lines.push(format!("  not watched: {more} more"));
    }
    lines.join("\n")
}

/// What one reading changed, in words.
fn changed(change: &Value) -> String {
    let part = |(key, word): (&str, &str)| {
        let named: Vec<&str> = change[key]["named"].as_array()?.iter().filter_map(Value::as_str).collect();
        let more = change[key]["count"].as_u64()?.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("{word} {}{more}", named.join(", ")))
    };
    let all = [("came", "came"), ("went", "went"), ("stays", "gone and watched on")].into_iter().filter_map(part);
    all.collect::<Vec<_>>().join("; ")
}
