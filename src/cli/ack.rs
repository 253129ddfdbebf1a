//! `serin ack WHICH`: takes an incident, so that others know that somebody is at it.

use std::process::ExitCode;

use anyhow::bail;
use chrono::Utc;
use serde_json::{Value, json};

use crate::cli::incidents;
use crate::cli::remote::{Remote, RemoteArgs, somebody};

/// Takes an open incident of the running Serin, in somebody's name.
#[derive(Debug, clap::Args)]
pub(crate) struct AckArgs {
    /// The incident's id, its beginning or end, or the id of a monitor of which one incident is open.
    #[arg(value_name = "ID")]
    pub incident: String,
    /// Who takes it; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    pub actor: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Finds the incident, takes it and prints it.
///
/// # Errors
/// Where no Serin answers, no open incident or more than one is meant, or it cannot be taken.
pub(crate) async fn run(args: AckArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let open = incidents::of(&remote, None, true).await?;
    let incident = one_of(&open, &args.incident)?;
    let id = incident["id"].as_str().unwrap_or_default();
    let actor = args.actor.clone().unwrap_or_else(somebody);
    let answer = remote.post(&format!("/incidents/{id}/acknowledge"), &json!({ "actor": actor })).await?;
    anyhow::ensure!(answer.status < 300, "not taken: {}", answer.error());
    anstream::println!("{}\ntaken by {actor}", incidents::told(incident, Utc::now()));
    if let Some(runbook) = incident["runbook_url"].as_str() {
        anstream::println!("runbook   {runbook}");
    }
    if let Some(reproduce) = incident["reproduce"].as_str() {
        anstream::println!("reproduce {reproduce}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The one open incident that is meant.
fn one_of<'i>(open: &'i [Value], meant: &str) -> anyhow::Result<&'i Value> {
    fn text<'i>(incident: &'i Value, key: &str) -> &'i str {
        incident[key].as_str().unwrap_or_default()
    }
    let exactly = |incident: &&Value| text(incident, "id") == meant;
    if let Some(incident) = open.iter().find(exactly) {
        return Ok(incident);
    }
    let is_meant = |incident: &&Value| {
        let id = text(incident, "id");
        text(incident, "monitor") == meant || id.starts_with(meant) || id.ends_with(meant)
    };
    let found: Vec<&Value> = open.iter().filter(is_meant).collect();
    match found[..] {
        [incident] => Ok(incident),
        [] if open.is_empty() => bail!("no incident is open"),
        [] => bail!("no open incident is '{meant}', nor of a monitor of this name; `serin incidents` lists them"),
        _ => {
            let lines: Vec<String> = found.iter().map(|incident| incidents::told(incident, Utc::now())).collect();
            bail!("'{meant}' may be any of {}; name one by the end of its id:\n{}", found.len(), lines.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_named_by_what_is_at_hand() {
        let incident =
            |id: &str, monitor: &str| json!({"id": id, "monitor": monitor, "summary": "", "severity": "page"});
        let open = [incident("0193-aa01", "docs"), incident("0193-bb02", "docs"), incident("0194-cc03", "wiki")];
        let rows = [
            ("0193-aa01", Ok("0193-aa01"), "its id"),
            ("bb02", Ok("0193-bb02"), "the end of it"),
            ("0194", Ok("0194-cc03"), "its beginning, where that is enough"),
            ("wiki", Ok("0194-cc03"), "its monitor, where that has no other"),
            ("docs", Err("'docs' may be any of 2"), "a monitor with two"),
            ("0193", Err("'0193' may be any of 2"), "a beginning of two"),
            ("intranet", Err("no open incident is 'intranet'"), "nothing"),
        ];
        for (meant, expected, sentence) in rows {
            let seen = one_of(&open, meant).map(|incident| incident["id"].as_str().unwrap().to_owned());
            match expected {
                Ok(id) => assert_eq!(seen.unwrap(), id, "{sentence}"),
                Err(said) => assert!(seen.unwrap_err().to_string().starts_with(said), "{sentence}"),
            }
        }
        assert_eq!(one_of(&[], "docs").unwrap_err().to_string(), "no incident is open");
    }
}
