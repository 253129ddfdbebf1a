//! The page of lists that others keep: what waits for a person stands first, and nothing that a list says is more than text.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Method, StatusCode};
use serin::domain::action::Asked;
use serin::domain::discovery::{Discovery, From, Source};
use serin::domain::fleet::Fleet;
use serin::live::listings::{Ids, ListingChange, ListingView, Listings};
use tokio::process::Command;

use crate::fixture;
use crate::{ask, form, get};

const HOSTILE: &str = "target 3: its address '<script>alert(1)</script>' is none";

/// Two sources.
pub(crate) fn declared() -> Discovery {
    let source = |id: &str, from: &str, line| Source {
        id: id.to_owned(),
        from: From::FileSd(vec![from.to_owned()]),
        every: Duration::from_secs(60),
        hosts: Vec::new(),
        has_credential: false,
        allow_private: Vec::new(),
        relabel: Vec::new(),
        template: String::new(),
        gone_after: Duration::from_secs(86_400),
        line,
    };
    let sources = vec![source("prod", "targets/*.json", 5), source("lab", "lab.json", 9)];
    Discovery { folder: "discovered".to_owned(), sources, left_out: Default::default() }
}

/// One has lost many at once, and the other cannot be read.
pub(crate) fn stand(listings: &Listings, now: DateTime<Utc>) {
    let ids = |from: usize, to: usize| -> Vec<String> { (from..to).map(|n| format!("prod-s{n}")).collect() };
    let mut prod = ListingView {
        watched: 30,
        gone: ids(0, 2),
        never_worked: ids(28, 30),
        held: ids(2, 27),
        held_since: Some(now - TimeDelta::minutes(7)),
        refused: vec![HOSTILE.to_owned()],
        refused_count: 41,
        read_at: Some(now),
        ..ListingView::default()
    };
    let came = Ids::of(ids(0, 30).iter());
    prod.changed(ListingChange { at: now - TimeDelta::hours(3), came, went: Ids::default(), stays: Ids::default() });
    listings.put("prod", prod);
    let unread = Some("it answers HTTP 503".to_owned());
    listings.put("lab", ListingView { watched: 4, unread, ..ListingView::default() });
}

/// What was asked of lists and waits on disk.
async fn asked(running: &fixture::Running) -> Vec<String> {
    let waiting = running.store.waiting_actions().await.unwrap();
    let mut asked: Vec<String> = waiting
        .iter()
        .map(|action| match &action.asked {
            Asked::ReadList { source } => format!("read_list {source}"),
            Asked::LetGo { source, .. } => format!("let_go {source}"),
            other => panic!("nobody asked for {other:?}"),
        })
        .collect();
    asked.sort();
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_say_what_waits_for_a_person_who_then_lets_go() {
    let running = fixture::serve(None, fixture::fleet(&[])).await;
    let (_, page) = get(&running, "/").await;
    assert!(!page.contains("href=\"/lists\""), "where nothing is listed, nothing leads there");
    let plain = running.fleet.borrow().clone();
    running.fleet.send_replace(std::sync::Arc::new(Fleet { discovery: declared(), ..(*plain).clone() }));
    stand(&running.listings, Utc::now());
    let (status, page) = get(&running, "/lists").await;
    assert_eq!(status, StatusCode::OK);
    for text in [
        "href=\"/lists\"",
        "30 watched",
        "targets/*.json",
        "25 are missing at once",
        "prod-s21</a> and 5 more",
        "Never worked yet</b>, and tell nobody until they do: <a href=\"/monitors/prod-s28\">",
        "41 not watched",
        "and 40 more",
        "Trouble:</b> it answers HTTP 503",
        "prod-s9</a> and 20 more",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<script>alert"), "{page}");
    let (_, scraped) = get(&running, "/metrics").await;
    for line in [
        "serin_list_held{list=\"prod\"} 25",
        "serin_list_monitors{list=\"lab\"} 4",
        "serin_list_trouble{list=\"prod\"} 0",
        "serin_list_trouble{list=\"lab\"} 1",
        "serin_list_read_time_seconds{list=\"prod\"}",
    ] {
        assert!(scraped.contains(line), "{line}: {scraped}");
    }
    assert!(!scraped.contains("serin_list_read_time_seconds{list=\"lab\"}"), "never read well");
    let mark = running.listings.all()["prod"].held_mark().unwrap();
    let rows = [
        ("prod", "accept", "0123456789abcdef", "others", "prod lost others meanwhile, and nothing is let go"),
        ("prod", "accept", mark.as_str(), "accepted", "What prod names no longer is let go"),
        ("prod", "accept", mark.as_str(), "accepted", "What prod names no longer is let go"),
        ("lab", "accept", "", "nothing", "Nothing of lab is held"),
        ("lab", "read", "", "read", "lab is read now"),
    ];
    for (list, what, mark, word, said) in rows {
        let fields = [("actor", "Ada"), ("held_mark", mark)];
        let answer = form(ask(&running, Method::POST, &format!("/lists/{list}/{what}")), &fields).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{list} {what}");
        let to = answer.headers()["location"].to_str().unwrap().to_owned();
        assert_eq!(to, format!("/lists?said={word}&list={list}"));
        let (_, page) = get(&running, &to).await;
        assert!(page.contains(said), "{page}");
    }
    assert_eq!(asked(&running).await, ["let_go prod", "read_list lab"], "on disk, once, for whoever reads lists");
    let nobody = form(ask(&running, Method::POST, "/lists/nobody/accept"), &[("actor", "Ada")]).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
    let (_, page) = get(&running, "/lists?said=accepted&list=%3Cb%3Eevil").await;
    assert!(page.contains("What the list names no longer"), "an address says nothing of its own: {page}");
}

/// What the page offers, clicked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium, Firefox and node; run with --ignored"]
async fn what_the_page_offers_is_clicked_in_a_browser() {
    let running = fixture::serve(None, fixture::fleet(&[])).await;
    let plain = running.fleet.borrow().clone();
    running.fleet.send_replace(std::sync::Arc::new(Fleet { discovery: declared(), ..(*plain).clone() }));
    stand(&running.listings, Utc::now());
    let mut node = Command::new("node");
    node.args(["lists.mjs", &running.url, "../../target/pages"]);
    node.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages")).kill_on_drop(true);
    let status = tokio::time::timeout(Duration::from_mins(10), node.status()).await.expect("it ends").unwrap();
    assert!(status.success(), "a button does not do what it says; see above");
    assert_eq!(asked(&running).await, ["let_go prod", "read_list lab"]);
}
