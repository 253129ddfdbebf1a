//! Two servers that are declared to be the same, and answer otherwise.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference};

/// Eleven words that stand in one source each: another embedding model moves all that comes after it, and loses none.
const WORDS: [(&str, &str, &str); 11] = [
    ("card", "OC-31", "reference/oncall.md"),
    ("life", "TK-73", "reference/tokens.md"),
    ("mix", "splitmix64", "reference/embedding.md"),
    ("authors", "Cormack Clarke Büttcher 2009", "reference/fusion.md"),
    ("backup", "VACUUM INTO", "reference/backup.md"),
    ("schema", "INDEX_SCHEMA_MISMATCH", "reference/backup.md"),
    ("pool", "QueuePool limit of size 5 overflow 10 reached", "runbooks/pool_saturated.md"),
    ("refused", "ECONNREFUSED", "runbooks/connection_refused.md"),
    ("table", "\"nf_conntrack: table full, dropping packet\"", "runbooks/connect_timeout.md"),
    ("scope", "insufficient_scope", "runbooks/auth_rejected.md"),
    ("touch", "vmtouch", "runbooks/cold_start.md"),
];

/// A monitor of the first address, and its replica of this id of the second.
pub(crate) fn declared(first: &str, (replica, second): (&str, &str)) -> String {
    let canary = |(id, query, source): &(&str, &str, &str)| {
        format!("\n      - {{ id: {id}, query: {query}, expect: [{source}], kind: keyword }}")
    };
    let canaries: String = WORDS.iter().map(canary).collect();
    let monitor = |id: &str, url: &str, more: &str| {
        format!(
            "  - id: {id}\n    url: {url}\n    search: {{ per_beat: 6, arguments: {{ top_k: 10 }} }}{more}\n    canaries:{canaries}\n"
        )
    };
    monitor("docs", first, "") + &monitor(replica, second, "\n    replicas_of: docs")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_answers_otherwise_is_told_once_and_by_itself() {
    let (first, second) = (reference().await, reference().await);
    let stage = Stage::start(&declared(&first.mcp_url(), ("docs-b", &second.mcp_url()))).await;
    stage.well("docs").await;
    stage.well("docs-b").await;
    let page = stage.page("/monitors/docs-b").await;
    let armed = page.split("<li ").find(|line| line.contains("quality.checks.replicas")).expect("it is listed");
    assert!(armed.contains("</svg>armed</b>"), "{armed}");

    second.faults().on(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel));
    let apart = Expected {
        monitor: "docs-b",
        signal: "quality",
        reason: "replica_divergence",
        severity: "ticket",
        stage: "search",
    };
    let opened = stage.opened("its lists are others", apart).await;
    assert_eq!(evidence(&opened, "replica_of"), "docs", "{opened:#?}");
    let is_shown = |(key, value): &(String, String)| {
        key.starts_with("apart.") && value.contains("first here ") && value.contains("first at 'docs' ")
    };
    assert!(opened.evidence.0.iter().any(is_shown), "what comes first on each: {opened:#?}");
    let body = stage.json("/api/v1/monitors/docs-b").await;
    let right = |canary: &Value| canary["verdict"] == "right";
    assert!(body["canaries"].as_array().unwrap().iter().all(right), "and none is wrong: {body:#}");

    second.faults().all_off();
    stage.resolved("they agree again", &opened).await;
    let told = |monitor: &str| stage.told(monitor).into_iter().map(|message| message.event).collect::<Vec<_>>();
    assert_eq!(told("docs-b"), ["incident.opened", "incident.resolved"], "told once");
    assert_eq!(told("docs"), [""; 0], "and not by the other one");
}
