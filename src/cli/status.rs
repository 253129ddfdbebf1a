//! `serin status`: how the running Serin itself is, to be read half asleep.

use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::cli::database::size;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::wording::{counted, span};
use crate::store;

/// The exit code where something is not as it should be.
const ILL: u8 = 1;
/// The exit code where nobody could be asked.
const UNREACHABLE: u8 = 3;

/// Says how the running Serin itself is: whether beats start in time and are remembered, and what is wrong.
///
/// What is ill comes first. The exit code: 0 well, 1 ill, 3 no Serin could be asked.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Print the document, that of `/api/v1/status` or `/readyz`, instead of text.
    #[arg(long)]
    pub json: bool,
    /// Ask only whether it is ready, `/readyz`: the database takes reads and writes and every loop turns. For whoever starts
    /// again what is not; a receiver that is away is no reason to. Wants no token.
    #[arg(long)]
    pub ready: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Asks and prints.
///
/// # Errors
/// None: where nobody can be asked, that is printed, and the exit code says so.
pub(crate) async fn run(args: StatusArgs) -> anyhow::Result<ExitCode> {
    let body = match ask(&args).await {
        Ok(body) => body,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            if let Some(note) = of_database(&args.remote) {
                anstream::eprintln!("  {note}");
            }
            return Ok(ExitCode::from(UNREACHABLE));
        }
    };
    match (args.json, args.ready) {
        (true, _) => anstream::println!("{body:#}"),
        (false, true) => anstream::println!("{}", readiness(&body)),
        (false, false) => anstream::println!("{}", told(&body)),
    }
    Ok(if body[verdict(&args)] == true { ExitCode::SUCCESS } else { ExitCode::from(ILL) })
}

/// What of an answer decides.
fn verdict(args: &StatusArgs) -> &'static str {
    if args.ready { "ready" } else { "well" }
}

async fn ask(args: &StatusArgs) -> anyhow::Result<Value> {
    let remote = Remote::find(&args.remote)?;
    let answer = if args.ready { remote.ready().await? } else { remote.get("/status").await? };
    // One that starts says so with 503, and what it waits for.
    anyhow::ensure!(answer.body[verdict(args)].is_boolean(), "{}", answer.error());
    Ok(answer.body)
}

/// Whether it is ready, and what is missing.
fn readiness(body: &Value) -> String {
    let verdict = if body["ready"] == true { "serin is ready" } else { "serin is NOT ready" };
    let why = body["why"].as_array().into_iter().flatten().map(|line| format!("  ! {}", text(line)));
    std::iter::once(verdict.to_owned()).chain(why).collect::<Vec<_>>().join("\n")
}

/// What the database beside us says of a Serin that does not answer; nothing where it is not on this machine.
fn of_database(remote: &RemoteArgs) -> Option<String> {
    let source = source::read(&remote.config).ok()?;
    let env = |name: &str| std::env::var(name).ok();
    let database = config::load(&source, &env, Unset::Warn).ok()?.settings.database?;
    let path = database.file()?;
    let held = match store::is_held(path)? {
        true => "a Serin runs on it, and does not answer there: another address, or it is stuck",
        false => "no Serin runs on it",
    };
    let log = std::fs::metadata(format!("{}-wal", path.display()));
    let times = [std::fs::metadata(path), log].into_iter().filter_map(|file| file.ok()?.modified().ok());
    let written = times.max().map(|at| format!("; last written {}", timestamp(at.into())));
    Some(format!("{}: {held}{}", path.display(), written.unwrap_or_default()))
}

fn timestamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A machine that shares the fleet.
fn machine(body: &Value) -> String {
    let what = match (body["is_gone"] == true, body["has_file"] == true) {
        (true, _) => "is gone".to_owned(),
        (false, false) => "has another file than the one in force".to_owned(),
        (false, true) => format!("watches {} of 256 shards", body["shards"]),
    };
    let is_this = if body["is_this"] == true { ", asked here" } else { "" };
    format!("  machine   {} {what}{is_this}", text(&body["name"]))
}

