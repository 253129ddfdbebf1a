use std::time::Duration;

use super::explain;
use crate::cli::probe_json::as_value;
use crate::domain::answer::{Answer, Ask, CacheWord, KeptText, Turn, Variant};
use crate::domain::classify::classify;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use crate::domain::observation::{BeatKind, Observation, Phases, Stage, Step};
use crate::domain::outcome::{AskVerdict, Outcome, Verdict};
use crate::domain::reason::FailureReason;
use crate::domain::secret::{Address, Secret};
use crate::domain::wanted::{ExpectedText, Wanted};
use crate::probe::wire::head::kind_word;

fn seen() -> Observation {
    let at = "2026-11-21T09:00:00Z".parse().unwrap();
    let fault = Fault { kind: FaultKind::HttpStatus(503), detail: "503 oh".to_owned() };
    let step = Step {
        stage: Stage::Handshake,
        label: "initialize".to_owned(),
        elapsed: Duration::from_micros(1500),
        phases: Phases { headers: Some(Duration::from_micros(1400)), ..Phases::default() },
        fresh_connection: false,
        fault: Some(fault),
        notes: vec!["an oddity".to_owned()],
    };
    Observation {
        elapsed: Duration::from_millis(2),
        steps: vec![step],
        ..Observation::blank(MonitorId::new("docs"), BeatKind::Recheck, at, at)
    }
}

#[test]
fn a_probe_is_explained_to_people_and_machines() {
    let address = Address { shown: String::new(), resolved: Secret::new("") };
    let monitor = Monitor::undeclared("docs", address);
    let mut text = Vec::new();
    explain(&monitor, &seen(), None, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for part in ["handshake  ✗ initialize · 1.5 ms  headers 1.4 ms", "http_status: 503 oh", "note: an oddity"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let value = as_value(&seen(), None);
    assert_eq!(value["steps"][0]["fault"]["status"], 503);
    assert_eq!(value["steps"][0]["phases_ms"]["headers"], 1.4);
    assert_eq!(kind_word(FaultKind::RateLimited { retry_after_seconds: Some(3) }), "rate_limited");
}

#[test]
fn a_search_is_marked_by_what_its_answer_is_worth() {
    let wrong = AskVerdict::Wrong { reason: FailureReason::EmptyResults, rank: None, seen: "no results".to_owned() };
    let rows = [
        (AskVerdict::Right { rank: Some(1) }, "search     ✓ card · 1.5 ms", "right"),
        (wrong, "search     ✗ card · wrong · 1.5 ms", "in time, and wrong"),
    ];
    let monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
    for (verdict, expected, sentence) in rows {
        let mut seen = seen();
        let step = Step { stage: Stage::Search, label: "card".to_owned(), fault: None, ..seen.steps.remove(0) };
        seen.steps.push(step);
        seen.asks.push(Ask {
            canary: "card".to_owned(),
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            elapsed: Duration::ZERO,
            fresh_connection: false,
            result: None,
        });
        let outcome = Outcome { verdict: Verdict::Good, findings: Vec::new(), asks: vec![verdict] };
        let mut text = Vec::new();
        explain(&monitor, &seen, Some(&outcome), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(expected), "{sentence}: {text}");
    }
}

fn monitor(canaries: Vec<Canary>) -> Monitor {
    let address = Address { shown: String::new(), resolved: Secret::new("") };
    Monitor { canaries, ..Monitor::undeclared("docs", address) }
}

/// One that reads the text of its answer.
fn reading() -> Canary {
    let text = ExpectedText { contains: vec![Wanted::Words("chess".to_owned())], not_contains: Vec::new() };
    Canary {
        id: "che".to_owned(),
        query: "**/che*".to_owned(),
        kind: CanaryKind::Keyword,
        expect: Vec::new(),
        within: 3,
        max_score: None,
        forbid: Vec::new(),
        also: Vec::new(),
        text: Some(Box::new(text)),
        line: 1,
        definition_hash: String::new(),
    }
}

fn explained(monitor: &Monitor, seen: &Observation, outcome: &Outcome) -> String {
    let mut text = Vec::new();
    explain(monitor, seen, Some(outcome), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_text_shows_by_what_it_was_judged() {
    let begins = "games/chess.md".to_owned();
    let kept = KeptText { name: "text:ab".into(), bytes: 27, chars: 27, begins: begins.as_str().into() };
    let text = Answer { text_only: true, begins: Some(begins), kept: Some(Box::new(kept)), ..Answer::default() };
    let (right, nothing) = (AskVerdict::Right { rank: None }, "no results".to_owned());
    let wrong = AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: nothing };
    let shown = "canary     che · text, 27 characters · right\n           expected “chess”\n           \
                 begins   “games/chess.md”\n";
    let asked = "canary     che · text, 27 characters · wrong\n           asked    \"**/che*\"\n";
    let rows = [
        (text.clone(), right.clone(), shown, "a text that is right"),
        (text, wrong, asked, "what a wrong one begins with stands behind `got`"),
        (
            Answer::default(),
            right.clone(),
            "canary     che · 0 results · right\nfootprint",
            "it says that nothing was found",
        ),
        (
            Answer { cache: CacheWord::Hit, self_reported: vec!["partial: true".to_owned()], ..Answer::default() },
            right,
            "right\n           from the server's cache, so it says nothing of the index\n           the server says partial: true\n",
            "what it says of itself",
        ),
    ];
    for (answer, verdict, expected, sentence) in rows {
        let asks = vec![Ask {
            canary: "che".to_owned(),
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            elapsed: Duration::ZERO,
            fresh_connection: false,
            result: Some(Ok(answer)),
        }];
        let outcome = Outcome { verdict: Verdict::Good, findings: Vec::new(), asks: vec![verdict] };
        let said = explained(&monitor(vec![reading()]), &Observation { asks, ..seen() }, &outcome);
        assert!(said.contains(expected), "{sentence}: {said}");
    }
}

#[test]
fn good_says_where_nothing_but_an_answer_was_judged() {
    let blind = "verdict    good · no canary: only that it answers was judged\n";
    let rows = [
        (Vec::new(), Verdict::Good, blind, "no canary"),
        (vec![reading()], Verdict::Good, "verdict    good\n", "with one"),
        (Vec::new(), Verdict::Down, "verdict    down\n", "what is wrong is said in any case"),
    ];
    for (canaries, verdict, expected, sentence) in rows {
        let outcome = Outcome { verdict, findings: Vec::new(), asks: Vec::new() };
        let said = explained(&monitor(canaries), &seen(), &outcome);
        assert!(said.contains(expected), "{sentence}: {said}");
    }
}

#[test]
fn a_finding_of_a_fault_names_its_reason_once() {
    let outcome = classify(&monitor(Vec::new()), &seen());
    let said = explained(&monitor(Vec::new()), &seen(), &outcome);
    assert!(said.contains("verdict    down\n           http_error at handshake: 503 oh\n"), "{said}");
}
