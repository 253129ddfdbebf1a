//! A key of the API from its making to its end, by the commands, over a death of Serin.

use crate::stage::{Stage, TOKEN, reference};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_looks_and_does_not_act_until_it_is_ended() {
    let server = reference().await;
    let monitors = format!("  - {{ id: docs, url: \"{}\" }}\n", server.mcp_url());
    let mut stage = Stage::under("  token: \"${env:SERIN_JOURNEY_TOKEN}\"\n", &monitors).await;
    let serin = async |stage: &Stage, with: &str, arguments: &[&str]| {
        stage.runs(&[arguments, &["--url", &stage.pages, "--token", with]].concat()).await
    };
    let (code, said) = serin(&stage, TOKEN, &["key", "add", "grafana", "--for", "2"]).await;
    assert!(code == Some(1) && said.contains("a duration needs its unit"), "{said}");
    let (code, said) = serin(&stage, TOKEN, &["key", "add", "grafana", "--role", "owner"]).await;
    assert!(code == Some(1) && said.contains("a key's role is read or act"), "{said}");
    let (code, said) = serin(&stage, TOKEN, &["key", "add", "grafana", "--for", "1h", "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("grafana: may read, until ") && said.contains("made by kim"), "{said}");
    let secret = said.trim().lines().last().unwrap().to_owned();

    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    let (code, said) = serin(&stage, &secret, &["status"]).await;
    assert_eq!(code, Some(0), "it outlives the process: {said}");
    let silence = ["silence", "add", "--monitor", "docs", "--for", "1h", "--comment", "x"];
    let (code, said) = serin(&stage, &secret, &silence).await;
    assert!(code == Some(1) && said.contains("to look, not to act"), "{said}");
    let (code, said) = serin(&stage, &secret, &["key", "list"]).await;
    assert!(code == Some(1) && said.contains("this wants the token itself"), "{said}");
    let (_, said) = serin(&stage, TOKEN, &["key", "list"]).await;
    assert!(said.contains("grafana: may read") && !said.contains(&secret), "its secret is shown once: {said}");

    let (code, said) = serin(&stage, TOKEN, &["key", "end", "grafana", "--as", "lee"]).await;
    assert!(code == Some(0) && said.contains("it opens nothing any more"), "{said}");
    let (code, said) = serin(&stage, &secret, &["incidents"]).await;
    assert!(code == Some(1) && said.contains("wants its token"), "{said}");
    let (_, said) = serin(&stage, TOKEN, &["audit"]).await;
    let told: Vec<&str> = said.lines().collect();
    for (line, expected) in [
        (0, "  200  token (127.0.0.1): POST /api/v1/keys/"),
        (1, "): GET /api/v1/keys"),
        (2, "): POST /api/v1/silences"),
    ] {
        let who = if line == 0 { "  200  token (" } else { "  403  key grafana " };
        let is_told = |told: &&str| told.contains(expected) && told.contains(who);
        assert!(told.get(line).is_some_and(is_told), "{expected}: {said}");
    }
}
