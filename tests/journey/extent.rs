//! How far a fault reaches: what a page claims was asked, and nothing is claimed that was not.

use serde_json::Value;
use serin::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference, signal};

/// Five canaries: two that only the keyword arm needs, three that share no word with their source.
const FIVE: &str = "
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: lapse, query: when does my passphrase lapse, expect: [reference/tokens.md], kind: meaning }
      - { id: cheap, query: \"is it cheap, how many dollars\", expect: [reference/costs.md], kind: meaning }
      - { id: lies, query: fibs and fiction, expect: [reference/canaries.md], kind: meaning }";

const EMPTY: Expected =
    Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };

/// Nothing comes from the schedule: each beat is one that the test asks for.
fn by_hand(url: &str, rest: &str) -> String {
    let head = format!("  - id: docs\n    url: {url}\n    every: 1h\n    search: {{ per_beat: 1 }}");
    format!(
        "{head}\n    rules: {{ errors: {{ window: 12h }}, quality: {{ after: 2 }} }}\n{rest}\n    canaries:{FIVE}\n"
    )
}

/// One beat, whole; the monitor as it stands after it.
async fn beat(stage: &Stage) -> Value {
    let look = stage.client.post(format!("{}/api/v1/monitors/docs/recheck?wait=60", stage.pages)).send();
    let answer = stage.soon("a look comes back", look).await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json::<Value>().await.unwrap()["monitor"].take()
}

async fn beats(stage: &Stage, times: usize) {
    for _ in 0..times {
        beat(stage).await;
    }
}

fn events(stage: &Stage) -> Vec<String> {
    stage.told("docs").into_iter().map(|message| message.event).collect()
}