/// The document as lines; every text in it was made plain by Serin.
fn told(body: &Value) -> String {
    let mut lines = Vec::new();
    let verdict = if body["well"] == true { "well" } else { "ILL" };
    lines.push(format!("serin {} is {verdict}", text(&body["versions"]["serin"])));
    lines.extend(body["ill"].as_array().into_iter().flatten().map(|line| format!("  ! {}", text(line))));
    for trouble in body["troubles"].as_array().into_iter().flatten() {
        lines.push(format!("    {} ends when {}", text(&trouble["trouble"]), text(&trouble["resolves_when"])));
    }
    let figures = [
        ("up", up(body)),
        ("monitors", monitors(&body["monitors"])),
        ("beats", beats(&body["beats"])),
        ("lag", lag(&body["lately"])),
        ("queue", waiting(&body["writer_queue"])),
        ("outbox", outbox(&body["outbox"])),
        ("database", database(&body["database"])),
        ("config", configuration(&body["config"])),
        ("probes", probes(&body["probes"])),
        ("heartbeat", heartbeat(&body["heartbeat"])),
        ("versions", versions(&body["versions"])),
    ];
    lines.extend(figures.into_iter().map(|(name, figure)| format!("  {name:<10}{figure}")));
    lines.extend(body["machines"].as_array().into_iter().flatten().map(machine));
    lines.join("\n")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

/// A count with its thousands apart.
fn count(value: &Value) -> String {
    let Some(number) = value.as_u64() else { return "unknown".to_owned() };
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn length(seconds: &Value) -> String {
    span(Duration::from_secs(seconds.as_u64().unwrap_or_default()))
}

/// A moment of the API's, for people.
pub(crate) fn at(value: &Value) -> String {
    value.as_str().and_then(|text| text.parse().ok()).map_or_else(|| "an unknown moment".to_owned(), timestamp)
}

fn up(body: &Value) -> String {
    format!("{}, since {}", length(&body["uptime_seconds"]), at(&body["started_at"]))
}

fn monitors(body: &Value) -> String {
    let states = body["states"].as_object().into_iter().flatten().map(|(state, n)| format!("{} {state}", count(n)));
    let states: Vec<String> = states.collect();
    let waiting = body["waiting"]
        .as_u64()
        .filter(|n| *n > 0)
        .map(|n| format!(" ({n} of those up wait with a signal over its limit)"));
    format!("{}: {}{}", count(&body["total"]), states.join(", "), waiting.unwrap_or_default())
}

fn beats(body: &Value) -> String {
    let [good, degraded, down, unknown, missed] =
        ["good", "degraded", "down", "unknown", "missed"].map(|key| count(&body[key]));
    format!("{good} good, {degraded} degraded, {down} down, {unknown} unknown, {missed} missed since the start")
}

fn lag(body: &Value) -> String {
    let bound = |key: &str| match body[key].as_u64() {
        Some(ms) => format!("at most {ms} ms"),
        None => "above 10 s".to_owned(),
    };
    let over = length(&body["over_seconds"]);
    if body["starts"].as_u64().unwrap_or_default() == 0 {
        return format!("no beat was due in the last {over}");
    }
    format!(
        "beats start late by {} (median), {} (p99); {} and {} missed in the last {over}",
        bound("start_late_p50_ms_at_most"),
        bound("start_late_p99_ms_at_most"),
        counted(count(&body["starts"]), "start", "starts"),
        count(&body["missed"])
    )
}

fn waiting(queue: &Value) -> String {
    format!("{} for the database", counted(count(queue), "record waits", "records wait"))
}

fn outbox(body: &Value) -> String {
    if body.is_null() {
        return "unknown: the database does not answer".to_owned();
    }
    let oldest = match &body["oldest_seconds"] {
        Value::Null => String::new(),
        seconds => format!(", the oldest for {}", length(seconds)),
    };
    let pending = counted(count(&body["pending"]), "delivery waits", "deliveries wait");
    format!("{pending}{oldest}; {} given up", counted(count(&body["given_up"]), "was", "were"))
}

fn database(body: &Value) -> String {
    if body.is_null() {
        return "unknown: it does not answer".to_owned();
    }
    let bytes = |key: &str| size(body[key].as_u64().unwrap_or_default());
    let share = match body["bytes_per_monitor_day"].as_f64() {
        Some(share) => format!("{:.1} kB a monitor-day", share / 1e3),
        None => "too young for its size a monitor-day".to_owned(),
    };
    let (all, free, log) = (bytes("bytes"), bytes("free_bytes"), bytes("log_bytes"));
    format!("{}: {all} ({free} free in it) and a log of {log}; {share}", text(&body["file"]))
}

fn configuration(body: &Value) -> String {
    let commit =
        body["commit"].as_str().map_or_else(|| "no commit known".to_owned(), |commit| format!("commit {commit}"));
    let mut said = format!("{} ({commit}) in force since {}", text(&body["file"]), at(&body["in_force_since"]));
    if let Some(why) = body["refused_why"].as_str() {
        let indented = why.trim_end().replace('\n', "\n            ");
        said.push_str(&format!(
            "\n            a newer one was refused {}:\n            {indented}",
            at(&body["refused_at"])
        ));
    }
    said
}

fn probes(body: &Value) -> String {
    let places = counted(count(&body["places"]), "place", "places");
    format!("{places} at once, by a limit of {} open files", count(&body["files"]))
}

fn heartbeat(body: &Value) -> String {
    let taken = match &body["taken_at"] {
        Value::Null if body.is_null() => return "none declared".to_owned(),
        Value::Null => "none taken since the start".to_owned(),
        timestamp => format!("last taken {}", at(timestamp)),
    };
    body["failing"].as_str().map_or_else(|| taken.clone(), |why| format!("{taken}; the latest failed: {why}"))
}

fn versions(body: &Value) -> String {
    let zones = match body["time_zone_data"].as_str() {
        Some(zones) => format!("time zones {zones}"),
        None => "no time-zone data: every time is UTC".to_owned(),
    };
    let schema = body["schema"].as_i64().map_or_else(|| "unknown".to_owned(), |schema| schema.to_string());
    let engine = match body["postgresql"].as_str() {
        Some(version) => format!("PostgreSQL {version}"),
        None => format!("SQLite {}", text(&body["sqlite"])),
    };
    format!(
        "{engine}, tables of version {schema}, {}, built for {}; {zones}",
        text(&body["rustc"]),
        text(&body["target"])
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_read_at_a_glance() {
        let counts = [(0, "0"), (999, "999"), (1000, "1,000"), (4_320_000, "4,320,000")];
        for (number, expected) in counts {
            assert_eq!(count(&json!(number)), expected);
        }
        let lengths =
            [(0, "0 s"), (60, "1 min"), (61, "1 min 1 s"), (7200, "2 h"), (7260, "2 h 1 min"), (90_000, "1 d 1 h")];
        for (seconds, expected) in lengths {
            assert_eq!(length(&json!(seconds)), expected);
        }
    }

    fn check(body: &Value, expected: &[&str], absent: &str, sentence: &str) {
        let said = told(body);
        for words in expected {
            assert!(said.contains(words), "{sentence}: '{words}' is missing in\n{said}");
        }
        assert!(absent.is_empty() || !said.contains(absent), "{sentence}: '{absent}' is in\n{said}");
    }

    #[test]
    fn what_is_ill_comes_first() {
        let well = json!({"well": true, "lately": {"starts": 0, "over_seconds": 3}, "versions": {"serin": "9.9"}});
        check(&well, &["serin 9.9 is well", "no beat was due in the last 3 s"], "!", "well");
        let ill = json!({"well": false, "ill": ["disk_full since …"], "outbox": null, "troubles":
            [{"trouble": "disk_full", "resolves_when": "a write succeeds again"}], "config": {"refused_why": "a\nb"}});
        let expected = [
            "ILL\n  ! disk_full since …\n    disk_full ends when a write succeeds",
            "refused",
            "the database does not answer",
        ];
        check(&ill, &expected, "is well", "ill");
        let places = json!({"probes": {"places": 9872, "files": 20_000}});
        check(&places, &["9,872 places at once, by a limit of 20,000 open files"], "", "places");
        let sign = |sign: Value| json!({"heartbeat": sign});
        let rows = [
            (Value::Null, "heartbeat none declared"),
            (json!({"taken_at": "2026-11-21T12:00:00Z"}), "heartbeat last taken 2026-11-21 12:00:00 UTC"),
            (
                json!({"failing": "connection refused"}),
                "none taken since the start; the latest failed: connection refused",
            ),
        ];
        rows.into_iter().for_each(|(body, expected)| check(&sign(body), &[expected], "", "a sign of life"));
    }
}
