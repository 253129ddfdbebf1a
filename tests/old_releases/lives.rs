//! Everything that Serin does with a server, and after each of it a look whether the server still lives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures_util::future::join_all;
use serin::domain::monitor::{Canary, CanaryKind, Monitor};
use serin::domain::observation::Observation;
use serin::domain::server_profile::ServerProfile;
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;
use tokio::sync::Semaphore;

use crate::common::monitors::{address, assignment, canary};
use crate::release::{Counts, Manner, Release, Server};
use crate::serin::{Watch, serin};

/// Servers that are looked at at a time, by all tests together: more would only wait for the processor, and run into
/// time-outs.
static TURNS: Semaphore = Semaphore::const_new(4);
/// What a day of a monitor that beats every seven minutes has.
const BEATS: usize = 200;
/// `init` looks for a shape, for canaries, and at what it proposes.
const SESSIONS_OF_INIT: usize = 3;
/// Beats that found a server not well, and how many of them. One that was missed on a machine under load says nothing.
const BAD: &str = "SELECT monitor, outcome, COALESCE(reason, ''), CAST(COUNT(*) AS TEXT) FROM beats
                   WHERE seen = 'seen' AND outcome <> 'good' GROUP BY 1, 2, 3";
/// A slow machine under load still answers within this.
const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn old_releases_with_sessions_live_on_with_one_kept() {
    outlived(Release::kept()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn old_releases_without_sessions_live_on_and_are_asked_no_discover() {
    outlived(Release::sessionless()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn newer_releases_live_on_and_have_every_session_closed() {
    outlived(Release::closed()).await;
}

/// A server, what it had counted when we last looked, and what we did to it.
pub(crate) struct Ledger {
    pub(crate) server: Server,
    before: Counts,
    pub(crate) grievances: Vec<String>,
}

impl Ledger {
    pub(crate) async fn open(release: Release) -> Self {
        Self { server: Server::start(release).await, before: Counts::default(), grievances: Vec::new() }
    }

    pub(crate) fn aggrieved(&mut self, what: &str, how: impl std::fmt::Display) {
        self.grievances.push(format!("{}: {what}: {how}", self.server.release));
    }

    /// After something was done: the server lives, and saw nothing that it must not see. A dead one is started again,
    /// so that the next thing is looked at by itself.
    pub(crate) async fn settle(&mut self, what: &str, sessions_max: usize) {
        let counts = self.server.counts().await;
        for wrong in wrongs(self.server.release.manner, &self.before, &counts, sessions_max) {
            self.aggrieved(what, wrong);
        }
        self.before = counts;
        if let Err(dead) = self.server.lives().await {
            self.aggrieved(what, format!("the server is dead: {dead}"));
            self.start_again().await;
        }
    }

    /// Restarts the server, whose counts begin anew.
    pub(crate) async fn start_again(&mut self) {
        self.server.start_again().await;
        self.before = Counts::default();
    }
}

/// What was done that must not be done, or left that must be closed.
fn wrongs(manner: Manner, before: &Counts, now: &Counts, sessions_max: usize) -> Vec<String> {
    let more = |method| now.of(method) - before.of(method);
    let opened = now.opened.difference(&before.opened).count();
    let mut found = Vec::new();
    if manner != Manner::Closed {
        let harmful = ["server/discover", "DELETE"].into_iter().filter(|method| more(method) > 0);
        found.extend(harmful.map(|method| format!("it was sent {} {method}", more(method))));
    }
    let most = match manner {
        Manner::Kept => sessions_max,
        Manner::Sessionless => 0,
        Manner::Closed => usize::MAX,
    };
    if opened > most {
        found.push(format!("{opened} sessions were opened, and {most} would do"));
    }
    let left = now.opened.difference(&now.deleted).count();
    if manner == Manner::Closed && left > 0 {
        found.push(format!("{left} of {} sessions are left open", now.opened.len()));
    }
    if now.repeated > before.repeated {
        found.push("two requests of a session had one id: their answers go astray".to_owned());
    }
    found
}

/// All that is done, to some servers.
async fn outlived(releases: Vec<Release>) {
    let began = std::time::Instant::now();
    let mut ledgers = each(releases, looked_at).await;
    println!("looked at in {:?}", began.elapsed());
    watched(&mut ledgers).await;
    println!("and watched in {:?}", began.elapsed());
    none(ledgers);
}

/// Does something with each release, a few at a time.
pub(crate) async fn each<T>(releases: Vec<Release>, what: impl AsyncFn(Release) -> T) -> Vec<T> {
    let one = async |release| {
        let _turn = TURNS.acquire().await.expect("it is never closed");
        what(release).await
    };
    join_all(releases.into_iter().map(one)).await
}

/// Nobody has anything to say against us.
pub(crate) fn none(ledgers: Vec<Ledger>) {
    let grievances: Vec<String> = ledgers.into_iter().flat_map(|ledger| ledger.grievances).collect();
    assert!(grievances.is_empty(), "{} grievances:\n{}", grievances.len(), grievances.join("\n"));
}

/// What needs no Serin that runs: `init`, `probe URL` twice, and many beats on what is learnt.
async fn looked_at(release: Release) -> Ledger {
    let mut ledger = Ledger::open(release).await;
    let url = ledger.server.url();
    let said = serin(&["init", &url]).await;
    if said.code != Some(0) || said.out.matches("expect:").count() < 3 {
        ledger.aggrieved("init", said.short());
    }
    ledger.settle("init", SESSIONS_OF_INIT).await;
    for what in ["probe URL", "probe URL once more"] {
        let before = ledger.server.counts().await;
        let said = serin(&["probe", &url, "--json"]).await;
        let after = ledger.server.counts().await;
        if said.code != Some(0) {
            ledger.aggrieved(what, said.short());
        } else if let Some(wrong) = misstated(&said.out, &before, &after) {
            ledger.aggrieved(what, wrong);
        }
        ledger.settle(what, 1).await;
    }
    if let Err(wrong) = beaten(&ledger.server, BEATS).await {
        ledger.aggrieved("beats", wrong);
    }
    ledger.settle("beats", 1).await;
    ledger
}

/// Where the footprint says something else than the server counted.
fn misstated(probe: &str, before: &Counts, after: &Counts) -> Option<String> {
    let probe: serde_json::Value = serde_json::from_str(probe).expect("JSON");
    let said = ["sessions_opened", "sessions_closed"].map(|key| probe["footprint"][key].as_u64().expect("a figure"));
    let [opened, closed] =
        [after.opened.difference(&before.opened), after.deleted.difference(&before.deleted)].map(Iterator::count);
    let counted = [opened as u64, closed as u64];
    (said != counted).then(|| format!("it says sessions opened, closed: {said:?}; the server counted {counted:?}"))
}

/// So many beats, each on what the one before it learnt.
async fn beaten(server: &Server, beats: usize) -> Result<(), String> {
    let mut beating = Beating::of(server);
    for nth in 1..=beats {
        beating.beat().await.map_err(|wrong| format!("beat {nth}: {wrong}"))?;
    }
    Ok(())
}

/// A monitor that is probed by hand, with what was learnt.
pub(crate) struct Beating {
    monitor: Arc<Monitor>,
    prober: Prober,
    profile: Option<ServerProfile>,
}

impl Beating {
    pub(crate) fn of(server: &Server) -> Self {
        let mut monitor = Monitor::undeclared("m", address(&server.url()));
        monitor.search.arguments = BTreeMap::from([("top_k".to_owned(), "2".to_owned())]);
        monitor.search.per_beat = 1;
        monitor.canaries = vec![Canary {
            query: "ERR-4417".to_owned(),
            kind: CanaryKind::Keyword,
            expect: vec!["errors/4417.md".to_owned()],
            within: 2,
            ..canary("err-4417")
        }];
        (monitor.every, monitor.timeout, monitor.probe_budget) = (TIMEOUT, TIMEOUT, TIMEOUT * 4);
        Self { monitor: Arc::new(monitor), prober: Prober::new(4), profile: Some(ServerProfile::default()) }
    }

    /// One beat, which finds the server well.
    pub(crate) async fn beat(&mut self) -> Result<(), String> {
        let seen = self.look().await;
        let fault = seen.steps.iter().find_map(|step| step.fault.as_ref());
        let found = seen.asks.iter().all(|ask| match &ask.result {
            Some(Ok(answer)) => answer.hits.first().is_some_and(|hit| hit.source == "errors/4417.md"),
            _ => false,
        });
        if fault.is_none() && found && seen.asks.len() == 1 {
            Ok(())
        } else {
            Err(format!("{fault:?} {:?}", seen.asks))
        }
    }

    /// One beat, whatever it finds.
    pub(crate) async fn look(&mut self) -> Observation {
        let profile = self.profile.take().expect("the last beat ended");
        let assignment = Assignment { profile, ..assignment(Arc::clone(&self.monitor), Utc::now()) };
        let (seen, profile) = self.prober.run(&assignment).await;
        self.profile = Some(profile);
        seen
    }
}

/// `serin run` over all of them, the commands that ask about one of its monitors, and `serin run` anew.
async fn watched(ledgers: &mut [Ledger]) {
    let mut watch = Watch::over(ledgers.iter().map(|ledger| &ledger.server), "12s");
    watch.run().await;
    watch.beats(ledgers.len(), 2).await;
    asked_about(ledgers, &watch, &["probe", "recheck"], "while serin runs").await;
    watch.beats(ledgers.len(), 1).await;
    watch.stop().await;
    asked_about(ledgers, &watch, &["probe"], "after serin ended").await;
    watch.run().await;
    watch.beats(ledgers.len(), 1).await;
    watch.stop().await;
    for ledger in ledgers.iter_mut() {
        ledger.settle("serin run, twice, and the commands about it", 1).await;
    }
    let bad = watch.rows(BAD).await;
    let opened = watch.rows("SELECT monitor, reason, summary FROM incidents").await;
    for row in bad.into_iter().chain(opened) {
        let nth: usize = row[0][1..].parse().expect("the number of a monitor");
        ledgers[nth].aggrieved("serin run", row[1..].join(", "));
    }
}

/// Commands about each monitor, of which none opens a session where one is kept.
async fn asked_about(ledgers: &mut [Ledger], watch: &Watch, commands: &[&str], when: &str) {
    for (number, ledger) in ledgers.iter_mut().enumerate() {
        for command in commands {
            let said = watch.serin(&[command, &format!("s{number}")]).await;
            let is_kept = ledger.server.release.manner == Manner::Kept && *command == "probe";
            if said.code != Some(0) || (is_kept && !said.all.contains("kept session")) {
                ledger.aggrieved(&format!("{command} ID {when}"), said.short());
            }
        }
    }
}
