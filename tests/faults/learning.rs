//! What one probe finds out of a server, and the next one does with it.

use std::sync::Arc;

use serin::domain::monitor::Monitor;
use serin::domain::protocol::Era;
use serin::domain::server_profile::{Caution, ServerProfile};
use serin::domain::tools::Listing;
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Seen, result, status};
use crate::probing::{BUDGET, TIMEOUT, assignment, first_fault, monitor, monitor_of, now};
use crate::scripts::{legacy, modern, say, with};

#[tokio::test]
async fn what_is_learnt_spares_the_next_probe() {
    let server = FaultServer::start(legacy(), None).await;
    let mut assignment = assignment(monitor(&format!("http://{}/mcp", server.address), 1));
    assignment.source_pages = 1;
    let prober = Prober::new(8);
    let (first, profile) = prober.run(&assignment).await;
    assert_eq!(first.sources.as_ref().map(|sources| sources.count), Some(1));
    assert_eq!((profile.era, profile.era_found_at.is_some()), (Some(Era::Legacy), true));
    let before = server.seen().asked.len();
    assignment.profile = profile.clone();
    let (seen, again) = prober.run(&assignment).await;
    assert_eq!(again, profile, "nothing new was learnt");
    assert_eq!((seen.footprint.connections, seen.footprint.requests), (1, 6), "one connection, no request too many");
    assert_eq!(server.seen().asked[before], "initialize", "discover is not asked again");
    assignment.profile.era_found_at = Some(now() - chrono::TimeDelta::hours(29));
    let before = server.seen().asked.len();
    prober.run(&assignment).await;
    let asked = server.seen().asked[before..].to_vec();
    assert_eq!(asked[0], "initialize", "after a day it is looked for again, in the same order: {asked:?}");
    assert!(asked.contains(&"server/discover".to_owned()), "{asked:?}");
    let upgraded = FaultServer::start(
        with(
            modern(),
            "initialize",
            say(status(
                "404 Not Found",
                "Content-Type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"no"}}"#,
            )),
        ),
        None,
    )
    .await;
    let mut assignment = self::assignment(monitor(&format!("http://{}/mcp", upgraded.address), 1));
    assignment.profile = profile;
    let (seen, profile) = prober.run(&assignment).await;
    assert_eq!((first_fault(&seen), profile.era), (None, Some(Era::Modern)), "an upgrade is no failure");
}

#[tokio::test]
async fn what_hurts_a_server_is_never_done_to_it_again() {
    let prober = Prober::new(8);
    let mortal = FaultServer::start(with(legacy(), "server/discover", Act::Die), None).await;
    let (_, profile) = prober.run(&assignment(monitor(&format!("http://{}/mcp", mortal.address), 1))).await;
    assert_eq!(profile.discover, Caution::Harmful, "it was gone after discover");
    let restarted = FaultServer::start(legacy(), None).await;
    let mut again = assignment(monitor(&format!("http://{}/mcp", restarted.address), 1));
    again.profile = profile;
    let (seen, profile) = prober.run(&again).await;
    assert_eq!((first_fault(&seen), profile.era, profile.discover), (None, Some(Era::Legacy), Caution::Harmful));
    assert!(!restarted.seen().asked.iter().any(|asked| asked == "server/discover"), "{:?}", restarted.seen().asked);
    assert_eq!(profile.closing, Caution::Harmless, "it still answered after its session was closed");

    let mortal = FaultServer::start(with(legacy(), "DELETE", Act::Die), None).await;
    let (seen, profile) = prober.run(&assignment(monitor(&format!("http://{}/mcp", mortal.address), 1))).await;
    assert_eq!(profile.closing, Caution::Harmful, "it was gone after the DELETE: {seen:#?}");
    let restarted = FaultServer::start(legacy(), None).await;
    let mut again = assignment(monitor(&format!("http://{}/mcp", restarted.address), 1));
    again.profile = profile;
    let (seen, _) = prober.run(&again).await;
    assert!(!restarted.seen().asked.iter().any(|asked| asked == "DELETE"), "{:?}", restarted.seen().asked);
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 0), "which the footprint says");
}

