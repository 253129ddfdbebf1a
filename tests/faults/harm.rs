//! Do no harm, and call no good server down: what is sent to a server of which nothing is known, what is never sent to
//! old releases, and what becomes of their sessions.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::fault::FaultKind;
use serin::domain::observation::{Observation, Stage};
use serin::domain::protocol::Era;
use serin::domain::server_profile::{Caution, RiskyAction, ServerProfile};
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, json, result, status};
use crate::probing::{assignment, first_fault, monitor_of, now};
use crate::scripts::{DISCOVERED, TOOLS, legacy, modern, say, with};

/// A session id as the Python SDK gives it, and its successor.
const ID: &str = "0123456789abcdef0123456789abcdef";
const NEXT: &str = "fedcba9876543210fedcba9876543210";

const TEXT: &str = "Content-Type: text/plain\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

fn opened(version: &str, session: Option<&str>) -> String {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{{id}},"result":{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"old","version":"1"}}}}}}"#
    );
    status("200 OK", &format!("{JSON}{session}"), &body)
}

/// A release that may die of `server/discover` and of a DELETE: here each of the two is its end.
fn old(session: Option<&str>) -> Script {
    let mut script = with(legacy(), "initialize", say(opened("2025-03-26", session)));
    script.insert("server/discover", Act::Die);
    script.insert("DELETE", Act::Die);
    with(script, "ping", say(result("{}")))
}

/// Beats of one prober at one server, what was learnt going on from one to the next.
struct Beats {
    prober: Prober,
    assignment: Assignment,
}

impl Beats {
    fn of(server: &FaultServer, profile: ServerProfile) -> Self {
        Self { prober: Prober::new(8), assignment: Assignment { profile, ..assignment(monitor_of(server, 1)) } }
    }

    async fn at(&mut self, at: DateTime<Utc>) -> Observation {
        (self.assignment.scheduled_at, self.assignment.started_at) = (at, at);
        let (seen, profile) = self.prober.run(&self.assignment).await;
        self.assignment.profile = profile;
        seen
    }

    async fn next(&mut self) -> Observation {
        self.at(now()).await
    }

    fn profile(&self) -> &ServerProfile {
        &self.assignment.profile
    }
}

fn kept(profile: &ServerProfile) -> Option<&str> {
    profile.kept.as_ref().map(|kept| kept.id.as_str())
}

fn labels(seen: &Observation) -> Vec<&str> {
    seen.steps.iter().filter(|step| step.stage == Stage::Handshake).map(|step| step.label.as_str()).collect()
}

#[tokio::test]
async fn whoever_answers_initialize_is_up_whatever_it_says_to_discover() {
    let null = r#"{"jsonrpc":"2.0","id":{id},"result":null}"#;
    let error = |code: i64| format!(r#"{{"jsonrpc":"2.0","id":{{id}},"error":{{"code":{code},"message":"no"}}}}"#);
    let without = DISCOVERED.replace("\"resultType\":\"complete\",", "");
    let rows = [
        ("500", say(status("500 Internal Server Error", TEXT, "oh"))),
        ("500 with a JSON-RPC error", say(status("500 Internal Server Error", JSON, &error(-32603)))),
        ("501", say(status("501 Not Implemented", TEXT, ""))),
        ("403", say(status("403 Forbidden", TEXT, "no"))),
        ("404", say(status("404 Not Found", TEXT, ""))),
        ("405", say(status("405 Method Not Allowed", "", ""))),
        ("an empty 200", say(status("200 OK", JSON, ""))),
        ("{}", say(json("{}"))),
        ("HTML", say(status("200 OK", "Content-Type: text/html\r\n", "<html>"))),
        ("202", say(status("202 Accepted", "", ""))),
        ("a null result", say(json(null))),
        ("null", say(json("null"))),
        ("an empty result", say(result("{}"))),
        ("an unknown method", say(json(&error(-32601)))),
        ("a version that is not supported, and no list", say(json(&error(-32022)))),
        ("a modern result without its mark", say(result(&without))),
        ("a header mismatch", say(status("400 Bad Request", JSON, &error(-32020)))),
        ("401", say(status("401 Unauthorized", "", ""))),
        ("429", say(status("429 Too Many Requests", "Retry-After: 9\r\n", ""))),
        ("502", say(status("502 Bad Gateway", TEXT, ""))),
        ("a redirect", say(status("302 Found", "Location: /login\r\n", ""))),
        ("nothing", Act::SayAndHold(String::new())),
        ("a closed connection", Act::SayAndClose(String::new())),
    ];
    for (sentence, act) in rows {
        let server = FaultServer::start(with(legacy(), "server/discover", act), None).await;
        let mut beats = Beats::of(&server, ServerProfile::default());
        let seen = beats.next().await;
        assert_eq!((first_fault(&seen), seen.era), (None, Some(Era::Legacy)), "{sentence}: {seen:#?}");
        assert_eq!(seen.footprint.sessions_opened, seen.footprint.sessions_closed, "{sentence}: {:?}", seen.footprint);
        let before = server.seen().asked.len();
        let seen = beats.next().await;
        assert_eq!((first_fault(&seen), labels(&seen)), (None, vec!["initialize"]), "{sentence}: it is remembered");
        assert!(!server.seen().asked[before..].contains(&"server/discover".to_owned()), "{sentence}");
    }
}

#[tokio::test]
async fn a_valid_result_makes_a_server_modern_and_its_session_is_closed() {
    let mut script = modern();
    for (key, act) in legacy() {
        if matches!(key, "initialize" | "notifications/initialized" | "DELETE") {
            script.insert(key, act);
        }
    }
    let server = FaultServer::start(script, None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    let seen = beats.next().await;
    assert_eq!((first_fault(&seen), seen.era), (None, Some(Era::Modern)), "{seen:#?}");
    assert_eq!(labels(&seen), ["initialize", "server/discover"]);
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 1));
    let before = server.seen().asked.len();
    beats.next().await;
    let expected = ["server/discover", "tools/list", "tools/call search_documents"];
    assert_eq!(server.seen().asked[before..], expected, "the next beat speaks the newer era alone");
}

