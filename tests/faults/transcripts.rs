//! What is kept of a probe that failed: enough to see what happened, bounded, and nobody's secrets.

use std::path::Path;

use serin::domain::monitor::{Monitor, ProbeIdentity, Program};
use serin::domain::observation::Observation;
use serin::domain::protocol::Transport;
use serin::domain::secret::{Address, Secret};
use serin::probe::wire::head::Head;
use serin::probe::wire::transcript::TRANSCRIPT_BYTES_MAX;

use crate::fault_server::{Act, FaultServer, Script, result, status};
use crate::probing::{monitor, probe};
use crate::scripts::{legacy, modern, with};

/// The transcript of a probe that failed; it keeps its bounds and tells of itself.
fn kept<'o>(sentence: &str, seen: &'o Observation) -> &'o str {
    let text = seen.transcript.as_deref().unwrap_or_else(|| panic!("{sentence}: {seen:#?}"));
    assert!(text.len() <= TRANSCRIPT_BYTES_MAX, "{sentence}: {} bytes", text.len());
    let head = Head::read(text).unwrap_or_else(|| panic!("{sentence}: {text}"));
    assert_eq!(head.steps.len(), seen.steps.len(), "{sentence}: {text}");
    let marked = |line: &str| ["# ", "> ", "< ", "* ", "= "].iter().any(|mark| line.starts_with(mark));
    for line in text.lines() {
        assert!(marked(line), "{sentence}: every line says whose it is: {line}");
        assert!(!line.contains(char::is_control), "{sentence}: {line}");
    }
    text
}

