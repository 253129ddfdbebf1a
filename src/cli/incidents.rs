//! `serin incidents`: what is open, or was, of the Serin that runs.

use std::process::ExitCode;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::cli::known_ids::ensure_known;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::domain::wording::span;

/// Incidents printed at most; whoever wants more wants the page or the export.
const SHOWN_MAX: usize = 1_000;

/// Lists the incidents of the running Serin, the latest first.
///
/// The exit code: 0 where none of them is open, 1 where one is, or where there is no such monitor.
#[derive(Debug, clap::Args)]
pub(crate) struct IncidentsArgs {
    /// Only those of this monitor.
    #[arg(long, value_name = "ID")]
    pub monitor: Option<String>,
    /// Those that have ended, too.
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Asks and prints.
///
/// # Errors
/// Where no Serin answers, or it knows no such monitor.
pub(crate) async fn run(args: IncidentsArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let found = of(&remote, args.monitor.as_deref(), !args.all).await?;
    // A removed monitor has its past; of one that never was, "nothing is open" would be read as good news.
    if let Some(id) = args.monitor.as_deref().filter(|_| found.is_empty()) {
        ensure_known(&remote, id).await?;
    }
    if args.json {
        anstream::println!("{:#}", Value::from(found.clone()));
    } else if found.is_empty() {
        anstream::println!("{}", if args.all { "no incident yet" } else { "no incident is open" });
    } else {
        found.iter().for_each(|incident| anstream::println!("{}", told(incident, Utc::now())));
    }
    let is_open = found.iter().any(|incident| incident["resolved_at"].is_null());
    Ok(if is_open { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The incidents, the latest first; at most [`SHOWN_MAX`].
pub(crate) async fn of(remote: &Remote, monitor: Option<&str>, open_only: bool) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    while found.len() < SHOWN_MAX {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if open_only {
            query.append_pair("state", "open");
        }
        for (name, value) in [("monitor", monitor), ("before", before.as_deref())] {
            value.map(|value| query.append_pair(name, value));
        }
        let answer = remote.get(&format!("/incidents?{}", query.finish())).await?;
        anyhow::ensure!(answer.status < 300, "{}", answer.error());
        found.extend(answer.body["incidents"].as_array().cloned().unwrap_or_default());
        match answer.body["next"].as_str() {
            Some(next) => before = Some(next.to_owned()),
            None => break,
        }
    }
    Ok(found)
}

/// One incident in two lines: what is wrong and since when, then how to go on. Everything in it was escaped by the probe.
pub(crate) fn told(incident: &Value, now: DateTime<Utc>) -> String {
    let text = |key: &str| incident[key].as_str().unwrap_or_default();
    let moment = |key: &str| incident[key].as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
    // An older Serin says only when it was confirmed.
    let since = moment("since").or(moment("opened_at")).map_or(now, |at| at.to_utc());
    let lasted = |until: DateTime<Utc>| span((until - since).to_std().unwrap_or_default());
    let state = match (moment("resolved_at"), incident["acknowledged_by"].as_str()) {
        (Some(ended), _) => format!("ended after {}", lasted(ended.to_utc())),
        (None, Some(by)) => format!("open for {}, acknowledged by {by}", lasted(now)),
        (None, None) => format!("open for {}", lasted(now)),
    };
    let flapping = if incident["flapping"] == true { ", flapping" } else { "" };
    let quiet = incident["quiet"].as_str().map(|by| format!(", quiet: {by}")).unwrap_or_default();
    format!(
        "{:<6} {} · {}\n       {} · {state}{flapping}{quiet}",
        text("severity"),
        text("summary"),
        text("failure_reason"),
        text("id")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_incident_says_what_is_wrong_since_when_and_who_has_it() {
        let now = DateTime::parse_from_rfc3339("2026-11-22T03:10:00Z").unwrap().to_utc();
        let incident = |more: Value| {
            let mut incident = json!({"id": "0193", "severity": "page", "summary": "docs: 2 of 5 canaries wrong",
                "failure_reason": "empty_results", "opened_at": "2026-11-22T03:00:00Z"});
            incident.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            told(&incident, now)
        };
        let head = "page   docs: 2 of 5 canaries wrong · empty_results\n       0193 · ";
        for (more, end) in [
            (json!({}), "open for 10 min"),
            (json!({"acknowledged_by": "kim"}), "open for 10 min, acknowledged by kim"),
            (json!({"quiet": "explained by incident 0192"}), "open for 10 min, quiet: explained by incident 0192"),
            (json!({"flapping": true}), "open for 10 min, flapping"),
            (json!({"acknowledged_by": "kim", "resolved_at": "2026-11-22T03:05:00Z"}), "ended after 5 min"),
        ] {
            assert_eq!(incident(more), format!("{head}{end}"));
        }
    }
}
