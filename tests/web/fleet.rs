//! The fleet's page as a list to work with: sorted, grouped, searched, beside maintenance, and alive in a browser.

use std::io::Read as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Method;
use serin::domain::maintenance::{MaintenanceWindow, Stretch, WindowRuns};
use serin::domain::monitor::MonitorId;
use serin::domain::route::Match;
use serin::live::banner::Banner;
use serin::live::monitor_view::{HourMark, MonitorView};

use crate::fixture::Running;
use crate::{ask, fixture, get};

/// The ids of a page's rows, in their order.
fn rows(page: &str) -> Vec<&str> {
    page.split(" id=\"m-").skip(1).filter_map(|rest| rest.split_once('"')).map(|(id, _)| id).collect()
}

#[tokio::test]
async fn a_list_is_sorted_by_what_one_looks_for() {
    let running = fixture::varied().await;
    let rows_of = [
        ("/", "legal", "the worst first"),
        ("/?sort=name", "api-ref", "by name: API reference"),
        ("/?sort=p95", "docs", "by the slowest in parts of its limit"),
        ("/?sort=canaries", "legal", "by the share of canaries that are wrong"),
    ];
    for (path, first, sentence) in rows_of {
        let page = get(&running, path).await.1;
        assert_eq!((rows(&page).len(), rows(&page)[0]), (20, first), "{sentence}: {path}");
    }
    let place = |page: &str, id: &str| rows(page).iter().position(|row| *row == id);
    let [worst, canaries] = [get(&running, "/").await.1, get(&running, "/?sort=canaries").await.1];
    assert!(place(&worst, "docs") < place(&worst, "support-kb"), "both are degraded");
    assert!(place(&canaries, "support-kb") < place(&canaries, "docs"), "and only one is wrong");
    let page = get(&running, "/?sort=p95&state=up").await.1;
    for part in [
        "role=\"columnheader\" aria-sort=\"descending\"><a href=\"/?state=up&#38;sort=p95\" aria-current=\"true\">p95",
        "href=\"/?state=up&#38;sort=name\"",
        "<input type=\"hidden\" name=\"sort\" value=\"p95\">",
    ] {
        assert!(page.contains(part), "the order is told, and kept by links and forms: {part}");
    }
}

#[tokio::test]
async fn what_a_roll_up_hides_is_found_as_fast_as_what_is_down() {
    let running = fixture::varied().await;
    let found = [
        ("/?state=slow", vec!["docs"], "its latency is open"),
        ("/?state=wrong", vec!["support-kb"], "its quality is open"),
        ("/?q=signal:health", vec!["clinical"], "a signal that is not quiet"),
        ("/?q=reason:tls_failure", vec!["tickets"], "a reason"),
        ("/?q=state:down+legal", vec!["legal"], "words and keys must all fit"),
        ("/?q=archive+LEGAL", vec!["legal"], "several words, in any order"),
        ("/?q=legal+tickets", vec![], "all of them"),
        ("/?q=team:support+tick", vec!["tickets"], "a label"),
    ];
    for (path, ids, sentence) in found {
        assert_eq!(rows(&get(&running, path).await.1), ids, "{sentence}: {path}");
    }
    let page = get(&running, "/?q=taem:docs").await.1;
    assert!(page.contains("Not understood, and left out: taem:docs: no monitor has a label"), "a wrong key is said");
    assert!(get(&running, "/?q=nothing-like-it").await.1.contains("No monitor matches."));
}

#[tokio::test]
async fn groups_say_how_they_stand_and_the_worst_comes_first() {
    let running = fixture::varied().await;
    let page = get(&running, "/?group=team").await.1;
    assert_eq!(rows(&page).len(), 20, "every monitor is in one");
    let heads: Vec<&str> = page.split("<details class=\"group ").skip(1).collect();
    assert!(heads[0].starts_with("down\" id=\"group-team:"), "the worst group first");
    assert!(heads[0].contains(" open><summary>"), "and it is open");
    assert!(heads[0].contains(" 1 down"), "with its counts: {}", &heads[0][..300]);
    let plain = get(&running, "/").await.1;
    assert!(plain.contains("href=\"/?group=team\"") && !plain.contains("class=\"group "), "it is offered");
    assert!(plain.contains("<details id=\"labels\">") && plain.contains("label=team%3Adocs"), "and so is every label");
    let [odd, wrong] = [get(&running, "/?group=%3Cb%3E").await.1, get(&running, "/?q=state:dwn").await.1];
    assert!(wrong.contains("shown: 20 of 20</p>"), "what was not understood matches nothing");
    assert!(odd.contains("no &#60;b&#62;") && !odd.contains("<b>no <b>"), "a label that nobody has is one group");
}

