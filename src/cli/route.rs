//! `serin route test`: who is told of what a monitor may have, how, and by which line of the file.
//!
//! For CI: with `--expect` the exit code is 1 where one of them would not be told. Nothing is contacted, but with `--live` the
//! running Serin, for its silences.

use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::config_file::{ConfigFile, declared};
use crate::cli::known_ids::{instead, instead_in};
use crate::cli::live_silences::{self, LiveSilence};
use crate::cli::remote::RemoteArgs;
use crate::config::read::source;
use crate::domain::fleet::Fleet;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::Monitor;
use crate::domain::paging::audience::{Topic, subject, topics};
use crate::domain::paging::gathering::{Gathering, Pace, Wanted};
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
    /// before its end.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<DateTime<Utc>>,
    /// Ask the running Serin for its silences as well: what one of them holds back, now or at that moment, is told to nobody.
    #[arg(long)]
    live: bool,
    /// Where its pages are, if not where the file says, such as `https://serin.example.org`.
    #[arg(long, value_name = "URL", requires = "live")]
    url: Option<String>,
    /// Its token; without it, the one of the file.
    #[arg(long, env = "SERIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
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
    /// With what each of them waits to be told; none where it is told at once.
    waits: Vec<Option<Gathering>>,
    /// The windows that hold it back, each with its end.
    held: Vec<(&'f MaintenanceWindow, DateTime<Utc>)>,
    /// The silences that do.
    silenced: Vec<&'f LiveSilence>,
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
/// A file that cannot come into force; a monitor or a receiver that it does not have; a reason that the monitor cannot have;
/// a running Serin that does not answer.
pub(crate) async fn run(args: RouteArgs) -> anyhow::Result<ExitCode> {
    let RouteCommand::Test(args) = args.command;
    let loaded = declared(&source::read(&args.config.path()?)?)?;
    let fleet = &loaded.fleet;
    let Some(monitor) = fleet.monitors.iter().find(|monitor| monitor.id.as_str() == args.monitor) else {
        anyhow::bail!("no monitor '{}'; {}", args.monitor, instead_in(&loaded, &args.monitor));
    };
    let receivers: Vec<&str> = fleet.receivers.iter().map(|receiver| receiver.name.as_str()).collect();
    if let Some(name) = args.expect.iter().find(|name| fleet.receiver(name).is_none()) {
        anyhow::bail!("no receiver '{name}'; {}", instead(name, &receivers, receivers.len()));
    }
    let silences = if args.live { silences(&args).await? } else { Vec::new() };
    let heard = heard(&args, (fleet, &silences), monitor);
    anyhow::ensure!(!heard.is_empty(), "monitor '{}' cannot have that, as it is declared", args.monitor);
    let misses = |one: &Heard<'_>| -> Vec<String> {
        let is_told = |name: &str| {
            one.held.is_empty() && one.silenced.is_empty() && one.by.iter().any(|hearer| hearer.receiver == name)
        };
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

/// The silences of the Serin that the file starts, or of another one.
async fn silences(args: &TestArgs) -> anyhow::Result<Vec<LiveSilence>> {
    let (config, url, token) = (args.config.path()?, args.url.clone(), args.token.clone());
    live_silences::silences(&RemoteArgs { config, url, token }).await
}

/// What is asked for, each topic once; reasons of a signal that are told alike stay apart, so that each can be looked up.
fn heard<'f>(args: &TestArgs, (fleet, silences): (&'f Fleet, &'f [LiveSilence]), monitor: &Monitor) -> Vec<Heard<'f>> {
    let now = args.at.unwrap_or_else(Utc::now);
    let is_meant = |(topic, severity): &(Topic, Severity)| {
        args.reason.is_none_or(|reason| topic.reason == Some(reason))
            && args.severity.is_none_or(|wanted| *severity == wanted)
    };
    let told = |(topic, severity): (Topic, Severity)| {
        let subject = subject(monitor, topic, severity);
        let by = hearers(&fleet.routes, subject);
        let run = |window: &'f MaintenanceWindow| Some((window, window.run_at(args.at?)?.to));
        let silenced = silences.iter().filter(|silence| silence.holds(subject, now)).collect();
        let waits = by.iter().map(|hearer| waits(fleet, subject, hearer.receiver, now)).collect();
        let windows = fleet.maintenance.iter().filter(|window| fits(&window.matches, subject));
        Heard {
            topic,
            severity,
            by,
            waits,
            held: windows.filter_map(run).collect(),
            silenced,
            follow: follow_ups(fleet, subject),
        }
    };
    topics(monitor).into_iter().filter(is_meant).map(told).collect()
}

/// With what a receiver's message waits to be told.
fn waits(fleet: &Fleet, subject: Subject<'_>, receiver: &str, now: DateTime<Utc>) -> Option<Gathering> {
    let is_for_people = fleet.receiver(receiver).is_some_and(|receiver| receiver.channel.is_for_people());
    let wanted = Wanted { routes: &fleet.routes, subject, told_in: None, is_first: true };
    wanted.gathering(receiver, || false, now).filter(|_| is_for_people)
}

/// Such as ` in one message with team=docs, after 30 s and then every 5 min`.
fn said_wait(gathering: &Gathering) -> String {
    match gathering.pace {
        Pace::Until(at) => format!(", in the digest of {}", at.to_rfc3339_opts(SecondsFormat::Secs, true)),
        Pace::Rhythm { wait, interval, .. } => {
            format!(", in one message with {}, after {} and then every {}", gathering.key, span(wait), span(interval))
        }
    }
}

/// Such as `page    errors pool_saturated: oncall (webhook, line 12; else mail), log (webhook, line 14)`.
fn line(heard: &Heard<'_>, missing: &[String], fleet: &Fleet) -> String {
    let one = |(hearer, waits): (&Hearer<'_>, &Option<Gathering>)| {
        let channel = fleet.receiver(hearer.receiver).map_or("gone", |receiver| match receiver.channel {
            Channel::Email { .. } => "e-mail",
            ref other => other.key(),
        });
        let fallback = hearer.fallback.map(|name| format!("; else {name}")).unwrap_or_default();
        let waits = waits.as_ref().map(said_wait).unwrap_or_default();
        format!("{} ({channel}, line {}{fallback}{waits})", hearer.receiver, hearer.line)
    };
    let to = heard.by.iter().zip(&heard.waits).map(one).collect::<Vec<_>>().join(", ");
    let to = if to.is_empty() { "nobody" } else { &to };
    let window = |(window, until): &(&MaintenanceWindow, DateTime<Utc>)| {
        format!("  – held back by {} (line {}) until {}", window.called(), window.line, window.shown(*until))
    };
    let silence = |silence: &&LiveSilence| {
        let until = match silence.until {
            Some(until) => format!(" until {}", until.to_rfc3339_opts(SecondsFormat::Secs, true)),
            None => ", until its incident is resolved".to_owned(),
        };
        format!("  – silenced by {} ({}){until}", silence.author, silence.id)
    };
    let held: String = heard.held.iter().map(window).chain(heard.silenced.iter().map(silence)).collect();
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
    let together = |gathering: &Gathering| match gathering.pace {
        Pace::Until(at) => json!({ "key": gathering.key, "until": at }),
        Pace::Rhythm { wait, interval, .. } => {
            json!({ "key": gathering.key, "wait_seconds": wait.as_secs(), "interval_seconds": interval.as_secs() })
        }
    };
    let to = heard.by.iter().zip(&heard.waits).map(|(hearer, waits)| {
        let together = waits.as_ref().map(together);
        json!({ "receiver": hearer.receiver, "fallback": hearer.fallback, "line": hearer.line, "together": together })
    });
    let held = heard
        .held
        .iter()
        .map(|(window, until)| json!({ "maintenance": window.called(), "line": window.line, "until": until }));
    let silenced = heard.silenced.iter();
    let silenced = silenced.map(|one| json!({ "silence": one.id, "author": one.author, "until": one.until }));
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
        "held_back_by": held.chain(silenced).collect::<Vec<_>>(),
        "unless_taken": follow.collect::<Vec<_>>(),
        "missing": missing,
    })
}