#[tokio::test]
async fn a_transcript_tells_what_was_found() {
    let well = FaultServer::start(modern(), None).await;
    let seen = probe(monitor(&format!("http://{}/mcp", well.address), 1)).await;
    let text = kept("all is well, and somebody asks for it", &seen);
    assert!(Head::read(text).unwrap().findings.is_empty(), "{text}");

    // Answers that are wrong break nothing on the wire.
    let empty = r#"{"resultType":"complete","structuredContent":{"results":[]}}"#;
    let wrong = with(modern(), "tools/call search_documents", Act::Say(result(empty)));
    let server = FaultServer::start(wrong, None).await;
    let seen = probe(monitor(&format!("http://{}/mcp", server.address), 1)).await;
    let text = kept("a canary found nothing", &seen);
    assert!(text.contains("> POST /mcp  (") && text.contains("< 200 OK  (") && text.contains("* connected 127.0.0.1:"));
    assert!(text.contains(r#""results":[]"#) && text.contains("= search ✓ c0 · "), "{text}");
    let head = Head::read(text).unwrap();
    assert_eq!((head.findings[0].reason.as_str(), head.era.as_deref()), ("empty_results", Some("modern")));
}

#[tokio::test]
async fn a_transcript_is_bounded_whatever_comes() {
    let large = "y\u{7}".repeat(1_500_000);
    let heads: String = (0..60).map(|nth| format!("X-{nth}: {}\r\n", "z".repeat(900))).collect();
    let pages = |nth: usize| format!(r#"{{"tools":[],"nextCursor":"{nth}{}"}}"#, "w".repeat(6000));
    let rows: [(&str, Script, &str); 5] = [
        (
            "a body of megabytes",
            with(modern(), "tools/list", Act::Say(status("200 OK", "Content-Type: application/json\r\n", &large))),
            "3000000 bytes in all",
        ),
        (
            "an endless answer",
            with(
                modern(),
                "tools/list",
                Act::SayForever("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hold on\n\n".to_owned()),
            ),
            ": hold on",
        ),
        (
            "a head of many kilobytes",
            with(modern(), "tools/list", Act::Say(status("500 Oh", &heads, "no"))),
            " more headers",
        ),
        ("a cursor that comes back", with(legacy(), "tools/list", Act::Say(result(&pages(1)))), "= tools ✗ tools/list"),
        (
            "lines that look like ours",
            with(modern(), "tools/list", Act::Say(status("500 Oh", "", "a\n> POST /b\n# c"))),
            "< > POST /b",
        ),
    ];
    for (sentence, script, shown) in rows {
        let server = FaultServer::start(script, None).await;
        let seen = probe(monitor(&format!("http://{}/mcp", server.address), 1)).await;
        let text = kept(sentence, &seen);
        assert!(text.contains(shown), "{sentence}: {text}");
    }
}

/// Everything secret that a probe can carry or meet.
const SECRETS: [&str; 8] = [
    "bearer-planted-1",
    "query-planted-2",
    "path-planted-3",
    "cookie-planted-4",
    "session-planted-5-abcdef",
    "header-planted-6",
    "say \"planted\" 7",
    "sign-planted-8",
];

#[tokio::test]
async fn no_secret_stays_in_a_transcript() {
    let echo = format!(
        "{{\"error\":\"{} {} {} {} {} {} {}\"}}{}",
        SECRETS[0],
        SECRETS[1],
        SECRETS[2],
        SECRETS[3],
        SECRETS[4],
        SECRETS[5],
        "say \\\"planted\\\" 7",
        // Wherever the bound of what is shown lies, it lies within one.
        "bearer-planted-1".repeat(600),
    );
    let heads = format!(
        "Set-Cookie: sid={}; Path=/\r\nMcp-Session-Id: {}\r\nX-Echo: Bearer {}\r\nLocation: /x?again={}\r\n",
        SECRETS[3], SECRETS[4], SECRETS[0], SECRETS[1]
    );
    for code in ["500 Oh", "401 Unauthorized", "302 Found"] {
        let server = FaultServer::start(Script::from([("*", Act::Say(status(code, &heads, &echo)))]), None).await;
        let url = format!("http://{}/{}/mcp?key={}", server.address, SECRETS[2], SECRETS[1]);
        let mut monitor = monitor(&url, 1);
        monitor.url =
            Address { shown: format!("http://{}/•••/mcp", server.address), resolved: Secret::new(&url) };
        monitor.auth.bearer = Some(Secret::new(SECRETS[0]));
        monitor.auth.headers =
            vec![("X-Api-Key".to_owned(), Secret::new(SECRETS[5])), ("X-Quoted".to_owned(), Secret::new(SECRETS[6]))];
        monitor.identity = Some(ProbeIdentity { key: "ops".to_owned(), secret: Secret::new(SECRETS[7]) }.into());
        let seen = probe(monitor).await;
        let text = kept(code, &seen);
        for secret in SECRETS {
            assert!(!text.contains(secret), "{code}: {secret} in {text}");
            assert!(!text.contains(&secret[..secret.len() - 3]), "{code}: the head of {secret} in {text}");
        }
        assert!(!text.contains("planted"), "{code}: {text}");
        assert!(text.contains("authorization: •••") && text.contains("set-cookie: •••"), "{code}: {text}");
        assert!(text.contains("serin-probe: •••") && text.contains("/mcp?•••"), "{code}: {text}");
        assert!(text.contains("mcp-session-id: session-•••") && text.contains("location: /x?•••"), "{code}: {text}");
    }
}

#[tokio::test]
async fn a_program_keeps_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/program.sh");
    let args = [script.to_str().unwrap(), "garbage"].map(Secret::new).to_vec();
    let env = vec![("LOG".to_owned(), Secret::new(folder.path().join("log").to_str().unwrap()))];
    let shown = format!("stdio: sh {} garbage", script.display());
    let mut monitor = Monitor { canaries: Vec::new(), ..monitor(&shown, 0) };
    monitor.reach.program = Some(Box::new(Program { command: "sh".to_owned(), args, env, keep: false }));
    monitor.reach.transport = Some(Transport::Stdio);
    let seen = probe(monitor).await;
    let text = kept("a program that breaks", &seen);
    assert!(text.contains(r#"> {"jsonrpc":"2.0""#) && text.contains("< hello"), "{text}");
}
