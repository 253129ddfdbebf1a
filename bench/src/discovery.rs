//! How soon a long list is watched, and whether beats elsewhere notice that it changes all the time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::report::row;
use crate::target::address;
use crate::{fleet, start_target, usage};
use serin::app::{self, Options, Running};

/// Monitors that people wrote, beside which the list changes.
const WRITTEN: u64 = 1_000;
/// A list that is not watched by then never is.
const WATCHED_MAX: Duration = Duration::from_secs(120);
/// Between two changes, as often as a list may be read.
const EVERY: Duration = Duration::from_secs(5);

/// Measures how soon a long list is watched, and what its changes cost the beats of others
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DiscoveryBench {
    /// Servers on the list, a beat a minute each.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=40_000))]
    servers: u64,
    /// Changes a minute: a third of them come, a third go, a third say something else.
    #[arg(long, default_value_t = 1_000)]
    changes: u64,
    /// How long it changes. More than a fifth that goes within an hour is held.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(10..=600))]
    seconds: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the program cannot start, or does not take the list.
pub(crate) async fn run(args: &DiscoveryBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &DiscoveryBench, folder: &Path) -> anyhow::Result<()> {
    let (_target, ports) = start_target().await?;
    let config = folder.join("monitors.yaml");
    std::fs::write(&config, yaml(&ports.modern, folder))?;
    put(folder, "[]")?;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let shutdown = CancellationToken::new();
    let running = app::start(Options::new(config, Arc::new(|_: &str| None)), shutdown.clone()).await?;
    // Once the empty list was read and the written fleet beats, nothing of a start is measured.
    tokio::time::sleep(Duration::from_secs(65)).await;
    let mut list = List { port: ports.modern.clone(), servers: (0..args.servers).map(|number| (number, 0)).collect() };
    put(folder, &list.text())?;
    let watched = watched(&running, WRITTEN + args.servers).await?;
    let what = format!("a list of {} read, checked, kept and watched, beside {WRITTEN} beats a minute", args.servers);
    row(&what, &format!("{:.2} s", watched.as_secs_f64()), "≤ 2 s");
    tokio::time::sleep(Duration::from_secs(65)).await;

    let metrics = running.live.metrics();
    let (missed, late, beats, cpu) = (metrics.missed(), metrics.lateness(), fleet::beats(metrics), usage::cpu());
    let (began, mut turn, each) = (Instant::now(), tokio::time::interval(EVERY), args.changes * EVERY.as_secs() / 60);
    while began.elapsed() < Duration::from_secs(args.seconds) {
        turn.tick().await;
        list.change(each);
        put(folder, &list.text())?;
        ask(&running).await?;
    }
    let took = began.elapsed().as_secs_f64();
    let late: Vec<u64> = metrics.lateness().iter().zip(&late).map(|(now, before)| now - before).collect();
    let (beats, cpu) = (fleet::beats(metrics) - beats, (usage::cpu() - cpu).as_secs_f64());
    let measured = format!(
        "{} missed of {beats} beats, start lateness p99 {}, worst {}; {:.0} % of a core in all",
        metrics.missed() - missed,
        fleet::bound(&late, 0.99),
        fleet::bound(&late, 1.0),
        cpu / took * 100.0
    );
    row(&format!("{} changes of the list a minute", each * 60 / EVERY.as_secs()), &measured, "no missed beat");
    shutdown.cancel();
    running.ended().await
}

/// From asking for the list to so many that are watched.
async fn watched(running: &Running, count: u64) -> anyhow::Result<Duration> {
    let began = Instant::now();
    ask(running).await?;
    while (running.live.all().len() as u64) < count {
        anyhow::ensure!(began.elapsed() < WATCHED_MAX, "{} of {count} are watched", running.live.all().len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(began.elapsed())
}

async fn ask(running: &Running) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://{}/api/v1/discover/prod/read", running.address);
    client.post(url).json(&json!({})).send().await?.error_for_status()?;
    Ok(())
}

fn yaml(port: &str, folder: &Path) -> String {
    let written: String = (0..WRITTEN)
        .map(|number| format!("\n  - {{ id: m{number}, url: \"http://{}:{port}/mcp\" }}", address(number)))
        .collect();
    // It is read when it is asked for.
    format!(
        "version: 1\nserin: {{ listen: \"127.0.0.1:0\", database: \"{}\", allow_private: [127.0.0.0/8] }}\n\
         defaults: {{ every: 60s, timeout: 5s }}\ndiscover:\n  from:\n    - {{ id: prod, file_sd: [targets.json], \
         every: 24h, allow_private: [127.0.0.0/8] }}\nmonitors:{written}\n",
        folder.join("bench.db").display()
    )
}

/// A list of servers, each with a number that says which it is and one of a label that changes.
struct List {
    port: String,
    servers: VecDeque<(u64, u64)>,
}

impl List {
    /// A third of so many go, as many come, and as many in the middle say something else.
    fn change(&mut self, count: u64) {
        let third = usize::try_from(count / 3).unwrap_or(usize::MAX).min(self.servers.len() / 3);
        for _ in 0..third {
            let newest = self.servers.back().map_or(0, |(number, _)| *number);
            self.servers.pop_front();
            self.servers.push_back((newest + 1, 0));
        }
        let middle = self.servers.len() / 3;
        self.servers.iter_mut().skip(middle).take(third).for_each(|(_, said)| *said += 1);
    }

    fn text(&self) -> String {
        let group = |(number, said): &(u64, u64)| {
            let labels = json!({ "__id__": format!("s{number}"), "env": "prod", "version": said.to_string() });
            json!({ "targets": [format!("http://{}:{}/mcp", address(*number), self.port)], "labels": labels })
        };
        Value::Array(self.servers.iter().map(group).collect()).to_string()
    }
}

/// In one step, as whatever makes such lists should.
fn put(folder: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(folder.join("targets.new"), text)?;
    Ok(std::fs::rename(folder.join("targets.new"), folder.join("targets.json"))?)
}
