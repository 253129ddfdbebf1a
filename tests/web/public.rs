//! What everybody may see, and that it is no more than that.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Method, StatusCode, header};
use serde_json::Value;
use serin::deliver::public_marks::{BadgeKind, BadgeOf};
use serin::domain::fleet::Fleet;
use serin::domain::incident::ResolveCause;
use serin::domain::maintenance::{MaintenanceWindow, Stretch, WindowRuns};
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::Verdict;
use serin::domain::reason::FailureReason as R;
use serin::domain::route::Match;
use serin::domain::status_page::{Component, StatusPage};
use serin::live::monitor_view::BeatMark;
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
pub(crate) fn shown(now: DateTime<Utc>) -> Fleet {
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

/// Three incidents that go on and one that is over, on what a fleet shows.
pub(crate) async fn public(shown: fn(DateTime<Utc>) -> Fleet) -> (Running, DateTime<Utc>) {
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
async fn other_pages_lead_to_it_where_it_is() {
    for (fleet, leads) in [(shown(Utc::now()), true), (fixture::fleet(&[]), false)] {
        let running = fixture::serve(None, fleet).await;
        let (_, page) = get(&running, "/").await;
        assert_eq!(page.contains("<a href=\"/status\">"), leads, "{page}");
    }
}

#[tokio::test]
async fn the_page_says_how_things_are_in_public_words() {
    let (running, _) = public(shown).await;
    let (status, page) = get(&running, "/status").await;
    assert_eq!(status, StatusCode::OK, "without signing in");
    let rows = [
        ("Legal search is down; 3 others have trouble of another kind", "the worst in the sentence"),
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
    let (running, _) = public(shown).await;
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
    let (running, _) = public(shown).await;
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

/// What is answered to one who knows nothing, to one who knows that answer, and to one who asks for its head, all three
/// drawn at one time: what is public is drawn anew every few seconds.
async fn of_one_drawing(running: &Running, path: &str) -> (header::HeaderMap, reqwest::Response, reqwest::Response) {
    loop {
        let headers = ask(running, Method::GET, path).send().await.unwrap().headers().clone();
        let again = ask(running, Method::GET, path).header(header::IF_NONE_MATCH, &headers[header::ETAG]);
        let again = again.send().await.unwrap();
        let head = ask(running, Method::HEAD, path).send().await.unwrap();
        if [&again, &head]
            .iter()
            .all(|answer| answer.headers()[header::LAST_MODIFIED] == headers[header::LAST_MODIFIED])
        {
            return (headers, again, head);
        }
    }
}

#[tokio::test]
async fn answers_are_small_when_nothing_changed_and_name_what_they_are() {
    let (running, _) = public(shown).await;
    for path in ADDRESSES {
        let (headers, again, head) = of_one_drawing(&running, path).await;
        assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=5", "{path}");
        assert_eq!(headers["x-robots-tag"], "noindex", "{path}");
        assert!(
            headers.contains_key(header::LAST_MODIFIED) && headers.contains_key("content-security-policy"),
            "{path}"
        );
        let is_api = path.starts_with("/api/");
        assert_eq!(headers.get("access-control-allow-origin").is_some_and(|all| all == "*"), is_api, "{path}");
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
        assert_eq!((head.status(), &head.headers()[header::ETAG]), (StatusCode::OK, &headers[header::ETAG]), "{path}");
        assert_eq!(head.text().await.unwrap(), "", "{path}");
        let written = ask(&running, Method::POST, path).header("origin", &running.url).send().await.unwrap();
        assert_eq!(written.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}: it is only read");
    }
}

#[tokio::test]
async fn the_summary_has_the_shape_that_aggregators_read() {
    let (running, _) = public(shown).await;
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
async fn what_was_never_seen_well_is_not_said_to_work() {
    let now = Utc::now();
    // Its first failed beat is not confirmed yet.
    for (was_well, said) in [(true, "</span> works"), (false, "not seen yet")] {
        let running = fixture::serve(None, shown(now)).await;
        let mut view = fixture::view(10, now);
        view.id = MonitorId::new("papers");
        if !was_well {
            let failed = view.strip.iter().map(|mark| BeatMark { verdict: Verdict::Down, ..*mark });
            view.strip = failed.collect();
        }
        running.live.put(view);
        let (_, page) = get(&running, "/status").await;
        let papers = page.split(">Papers<").nth(1).unwrap().split("</li>").next().unwrap();
        assert!(papers.contains(said), "{said}: {papers}");
    }
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

/// What `serin badge` prints, as far as it is an address.
fn badge(running: &Running, of: BadgeOf<'_>, kind: BadgeKind) -> String {
    running.marks.badge_url("", of, kind)
}

#[tokio::test]
async fn a_badge_is_seen_by_whoever_has_its_address() {
    let (running, _) = public(shown).await;
    let (down, works) = (BadgeOf::Monitor("legal"), BadgeOf::Component("Papers"));
    let rows = [
        (down, BadgeKind::State, "search: down", "a monitor's names no monitor"),
        (works, BadgeKind::State, "Papers: works", "a component's has its public name"),
        (BadgeOf::Component("Legal search"), BadgeKind::State, "Legal search: down (1 of 2)", "one of two"),
        (BadgeOf::Component("Papers"), BadgeKind::Up, "Papers: up", "a share of 90 days"),
        (BadgeOf::Monitor("support-kb"), BadgeKind::Right, "search: right", "and of right answers"),
        (BadgeOf::Monitor("docs"), BadgeKind::P95, "search: p95 1.24 s", "how long its searches take"),
        (down, BadgeKind::P95, "search: p95: not known", "what it took before it went down is past"),
        (BadgeOf::Component("Legal search"), BadgeKind::P95, "Legal search: p95 ", "of the one that answers"),
        (BadgeOf::Monitor("manuals"), BadgeKind::P95, "search: p95: not known", "what was not seen"),
    ];
    for (of, kind, said, sentence) in rows {
        let answer = ask(&running, Method::GET, &badge(&running, of, kind)).send().await.unwrap();
        let headers = answer.headers().clone();
        let drawn = answer.text().await.unwrap();
        assert!(drawn.contains(&format!("aria-label=\"{said}")), "{sentence}: {drawn}");
        assert_eq!(headers[header::CONTENT_TYPE], "image/svg+xml");
        assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=60");
        assert_eq!(headers["cross-origin-resource-policy"], "cross-origin", "it stands in pages of others");
    }
    let good = badge(&running, down, BadgeKind::State);
    let cut = good.replace(".svg", "");
    let other = format!("{}A.svg", &good[..good.len() - 5]);
    for path in ["/badge/legal.svg", "/badge/.svg", "/badge/AAAAAAAAAAAAAAAAAAAAAA.svg", &cut, &other] {
        if path == good {
            continue;
        }
        let answer = ask(&running, Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let bare = fixture::serve(Some(TOKEN), fixture::fleet(&[fixture::monitor(12)])).await;
    bare.live.put(fixture::view(12, Utc::now()));
    let path = bare.marks.badge_url("", BadgeOf::Monitor("reviews"), BadgeKind::State);
    assert_eq!(get(&bare, &path).await.0, StatusCode::OK, "without a status page too");
}

#[tokio::test]
async fn a_page_of_a_hundred_is_small() {
    let now = Utc::now();
    let monitors: Vec<_> = (0..100).map(fixture::monitor).collect();
    let fleet = Fleet { status_page: None, ..fixture::fleet(&monitors) };
    let components = monitors.iter().enumerate().map(|(n, one)| Component {
        description: "What everybody asks for, in one sentence that is not short".to_owned(),
        ..component(&format!("Component number {n}"), &format!("Group {}", n / 10), &[one.id.as_str()])
    });
    let page = StatusPage { title: "Many".to_owned(), home: None, components: components.collect() };
    let running = fixture::serve(None, Fleet { status_page: Some(page), ..fleet }).await;
    for n in 0..100 {
        running.live.put(fixture::view(n, now));
        let open = fixture::incident(n, R::WrongResults, "wrong", now - TimeDelta::minutes(14));
        running.store.commit(fixture::opening(&open)).await.unwrap();
    }
    let (_, page) = get(&running, "/status").await;
    assert_eq!(page.matches("<article").count(), 100);
    assert_eq!(page.matches("class=\"bars\"").count(), 100);
    assert!(page.len() < 100_000, "{} bytes", page.len());
}

#[tokio::test]
async fn ninety_days_are_told_with_how_much_of_them_was_seen() {
    let running = fixture::lived_in().await;
    let (_, page) = get(&running, "/status").await;
    let guide = page.split(">Guide<").nth(1).unwrap().split("</li>").next().unwrap();
    assert!(guide.contains("class=\"bars\"") && guide.contains("class=\"bad\""), "it was down once: {guide}");
    let said = guide.split("<p class=\"dim\">90 days: ").nth(1).unwrap().split("</p>").next().unwrap();
    let parts: Vec<&str> = said.split(", ").collect();
    assert!(parts[0].ends_with("% up") && parts[1].ends_with("% right answers"), "{said}");
    assert!(parts[2].ends_with("% of the time watched") && !parts[0].starts_with("100"), "{said}");
}

#[tokio::test]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn the_page_fits_every_screen_in_both_schemes() {
    let running = fixture::lived_in().await;
    let status = tokio::process::Command::new("node")
        .args(["public.mjs", &running.url, "../../target/pages"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .status()
        .await
        .unwrap();
    assert!(status.success(), "the page does not fit; see above");
}
