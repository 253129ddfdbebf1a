//! `serin receiver test|list`: who can be told, and whether a message gets there, at the running Serin.

use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use serde_json::{Value, json};

use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::cli::status::at;
use crate::config::check::numbers::duration_of;

/// Who can be told, and whether a message gets there.
#[derive(Debug, clap::Args)]
pub(crate) struct ReceiverArgs {
    #[command(subcommand)]
    command: ReceiverCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ReceiverCommand {
    /// Sends a message that nothing is wrong on the way that a page takes; exit code 0 where it was taken, 1 where not.
    Test(TestArgs),
    /// Lists them, and which does not keep up.
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
struct TestArgs {
    /// Its name in the file.
    #[arg(value_name = "NAME")]
    receiver: String,
    /// How long its receipt is waited for, 60s at most; what is not taken by then is given up.
    #[arg(long, default_value = "20s", value_name = "DURATION")]
    wait: String,
    /// Who tests; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    actor: Option<String>,
    /// As the API answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// As the API answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Does what is asked for.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn run(args: ReceiverArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        ReceiverCommand::Test(args) => test(args).await,
        ReceiverCommand::List(args) => list(args).await,
    }
}

async fn test(args: TestArgs) -> anyhow::Result<ExitCode> {
    let wait = duration_of(&args.wait).map_err(|mend| anyhow!("--wait: {mend}"))?;
    let remote = Remote::find(&args.remote)?;
    let name: String = url::form_urlencoded::byte_serialize(args.receiver.as_bytes()).collect();
    let path = format!("/receivers/{name}/test?wait={}", wait.as_secs());
    let answer = remote.post(&path, &json!({ "actor": args.actor.unwrap_or_else(somebody) })).await?;
    ensure!(answer.status == 200, "not tested: {}", answer.error());
    let accepted = answer.body["accepted"] == true;
    if args.json {
        anstream::println!("{:#}", answer.body);
    } else {
        anstream::println!("{}", told(&answer.body));
    }
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How a test went: a line for each try, and one for all.
fn told(body: &Value) -> String {
    let mut lines: Vec<String> = body["attempts"].as_array().into_iter().flatten().map(attempt).collect();
    let name = body["receiver"].as_str().unwrap_or_default();
    let taken = if body["accepted"] == true { "accepted it" } else { "did not accept it, and the test is given up" };
    lines.push(format!("{name} {taken}, after {} ms", body["elapsed_ms"]));
    lines.join("\n")
}

/// One try, such as `1. refused in 12 ms: HTTP 404 Not Found`.
pub(crate) fn attempt(one: &Value) -> String {
    let ended = one["ended"].as_str().unwrap_or_default();
    let answer = one["answer"].as_str().filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!(": {answer}")).unwrap_or_default();
    format!("{}. {ended} in {} ms{answer}", one["number"], one["elapsed_ms"])
}

async fn list(args: ListArgs) -> anyhow::Result<ExitCode> {
    let answer = Remote::find(&args.remote)?.get("/receivers").await?;
    ensure!(answer.status == 200, "{}", answer.error());
    if args.json {
        anstream::println!("{:#}", answer.body);
        return Ok(ExitCode::SUCCESS);
    }
    for one in answer.body["receivers"].as_array().into_iter().flatten() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let behind = &one["behind"];
        let health = match behind["waiting"].as_u64() {
            Some(waiting) => format!(
                "  does not keep up: {waiting} waiting since {}; {}",
                at(&behind["since"]),
                behind["last"].as_str().unwrap_or_default()
            ),
            None => String::new(),
        };
        let drill = &one["last_drill"];
        let drill = if drill.is_object() { format!("  last drill: {}", drilled(drill)) } else { String::new() };
        anstream::println!("{}  {}  {}{health}{drill}", text("name"), text("channel"), text("place"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of a drill, such as `accepted in 812 ms, at 2026-11-25 10:00:00 UTC`.
fn drilled(drill: &Value) -> String {
    let answer = drill["answer"].as_str().filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!(": {answer}")).unwrap_or_default();
    match drill["accepted_ms"].as_u64() {
        Some(took) => format!("accepted in {took} ms, at {}", at(&drill["at"])),
        None => format!("{}, at {}{answer}", drill["ended"].as_str().unwrap_or_default(), at(&drill["at"])),
    }
}
