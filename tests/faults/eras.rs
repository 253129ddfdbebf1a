//! The cross-check of a server that speaks both eras.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::contract;
use serin::domain::observation::{BeatKind, Observation};
use serin::domain::protocol::Era;
use serin::domain::reason::Severity;
use serin::domain::server_profile::ServerProfile;
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, result, status};
use crate::probing::{assignment, first_fault, monitor, now};
use crate::scripts::{MODERN_TOOLS, TOOLS, legacy, modern, say, with};

/// A server of both eras, with these tools in the newer one.
fn both(modern_tools: &str) -> Script {
    let mut script = legacy();
    for (key, act) in modern() {
        let key = match key {
            "server/discover" => "modern server/discover",
            "tools/list" => "modern tools/list",
            _ => "modern tools/call search_documents",
        };
        script.insert(key, act);
    }
    with(script, "modern tools/list", say(result(modern_tools)))
}

/// The same tools as the older era lists.
fn alike() -> String {
    MODERN_TOOLS[..MODERN_TOOLS.find("\"tools\"").expect("it has them")].to_owned() + &TOOLS[1..]
}

struct Beats {
    prober: Prober,
    assignment: Assignment,
}

impl Beats {
    /// At the monitor's own time of the day: found by trying, a minute after the other.
    async fn at_its_time(server: &FaultServer) -> (Self, Observation) {
        let mut monitor = monitor(&format!("http://{}/mcp", server.address), 0);
        monitor.reach.cross_check = true;
        // With a beat a day, each one is the one.
        monitor.every = std::time::Duration::from_secs(86_400);
        let mut beats = Self { prober: Prober::new(8), assignment: assignment(monitor) };
        let seen = beats.run(BeatKind::Scheduled, now()).await;
        Arc::make_mut(&mut beats.assignment.monitor).every = std::time::Duration::from_secs(1);
        (beats, seen)
    }

    async fn run(&mut self, kind: BeatKind, at: DateTime<Utc>) -> Observation {
        (self.assignment.kind, self.assignment.scheduled_at, self.assignment.started_at) = (kind, at, at);
        let (seen, profile) = self.prober.run(&self.assignment).await;
        self.assignment.profile = ServerProfile { era_found_at: Some(at), ..profile };
        seen
    }
}

fn notes(seen: &Observation) -> String {
    seen.steps.iter().flat_map(|step| step.notes.clone()).collect::<Vec<_>>().join(" / ")
}

#[tokio::test]
async fn eras_that_agree_are_asked_once_a_day() {
    let server = FaultServer::start(both(&alike()), None).await;
    let (mut beats, seen) = Beats::at_its_time(&server).await;
    assert_eq!((first_fault(&seen), seen.era), (None, Some(Era::Modern)), "{seen:#?}");
    assert!(seen.cross_check.as_ref().is_some_and(|check| check.agrees()), "{:?}", seen.cross_check);
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 1), "the look leaves no session");
    let before = server.seen().asked.len();
    let seen = beats.run(BeatKind::Scheduled, now() + TimeDelta::seconds(7)).await;
    assert_eq!(seen.cross_check, None);
    assert_eq!(server.seen().asked[before..], ["server/discover", "tools/list"], "an ordinary beat costs nothing more");
}

#[tokio::test]
async fn eras_that_differ_are_a_notice_for_as_long_as_they_do() {
    let server = FaultServer::start(both(MODERN_TOOLS), None).await;
    let (mut beats, seen) = Beats::at_its_time(&server).await;
    let finding = contract::eras(seen.cross_check.as_ref().expect("it was compared")).expect("they differ");
    assert_eq!(finding.severity, Some(Severity::Notice));
    let evidence: Vec<(&str, &str)> = finding.evidence.iter().map(|one| (&*one.key, &*one.value)).collect();
    assert_eq!(evidence, [("only_legacy", "list_sources"), ("listed_differently", "search_documents")]);
    let lists = || server.seen().asked.iter().filter(|asked| *asked == "tools/list").count();
    let mut minute = 0;
    let mut next = || {
        minute += 1;
        now() + TimeDelta::minutes(minute)
    };
    let before = lists();
    let second = beats.run(BeatKind::Scheduled, next()).await;
    assert_eq!((lists() - before, &second.cross_check), (2, &seen.cross_check), "it is looked at again");
    let before = lists();
    let third = beats.run(BeatKind::Suspect, next()).await;
    assert_eq!((lists() - before, &third.cross_check), (1, &seen.cross_check), "then it stands, and nobody is asked");
    let before = lists();
    let later = beats.run(BeatKind::Scheduled, now() + TimeDelta::minutes(70)).await;
    assert_eq!((lists() - before, &later.cross_check), (2, &seen.cross_check), "for an hour");
}

#[tokio::test]
async fn a_server_of_one_era_is_a_note() {
    let refused = status("400 Bad Request", "Content-Type: text/plain\r\n", "no session");
    let older = with(legacy(), "modern tools/list", say(refused));
    let newer = with(modern(), "initialize", Act::Say(status("404 Not Found", "", "")));
    for (sentence, script) in [("only the older", older), ("only the newer", newer)] {
        let server = FaultServer::start(script, None).await;
        let (_, seen) = Beats::at_its_time(&server).await;
        assert_eq!((first_fault(&seen), &seen.cross_check), (None, &None), "{sentence}: {seen:#?}");
        assert!(notes(&seen).contains("gives no list to compare"), "{sentence}: {}", notes(&seen));
        assert_eq!(seen.footprint.sessions_opened, seen.footprint.sessions_closed, "{sentence}");
    }
}
