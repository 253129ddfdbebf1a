//! Several machines that share a fleet on a server: whatever becomes of one of them, everything is told once.
//!
//! Where the run has no server there is nothing to share, and where it has several machines for all journeys they are more than
//! two: `tests/all.sh` runs this with a server and nothing else. Read: this file (one thing after another), then `killed` (much at
//! once, at random), on `deeds`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serin::cli::demo::inbox::Item;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::databases;
use crate::replicas;
use crate::stage::{Expected, Stage, reference};

mod link;
mod servers;
mod receiver;
mod machine;
mod scene;
mod deeds;
mod killed;

const MONITORS: usize = 8;

/// Monitors of one server, spread over the shards of the fleet.
fn declared(url: &str) -> String {
    let canary = "canaries:\n      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }";
    (0..MONITORS).map(|nth| format!("  - id: m{nth}\n    url: {url}\n    {canary}\n")).collect()
}

/// How many shards each machine has that lives, as the pages of one say.
async fn shares(stage: &Stage, pages: &str) -> Vec<u64> {
    let status = stage.client.get(format!("{pages}/api/v1/status")).bearer_auth(crate::stage::TOKEN).send().await;
    let body: Value = status.expect("it answers").json().await.expect("JSON");
    let living = body["machines"].as_array().expect("machines").iter().filter(|machine| machine["is_gone"] == false);
    living.filter_map(|machine| machine["shards"].as_u64()).collect()
}

/// Which machines watch monitors, as the list of one says.
async fn watchers(stage: &Stage, pages: &str) -> BTreeSet<String> {
    let list = stage.client.get(format!("{pages}/api/v1/monitors")).bearer_auth(crate::stage::TOKEN).send().await;
    let body: Value = list.expect("it answers").json().await.expect("JSON");
    let all = body["monitors"].as_array().expect("monitors").iter();
    all.map(|monitor| monitor["watched_by"].as_str().expect("a machine").to_owned()).collect()
}

async fn until_shared(stage: &Stage, pages: &str, expected: &[u64]) {
    let shared = async {
        while shares(stage, pages).await != expected {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    stage.soon("the fleet is shared anew", shared).await;
}

/// Waits until a machine shows the tools of a monitor, seen and accepted: it would accept others, whichever machine saw them.
async fn until_tools_are_known(stage: &Stage, pages: &str, nth: usize) {
    let url = format!("{pages}/api/v1/monitors/m{nth}/tools");
    let ask = |request: reqwest::RequestBuilder| async {
        let answer = request.bearer_auth(crate::stage::TOKEN).send().await.expect("it answers");
        answer.json::<Value>().await.expect("JSON")
    };
    let known = async {
        loop {
            let tools = ask(stage.client.get(&url)).await;
            if tools["accepted"]["hash"].is_string() && tools["accepted"]["hash"] == tools["seen"]["hash"] {
                return tools;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    let tools = stage.soon("its tools are known", known).await;
    assert!(tools["seen"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools:#}");
    let accept = format!("{pages}/api/v1/monitors/m{nth}/accept");
    let refused = ask(stage.client.post(accept).json(&serde_json::json!({ "actor": "kim" }))).await;
    assert!(refused["detail"].as_str().is_some_and(|why| why.starts_with("nothing differs")), "{refused:#}");
}

/// Waits until so many messages of a kind arrived about all of them together.
async fn until_told(stage: &Stage, event: &str, count_wanted: usize) {
    let arrived = |_: &[Item]| {
        let arrived: usize = (0..MONITORS).map(|nth| count(stage, nth, event)).sum();
        (arrived >= count_wanted).then_some(())
    };
    stage.soon(event, stage.inbox.wait_for(arrived)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_becomes_of_a_machine_everything_is_told_once() {
    if databases::server().is_none() || databases::machines() > 1 {
        return;
    }
    let server = reference().await;
    let mut stage = Stage::start(&declared(&server.mcp_url())).await;
    let pages = stage.joined().await;
    until_shared(&stage, &pages, &[128, 128]).await;
    for nth in 0..MONITORS {
        stage.well(&format!("m{nth}")).await;
    }
    // Whichever machine is asked, and whichever watches it.
    for nth in 0..MONITORS {
        let url = format!("{pages}/api/v1/monitors/m{nth}/recheck?wait=60");
        let asked = stage.client.post(url).bearer_auth(crate::stage::TOKEN).json(&serde_json::json!({})).send().await;
        let answer: Value = asked.expect("it answers").json().await.expect("what was seen, within the wait");
        assert_eq!(answer["recheck"]["verdict"], "good", "m{nth}: {answer}");
        until_tools_are_known(&stage, &pages, nth).await;
    }
    assert_eq!(watchers(&stage, &pages).await.len(), 2, "the list says who watches what");
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    until_told(&stage, "incident.opened", MONITORS).await;
    // It stands still, as a machine that sleeps: the other has all of it, and tells the end.
    stage.signal("STOP");
    until_shared(&stage, &pages, &[256]).await;
    server.faults().off(Fault::EmptyResults);
    until_told(&stage, "incident.resolved", MONITORS).await;
    stage.signal("CONT");
    until_shared(&stage, &pages, &[128, 128]).await;
    // And once more, with one that is killed while everything is open.
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    until_told(&stage, "incident.opened", 2 * MONITORS).await;
    stage.signal("KILL");
    until_shared(&stage, &pages, &[256]).await;
    server.faults().off(Fault::EmptyResults);
    until_told(&stage, "incident.resolved", 2 * MONITORS).await;
    for nth in 0..MONITORS {
        for event in ["incident.opened", "incident.resolved"] {
            assert_eq!(
                count(&stage, nth, event),
                2,
                "m{nth} {event}, each once: {:#?}",
                stage.told(&format!("m{nth}"))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_held_against_an_original_that_another_machine_watches() {
    if databases::server().is_none() || databases::machines() > 1 {
        return;
    }
    // Of the shards the upper half goes to who comes; `docs` is in the lower one.
    let (first, second, replica) = (reference().await, reference().await, "docs-c");
    let mut stage = Stage::start(&replicas::declared(&first.mcp_url(), (replica, &second.mcp_url()))).await;
    let pages = stage.joined().await;
    until_shared(&stage, &pages, &[128, 128]).await;
    stage.well("docs").await;
    stage.well(replica).await;
    assert_eq!(watchers(&stage, &pages).await.len(), 2, "each is another machine's");
    second.faults().on(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel));
    let apart = Expected {
        monitor: replica,
        signal: "quality",
        reason: "replica_divergence",
        severity: "ticket",
        stage: "search",
    };
    let opened = stage.opened("its lists are others", apart).await;
    let is_shown = |(key, value): &(String, String)| {
        key.starts_with("apart.") && value.contains("first here ") && value.contains("first at 'docs' ")
    };
    assert!(opened.evidence.0.iter().any(is_shown), "what comes first on each: {opened:#?}");
    second.faults().all_off();
    stage.resolved("they agree again", &opened).await;
}

/// How many messages of a kind arrived about a monitor: a repeated try has the same id, and counts once.
fn count(stage: &Stage, nth: usize, event: &str) -> usize {
    let told = stage.told(&format!("m{nth}"));
    let ids = told.iter().filter(|message| message.event == event).map(|message| (message.id.clone(), ()));
    ids.collect::<BTreeMap<_, _>>().len()
}