#[tokio::test]
async fn what_says_nothing_of_the_era_ends_the_attempt() {
    let rows = [
        ("401", say(status("401 Unauthorized", "", "")), FaultKind::AuthRequired),
        ("429", say(status("429 Too Many Requests", "", "")), FaultKind::RateLimited { retry_after_seconds: None }),
        ("502", say(status("502 Bad Gateway", TEXT, "")), FaultKind::HttpStatus(502)),
        ("503", say(status("503 Service Unavailable", TEXT, "")), FaultKind::HttpStatus(503)),
        ("504", say(status("504 Gateway Timeout", TEXT, "")), FaultKind::HttpStatus(504)),
        ("a redirect", say(status("302 Found", "Location: /login\r\n", "")), FaultKind::Redirected(302)),
        ("silence", Act::SayAndHold(String::new()), FaultKind::Silent),
        ("a closed connection", Act::SayAndClose(String::new()), FaultKind::ClosedEarly),
        (
            "half an answer",
            Act::SayAndClose(format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: 500\r\n\r\n{{\"js")),
            FaultKind::BodyTruncated,
        ),
    ];
    for (sentence, act, kind) in rows {
        let server = FaultServer::start(with(legacy(), "initialize", act), None).await;
        let seen = Beats::of(&server, ServerProfile::default()).next().await;
        assert_eq!(first_fault(&seen), Some((Stage::Handshake, kind)), "{sentence}: {seen:#?}");
        let asked = server.seen().asked;
        assert!(
            !asked.contains(&"server/discover".to_owned()),
            "{sentence}: what comes back might die of it: {asked:?}"
        );
    }
}

#[tokio::test]
async fn where_both_openings_fail_both_are_told() {
    let refused = say(status("403 Forbidden", TEXT, "not you"));
    let broken = say(status("500 Internal Server Error", TEXT, "no such verb"));
    let script = with(with(legacy(), "initialize", refused), "server/discover", broken);
    let server = FaultServer::start(script, None).await;
    let seen = Beats::of(&server, ServerProfile::default()).next().await;
    let fault = seen.fault(Stage::Handshake).expect("it is down");
    assert_eq!(fault.kind, FaultKind::HttpStatus(403));
    for part in ["initialize: 403 Forbidden: not you", "server/discover: 500 Internal Server Error: no such verb"] {
        assert!(fault.detail.contains(part), "{part} in {}", fault.detail);
    }
}

#[tokio::test]
async fn one_bad_answer_does_not_end_an_era() {
    let oh = || say(status("500 Internal Server Error", TEXT, "oh"));
    let good = FaultServer::start(modern(), None).await;
    let mut beats = Beats::of(&good, ServerProfile::default());
    beats.next().await;
    let known = beats.profile().clone();
    assert_eq!(known.era, Some(Era::Modern));

    let neither = with(with(modern(), "server/discover", oh()), "initialize", oh());
    let server = FaultServer::start(neither, None).await;
    let mut beats = Beats::of(&server, known.clone());
    let seen = beats.next().await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::HttpStatus(500))), "{seen:#?}");
    assert_eq!(beats.profile().era, Some(Era::Modern), "a server in trouble is not taken for another");

    let server = FaultServer::start(with(legacy(), "server/discover", oh()), None).await;
    let mut beats = Beats::of(&server, known.clone());
    let seen = beats.next().await;
    assert_eq!((first_fault(&seen), seen.era), (None, Some(Era::Legacy)), "it is up all the same: {seen:#?}");
    assert_eq!(beats.profile().era, Some(Era::Modern), "and once is not enough");
    let doubted = beats.profile().clone();
    beats.next().await;
    assert_eq!((beats.profile().era, beats.profile().era_in_doubt), (Some(Era::Legacy), false), "twice is");

    let mut beats = Beats::of(&good, doubted);
    let seen = beats.next().await;
    assert_eq!((seen.era, beats.profile().era_in_doubt), (Some(Era::Modern), false), "a good one ends the doubt");

    let server = FaultServer::start(with(old(None), "server/discover", oh()), None).await;
    let mut beats = Beats::of(&server, known);
    beats.next().await;
    assert_eq!(beats.profile().era, Some(Era::Legacy), "an old release is not asked a second time");
}

