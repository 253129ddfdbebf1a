//! `serin deliveries`: the ledger of the running Serin.

use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::cli::receiver::attempt;
use crate::cli::remote::{Remote, RemoteArgs, somebody};
use crate::cli::status::at;
use crate::config::check::numbers::duration_of;

/// Pages of the ledger that are fetched at most; with 50 deliveries each.
const PAGES_MAX: usize = 100;

/// What was promised to whom, each try of it, and how that ended; the newest first.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DeliveriesArgs {
    #[command(subcommand)]
    command: Option<DeliveriesCommand>,
    #[command(flatten)]
    which: Which,
    /// About this monitor.
    #[arg(long, value_name = "ID")]
    monitor: Option<String>,
    /// Of this event, such as `incident.opened`.
    #[arg(long, value_name = "EVENT")]
    kind: Option<String>,
    /// How many are listed, 5000 at most.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// As the API answers it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Subcommand)]
enum DeliveriesCommand {
    /// Brings what was told once more, with the same ids and bytes; what is over goes to webhooks only.
    Replay(Box<ReplayArgs>),
}

#[derive(Debug, clap::Args)]
struct ReplayArgs {
    /// One delivery, by its id; else an incident or a stretch of time.
    #[arg(value_name = "ID", conflicts_with_all = ["incident", "receiver", "state", "since", "from", "to"])]
    delivery: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Tell people too of what is over.
    #[arg(long)]
    really: bool,
    /// Who replays; without it, you on this machine.
    #[arg(long = "as", value_name = "NAME")]
    actor: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Which deliveries are meant; every part that is given has to fit.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// Of this incident.
    #[arg(long, value_name = "ID")]
    pub incident: Option<String>,
    /// To this receiver.
    #[arg(long, value_name = "NAME")]
    pub receiver: Option<String>,
    /// `pending`, `sent` or `dead`.
    #[arg(long)]
    pub state: Option<String>,
    /// Not older than this, such as `24h`.
    #[arg(long, value_name = "DURATION", conflicts_with = "from")]
    pub since: Option<String>,
    /// From this moment on, such as `2026-11-25T09:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Before this moment.
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

impl Which {
    /// The parts by the names of the API, in its words.
    pub(crate) fn parts(&self, now: DateTime<Utc>) -> anyhow::Result<Vec<(&'static str, String)>> {
        let since = self.since.as_deref().map(duration_of).transpose().map_err(|mend| anyhow!("--since: {mend}"))?;
        let since = since.map(|since| (now - since).to_rfc3339_opts(SecondsFormat::Secs, true));
        let all = [
            ("incident", self.incident.clone()),
            ("receiver", self.receiver.clone()),
            ("state", self.state.clone()),
            ("from", since.or_else(|| self.from.clone())),
            ("to", self.to.clone()),
        ];
        Ok(all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
    }
}

/// Lists them.
///
/// # Errors
/// Where no Serin answers, or it refuses.
pub(crate) async fn run(args: DeliveriesArgs) -> anyhow::Result<ExitCode> {
    if let Some(DeliveriesCommand::Replay(args)) = args.command {
        return replay(*args).await;
    }
    let remote = Remote::find(&args.remote)?;
    let mut parts = args.which.parts(Utc::now())?;
    let further = [("monitor", args.monitor), ("kind", args.kind)];
    parts.extend(further.into_iter().filter_map(|(key, value)| Some((key, value?))));
    let mut found: Vec<Value> = Vec::new();
    let mut before = String::new();
    for _ in 0..PAGES_MAX {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&parts).append_pair("before", &before);
        let answer = remote.get(&format!("/deliveries?{}", query.finish())).await?;
        ensure!(answer.status == 200, "{}", answer.error());
        found.extend(answer.body["deliveries"].as_array().into_iter().flatten().cloned());
        match answer.body["next"].as_str() {
            Some(next) if found.len() < args.limit => before = next.to_owned(),
            _ => break,
        }
    }
    found.truncate(args.limit);
    if args.json {
        anstream::println!("{:#}", Value::Array(found));
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        anstream::println!("no delivery matches");
    }
    for delivery in &found {
        anstream::println!("{}", told(delivery));
    }
    Ok(ExitCode::SUCCESS)
}

async fn replay(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let mut wanted: Map<String, Value> =
        args.which.parts(Utc::now())?.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    wanted.insert("actor".to_owned(), json!(args.actor.unwrap_or_else(somebody)));
    wanted.insert("really".to_owned(), json!(args.really));
    let path = match &args.delivery {
        Some(id) => {
            let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
            format!("/deliveries/{id}/replay")
        }
        None => "/deliveries/replay".to_owned(),
    };
    let answer = remote.post(&path, &Value::Object(wanted)).await?;
    ensure!(answer.status == 202, "not replayed: {}", answer.error());
    let count = |key: &str| answer.body[key].as_u64().unwrap_or_default();
    let left = [
        ("pending", "wait to be brought anyway"),
        ("undeclared", "are for receivers that are no longer declared"),
        ("old_news", "are over and for people (--really tells them)"),
    ];
    let left: Vec<String> =
        left.iter().filter(|(key, _)| count(key) > 0).map(|(key, why)| format!("{} {why}", count(key))).collect();
    if count("replayed") == 0 {
        bail!("nothing is replayed: {}", left.join(", "));
    }
    let rest = if left.is_empty() { String::new() } else { format!("; left out: {}", left.join(", ")) };
    anstream::println!("{} brought once more{rest}", count("replayed"));
    Ok(ExitCode::SUCCESS)
}

/// One delivery, and its tries below it.
fn told(delivery: &Value) -> String {
    let text = |key: &str| delivery[key].as_str().unwrap_or_default();
    let stands_in = delivery["fallback_of"].as_str().map(|of| format!(", stands in for {of}")).unwrap_or_default();
    let next = delivery["next_at"].as_str().map(|_| format!("; next {}", at(&delivery["next_at"])));
    let together = match (delivery["group_key"].as_str(), delivery["together_with"].as_u64().unwrap_or_default()) {
        (Some(key), 0) => format!(" ({key})"),
        (Some(key), more) => format!(" ({key}, in one message with {more} more)"),
        (None, _) => String::new(),
    };
    let mut lines = vec![format!(
        "{}  {:<7}  {}{stands_in}  {}{together}{}  {}",
        at(&delivery["created_at"]),
        text("state"),
        text("receiver"),
        text("event"),
        next.unwrap_or_default(),
        text("id"),
    )];
    let tries = delivery["tries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let hidden = delivery["attempts"].as_u64().unwrap_or_default().saturating_sub(tries.len() as u64);
    lines.extend((hidden > 0).then(|| format!("    {hidden} earlier")));
    lines.extend(tries.iter().map(|one| format!("    {}", attempt(one))));
    lines.join("\n")
}
