//! `serin route test`: who is told of what a monitor may have, how, and by which line of the file.
//!
//! For CI: with `--expect` the exit code is 1 where one of them would not be told. Nothing is contacted.

use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::config_file::{ConfigFile, declared};
use crate::cli::known_ids::instead;
use crate::config::read::source;
use crate::domain::fleet::Fleet;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::Monitor;
use crate::domain::paging::audience::{Topic, subject, topics};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::receiver::Channel;
use crate::domain::route::{Escalation, Hearer, Route, Subject, fits, fitting, hearers};
use crate::domain::signal::Signal;
use crate::domain::wording::span;

/// Says who would be told, before anything happens.
#[derive(Debug, Clone, Args)]
pub(crate) struct RouteArgs {
    #[command(subcommand)]
    command: RouteCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum RouteCommand {
    Test(TestArgs),
}

/// Says who is told of what a monitor may have: each of its reasons, or those that are named.
#[derive(Debug, Clone, Args)]
struct TestArgs {
    #[command(flatten)]
    config: ConfigFile,
    /// Whose incident.
    #[arg(long, value_name = "ID")]
    monitor: String,
    /// Only of this reason, such as `pool_saturated`; every one that the monitor may have where it is left out.
    #[arg(long, value_parser = reason)]
    reason: Option<FailureReason>,
    /// Only where it is so loud: page, ticket or notice.
    #[arg(long, value_parser = severity)]
    severity: Option<Severity>,
    /// A receiver that has to be told of each of them; may be given several times.
    #[arg(long, value_name = "RECEIVER")]
    expect: Vec<String>,
    /// At a moment, such as `2026-11-29T03:00:00+01:00`: what a maintenance window of the file holds back then is told to nobody
    /// before its end. Silences are known to the running Serin alone.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<DateTime<Utc>>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

fn reason(word: &str) -> Result<FailureReason, String> {
    let all: Vec<&str> = FailureReason::ALL.iter().map(|reason| reason.slug()).collect();
    let found = FailureReason::ALL.iter().copied().find(|reason| reason.slug() == word);
    found.ok_or_else(|| instead(word, &all, all.len()))
}

fn severity(word: &str) -> Result<Severity, String> {
    let found = Severity::ALL.into_iter().find(|severity| severity.slug() == word);
    found.ok_or_else(|| "page, ticket or notice".to_owned())
}

fn moment(word: &str) -> Result<DateTime<Utc>, String> {
    let found = DateTime::parse_from_rfc3339(word).map(|moment| moment.to_utc());
    found.map_err(|_| "with its offset from UTC, such as 2026-11-29T03:00:00+01:00".to_owned())
}

/// What may be found of a monitor, and who is told of it.
struct Heard<'f> {
    topic: Topic,
    severity: Severity,
    by: Vec<Hearer<'f>>,
    /// The windows that hold it back, each with its end.
    held: Vec<(&'f MaintenanceWindow, DateTime<Utc>)>,
    /// What follows while nobody takes it: after how long, what it is, whom it tells and by which line.
    follow: Vec<FollowedUp<'f>>,
}

/// Something that is told by time.
struct FollowedUp<'f> {
    after: Duration,
    event: &'static str,
    to: &'f [String],
    line: u32,
}

/// What follows while nobody takes it, in the order of time; of reminders the first.
fn follow_ups<'f>(fleet: &'f Fleet, subject: Subject<'_>) -> Vec<FollowedUp<'f>> {
    let of_route = |route: &'f Route| {
        let reminder =
            route.remind.map(|after| FollowedUp { after, event: "reminder", to: &route.to, line: route.line });
        let step = |step: &'f Escalation| FollowedUp {
            after: step.after,
            event: "escalation",
            to: &step.to,
            line: route.line,
        };
        reminder.into_iter().chain(route.escalate.iter().map(step))
    };
    let mut all: Vec<_> = fitting(&fleet.routes, subject).flat_map(of_route).collect();
    all.sort_by_key(|one| one.after);
    all
}

