//! What everybody may see, and that it is no more than that.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Method, StatusCode, header};
use serde_json::Value;
use serin::domain::fleet::Fleet;
use serin::domain::incident::ResolveCause;
use serin::domain::maintenance::{MaintenanceWindow, Stretch, WindowRuns};
use serin::domain::monitor::MonitorId;
use serin::domain::reason::FailureReason as R;
use serin::domain::route::Match;
use serin::domain::status_page::{Component, StatusPage};
use serin::store::values::change_set::ChangeSet;

use crate::fixture::{self, Running};
use crate::{ask, get};

const TOKEN: &str = "let-me-in";

const ADDRESSES: [&str; 7] = [
    "/status",
    "/status/feed.atom",
    "/api/v2/summary.json",
    "/api/v2/status.json",
    "/api/v2/components.json",
    "/api/v2/incidents.json",
    "/api/v2/incidents/unresolved.json",
];

/// What a name of the file may hold without being anything but a name.
const HOSTILE: &str = "</title><img src=x onerror=alert(1)>&\"']]>";

fn component(name: &str, group: &str, monitors: &[&str]) -> Component {
    Component {
        name: name.to_owned(),
        description: if name == "Answers" { "What people ask for most".to_owned() } else { String::new() },
        group: group.to_owned(),
        monitors: monitors.iter().map(|id| MonitorId::new(id)).collect(),
        line: 1,
    }
}

/// Of the varied fleet: the first one is wrong, the second slow, the third down, the thirteenth works, the ninth was not
/// seen, and the fourteenth is in maintenance.
fn shown(now: DateTime<Utc>) -> Fleet {
    let window = |monitor: &str, from: i64, to: i64| MaintenanceWindow {
        name: "hidden-window".to_owned(),
        matches: Match { monitor: vec![monitor.to_owned()], ..Match::default() },
        runs: WindowRuns::Once(Stretch { from: now + TimeDelta::hours(from), to: now + TimeDelta::hours(to) }),
        line: 4,
    };
    Fleet {
        status_page: Some(StatusPage {
            title: "Search at Example".to_owned(),
            home: Some("https://www.example.org/".to_owned()),
            components: vec![
                component("Answers", "", &["support-kb"]),
                component("Legal search", "Search", &["legal", "reviews"]),
                component("Guide", "Search", &["docs"]),
                component("Papers", "", &["papers"]),
                component("Manuals", "", &["manuals"]),
                component(HOSTILE, "", &["sales"]),
            ],
        }),
        maintenance: vec![window("sales", -1, 1), window("papers", 24, 26), window("papers", 24 * 9, 24 * 9 + 1)],
        ..fixture::fleet(&(0..20).map(fixture::monitor).collect::<Vec<_>>())
    }
}

async fn public() -> (Running, DateTime<Utc>) {
    let now = Utc::now();
    let running = fixture::serve(Some(TOKEN), shown(now)).await;
    for n in 0..20 {
        running.live.put(fixture::view(n, now));
    }
    for (n, reason, minutes) in [(0, R::WrongResults, 14), (1, R::LatencyElevated, 15), (2, R::ConnectionRefused, 16)] {
        let open = fixture::incident(n, reason, "hidden summary", now - TimeDelta::minutes(minutes));
        running.store.commit(fixture::opening(&open)).await.unwrap();
    }
    let mut over = fixture::incident(40, R::ElevatedErrorRate, "hidden summary", now - TimeDelta::hours(50));
    over.monitor = MonitorId::new("papers");
    running.store.commit(fixture::opening(&over)).await.unwrap();
    (over.resolved_at, over.resolve_cause) = (Some(now - TimeDelta::hours(49)), Some(ResolveCause::Recovered));
    running.store.commit(ChangeSet { incidents: vec![over], ..ChangeSet::default() }).await.unwrap();
    (running, now)
}