#[tokio::test]
async fn old_releases_are_sent_neither_discover_nor_delete_and_one_session_is_kept() {
    for version in ["2024-11-05", "2025-03-26"] {
        let script = with(old(Some(ID)), "initialize", say(opened(version, Some(ID))));
        let server = FaultServer::start(script, None).await;
        let mut beats = Beats::of(&server, ServerProfile::default());
        for nth in 0..5 {
            let seen = beats.next().await;
            assert_eq!(first_fault(&seen), None, "{version}, beat {nth}: {seen:#?}");
            let cost = seen.footprint;
            assert_eq!((cost.sessions_opened, cost.sessions_closed), (u32::from(nth == 0), 0), "{version}, beat {nth}");
            assert_eq!(labels(&seen), [if nth == 0 { "initialize" } else { "kept session" }], "{version}, beat {nth}");
            assert_eq!(kept(beats.profile()), Some(ID), "{version}, beat {nth}");
        }
        let seen = server.seen();
        let head = seen.heads.last().expect("something came").to_ascii_lowercase();
        assert!(head.contains(&format!("mcp-session-id: {ID}")), "calls go into the kept session: {head}");
        assert!(!seen.asked.iter().any(|asked| asked == "server/discover" || asked == "DELETE"), "{:?}", seen.asked);

        // The daily look at the era is answered by the version as well.
        let mut profile = beats.profile().clone();
        profile.era_found_at = Some(now() - TimeDelta::hours(29));
        profile.kept = None;
        let seen = Beats::of(&server, profile).next().await;
        assert_eq!((first_fault(&seen), labels(&seen)), (None, vec!["initialize"]), "{version}: {seen:#?}");
    }
    let server = FaultServer::start(old(None), None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    for _ in 0..3 {
        let seen = beats.next().await;
        assert_eq!((first_fault(&seen), labels(&seen)), (None, vec!["initialize"]), "without sessions: {seen:#?}");
    }
    assert!(!server.seen().asked.iter().any(|asked| asked == "server/discover"), "{:?}", server.seen().asked);
}

#[tokio::test]
async fn a_kept_session_is_made_anew_when_it_is_an_hour_old_or_gone() {
    let hourly = Act::Turn(opened("2025-03-26", Some(ID)), opened("2025-03-26", Some(NEXT)));
    let server = FaultServer::start(with(old(Some(ID)), "initialize", hourly), None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    for (minute, id, opens) in [(0, ID, true), (59, ID, false), (61, NEXT, true), (62, NEXT, false)] {
        let seen = beats.at(now() + TimeDelta::minutes(minute)).await;
        assert_eq!((first_fault(&seen), kept(beats.profile())), (None, Some(id)), "minute {minute}: {seen:#?}");
        assert_eq!(seen.footprint.sessions_opened, u32::from(opens), "minute {minute}");
        assert!(!seen.session_lost, "minute {minute}: nothing was lost");
    }

    let known = beats.profile().clone();
    let rows = [
        ("400, as old releases say it", status("400 Bad Request", "", "Bad Request: No valid session ID provided")),
        ("404", status("404 Not Found", TEXT, "Not Found: Session has been terminated")),
        (
            "404 in the protocol's words",
            status(
                "404 Not Found",
                JSON,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}"#,
            ),
        ),
    ];
    for (sentence, gone) in rows {
        let Act::Say(tools) = say(result(TOOLS)) else { unreachable!("it is what is said") };
        let restarted = with(old(Some(NEXT)), "tools/list", Act::Turn(gone, tools));
        let server = FaultServer::start(restarted, None).await;
        let mut beats = Beats::of(&server, known.clone());
        let seen = beats.at(now() + TimeDelta::minutes(63)).await;
        assert_eq!(first_fault(&seen), None, "{sentence}: a new one in the same beat, {seen:#?}");
        assert_eq!(labels(&seen), ["kept session", "initialize"], "{sentence}");
        assert!(seen.session_lost, "{sentence}: that is a restart");
        assert_eq!(kept(beats.profile()), Some(NEXT), "{sentence}");
    }

    let oh = status("500 Internal Server Error", TEXT, "oh");
    let server = FaultServer::start(with(old(Some(NEXT)), "tools/list", say(oh)), None).await;
    let mut beats = Beats::of(&server, known);
    let seen = beats.at(now() + TimeDelta::minutes(63)).await;
    assert_eq!(first_fault(&seen), Some((Stage::Tools, FaultKind::HttpStatus(500))), "{seen:#?}");
    assert_eq!(kept(beats.profile()), Some(NEXT), "a young session is not to blame");
    let seen = beats.at(now() + TimeDelta::minutes(67)).await;
    assert!(first_fault(&seen).is_some());
    assert_eq!(kept(beats.profile()), None, "it may be the session alone that broke: the next beat opens another");
    let seen = beats.at(now() + TimeDelta::minutes(68)).await;
    assert_eq!(labels(&seen), ["initialize"], "{seen:#?}");
}

#[tokio::test]
async fn a_kept_session_is_not_asked_whether_it_is_there() {
    let gone = status("500 Internal Server Error", TEXT, "no such method");
    let server = FaultServer::start(with(old(Some(ID)), "ping", say(gone)), None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    for _ in 0..3 {
        let seen = beats.next().await;
        assert_eq!(first_fault(&seen), None, "servers do not all know ping: {seen:#?}");
    }
    assert!(!server.seen().asked.contains(&"ping".to_owned()), "{:?}", server.seen().asked);
}

#[tokio::test]
async fn nothing_is_asked_in_a_session_whose_opening_was_not_finished() {
    let refused = say(status("500 Internal Server Error", TEXT, "oh"));
    let server = FaultServer::start(with(old(Some(ID)), "notifications/initialized", refused), None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    let seen = beats.next().await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::HttpStatus(500))), "{seen:#?}");
    let asked = server.seen().asked;
    assert_eq!(
        asked,
        ["initialize", "notifications/initialized"],
        "old releases die of a request in it, and of discover"
    );
    assert_eq!(kept(beats.profile()), None, "nor is it kept");
}

