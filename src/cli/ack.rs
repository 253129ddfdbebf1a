//! `serin ack WHICH`: takes an incident, so that others know that somebody is at it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use chrono::Utc;
use serde_json::{Value, json};

use crate::cli::incidents;
use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::cli::status::at;

/// Characters of an id that may stand for it. With fewer, or none where a script's variable is not set, the only open
/// incident would be taken by chance.
const PART_CHARS_MIN: usize = 4;
/// Characters of a name that Serin keeps.
const ACTOR_CHARS_MAX: usize = 64;
/// Whoever asks is noted between two beats: a beat under way is waited for, which may take its whole budget.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);
/// Between two looks who has it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Takes an open incident of the running Serin, in somebody's name.
///
/// The exit code: 0 where it is theirs, 1 where it is not: it is over, somebody else has it, or it is not clear which one
/// is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct AckArgs {
    /// The incident's id, four characters or more of its beginning or end, or the id of a monitor of which one incident is open.
    #[arg(value_name = "ID")]
    pub incident: String,
    /// Who takes it; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    pub actor: Option<String>,
    /// Give it back: nobody has it then, and reminders and escalations go on.
    #[arg(long)]
    pub undo: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Finds the incident, takes it and prints it once it is taken.
///
/// # Errors
/// Where no Serin answers, no open incident or more than one is meant, or somebody else has it.
pub(crate) async fn run(args: AckArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let open = incidents::of(&remote, None, true).await?;
    let found = match one_of(&open, &args.incident)? {
        Some(incident) => incident.clone(),
        // Over, or beyond those that are listed.
        None => by_id(&remote, &args.incident).await?.ok_or_else(|| none_of(&open, &args.incident))?,
    };
    let actor = as_kept(&args.actor.clone().unwrap_or_else(somebody));
    if args.undo {
        return give_back(&remote, &found, &actor).await;
    }
    let incident = if is_free(&found, &actor)? {
        take(&remote, &found, &actor).await?
    } else {
        anstream::println!("yours already, since {}", at(&found["acknowledged_at"]));
        found
    };
    anstream::println!("{}", incidents::told(&incident, Utc::now()));
    if let Some(runbook) = incident["runbook_url"].as_str() {
        anstream::println!("runbook   {runbook}");
    }
    if let Some(reproduce) = incident["reproduce"].as_str() {
        anstream::println!("reproduce {reproduce}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a free incident, and answers it as it is when it is taken.
async fn take(remote: &Remote, incident: &Value, actor: &str) -> anyhow::Result<Value> {
    let id = incident["id"].as_str().unwrap_or_default();
    let asked = remote.post(&format!("/incidents/{id}/acknowledge"), &json!({ "actor": actor })).await?;
    // A conflict is told by what the incident is by now; what is accepted waits in a queue, where others may be before us.
    anyhow::ensure!(asked.status < 300 || asked.status == 409, "not acknowledged: {}", asked.error());
    let since = Instant::now();
    while since.elapsed() < TAKEN_WITHIN {
        let now = by_id(remote, id).await?.ok_or_else(|| anyhow!("not acknowledged: the incident is gone"))?;
        if !is_free(&now, actor)? {
            return Ok(now);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    bail!("asked for, and not done within {} s; the incident's page shows when it is", TAKEN_WITHIN.as_secs())
}

/// Gives an incident back, whoever has it.
async fn give_back(remote: &Remote, incident: &Value, actor: &str) -> anyhow::Result<ExitCode> {
    let id = incident["id"].as_str().unwrap_or_default();
    let asked = remote.post(&format!("/incidents/{id}/give-back"), &json!({ "actor": actor })).await?;
    anyhow::ensure!(asked.status < 300, "not un-acknowledged: {}", asked.error());
    let now = by_id(remote, id).await?.ok_or_else(|| anyhow!("the incident is gone"))?;
    anstream::println!("{}", incidents::told(&now, Utc::now()));
    Ok(ExitCode::SUCCESS)
}

/// The incident of exactly this id, open or over.
async fn by_id(remote: &Remote, id: &str) -> anyhow::Result<Option<Value>> {
    let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let answer = remote.get(&format!("/incidents/{id}")).await?;
    if answer.status == 404 {
        return Ok(None);
    }
    anyhow::ensure!(answer.status < 300, "{}", answer.error());
    Ok(Some(answer.body))
}

/// Whether nobody has an incident yet; false where `actor` has it.
fn is_free(incident: &Value, actor: &str) -> anyhow::Result<bool> {
    if !incident["resolved_at"].is_null() {
        let told = incidents::told(incident, Utc::now());
        bail!("not acknowledged: it is over since {}\n{told}", at(&incident["resolved_at"]));
    }
    match incident["acknowledged_by"].as_str() {
        None => Ok(true),
        Some(by) if by == actor => Ok(false),
        Some(by) => bail!("not acknowledged: {by} has it since {}", at(&incident["acknowledged_at"])),
    }
}

/// A name as Serin keeps it, so that it is known again.
fn as_kept(actor: &str) -> String {
    actor.trim().chars().filter(|c| !c.is_control()).take(ACTOR_CHARS_MAX).collect()
}

/// The one open incident that is meant; none where none of them is.
fn one_of<'i>(open: &'i [Value], meant: &str) -> anyhow::Result<Option<&'i Value>> {
    fn text<'i>(incident: &'i Value, key: &str) -> &'i str {
        incident[key].as_str().unwrap_or_default()
    }
    let exactly = |incident: &&Value| text(incident, "id") == meant;
    if let Some(incident) = open.iter().find(exactly) {
        return Ok(Some(incident));
    }
    let is_part = |id: &str| !is_short(meant) && (id.starts_with(meant) || id.ends_with(meant));
    let is_meant = |incident: &&Value| text(incident, "monitor") == meant || is_part(text(incident, "id"));
    let found: Vec<&Value> = open.iter().filter(is_meant).collect();
    match found[..] {
        [incident] => Ok(Some(incident)),
        [] => Ok(None),
        _ => {
            let lines: Vec<String> = found.iter().map(|incident| incidents::told(incident, Utc::now())).collect();
            bail!("'{meant}' may be any of {}; name one by the end of its id:\n{}", found.len(), lines.join("\n"))
        }
    }
}

/// Why nothing is meant by a word.
fn none_of(open: &[Value], meant: &str) -> anyhow::Error {
    if open.is_empty() {
        return anyhow!("no incident is open");
    }
    if is_short(meant) {
        return anyhow!("'{meant}' is too short for an id; give {PART_CHARS_MIN} characters of it, or more");
    }
    anyhow!("no open incident is '{meant}', nor of a monitor of this name; `serin incidents` lists them")
}

fn is_short(part: &str) -> bool {
    part.chars().count() < PART_CHARS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_named_by_what_is_at_hand() {
        let incident =
            |id: &str, monitor: &str| json!({"id": id, "monitor": monitor, "summary": "", "severity": "page"});
        let open = [
            incident("0193-aa01", "docs"),
            incident("0193-bb02", "docs"),
            incident("0194-cc03", "wiki"),
            incident("0195-dd04", "ab"),
        ];
        let rows = [
            ("0193-aa01", Ok("0193-aa01"), "its id"),
            ("bb02", Ok("0193-bb02"), "the end of it"),
            ("0194", Ok("0194-cc03"), "its beginning, where that is enough"),
            ("wiki", Ok("0194-cc03"), "its monitor, where that has no other"),
            ("ab", Ok("0195-dd04"), "however short that is"),
            ("docs", Err("'docs' may be any of 2"), "a monitor with two"),
            ("0193", Err("'0193' may be any of 2"), "a beginning of two"),
            ("intranet", Err("no open incident is 'intranet'"), "nothing"),
            ("03", Err("'03' is too short for an id"), "an end that may be any by chance"),
            ("", Err("'' is too short for an id"), "a variable that is not set"),
        ];
        for (meant, expected, sentence) in rows {
            let found = one_of(&open, meant).and_then(|found| found.ok_or_else(|| none_of(&open, meant)));
            let seen = found.map(|incident| incident["id"].as_str().unwrap().to_owned());
            match expected {
                Ok(id) => assert_eq!(seen.unwrap(), id, "{sentence}"),
                Err(said) => assert!(seen.unwrap_err().to_string().starts_with(said), "{sentence}"),
            }
        }
        assert_eq!(none_of(&[], "docs").to_string(), "no incident is open");
    }

    #[test]
    fn only_what_nobody_has_is_taken() {
        let taken_by = |name: &str| json!({ "acknowledged_by": name, "acknowledged_at": "2026-11-22T03:05:00Z" });
        let over = json!({ "resolved_at": "2026-11-22T03:10:00Z", "acknowledged_by": "kim" });
        let rows = [
            (json!({ "acknowledged_by": null }), Ok(true), "free"),
            (taken_by("kim"), Ok(false), "their own"),
            (taken_by("lee"), Err("not acknowledged: lee has it since 2026-11-22 03:05:00 UTC"), "somebody else's"),
            (over, Err("not acknowledged: it is over since 2026-11-22 03:10:00 UTC\n"), "over"),
        ];
        for (incident, expected, sentence) in rows {
            match (is_free(&incident, &as_kept(" kim\n")), expected) {
                (Ok(seen), expected) => assert_eq!(Ok(seen), expected, "{sentence}"),
                (Err(error), expected) => {
                    let said = error.to_string();
                    assert!(expected.is_err_and(|start| said.starts_with(start)), "{sentence}: {said}");
                }
            }
        }
    }
}
