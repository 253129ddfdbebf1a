//! The trace that each call carries, in a header and in `params._meta` (SEP-414), and where it is found again.

use serde_json::Value;
use serin::domain::classify::{TRACE_ID, classify};

use crate::fault_server::{Act, FaultServer, Seen, status};
use crate::older::older;
use crate::probing::{first_fault, monitor, probe};
use crate::scripts::{legacy, modern, say, with};

/// The trace of each call that arrived, as its header has it, once it is known that its body says the same.
fn traces(sentence: &str, seen: &Seen) -> Vec<String> {
    let calls = seen.heads.iter().zip(&seen.bodies).filter_map(|(head, body)| {
        let call: Value = serde_json::from_str(body).ok().filter(|call: &Value| call["method"].is_string())?;
        let header = head.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap_or_default();
        assert_eq!(call["params"]["_meta"]["traceparent"], header, "{sentence}: {head}{body}");
        Some(header.to_owned())
    });
    calls.collect()
}

#[tokio::test]
async fn every_call_names_its_trace_in_a_header_and_in_meta() {
    let moves = |key: &'static str| {
        let moved = status("307 Temporary Redirect", "Location: /moved\r\n", "");
        let script = legacy();
        let initialize = script["initialize"].clone();
        with(with(script, key, Act::Say(moved)), "moved initialize", initialize)
    };
    let rows = [
        (legacy(), "initialize with a session"),
        (modern(), "the modern era"),
        (older(), "HTTP+SSE"),
        (moves("initialize"), "a redirect, which the same message follows"),
    ];
    for (script, sentence) in rows {
        let server = FaultServer::start(script, None).await;
        let seen = probe(monitor(&format!("http://{}/mcp", server.address), 1)).await;
        let found = traces(sentence, &server.seen());
        assert!(found.len() >= 3, "{sentence}: {seen:#?}");
        let start = format!("00-{:032x}-", seen.trace);
        for trace in &found {
            let span = trace.strip_prefix(&start).and_then(|rest| rest.strip_suffix("-01"));
            assert!(span.is_some_and(|span| span.len() == 16 && span != "0".repeat(16)), "{sentence}: {found:#?}");
        }
    }
}

#[tokio::test]
async fn a_failure_names_its_trace() {
    let broken = with(legacy(), "tools/list", say(status("500 Internal Server Error", "", "no index")));
    let server = FaultServer::start(broken, None).await;
    let monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    let seen = probe(monitor.clone()).await;
    assert!(first_fault(&seen).is_some());
    let outcome = classify(&monitor, &seen);
    let named = outcome.findings[0].evidence.iter().find(|evidence| evidence.key == TRACE_ID).map(|found| &found.value);
    let sent = traces("a failure", &server.seen());
    assert_eq!(named.map(String::as_str), sent[0].split('-').nth(1), "{outcome:#?}");
}
