//! Two Serins on one database: each watches a part of the fleet, and whoever is left all of it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::Place;

pub(crate) fn serin(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["run", "--config", "monitors.yaml"]).current_dir(folder).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// What a program says, which goes on being read: one that nobody listens to may end by itself.
pub(crate) struct Said<R>(tokio::io::Lines<BufReader<R>>);

impl<R: AsyncRead + Unpin> Said<R> {
    pub(crate) fn of(out: Option<R>) -> Self {
        Self(BufReader::new(out.expect("it is read")).lines())
    }

    /// Reads on until a line says so.
    pub(crate) async fn until(&mut self, what: &str) {
        let said = async {
            while let Some(line) = self.0.next_line().await.expect("it is read") {
                if line.contains(what) {
                    return;
                }
            }
            panic!("it ended without saying '{what}'");
        };
        tokio::time::timeout(Duration::from_secs(60), said).await.expect("it is said by then");
    }
}

/// How many shards each machine has, by its name.
async fn shares(place: &Place) -> Vec<i64> {
    let counts = "SELECT COUNT(*)::text FROM leases WHERE node IS NOT NULL GROUP BY node ORDER BY 1";
    place.read(counts).await.iter().map(|count| count.parse().expect("a number")).collect()
}

/// Waits until it is so.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let so = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), so).await.expect("it comes to that");
}

#[tokio::test]
async fn two_share_a_fleet_and_the_one_that_is_left_watches_all_of_it() {
    let place = Place::new();
    place.make("").await;
    let monitors: String =
        (0..12).map(|nth| format!("  - {{ id: m{nth}, url: \"http://127.0.0.1:9/{nth}\", every: 10s }}\n")).collect();
    let yaml = format!(
        "version: 1\nserin: {{ listen: 127.0.0.1:0, database: \"{}\", allow_private: [127.0.0.0/8] }}\n\
         receivers:\n  hook: {{ webhook: {{ url: \"http://127.0.0.1:9/hook\" }} }}\nroutes: [{{ to: [hook] }}]\n\
         monitors:\n{monitors}",
        place.name()
    );
    std::fs::write(place.folder.path().join("monitors.yaml"), &yaml).expect("a file");
    let mut first = serin(place.folder.path());
    Said::of(first.stdout.take()).until("serin watches 12 monitors").await;
    until(async || shares(&place).await == [256]).await;
    let mut second = serin(place.folder.path());
    let mut said = Said::of(second.stdout.take());
    said.until("serin watches 12 monitors").await;
    until(async || shares(&place).await == [128, 128]).await;
    let seen_since = async |moment: i64| {
        let seen = format!("SELECT COUNT(DISTINCT monitor) FROM beats WHERE started_at > {moment}");
        place.number(&seen).await
    };
    let now = async || place.number("SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000000 AS BIGINT)").await;
    let shared_at = now().await;
    until(async || seen_since(shared_at).await == 12).await;
    let twice = "SELECT COUNT(*) FROM incidents GROUP BY monitor, signal HAVING COUNT(*) > 1";
    first.kill().await.expect("it is killed");
    until(async || shares(&place).await == [256]).await;
    let taken_at = now().await;
    until(async || seen_since(taken_at).await == 12).await;
    assert_eq!(place.read(twice).await, Vec::<String>::new(), "what was open goes on, and nothing opens twice");
    second.kill().await.expect("it ends");
}
