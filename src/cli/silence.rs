//! `serin silence add|list|end`: what nobody wants to hear of for a while, at the running Serin.

use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use serde_json::{Map, Value, json};

use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::cli::status::at;
use crate::config::check::numbers::duration_of;

/// Keeps people from being told of what matches, at the running Serin: probing goes on, incidents open, show and count.
#[derive(Debug, clap::Args)]
pub(crate) struct SilenceArgs {
    #[command(subcommand)]
    command: SilenceCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SilenceCommand {
    /// Makes one; it holds when this returns, and its id is the last word of what is printed.
    Add(Box<AddArgs>),
    /// Lists those that hold, and the maintenance ahead.
    List(ListArgs),
    /// Ends one before its time: what it held and is still open is told then.
    End(EndArgs),
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// A monitor, by id; several: one of them.
    #[arg(long, value_name = "ID")]
    monitor: Vec<String>,
    /// A label, as `team=docs`; several: all of them.
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// A signal, such as `quality`.
    #[arg(long)]
    signal: Vec<String>,
    /// `page`, `ticket` or `notice`.
    #[arg(long)]
    severity: Vec<String>,
    /// A failure reason, such as `pool_saturated`.
    #[arg(long)]
    reason: Vec<String>,
    /// How long, such as `2h`.
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "until")]
    lasts: Option<String>,
    /// Until when, such as `2026-11-27T06:00:00+01:00`.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Until this open incident is resolved; without matchers, it is about its monitor and signal.
    #[arg(long, value_name = "INCIDENT")]
    until_resolved: Option<String>,
    /// Why.
    #[arg(long)]
    comment: String,
    /// Who makes it; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    actor: Option<String>,
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

#[derive(Debug, clap::Args)]
struct EndArgs {
    /// Its id, or the end of it.
    #[arg(value_name = "ID")]
    silence: String,
    /// Who ends it; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    actor: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Does what is asked for.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn run(args: SilenceArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        SilenceCommand::Add(args) => add(*args).await,
        SilenceCommand::List(args) => list(args).await,
        SilenceCommand::End(args) => end(args).await,
    }
}

async fn add(args: AddArgs) -> anyhow::Result<ExitCode> {
    let wanted = wanted(&args)?;
    let remote = Remote::find(&args.remote)?;
    let answer = remote.post("/silences", &wanted).await?;
    ensure!(answer.status == 201, "not made: {}", answer.error());
    anstream::println!("{}", told(&answer.body));
    Ok(ExitCode::SUCCESS)
}

fn wanted(args: &AddArgs) -> anyhow::Result<Value> {
    let mut labels = Map::new();
    for label in &args.label {
        let (key, value) = label.split_once('=').ok_or_else(|| anyhow!("'{label}' is no label; write key=value"))?;
        labels.insert(key.to_owned(), json!(value));
    }
    let seconds = args.lasts.as_deref().map(duration_of).transpose().map_err(|mend| anyhow!("--for: {mend}"))?;
    Ok(json!({
        "match": {
            "monitor": args.monitor, "labels": labels, "signal": args.signal, "severity": args.severity,
            "reason": args.reason,
        },
        "seconds": seconds.map(|lasts| lasts.as_secs()),
        "until": args.until,
        "until_resolved": args.until_resolved,
        "comment": args.comment,
        "actor": args.actor.clone().unwrap_or_else(somebody),
    }))
}