#[tokio::test]
async fn nothing_is_public_where_the_file_shows_nothing() {
    for token in [None, Some(TOKEN)] {
        let running = fixture::serve(token, fixture::fleet(&[])).await;
        for path in ADDRESSES {
            assert_eq!(get(&running, path).await.0, StatusCode::NOT_FOUND, "{path}");
        }
    }
}

#[tokio::test]
async fn the_page_says_how_things_are_in_public_words() {
    let (running, _) = public().await;
    let (status, page) = get(&running, "/status").await;
    assert_eq!(status, StatusCode::OK, "without signing in");
    let rows = [
        ("Legal search is down; 4 others have trouble of another kind", "the worst in the sentence"),
        ("1 of 2 affected", "one of two monitors"),
        ("Answers: answers may be wrong", "what is quietly wrong is said"),
        ("Guide: slow", "a ticket is public"),
        ("not known<span class=\"more\">, since ", "what was not seen is not known"),
        ("maintenance", "and what is planned is planned"),
        ("Papers: partly failing", "what is over is told"),
        ("(1 h)", "with how long it was"),
        ("https://www.example.org/", "the heading leads home"),
        ("What people ask for most", "a description"),
        ("&#60;/title&#62;", "a name stays a name"),
    ];
    for (text, sentence) in rows {
        assert!(page.contains(text), "{sentence}: {text}\n{page}");
    }
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains(" style="), "{page}");
    let ahead = page.split("Maintenance</h2>").nth(1).unwrap().split("</ul>").next().unwrap();
    assert_eq!(
        ahead.matches("<li>").count(),
        2,
        "what is on and what comes within a week, not what comes later: {ahead}"
    );
    assert!(page.len() < 40_000, "{}", page.len());
}

#[tokio::test]
async fn nothing_internal_is_in_anything_public() {
    let (running, _) = public().await;
    let fleet = shown(Utc::now());
    let reasons = R::ALL.iter().map(|reason| reason.slug().to_owned()).filter(|slug| slug.contains('_'));
    let ids = [
        "support-kb",
        "\"docs\"",
        "/legal",
        "reviews",
        "hidden-",
        "hidden summary",
        "rag.example.org",
        "monitors.yaml",
        "9f3c2ab",
    ];
    let hidden: Vec<String> = ids
        .map(str::to_owned)
        .into_iter()
        .chain(reasons)
        .chain(fleet.monitors.iter().map(|monitor| monitor.name.clone()))
        .chain((0..50).map(fixture::incident_id))
        .chain(["oncall", "Ada", "token-life", "team", "platform", "severity", TOKEN].map(str::to_owned))
        .collect();
    for path in ADDRESSES {
        let answer = ask(&running, Method::GET, path).send().await.unwrap();
        let headers = format!("{:?}", answer.headers());
        let text = format!("{headers}\n{}", answer.text().await.unwrap());
        for word in &hidden {
            assert!(!text.contains(word.as_str()), "{path} says {word}:\n{text}");
        }
        let private = ["/incidents/0", "/monitors", "/login", "/runbooks", "/deliveries", "/silences", "/receivers"];
        assert!(private.iter().all(|link| !text.contains(link)), "{path} leads inside: {text}");
    }
}

#[tokio::test]
async fn the_feed_is_valid_and_its_ids_stay() {
    let (running, _) = public().await;
    let (_, text) = get(&running, "/status/feed.atom").await;
    let feed: atom_syndication::Feed = text.parse().unwrap();
    let titles: Vec<&str> = feed.entries.iter().map(|entry| entry.title.value.as_str()).collect();
    let expected = [
        "Answers: answers may be wrong",
        "Guide: slow",
        "Legal search: down",
        "Papers: over (partly failing)",
        "Papers: partly failing",
    ];
    assert_eq!(titles, expected, "openings and ends, the newest first");
    let ids: std::collections::BTreeSet<&str> = feed.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert!(ids.len() == 5 && ids.iter().all(|id| id.starts_with("urn:uuid:")), "{ids:?}");
    assert_eq!(feed.updated, feed.entries[0].updated);
    assert!(
        feed.links.iter().any(|link| link.rel == "self" && link.href == "https://serin.example.org/status/feed.atom")
    );
    assert!(!feed.authors.is_empty() && feed.entries.iter().all(|entry| entry.content.is_some()));
}