#[tokio::test]
async fn maintenance_stands_beside_the_state() {
    let now = Utc::now();
    let window = MaintenanceWindow {
        name: "moving house".to_owned(),
        matches: Match { monitor: vec!["legal".to_owned()], ..Match::default() },
        runs: WindowRuns::Once(Stretch { from: now - TimeDelta::hours(1), to: now + TimeDelta::hours(1) }),
        line: 9,
    };
    let monitors: Vec<_> = (0..20).map(fixture::monitor).collect();
    let mut fleet = fixture::fleet(&monitors);
    fleet.maintenance = vec![window];
    let running = fixture::serve(None, fleet).await;
    (0..20).for_each(|n| running.live.put(fixture::view(n, now)));
    let page = get(&running, "/").await.1;
    assert_eq!(page.matches("class=\"mark\" title=\"moving house, on until").count(), 1, "in its row");
    assert_eq!(rows(&get(&running, "/?state=maintenance").await.1), ["legal"], "and as a filter");
    assert_eq!(rows(&get(&running, "/?q=is:maintenance").await.1), ["legal"], "and in a search");
    assert_eq!(rows(&get(&running, "/?q=is:acknowledged").await.1), ["partner"], "as is what somebody has");
    assert_eq!(rows(&get(&running, "/?q=is:quiet").await.1), [""; 0], "nothing is held back");
    let without = fixture::varied().await;
    assert!(!get(&without, "/").await.1.contains("state=maintenance"), "none is no tile");
}

#[tokio::test]
async fn bars_say_in_words_what_they_show() {
    let running = fixture::lived_in().await;
    let page = get(&running, "/?q=docs").await.1;
    let days = page.split("<title>90 days: ").nth(1).and_then(|rest| rest.split_once("</title>")).unwrap().0;
    for part in ["up ", " covered, right ", " answers, worst day "] {
        assert!(days.contains(part), "{days}");
    }
    running.store.close().await;
    assert!(get(&running, "/?q=docs").await.1.contains("<title>90 days: "), "what was read is kept");
    assert!(!get(&running, "/?q=legal").await.1.contains("<title>90 days: "), "what was not is missing, never made up");
}

#[tokio::test]
async fn a_group_shows_its_worst_in_any_order() {
    let monitors: Vec<_> = (0..20).map(fixture::monitor).collect();
    let running = fixture::serve(None, fixture::fleet(&monitors)).await;
    let now = Utc::now();
    (0..200).for_each(|n| running.live.put(lived(n, now)));
    let states = async |path| {
        let page = get(&running, path).await.1;
        let mut states: Vec<_> = page.split("class=\"row ").skip(1).filter_map(|row| row.split('"').next()).collect();
        states.sort_unstable();
        states.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let [worst, named] = [states("/?group=team").await, states("/?group=team&sort=name").await];
    assert_eq!(worst, named, "sorted by name, the same ones are shown");
    assert_eq!(worst.iter().filter(|state| *state == "down").count(), 20, "and all that is down: {worst:?}");
}

/// A monitor with a day behind it.
fn lived(n: usize, now: DateTime<Utc>) -> MonitorView {
    let mut view = fixture::view(n % 20, now);
    view.id = MonitorId::new(&format!("monitor-{n:03}"));
    let hour = now.timestamp() - now.timestamp().rem_euclid(3_600);
    let mark = |back: u32| {
        let bad = (back * 7 + u32::try_from(n).unwrap()).is_multiple_of(23);
        let hour = DateTime::from_timestamp(hour - i64::from(back) * 3_600, 0).unwrap();
        let (up, right) = (if bad { 40 } else { 60 }, 120 - back % 3);
        HourMark { hour, due: 60, due_s: 3_600, seen: 60, up, apart: 0, asked: 120, right }
    };
    view.day.hours = (0..27).rev().map(mark).collect();
    view.day.first_seen = now - TimeDelta::days(2);
    view
}

/// Goes on telling of a change of one monitor, as a fleet does.
async fn lively(running: &Running) {
    for turn in 1.. {
        let mut view = lived(3, Utc::now());
        view.declared.name = format!("Changed {turn} times");
        running.live.put(view);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn a_fleet_is_worked_with_in_a_browser() {
    let monitors: Vec<_> = (0..20).map(fixture::monitor).collect();
    let running = Arc::new(fixture::serve(None, fixture::fleet(&monitors)).await);
    let now = Utc::now();
    (0..100).for_each(|n| running.live.put(lived(n, now)));
    let run = tokio::process::Command::new("node")
        .args(["fleet.mjs", &running.url, "../../target/pages"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    tokio::select! {
        status = tokio::time::timeout(Duration::from_mins(10), run) => {
            assert!(status.expect("it ends").unwrap().success(), "the page does not do what it should; see above");
        }
        () = lively(&running) => {}
    }
}

/// The page as a browser gets it, packed.
async fn packed(running: &Running, path: &str) -> String {
    let answer =
        ask(running, Method::GET, path).header("accept-encoding", "gzip, deflate, br, zstd").send().await.unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let (bytes, mut text) = (answer.bytes().await.unwrap(), String::new());
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_many_have_open_shows_news_at_once() {
    let running = fixture::varied().await;
    let mut stream = ask(&running, Method::GET, "/events").send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some(), "somebody listens");
    for nth in 0..5 {
        let name = format!("newest-{nth}");
        assert!(!packed(&running, "/").await.contains(&name));
        running.live.raise(Banner { kind: "config", text: name.clone(), since: Utc::now() });
        assert!(packed(&running, "/").await.contains(&name), "what is new is never hidden by what was drawn before");
    }
    let plain = ask(&running, Method::GET, "/").send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"), "and who packs nothing gets it plain");
    assert!(plain.text().await.unwrap().contains("newest-4"));
}
