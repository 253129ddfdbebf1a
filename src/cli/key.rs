//! `serin key add|list|end` and `serin audit`: who may do what at the running Serin, and who did.

use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use serde_json::{Value, json};

use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::cli::status::at;
use crate::config::check::numbers::duration_of;

/// Pages of the audit log that are fetched at most, with 200 lines each.
const PAGES_MAX: usize = 50;

/// Keys of the API: what a program or a person brings that is not to have the token.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeyCommand {
    /// Makes one; its secret is the last line that is printed, and is shown this once.
    Add(AddArgs),
    /// Lists those that open something.
    List(ListArgs),
    /// Ends one before its time, with every session that was opened with it.
    End(EndArgs),
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// What it is for, such as `grafana`.
    #[arg(value_name = "NAME")]
    name: String,
    /// `read` looks at everything; `act` also acknowledges, silences, accepts, rechecks, replays.
    #[arg(long, value_name = "ROLE", default_value = "read")]
    role: String,
    /// How long it is good for, 366 days at most.
    #[arg(long = "for", value_name = "DURATION", default_value = "90d")]
    lasts: String,
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
    /// Its id, the end of it, or its name.
    #[arg(value_name = "ID")]
    key: String,
    /// Who ends it; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    actor: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Lists what was asked for at the running Serin, by whom, from where and with what answer; the latest first.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// How many lines, 10000 at most.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// One JSON object a line, as the API answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Does what is asked for.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn run(args: KeyArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        KeyCommand::Add(args) => add(args).await,
        KeyCommand::List(args) => list(args).await,
        KeyCommand::End(args) => end(args).await,
    }
}

async fn add(args: AddArgs) -> anyhow::Result<ExitCode> {
    let lasts = duration_of(&args.lasts).map_err(|mend| anyhow!("--for: {mend}"))?;
    let remote = Remote::find(&args.remote)?;
    let actor = args.actor.unwrap_or_else(somebody);
    let wanted = json!({ "name": args.name, "role": args.role, "seconds": lasts.as_secs(), "actor": actor });
    let answer = remote.post("/keys", &wanted).await?;
    ensure!(answer.status == 201, "not made: {}", answer.error());
    anstream::println!("{}", told(&answer.body));
    anstream::println!("{}", answer.body["secret"].as_str().unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}

async fn list(args: ListArgs) -> anyhow::Result<ExitCode> {
    let answer = Remote::find(&args.remote)?.get("/keys").await?;
    ensure!(answer.status < 300, "{}", answer.error());
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&answer.body)?);
        return Ok(ExitCode::SUCCESS);
    }
    let keys = answer.body["keys"].as_array().cloned().unwrap_or_default();
    if keys.is_empty() {
        anstream::println!("there is no key");
    }
    for key in &keys {
        anstream::println!("{}", told(key));
    }
    Ok(ExitCode::SUCCESS)
}

async fn end(args: EndArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let listed = remote.get("/keys").await?;
    ensure!(listed.status < 300, "{}", listed.error());
    let id = meant(&listed.body, &args.key)?;
    let actor = args.actor.unwrap_or_else(somebody);
    let answer = remote.post(&format!("/keys/{id}/end"), &json!({ "actor": actor })).await?;
    ensure!(answer.status < 300, "not ended: {}", answer.error());
    anstream::println!("ended {id}; it opens nothing any more");
    Ok(ExitCode::SUCCESS)
}

/// The one key whose name this is, or whose id ends so.
fn meant<'a>(listed: &'a Value, said: &str) -> anyhow::Result<&'a str> {
    let text = |key: &'a Value, what: &str| key[what].as_str().unwrap_or_default();
    let keys = listed["keys"].as_array().into_iter().flatten();
    let fit = keys.filter(|key| text(key, "name") == said || text(key, "id").ends_with(said));
    match fit.map(|key| text(key, "id")).collect::<Vec<_>>()[..] {
        [id] => Ok(id),
        [] => bail!("no live key has this id or name; `serin key list` names them"),
        ref several => bail!("'{said}' may be any of {}; give more of the id's end", several.len()),
    }
}

/// One key on a line.
fn told(key: &Value) -> String {
    let text = |what: &str| key[what].as_str().unwrap_or_default();
    let until = at(&key["expires_at"]);
    format!("{}: may {}, until {until}; made by {}; {}", text("name"), text("role"), text("made_by"), text("id"))
}

/// Lists the audit log.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn audit(args: AuditArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let (mut left, mut path) = (args.limit, "/audit".to_owned());
    for _ in 0..PAGES_MAX {
        let answer = remote.get(&path).await?;
        ensure!(answer.status < 300, "{}", answer.error());
        for line in answer.body["lines"].as_array().into_iter().flatten().take(left) {
            anstream::println!("{}", if args.json { line.to_string() } else { asked(line) });
            left -= 1;
        }
        match answer.body["next"].as_str() {
            Some(next) if left > 0 => path = format!("/audit?before={next}"),
            _ => break,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One line of the audit log.
fn asked(line: &Value) -> String {
    let text = |what: &str| line[what].as_str().unwrap_or_default();
    let status = line["status"].as_u64().map_or("---".to_owned(), |status| status.to_string());
    format!("{}  {status}  {} ({}): {}", at(&line["at"]), text("who"), text("source"), text("action"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_name_or_the_end_of_its_id() {
        let listed = json!({ "keys": [
            { "id": "0199-aa", "name": "grafana" }, { "id": "0199-ba", "name": "bot" }, { "id": "0199-bb", "name": "bot" },
        ] });
        let rows = [
            ("grafana", Some("0199-aa"), "by its name"),
            ("bb", Some("0199-bb"), "by the end of its id"),
            ("a", None, "two ids end so"),
            ("bot", None, "two have this name"),
            ("nobody", None, "none has it"),
        ];
        for (said, expected, sentence) in rows {
            assert_eq!(meant(&listed, said).ok(), expected, "{sentence}");
        }
    }
}