#[tokio::test]
async fn answers_are_small_when_nothing_changed_and_name_what_they_are() {
    let (running, _) = public().await;
    for path in ADDRESSES {
        let answer = ask(&running, Method::GET, path).send().await.unwrap();
        let headers = answer.headers().clone();
        assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=5", "{path}");
        assert_eq!(headers["x-robots-tag"], "noindex", "{path}");
        assert!(
            headers.contains_key(header::LAST_MODIFIED) && headers.contains_key("content-security-policy"),
            "{path}"
        );
        let is_api = path.starts_with("/api/");
        assert_eq!(headers.get("access-control-allow-origin").is_some_and(|all| all == "*"), is_api, "{path}");
        let tag = headers[header::ETAG].to_str().unwrap();
        let again = ask(&running, Method::GET, path).header(header::IF_NONE_MATCH, tag).send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
        let head = ask(&running, Method::HEAD, path).send().await.unwrap();
        assert_eq!((head.status(), head.headers()[header::ETAG].to_str().unwrap()), (StatusCode::OK, tag), "{path}");
        assert_eq!(head.text().await.unwrap(), "", "{path}");
        let written = ask(&running, Method::POST, path).header("origin", &running.url).send().await.unwrap();
        assert_eq!(written.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}: it is only read");
    }
}

#[tokio::test]
async fn the_summary_has_the_shape_that_aggregators_read() {
    let (running, _) = public().await;
    let summary: Value = serde_json::from_str(&get(&running, "/api/v2/summary.json").await.1).unwrap();
    assert_eq!(summary["status"]["indicator"], "major", "{summary:#}");
    let of = |name: &str| {
        let all = summary["components"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {summary:#}")).clone()
    };
    let rows = [
        ("Answers", "partial_outage", "wrong answers are an outage of a part"),
        ("Legal search", "partial_outage", "one of two is down"),
        ("Guide", "degraded_performance", "slow"),
        ("Papers", "operational", "works"),
        ("Manuals", "degraded_performance", "what is not known is never operational"),
        (HOSTILE, "under_maintenance", "planned"),
        ("Search", "partial_outage", "a group is as its worst"),
    ];
    for (name, status, sentence) in rows {
        assert_eq!(of(name)["status"], status, "{sentence}");
    }
    let group = of("Search");
    assert_eq!((&group["group"], of("Guide")["group_id"] == group["id"]), (&Value::Bool(true), true));
    assert_eq!(summary["incidents"].as_array().unwrap().len(), 3);
    assert_eq!(summary["incidents"][0]["impact"], "major");
    assert_eq!(summary["scheduled_maintenances"].as_array().unwrap().len(), 2);
    let incidents: Value = serde_json::from_str(&get(&running, "/api/v2/incidents.json").await.1).unwrap();
    let over = incidents["incidents"].as_array().unwrap().last().unwrap();
    assert_eq!((&over["status"], over["incident_updates"].as_array().unwrap().len()), (&Value::from("resolved"), 2));
}

#[tokio::test]
async fn a_serin_that_stands_still_claims_nothing() {
    let now = Utc::now();
    let running = fixture::serve(None, shown(now)).await;
    let (_, page) = get(&running, "/status").await;
    assert!(page.contains("How systems are is not known just now") && page.contains("not seen yet"), "{page}");
    let running = fixture::serve(None, shown(now)).await;
    for n in 0..20 {
        running.live.put(fixture::view(n, now - TimeDelta::hours(2)));
    }
    let (_, page) = get(&running, "/status").await;
    assert!(page.contains("How systems are is not known just now"), "whatever was seen two hours ago: {page}");
    assert!(!page.contains("</span> works"), "{page}");
}