/// Tests routes.
///
/// # Errors
/// A file that cannot come into force; a monitor or a receiver that it does not have; a reason that the monitor cannot have.
pub(crate) fn run(args: RouteArgs) -> anyhow::Result<ExitCode> {
    let RouteCommand::Test(args) = args.command;
    let loaded = declared(&source::read(&args.config.path()?)?)?;
    let fleet = &loaded.fleet;
    let ids: Vec<&str> = fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
    let Some(monitor) = fleet.monitors.iter().find(|monitor| monitor.id.as_str() == args.monitor) else {
        anyhow::bail!("no monitor '{}'; {}", args.monitor, instead(&args.monitor, &ids, ids.len()));
    };
    let receivers: Vec<&str> = fleet.receivers.iter().map(|receiver| receiver.name.as_str()).collect();
    if let Some(name) = args.expect.iter().find(|name| fleet.receiver(name).is_none()) {
        anyhow::bail!("no receiver '{name}'; {}", instead(name, &receivers, receivers.len()));
    }
    let heard = heard(&args, fleet, monitor);
    anyhow::ensure!(!heard.is_empty(), "monitor '{}' cannot have that, as it is declared", args.monitor);
    let misses = |one: &Heard<'_>| -> Vec<String> {
        let is_told = |name: &str| one.held.is_empty() && one.by.iter().any(|hearer| hearer.receiver == name);
        let is_missing = |name: &&String| !is_told(name);
        args.expect.iter().filter(is_missing).cloned().collect()
    };
    if args.json {
        let all: Vec<Value> = heard.iter().map(|one| as_json(one, &misses(one))).collect();
        anstream::println!("{:#}", json!({ "monitor": args.monitor, "topics": all }));
    } else {
        heard.iter().for_each(|one| anstream::println!("{}", line(one, &misses(one), fleet)));
    }
    Ok(if heard.iter().any(|one| !misses(one).is_empty()) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is asked for, each topic once; reasons of a signal that are told alike stay apart, so that each can be looked up.
fn heard<'f>(args: &TestArgs, fleet: &'f Fleet, monitor: &Monitor) -> Vec<Heard<'f>> {
    let is_meant = |(topic, severity): &(Topic, Severity)| {
        args.reason.is_none_or(|reason| topic.reason == Some(reason))
            && args.severity.is_none_or(|wanted| *severity == wanted)
    };
    let told = |(topic, severity): (Topic, Severity)| {
        let subject = subject(monitor, topic, severity);
        let by = hearers(&fleet.routes, subject);
        let run = |window: &'f MaintenanceWindow| Some((window, window.run_at(args.at?)?.to));
        let windows = fleet.maintenance.iter().filter(|window| fits(&window.matches, subject));
        Heard { topic, severity, by, held: windows.filter_map(run).collect(), follow: follow_ups(fleet, subject) }
    };
    topics(monitor).into_iter().filter(is_meant).map(told).collect()
}

/// Such as `page    errors pool_saturated: oncall (webhook, line 12; else mail), log (webhook, line 14)`.
fn line(heard: &Heard<'_>, missing: &[String], fleet: &Fleet) -> String {
    let one = |hearer: &Hearer<'_>| {
        let channel = fleet.receiver(hearer.receiver).map_or("gone", |receiver| match receiver.channel {
            Channel::Email { .. } => "e-mail",
            ref other => other.key(),
        });
        let fallback = hearer.fallback.map(|name| format!("; else {name}")).unwrap_or_default();
        format!("{} ({channel}, line {}{fallback})", hearer.receiver, hearer.line)
    };
    let to = heard.by.iter().map(one).collect::<Vec<_>>().join(", ");
    let to = if to.is_empty() { "nobody" } else { &to };
    let window = |(window, until): &(&MaintenanceWindow, DateTime<Utc>)| {
        format!("  – held back by {} (line {}) until {}", window.called(), window.line, window.shown(*until))
    };
    let held: String = heard.held.iter().map(window).collect();
    let follow = |one: &FollowedUp<'_>| {
        let again = if one.event == "reminder" { " again" } else { "" };
        format!("{}{again} after {} (line {})", one.to.join(" and "), span(one.after), one.line)
    };
    let follow: Vec<String> = heard.follow.iter().map(follow).collect();
    let follow = if follow.is_empty() { String::new() } else { format!("; unless taken: {}", follow.join(", ")) };
    let without = if missing.is_empty() { String::new() } else { format!("  – without {}", missing.join(", ")) };
    format!("{:<7} {}: {to}{follow}{held}{without}", heard.severity.slug(), said(heard.topic))
}

/// The topic in words, such as `contract schema_drift (wording)`.
fn said(topic: Topic) -> String {
    let class = if topic.class.is_empty() { String::new() } else { format!(" ({})", topic.class) };
    match (topic.signal, topic.reason) {
        (Some(signal), Some(reason)) => format!("{} {reason}{class}", signal.slug()),
        _ => "a restart".to_owned(),
    }
}

fn as_json(heard: &Heard<'_>, missing: &[String]) -> Value {
    let to = heard
        .by
        .iter()
        .map(|hearer| json!({ "receiver": hearer.receiver, "fallback": hearer.fallback, "line": hearer.line }));
    let held = heard
        .held
        .iter()
        .map(|(window, until)| json!({ "maintenance": window.called(), "line": window.line, "until": until }));
    let follow = heard
        .follow
        .iter()
        .map(|one| json!({ "after_seconds": one.after.as_secs(), "event": one.event, "to": one.to, "line": one.line }));
    json!({
        "signal": heard.topic.signal.map(Signal::slug),
        "reason": heard.topic.reason.map(|reason| reason.slug()),
        "class": heard.topic.class,
        "severity": heard.severity.slug(),
        "to": to.collect::<Vec<_>>(),
        "held_back_by": held.collect::<Vec<_>>(),
        "unless_taken": follow.collect::<Vec<_>>(),
        "missing": missing,
    })
}
