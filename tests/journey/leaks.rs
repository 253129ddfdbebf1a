//! A server that gives one tenant what is another's.

use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use serin_reference::project::{opened::Project, place::ProjectFolder, template::TEMPLATE};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::stage::{Expected, Stage, crypto, evidence};

const ACME: &str = "acme-token-0123456789";
const OPERATOR: &str = "operators-own";
/// Source, whose it is, and what it says.
const NOTES: [(&str, &str, &str); 2] = [
    ("tenants/acme/kiln.md", "acme", "The kiln of acme is fired with beech on Mondays."),
    ("tenants/bolt/kiln.md", "bolt", "The kiln of bolt is fired with peat on Fridays."),
];

/// A server of two tenants, who both have a note about kilns; in the folder lies the token of one.
async fn of_two_tenants() -> (LabServer, TempDir) {
    crypto();
    let folder = tempfile::tempdir().unwrap();
    let tenants = format!(
        "tenants:\n  acme: {{ token: {ACME}, collections: [acme] }}\n  bolt: {{ token: bolt-token-0123456789, collections: [bolt] }}\n"
    );
    ProjectFolder::set_up(folder.path(), &format!("{TEMPLATE}\n{tenants}"), false).unwrap();
    std::fs::write(folder.path().join("token"), ACME).unwrap();
    let (project, bearer) = (Some(Project::find(folder.path()).unwrap()), Some(OPERATOR.to_owned()));
    let options = LabOptions { project, bearer, corpus: Corpus::Empty, ..LabOptions::default() };
    let server = server::serve(options, CancellationToken::new()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (source, collection, text) in NOTES {
        let note = json!({"source": source, "collection": collection, "source_type": "document", "text": text});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "index_document", "arguments": note}});
        let request = client.post(server.mcp_url()).bearer_auth(OPERATOR).header("MCP-Protocol-Version", "2025-11-25");
        let request = request.header("Accept", "application/json, text/event-stream").json(&call);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "{answer}");
    }
    (server, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_source_is_a_leak_until_it_is_seen_no_more() {
    let (server, folder) = of_two_tenants().await;
    let (url, token) = (server.mcp_url(), folder.path().join("token"));
    let stage = Stage::start(&format!(
        "  - id: kilns\n    url: {url}\n    auth: {{ bearer: \"${{file:{}}}\" }}\n    canaries:\n      - {{ id: own, query: when is the kiln fired, expect: [tenants/acme/kiln.md], forbid: [tenants/bolt/**] }}\n      - {{ id: anothers, query: what is fired with peat on Fridays, forbid: [tenants/bolt/**] }}\n",
        token.display()
    ))
    .await;
    stage.well("kilns").await;
    server.faults().on(Fault::TenantLeak, Dose::of(Fault::TenantLeak));
    let leak =
        Expected { monitor: "kilns", signal: "access", reason: "tenant_leak", severity: "page", stage: "search" };
    let opened = stage.opened("the filter is forgotten", leak).await;
    for canary in ["canary.own", "canary.anothers"] {
        let said = evidence(&opened, canary);
        assert_eq!(said, "got tenants/bolt/kiln.md, which tenants/bolt/** forbids", "{opened:#?}");
    }
    server.faults().all_off();
    stage.resolved("the filter is forgotten", &opened).await;
    let events: Vec<String> = stage.told("kilns").into_iter().map(|message| message.event).collect();
    assert_eq!(events, ["incident.opened", "incident.resolved"], "one page, one resolve, and nothing about quality");
}