async fn list(args: ListArgs) -> anyhow::Result<ExitCode> {
    let answer = Remote::find(&args.remote)?.get("/silences").await?;
    ensure!(answer.status < 300, "{}", answer.error());
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&answer.body)?);
        return Ok(ExitCode::SUCCESS);
    }
    let empty = Vec::new();
    let silences = answer.body["silences"].as_array().unwrap_or(&empty);
    if silences.is_empty() {
        anstream::println!("nothing is silenced");
    }
    for silence in silences {
        anstream::println!("{}", told(silence));
    }
    for window in answer.body["maintenance"].as_array().unwrap_or(&empty) {
        let name = match window["name"].as_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("line {}", window["line"]),
        };
        let when = match (&window["on_until"], &window["next"][0]) {
            (Value::Null, Value::Null) => "over".to_owned(),
            (Value::Null, next) => format!("next from {} to {}", at(&next["from"]), at(&next["to"])),
            (until, _) => format!("on until {}", at(until)),
        };
        anstream::println!("maintenance {name}: {}; {when}", matched(&window["match"]));
    }
    Ok(ExitCode::SUCCESS)
}

async fn end(args: EndArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let listed = remote.get("/silences").await?;
    ensure!(listed.status < 300, "{}", listed.error());
    let empty = Vec::new();
    let ids = listed.body["silences"].as_array().unwrap_or(&empty).iter().filter_map(|one| one["id"].as_str());
    let meant: Vec<&str> = ids.filter(|id| id.ends_with(&args.silence)).collect();
    let id = match meant[..] {
        [id] => id,
        [] => bail!("no silence that holds has this id; `serin silence list` names them"),
        _ => bail!("'{}' may be any of {}; give more of the id's end", args.silence, meant.len()),
    };
    let actor = args.actor.unwrap_or_else(somebody);
    let answer = remote.post(&format!("/silences/{id}/end"), &json!({ "actor": actor })).await?;
    ensure!(answer.status < 300, "not ended: {}", answer.error());
    anstream::println!("ended {id}; what it held back and is still open is sent now");
    Ok(ExitCode::SUCCESS)
}

/// One silence on a line.
fn told(silence: &Value) -> String {
    let until = match (&silence["until_resolved"], &silence["until"]) {
        (Value::Null, until) => format!("until {}", at(until)),
        (incident, Value::Null) => format!("until incident {} is resolved", incident.as_str().unwrap_or_default()),
        (incident, until) => {
            format!("until incident {} is resolved, at the latest {}", incident.as_str().unwrap_or_default(), at(until))
        }
    };
    let text = |key: &str| silence[key].as_str().unwrap_or_default();
    format!("{}; {until}; {}: {}; {}", matched(&silence["match"]), text("author"), text("comment"), text("id"))
}

/// What matches, such as `monitor docs; signal quality`.
fn matched(matches: &Value) -> String {
    let mut parts = Vec::new();
    for key in ["monitor", "signal", "severity", "reason"] {
        let words = matches[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<&str> = words.collect();
        if !words.is_empty() {
            parts.push(format!("{key} {}", words.join(", ")));
        }
    }
    for (key, value) in matches["labels"].as_object().into_iter().flatten() {
        parts.push(format!("label {key}={}", value.as_str().unwrap_or_default()));
    }
    if parts.is_empty() { "everything".to_owned() } else { parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_told_on_one_line() {
        let silence = |until: Value, incident: Value| {
            json!({
                "id": "0199-aa", "match": {"monitor": ["docs", "wiki"], "labels": {"team": "docs"}, "signal": ["quality"]},
                "author": "kim", "comment": "reindexing", "until": until, "until_resolved": incident,
            })
        };
        let what = "monitor docs, wiki; signal quality; label team=docs";
        let rows = [
            (json!("2026-11-25T12:00:00Z"), Value::Null, "until 2026-11-25 12:00:00 UTC"),
            (Value::Null, json!("0199-ee"), "until incident 0199-ee is resolved"),
            (
                json!("2026-11-25T12:00:00Z"),
                json!("0199-ee"),
                "until incident 0199-ee is resolved, at the latest 2026-11-25 12:00:00 UTC",
            ),
        ];
        for (until, incident, when) in rows {
            let expected = format!("{what}; {when}; kim: reindexing; 0199-aa");
            assert_eq!(told(&silence(until, incident)), expected);
        }
        assert_eq!(matched(&json!({})), "everything");
    }
}