#[tokio::test]
async fn whether_a_server_survived_is_told_from_what_it_answers() {
    let gone = || status("500 Internal Server Error", "", "");
    let (opened, none) = match &legacy()["initialize"] {
        Act::Say(text) => (text.clone(), status("404 Not Found", "", "")),
        _ => panic!("the script has changed"),
    };
    let deleted = || status("200 OK", "", "");
    let refused =
        |text: &str| say(status("400 Bad Request", "Content-Type: application/json\r\nConnection: close\r\n", text));
    let error = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"no"}}"#;
    let dying = match refused(error) {
        Act::Say(text) => Act::SayAndDie(text),
        other => other,
    };
    // What happens, whether discover and the closing are harmful then, and what the server was sent.
    let rows = [
        ("a ping is answered with 404", with(legacy(), "ping", say(none)), (Caution::Harmless, Caution::Harmless)),
        (
            "its tasks broke down with the session: 500 to everything",
            with(with(legacy(), "ping", say(gone())), "initialize", Act::Turn(opened.clone(), gone())),
            (Caution::Harmless, Caution::Harmful),
        ),
        (
            "a confused server: 500 to a ping without a session, and well all the same",
            with(legacy(), "ping", say(gone())),
            (Caution::Harmless, Caution::Harmless),
        ),
        (
            "it says yes to the closing and is gone",
            with(legacy(), "DELETE", Act::SayAndDie(deleted())),
            (Caution::Harmless, Caution::Harmful),
        ),
        (
            "it answers discover and is dead for the next connection",
            with(legacy(), "server/discover", dying),
            (Caution::Harmful, Caution::Unchecked),
        ),
        (
            "it is slow after the closing, which proves nothing",
            with(
                with(legacy(), "ping", Act::SayAndHold(String::new())),
                "initialize",
                Act::Turn(opened.clone(), "HTTP/1.1 ".to_owned()),
            ),
            (Caution::Harmless, Caution::Unchecked),
        ),
    ];
    for (sentence, script, expected) in rows {
        let server = FaultServer::start(script, None).await;
        let (seen, profile) = Prober::new(8).run(&assignment(monitor_of(&server, 1))).await;
        assert_eq!((profile.discover, profile.closing), expected, "{sentence}: {seen:#?}");
        let told = seen.steps.iter().flat_map(|step| &step.notes).filter(|note| note.contains("the server was gone"));
        let harmful = expected.0 == Caution::Harmful || expected.1 == Caution::Harmful;
        assert_eq!(told.count(), usize::from(harmful), "{sentence}: it is told once");
    }
}