/// The part of a summary before the moment since when it counts, and the part after it.
fn parts(message: &Message) -> (String, String) {
    let (before, after) = message.summary.split_once(" since ").unwrap_or_else(|| panic!("{message:#?}"));
    let (clock, after) = after.split_at(9);
    let form: String = clock.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(form, "00:00 UTC", "{message:#?}");
    (before.to_owned(), after.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_total_outage_is_told_as_one() {
    let server = reference().await;
    let url = server.mcp_url();
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {url}\n    search: {{ per_beat: 1 }}\n    canaries:{FIVE}\n      - {{ id: dragons, query: the tax on dragons, kind: negative, max_score: 0.9 }}\n"
    ))
    .await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("every search is empty", EMPTY).await;
    let (headline, rest) = parts(&opened);
    assert_eq!(headline, "docs: every search comes back empty: 5 of 5 asked", "{opened:#?}");
    // A slow machine's budget has no room for the one that says nothing of it.
    let negative = [", 0 of 1 negative", ""].map(|last| format!(" (2 of 2 keyword, 3 of 3 meaning{last})"));
    assert!(negative.contains(&rest), "{opened:#?}");
    for (key, value) in [("asked", "5"), ("wrong", "5"), ("not_asked", "0")] {
        assert_eq!(evidence(&opened, key), value, "{opened:#?}");
    }
    for canary in ["authors", "card", "lapse", "cheap", "lies"] {
        assert!(evidence(&opened, &format!("canary.{canary}")).contains("empty_results"), "{opened:#?}");
    }
    let id = &opened.incident.as_ref().unwrap().id;
    let page = stage.page(&format!("/incidents/{id}")).await;
    assert!(page.contains("every search comes back empty: 5 of 5 asked since "), "{page}");
    let body = stage.json("/api/v1/monitors/docs").await;
    let figure = signal(&body, "quality")["figure"].as_str().unwrap().to_owned();
    assert!(figure.contains("0 of 5 right since "), "{figure}");

    server.faults().all_off();
    let ended = stage.resolved("every search is empty", &opened).await;
    let (headline, _) = parts(&ended);
    assert!(headline.contains("recovered after "), "{ended:#?}");
    assert!(headline.ends_with("it was empty results: every search came back empty: 5 of 5 asked"), "{ended:#?}");
    assert_eq!(evidence(&ended, "wrong"), "5", "what it was at its worst: {ended:#?}");
    assert_eq!(events(&stage), ["incident.opened", "incident.resolved"], "and nothing between");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_corpus_is_told_as_half() {
    let server = reference().await;
    let stage = Stage::start(&by_hand(&server.mcp_url(), "    caps: { requests_per_day: 100000 }")).await;
    beats(&stage, 5).await;
    let half = Dose::of(Fault::CorpusTruncated).share(0.5).seed(SEED);
    server.faults().on(Fault::CorpusTruncated, half);
    let mut lost = 0;
    // Whichever canaries lost their source: the page says how many, and what a look at each shows is the same.
    beats(&stage, 8).await;
    let wrong = Expected { reason: "wrong_results", ..EMPTY };
    let opened = stage.opened("some sources are gone", wrong).await;
    for canary in beat(&stage).await["canaries"].as_array().unwrap() {
        lost += usize::from(canary["verdict"] == "wrong");
    }
    assert!((1..5).contains(&lost), "some of them and not all: {lost}");
    let (headline, rest) = parts(&opened);
    assert_eq!(headline, format!("docs: searches lost their source: {lost} of 5 asked"), "{opened:#?}");
    assert!(!rest.contains("not asked"), "{opened:#?}");
    assert_eq!((evidence(&opened, "asked"), evidence(&opened, "wrong")), ("5", lost.to_string().as_str()));

    server.faults().all_off();
    beats(&stage, 2).await;
    let ended = stage.resolved("some sources are gone", &opened).await;
    let (headline, _) = parts(&ended);
    assert!(headline.ends_with(&format!("searches lost their source: {lost} of 5 asked")), "{ended:#?}");
    assert_eq!(events(&stage), ["incident.opened", "incident.resolved"], "nothing is claimed after the end");
}

/// Decides which half is gone: one in which some of the five sources are, and not all.
const SEED: u64 = 1;

#[tokio::test(flavor = "multi_thread")]
async fn another_process_goes_on_with_what_was_told() {
    let server = reference().await;
    let mut stage = Stage::start(&by_hand(&server.mcp_url(), "    caps: { requests_per_day: 100000 }")).await;
    beat(&stage).await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    beats(&stage, 2).await;
    let opened = stage.opened("every search is empty", EMPTY).await;
    stage.signal("TERM");
    assert!(stage.ended().await.success());
    stage.again().await;
    beats(&stage, 3).await;
    assert_eq!(events(&stage), ["incident.opened"], "it is told once");
    let id = &opened.incident.as_ref().unwrap().id;
    let page = stage.page(&format!("/incidents/{id}")).await;
    assert!(page.contains(&opened.summary), "since the first wrong answer, which the other process saw: {page}");
    server.faults().all_off();
    beats(&stage, 2).await;
    let ended = stage.resolved("every search is empty", &opened).await;
    let (headline, _) = parts(&ended);
    assert!(headline.ends_with("it was empty results: every search came back empty: 5 of 5 asked"), "{ended:#?}");
    for canary in ["authors", "card", "lapse", "cheap", "lies"] {
        assert!(evidence(&ended, &format!("canary.{canary}")).contains("no results"), "{ended:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_wrong_answer_is_enough_the_same_beat_asks_the_others() {
    let server = reference().await;
    let monitor = by_hand(&server.mcp_url(), "    caps: { requests_per_day: 100000 }").replace("after: 2", "after: 1");
    let stage = Stage::start(&monitor).await;
    beat(&stage).await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    beat(&stage).await;
    let opened = stage.opened("the first wrong answer pages", EMPTY).await;
    let (headline, _) = parts(&opened);
    assert_eq!(headline, "docs: every search comes back empty: 5 of 5 asked", "{opened:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_cap_allows_is_said_not_to_be_asked() {
    let server = reference().await;
    let rest = "    caps: { requests_per_day: 120 }";
    let stage = Stage::start(&by_hand(&server.mcp_url(), rest)).await;
    let spent = |body: &Value| body["footprint"]["today"]["requests"].as_u64().unwrap();
    // A person may always look, and uses the day's calls up.
    while spent(&beat(&stage).await) <= 120 {}
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    beats(&stage, 2).await;
    let opened = stage.opened("the cap is used up", EMPTY).await;
    let (headline, rest) = parts(&opened);
    assert_eq!(headline, "docs: searches come back empty: 2 of 2 asked", "{opened:#?}");
    assert!(rest.starts_with(", 3 not asked since"), "{opened:#?}");
    for (key, value) in [("asked", "2"), ("wrong", "2"), ("not_asked", "3")] {
        assert_eq!(evidence(&opened, key), value, "{opened:#?}");
    }
}
