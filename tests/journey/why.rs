//! Why was I (not) paged? One answer, in the terminal, in the API and on a page.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::quiet::{EMPTY, declared, held};
use crate::stage::{Stage, reference};

/// The first line of `serin why`, which has to be what API and page answer too.
async fn answer(stage: &Stage, id: &str, path: &str) -> String {
    let (code, said) = stage.runs(&["why", id]).await;
    assert_eq!(code, Some(0), "{said}");
    let sentence = said.lines().next().unwrap().to_owned();
    let body = stage.json(&format!("/api/v1{path}")).await;
    assert_eq!(body["answer"], sentence, "{body:#}");
    let page = stage.page(path).await;
    let plain = page.replace("&#60;", "<").replace("&#62;", ">").replace("&#39;", "'");
    assert!(plain.contains(&sentence), "{sentence}: {page}");
    let (_, json) = stage.runs(&["why", id, "--json"]).await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["answer"], sentence, "{json:#}");
    sentence
}

/// Waits until nothing is still on its way to a receiver.
async fn brought(stage: &Stage, incident: &str) {
    let all = async {
        while let body = stage.json(&format!("/api/v1/incidents/{incident}")).await
            && body["deliveries"].as_array().unwrap().iter().any(|one| one["state"] != "sent")
        {
            stage.changed().await;
        }
    };
    stage.soon("everything is brought", all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_why_is_answered_alike_in_terminal_api_and_page() {
    let server = reference().await;
    let gone = "  - id: gone\n    url: http://127.0.0.1:9/mcp\n    rules: { availability: { page_after: 1h } }\n";
    let monitors = format!("{}{gone}", declared(&server.mcp_url()));
    let stage = Stage::start(&monitors).await;
    stage.well("docs").await;
    let add =
        ["silence", "add", "--label", "team=docs", "--comment", "we reindex", "--as", "kim", "--for", "2h", "--url"];
    let (code, said) = stage.runs(&[&add[..], &[&stage.pages]].concat()).await;
    assert_eq!(code, Some(0), "{said}");

    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let incident = held(&stage, "silence").await;
    let id = incident["id"].as_str().unwrap();
    let why = format!("/incidents/{id}/why");
    let said = answer(&stage, id, &why).await;
    assert!(
        said.starts_with("docs quality (empty_results, page), opened ")
            && said.contains("nobody is notified, it is silenced by kim: we reindex since "),
        "{said}"
    );
    let (code, part) = stage.runs(&["why", &id[..id.len() - 4]]).await;
    assert!(code == Some(0) && part.starts_with(&said), "by the beginning of its id: {part}");
    assert!(
        part.contains("held       silenced by kim: we reindex, from ") && part.contains("quality      open since "),
        "{part}"
    );
    let page = stage.page(&format!("/incidents/{id}")).await;
    assert!(
        page.contains("Nobody is notified, it is silenced by kim: we reindex"),
        "the incident's own page says it: {page}"
    );

    let list = stage.json("/api/v1/silences").await;
    let silence = list["silences"][0]["id"].as_str().unwrap();
    let (code, said) = stage.runs(&["silence", "end", silence, "--as", "lee", "--url", &stage.pages]).await;
    assert_eq!(code, Some(0), "{said}");
    let opened = stage.opened("the silence is over", EMPTY).await;
    brought(&stage, id).await;
    let said = answer(&stage, id, &why).await;
    assert!(
        said.contains(": inbox and mail were notified ")
            && said.contains("; until then it was silenced by kim: we reindex."),
        "{said}"
    );
    assert!(said.contains("monitors.yaml:"), "by the lines of the routes: {said}");
    server.faults().off(Fault::EmptyResults);
    stage.resolved("it ends", &opened).await;

    let quiet = "maintenance:\n  - { name: reindex, match: { monitor: docs }, cron: \"* * * * *\", for: 2h }\n";
    stage.declare(&format!("{monitors}{quiet}"));
    let on = async {
        while !stage.json("/api/v1/silences").await["maintenance"][0]["on_until"].is_string() {
            stage.changed().await;
        }
    };
    stage.soon("the window is in force", on).await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let second = held(&stage, "window").await;
    let id = second["id"].as_str().unwrap();
    let said = answer(&stage, id, &format!("/incidents/{id}/why")).await;
    assert!(said.contains("nobody is notified, it is in maintenance (") && said.contains("monitors.yaml:"), "{said}");

    let pending = async {
        loop {
            let (_, said) = stage.runs(&["why", "gone"]).await;
            if said.contains("waits for page_after") {
                return said;
            }
            stage.changed().await;
        }
    };
    let said = stage.soon("gone has failed often enough, and not for long enough", pending).await;
    assert!(said.starts_with("Nobody was notified of gone at "), "{said}");
    assert!(
        said.contains("availability waits for page_after: for ") && said.contains(" of 1h, and one more failed beat"),
        "{said}"
    );
    assert!(said.contains("notifies   inbox (monitors.yaml:"), "who would be told, by which line: {said}");

    let then = incident["opened_at"].as_str().unwrap();
    let before = chrono::DateTime::parse_from_rfc3339(then).unwrap() - chrono::TimeDelta::hours(5);
    let (code, said) = stage.runs(&["why", "docs", "--at", &before.to_rfc3339()]).await;
    assert!(code == Some(0) && said.contains("Serin had not looked at it in the week before"), "{said}");
    let (code, said) = stage.runs(&["why", "dcos"]).await;
    assert!(code == Some(1) && said.contains("neither a monitor nor an incident is 'dcos'"), "{said}");
    let (code, said) = stage.runs(&["why", "docs", "--at", "2999-01-01T00:00:00Z"]).await;
    assert!(code == Some(1) && said.contains("lies ahead"), "{said}");
}