/// A server, and how it is probed by somebody whose first probe of it was dropped while a session was open.
async fn left_open(prober: &Prober) -> (FaultServer, Assignment) {
    let Act::Say(opened) = &legacy()["initialize"] else { panic!("the script has changed") };
    let fresh = with(legacy(), "initialize", say(opened.replace("s-1", "s-{n}")));
    let server = FaultServer::start(with(fresh, "tools/list", Act::SayAndHold(String::new())), None).await;
    let mut monitor = monitor_of(&server, 1);
    monitor.timeout = BUDGET;
    let mut assignment = assignment(monitor);
    let listed = async {
        while !server.seen().asked.iter().any(|asked| asked == "tools/list") {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = prober.run(&assignment) => panic!("it never answers"),
        () = listed => {}
    }
    assert!(!server.seen().asked.iter().any(|asked| asked == "DELETE"), "nothing could be closed");
    Arc::make_mut(&mut assignment.monitor).timeout = TIMEOUT;
    (server, assignment)
}

/// The sessions that a server was asked to close.
fn closed(server: &FaultServer) -> std::collections::BTreeSet<String> {
    let Seen { asked, heads, .. } = server.seen();
    let deletes = asked.iter().zip(&heads).filter(|(asked, _)| *asked == "DELETE");
    deletes
        .filter_map(|(_, head)| head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_session_of_a_dropped_probe_is_closed_by_the_next() {
    let prober = Prober::new(8);
    let (server, assignment) = left_open(&prober).await;
    let (seen, _) = prober.run(&assignment).await;
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 2), "{:?}", seen.footprint);
    let closed = closed(&server);
    assert_eq!(closed.len(), 2, "the one of its own, and the one that was left: {closed:?}");
    let (seen, _) = prober.run(&assignment).await;
    assert_eq!(seen.footprint.sessions_closed, 1, "nothing is owed any more: {:?}", seen.footprint);
}

#[tokio::test]
async fn a_session_of_a_dropped_probe_is_closed_by_whoever_lets_go_of_the_monitor() {
    let prober = Prober::new(8);
    let (server, assignment) = left_open(&prober).await;
    let profile = ServerProfile { closing: Caution::Harmless, ..ServerProfile::default() };
    for _ in 0..2 {
        prober.release(&assignment.monitor, &profile).await;
        let deletes = server.seen().asked.iter().filter(|asked| *asked == "DELETE").count();
        assert_eq!((deletes, closed(&server).len()), (1, 1), "it is closed once");
    }
}

#[tokio::test]
async fn a_list_that_stays_is_one_list_and_every_change_shows() {
    let tool = |more: &str| {
        format!(
            r#"{{"tools":[{{"name":"search_documents","inputSchema":{{"type":"object","required":["query"],"properties":{{"query":{{"type":"string"}}{more}}}}}}}]}}"#
        )
    };
    let lists = |text: &str| with(legacy(), "tools/list", Act::Say(result(text)));
    let server = FaultServer::start(lists(&tool("")), None).await;
    let mut assignment = assignment(monitor(&format!("http://{}/mcp", server.address), 1));
    let prober = Prober::new(8).once();
    // The vocabulary by which tokens are counted is read once a process, and that may take longer than a probe waits.
    while prober.run(&assignment).await.0.tools.expect("listed").tokens.is_none() {}
    let mut before = None;
    for turn in ["first", "second", "third", "fourth"] {
        let (seen, profile) = prober.run(&assignment).await;
        assert_eq!(first_fault(&seen), None, "{turn}");
        let tools = seen.tools.expect(turn);
        if let Some(before) = before.replace(tools.clone()) {
            assert_eq!(tools, before, "{turn}: the same of the same");
            assert!(Arc::ptr_eq(&tools.listing, &before.listing), "{turn}: and kept once");
        }
        assignment.profile = profile;
        assignment.lists.latest = Some(tools.listing);
    }
    // Another list is accepted meanwhile: the same answer is a drift from it.
    let before = before.unwrap();
    let other = Listing { hash: "other".to_owned(), json: "[]".to_owned(), ..Listing::clone(&before.listing) };
    assignment.lists.accepted = Some(Arc::new(other));
    for turn in ["first", "second"] {
        let tools = prober.run(&assignment).await.0.tools.expect(turn);
        assert!(tools.drift.is_some(), "{turn}: {tools:?}");
    }
    assignment.lists.accepted = None;
    assert_eq!(prober.run(&assignment).await.0.tools.as_ref(), Some(&before), "and none once it is not");
    // An edited declaration is another one, whatever its server answers.
    let mut edited = Monitor::clone(&assignment.monitor);
    edited.search.query = vec!["/question".to_owned()];
    let edited = Assignment { monitor: Arc::new(edited), ..assignment.clone() };
    let tools = prober.run(&edited).await.0.tools.expect("listed");
    assert_eq!((tools.calls.broken, before.calls.broken), (1, 0), "its calls no longer fit: {tools:?}");
}