#[tokio::test]
async fn a_session_that_an_error_opened_stays_open_where_nothing_is_known_of_the_server() {
    let leaky = say(status("400 Bad Request", &format!("{JSON}Mcp-Session-Id: {ID}\r\n"), "{}"));
    let script = with(with(legacy(), "initialize", leaky.clone()), "server/discover", leaky);
    let server = FaultServer::start(script, None).await;
    let seen = Beats::of(&server, ServerProfile::default()).next().await;
    assert!(first_fault(&seen).is_some());
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 0), "{:?}", seen.footprint);
    assert!(!server.seen().asked.contains(&"DELETE".to_owned()), "{:?}", server.seen().asked);
}

#[tokio::test]
async fn the_file_may_say_that_sessions_are_closed() {
    for (close, deletes) in [(Some(true), 2), (Some(false), 0), (None, 0)] {
        let deleted = status("204 No Content", "", "").replace("Content-Length: {length}\r\n", "");
        let server = FaultServer::start(with(old(Some(ID)), "DELETE", say(deleted)), None).await;
        let mut beats = Beats::of(&server, ServerProfile::default());
        Arc::make_mut(&mut beats.assignment.monitor).reach.close_sessions = close;
        for _ in 0..2 {
            let seen = beats.next().await;
            assert_eq!(first_fault(&seen), None, "{close:?}: {seen:#?}");
        }
        let asked = server.seen().asked;
        assert_eq!(asked.iter().filter(|asked| *asked == "DELETE").count(), deletes, "{close:?}: {asked:?}");
    }
}

#[tokio::test]
async fn what_we_did_for_the_first_time_is_remembered_for_an_incident() {
    let server = FaultServer::start(legacy(), None).await;
    let mut beats = Beats::of(&server, ServerProfile::default());
    beats.next().await;
    assert_eq!(
        beats.profile().recent_action.map(|recent_action| recent_action.what),
        Some(RiskyAction::Closing),
        "the last of two, {:?}",
        beats.profile()
    );
    let at = beats.profile().recent_action.map(|recent_action| recent_action.at);
    beats.at(now() + TimeDelta::minutes(1)).await;
    assert_eq!(beats.profile().recent_action.map(|recent_action| recent_action.at), at, "the second time is no news");
    let fixed = ServerProfile { closing: Caution::Harmless, ..ServerProfile::default() };
    let mut beats = Beats::of(&server, fixed);
    beats.next().await;
    assert_eq!(beats.profile().recent_action.map(|recent_action| recent_action.what), Some(RiskyAction::Discover));
}
