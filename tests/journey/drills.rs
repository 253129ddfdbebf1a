//! A drill by the clock, with the real binary: who takes it is timed, who does not is told of, and both once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use chrono::{TimeDelta, Timelike as _, Utc};
use serde_json::Value;
use serin::cli::demo::inbox::{InboxItem, Item};
use tokio::net::TcpListener;

use crate::stage::{Stage, evidence, reference};

/// A webhook that answers 500 until it is mended, and its address.
async fn broken() -> (String, Arc<AtomicBool>) {
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&is_mended);
    let answer = move || {
        let is_mended = mended.load(Ordering::Relaxed);
        async move { if is_mended { StatusCode::NO_CONTENT } else { StatusCode::INTERNAL_SERVER_ERROR } }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(answer))).await });
    (url, is_mended)
}

/// Has the file's drills be known for a day, as if it were not the first start on it.
async fn known_for_a_day(stage: &Stage) {
    let changed = stage.write("UPDATE drills SET since = since - 86400000000").await;
    assert_eq!(changed, 1, "the first start took note of it");
}

/// What the API says of a receiver's last drill, once that is over.
async fn last_drill(stage: &Stage, receiver: &str) -> Value {
    let over = async {
        loop {
            let body = stage.json("/api/v1/receivers").await;
            let one = body["receivers"].as_array().unwrap().iter().find(|one| one["name"] == receiver).unwrap();
            let drill = &one["last_drill"];
            if drill.is_object() && drill["ended"] != "awaited" {
                return drill.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    stage.soon(&format!("what came of the drill of {receiver} is known"), over).await
}

/// A mail whose subject has these words.
async fn mail(stage: &Stage, words: &str) -> String {
    let found = |items: &[Item]| {
        items.iter().find_map(|item| match &item.what {
            InboxItem::Mail(mail) if mail.subject.contains(words) => Some(mail.text.clone()),
            _ => None,
        })
    };
    stage.soon(&format!("a mail '{words}'"), stage.inbox.wait_for(found)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_is_timed_where_it_is_taken_and_told_of_where_it_is_not() {
    let server = reference().await;
    let (url, is_mended) = broken().await;
    let receivers = format!("  broken: {{ webhook: {{ url: \"{url}\" }} }}\n");
    // Its last moment is two minutes ago, and the next one most of an hour away.
    let minute = (Utc::now() - TimeDelta::minutes(2)).minute();
    let routes = format!(
        "  - {{ match: {{ severity: page }}, to: [broken], fallback: mail }}\n  - {{ to: [inbox] }}\n\
         drills:\n  - {{ cron: \"{minute} * * * *\", zone: Europe/Berlin, timeout: 10s }}\n"
    );
    let monitors = format!("  - {{ id: docs, url: \"{}\" }}\n", server.mcp_url());
    let mut stage = Stage::with(&receivers, &routes, &monitors).await;
    let (code, said) = stage.runs(&["check"]).await;
    assert!(code == Some(0) && said.contains("it notifies inbox, mail, broken"), "{said}");
    assert!(said.contains(&format!(":{minute:02} CE")), "by the clock of its zone: {said}");
    let body = stage.json("/api/v1/receivers").await;
    assert_eq!(body["drills"][0]["to"], serde_json::json!(["inbox", "mail", "broken"]), "{body:#}");
    let file = body["drills"][0]["place"].as_str().unwrap().to_owned();

    stage.signal("TERM");
    assert!(stage.ended().await.success());
    assert!(stage.inbox.items().is_empty(), "a file that is new has missed nothing");
    known_for_a_day(&stage).await;
    stage.again().await;

    let drill = stage.message("the receiver hears the drill", |message| message.event == "drill").await;
    let said = format!("Serin: a drill of receiver 'inbox', by {file}: nothing is wrong; the next is on ");
    assert!(drill.summary.starts_with(&said) && drill.severity == "page", "{drill:#?}");
    assert!(!evidence(&drill, "next").is_empty(), "{drill:#?}");
    let over = stage.message("and that it is over", |message| message.event == "drill.over").await;
    assert_eq!(evidence(&over, "drill"), evidence(&drill, "drill"), "the end is that of the same drill");
    mail(&stage, "[drill] Serin: a drill of receiver 'mail'").await;
    let last = last_drill(&stage, "inbox").await;
    assert!(last["ended"] == "accepted" && last["accepted_ms"].is_u64(), "{last:#}");
    let metrics = stage.page("/metrics").await;
    assert!(metrics.contains("serin_drill_acceptance_seconds_count{receiver=\"inbox\"} 1"), "{metrics}");
    let page = stage.page("/receivers").await;
    assert!(page.contains("last drill: accepted in ") && page.contains(&file), "{page}");

    // Whatever it was about to write down: the next process goes on where this one stood.
    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    let told = mail(&stage, "[serin] Serin itself: a drill was not accepted").await;
    assert!(told.contains("receiver 'broken' did not accept the drill of") && told.contains("500"), "{told}");
    assert!(told.contains("serin receiver test"), "it names the mend: {told}");
    let last = last_drill(&stage, "broken").await;
    assert!(last["ended"] == "failed" && last["answer"].as_str().unwrap().contains("500"), "{last:#}");
    let (code, said) = stage.runs(&["receiver", "list", "--url", &stage.pages]).await;
    assert!(code == Some(0) && said.contains("last drill: failed, at ") && said.contains("500"), "{said}");
    assert!(said.contains("last drill: accepted in "), "{said}");
    assert!(stage.page("/metrics").await.contains("serin_drill_failed{receiver=\"broken\"} 1"));

    is_mended.store(true, Ordering::Relaxed);
    let (code, said) = stage.runs(&["receiver", "test", "broken", "--url", &stage.pages]).await;
    assert_eq!(code, Some(0), "{said}");
    mail(&stage, "[serin, over] Serin itself: drill_failed is over").await;
    let hooks = stage.inbox.hooks();
    let mut drills: Vec<&str> = hooks
        .iter()
        .filter(|hook| hook.body.contains("\"drill\""))
        .filter(|hook| hook.body.contains("by monitors.yaml"))
        .filter(|hook| hook.body.contains("nothing is wrong"))
        .map(|hook| hook.id.as_str())
        .collect();
    drills.sort_unstable();
    drills.dedup();
    assert_eq!(drills, [drill.id.as_str()], "one drill, over two starts");
}
