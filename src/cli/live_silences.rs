//! The silences of the running Serin, as a question about routes needs them.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::cli::remote::{Remote, RemoteArgs};
use crate::domain::route::{Match, Subject, fits};
use crate::store::values::matchers;

/// What somebody wants to hear nothing of.
#[derive(Debug)]
pub(crate) struct LiveSilence {
    /// Its id.
    pub id: String,
    /// Who made it.
    pub author: String,
    matches: Match,
    from: DateTime<Utc>,
    /// When it ends; none where it ends with an incident.
    pub until: Option<DateTime<Utc>>,
}

impl LiveSilence {
    /// Whether it holds something back at a moment.
    pub(crate) fn holds(&self, subject: Subject<'_>, at: DateTime<Utc>) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until) && fits(&self.matches, subject)
    }
}

/// Asks for those that nobody ended.
///
/// # Errors
/// Where nobody answers, or what is answered cannot be read.
pub(crate) async fn silences(args: &RemoteArgs) -> anyhow::Result<Vec<LiveSilence>> {
    let answer = Remote::find(args)?.get("/silences").await?;
    anyhow::ensure!(answer.status == 200, "{}", answer.error());
    let listed = answer.body["silences"].as_array().cloned().unwrap_or_default();
    listed.iter().filter(|one| one["ended_at"].is_null()).map(read).collect()
}

fn read(silence: &Value) -> anyhow::Result<LiveSilence> {
    let text = |key: &str| silence[key].as_str().unwrap_or_default().to_owned();
    let moment = |key: &str| silence[key].as_str().map(|text| text.parse::<DateTime<Utc>>()).transpose();
    let from = moment("from")?.ok_or_else(|| anyhow::anyhow!("silence {} has no beginning", text("id")))?;
    Ok(LiveSilence {
        id: text("id"),
        author: text("author"),
        matches: matchers::read(&silence["match"].to_string())?,
        from,
        until: moment("until")?,
    })
}
