//! What was said over the wire is kept, shown, and can be run again; and nobody's secrets with it.

use serin_reference::lab::kinds::{Dose, Fault};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::stage::{Stage, reference};

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_beat_is_run_again() {
    let server = reference().await;
    let monitors = format!(
        "  - id: docs
    url: {}
    canaries:
      - {{ id: token-life, query: how long does an unused token live?, expect: [reference/tokens.md], kind: meaning }}
    rules: {{ quality: {{ after: 2, severity: page }} }}
",
        server.mcp_url()
    );
    let stage = Stage::start(&monitors).await;
    stage.until("it is well", "docs", |body| body["state"] == "up").await;
    let replay =
        async |incident: &str| stage.runs(&["probe", "docs", "--replay", incident, "--url", &stage.pages]).await;

    server.faults().on(Fault::CorpusTruncated, Dose::of(Fault::CorpusTruncated));
    let open = |body: &serde_json::Value| crate::stage::signal(body, "quality")["incident"].is_string();
    let body = stage.until("the canary lost its source", "docs", open).await;
    let incident = crate::stage::signal(&body, "quality")["incident"].as_str().unwrap().to_owned();
    let (code, said) = replay(&incident).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("\nstill there: empty_results at search"), "{said}");
    assert!(said.contains("= token-life"), "{said}");

    let list = stage.json(&format!("/api/v1/incidents/{incident}/transcripts")).await;
    assert_eq!((&list["monitor"], &list["signal"]), (&"docs".into(), &"quality".into()), "{list}");
    assert_eq!(list["transcripts"].as_array().unwrap().len(), 2, "the beat that began it, and the one that opened it");
    let page = stage.page(&format!("/incidents/{incident}/transcripts")).await;
    let path = list["transcripts"][0]["url"].as_str().unwrap();
    assert!(page.contains(path), "{page}");
    assert!(stage.page(&format!("/incidents/{incident}")).await.contains("/transcripts\">Transcripts"));
    assert!(stage.page("/monitors/docs").await.contains("<a href=\"/transcripts/"));
    let answer = stage.client.get(format!("{}{path}", stage.pages)).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    let text = answer.text().await.unwrap();
    assert!(text.starts_with("# serin transcript v1 {") && text.contains("> POST /mcp  ("), "{text}");

    server.faults().all_off();
    let (code, said) = replay(&incident).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\nthe fault is gone: empty_results at search does not show"), "{said}");
    assert!(said.contains("search     ≠ token-life") && said.contains("results: reference/tokens.md"), "{said}");

    server.faults().on(Fault::Refused, Dose::of(Fault::Refused));
    server.faults().settled().await;
    let arguments = ["probe", "docs", "--json", "--replay", &incident, "--url", &stage.pages];
    let (code, said) = stage.runs(&arguments).await;
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &value["verdict"]), (Some(2), &"another".into()), "{said}");
    assert!(value["said"].as_str().unwrap().starts_with("another fault: connection_refused at connect"), "{said}");

    let (code, said) = replay("nothing").await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("there is no incident with this id"), "{said}");
    let (code, said) = stage.runs(&["probe", "docs", "--transcript"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("\n# serin transcript v1 {") && said.contains("* no connection to 127.0.0.1:"), "{said}");
}

/// Says no to everything, and says everything back that it was told.
async fn gossip(cookie: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = vec![0; 16 * 1024];
                let count = stream.read(&mut heard).await.unwrap_or_default();
                let heard = String::from_utf8_lossy(&heard[..count]).into_owned();
                let body = format!("{heard} {}", "-".repeat(2000));
                let head = format!(
                    "HTTP/1.1 500 Oh\r\nContent-Length: {}\r\nSet-Cookie: sid={cookie}; Path=/\r\n\r\n",
                    body.len()
                );
                drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_the_database() {
    const SECRETS: [&str; 3] = ["bearer-planted-in-a-file", "query-planted-in-a-file", "cookie-planted-by-the-server"];
    let address = gossip(SECRETS[2]).await;
    let secrets = tempfile::tempdir().unwrap();
    for (name, secret) in [("bearer", SECRETS[0]), ("query", SECRETS[1])] {
        std::fs::write(secrets.path().join(name), secret).unwrap();
    }
    let at = secrets.path().display();
    let monitors = format!(
        "  - id: docs\n    url: \"http://{address}/mcp?key=${{file:{at}/query}}\"\n    auth: {{ bearer: \"${{file:{at}/bearer}}\" }}\n    rules: {{ availability: {{ after: 1, page_after: 0s }} }}\n"
    );
    let mut stage = Stage::start(&monitors).await;
    let open = |body: &serde_json::Value| crate::stage::signal(body, "availability")["incident"].is_string();
    let body = stage.until("it is down", "docs", open).await;
    let incident = crate::stage::signal(&body, "availability")["incident"].as_str().unwrap().to_owned();
    let list = stage.json(&format!("/api/v1/incidents/{incident}/transcripts")).await;
    let text = stage.page(list["transcripts"][0]["url"].as_str().unwrap()).await;
    assert!(text.contains("authorization: •••") && text.contains("set-cookie: •••"), "{text}");
    assert!(text.contains("< POST /mcp?••• HTTP/1.1"), "what the server says back is scrubbed as well: {text}");
    stage.signal("TERM");
    assert!(stage.ended().await.success());
    let bytes = stage.stored().await;
    let holds = |needle: &str| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    assert!(holds("# serin transcript v1 {"), "the transcript is in the database");
    for secret in SECRETS {
        assert!(!text.contains(secret) && !holds(secret), "{secret}");
    }
}
