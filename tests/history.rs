//! Ninety days of a monitor on its page and in the API, out of a real database, and how many queries that takes.
//!
//! A program of its own, so that nothing else asks the database while its questions are counted.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use chrono::Utc;
use serde_json::Value;
use serin::domain::incident::Incident;
use serin::domain::monitor::MonitorId;
use serin::domain::paging::delivery::AttemptEnd;
use serin::domain::reason::FailureReason;
use serin::store::values::change_set::ChangeSet;
use serin::store::values::claims::{Attempted, Claiming, NextAttempt, TriedDelivery};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

#[expect(dead_code, reason = "other tests need more of it")]
mod common;
#[path = "pages/fixture/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the other pages' tests need more of it")]
mod fixture;

use fixture::Running;

/// Queries of a monitor's page at most, whatever it shows.
const QUERIES_MAX: usize = 30;
/// Bytes of a monitor's page with the largest heat map, so that it stays a page.
const BYTES_MAX: usize = 300_000;

/// Deliveries that are many.
const PROMISED: usize = 500;

static QUERIES: AtomicUsize = AtomicUsize::new(0);

/// Counts what the readers of the database are asked.
struct Counter;

impl<S: Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut asked = Asked(false);
        event.record(&mut asked);
        if event.metadata().target() == "sqlx::query" && asked.0 {
            QUERIES.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether a statement asks for rows. How many connections a page meets open is chance, and so are their settings.
struct Asked(bool);

impl Visit for Asked {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 |= field.name() == "summary" && (value.starts_with("SELECT") || value.starts_with("WITH"));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

async fn get(running: &Running, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{}{path}", running.url)).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// What a page holds, and how many queries it took.
async fn counted(running: &Running, path: &str) -> (String, usize) {
    let (before, began) = (QUERIES.load(Ordering::Relaxed), Instant::now());
    let (status, text) = get(running, path).await;
    assert_eq!(status, 200, "{path}");
    let queries = QUERIES.load(Ordering::Relaxed) - before;
    println!("{path}: {queries} queries, {} bytes, {:?}", text.len(), began.elapsed());
    (text, queries)
}

#[tokio::test]
async fn ninety_days_are_told_in_as_many_queries_as_a_day() {
    tracing_subscriber::registry().with(Counter).init();
    let running = fixture::lived_in().await;
    pages(&running).await;
    api(&running).await;
    board(&running).await;
    ledger(&running).await;
    fleet(&running).await;
}

/// What is promised to whom: whatever there is of it, with tries.
async fn ledger(running: &Running) {
    let one = fixture::incident(3, FailureReason::WrongResults, "wrong", Utc::now());
    tell(running, one.clone(), "alone", 1).await;
    for n in 0..PROMISED {
        let told = fixture::incident(100 + n, FailureReason::WrongResults, "wrong", Utc::now());
        tell(running, told, "often", 1).await;
    }
    let many = fixture::incident(4, FailureReason::WrongResults, "wrong", Utc::now());
    tell(running, many.clone(), "thrice", PROMISED).await;
    for end in [0, 1, 2] {
        try_all(running, end == 2).await;
    }
    let (one, many) = (one.id, many.id);
    let rows = [
        ("/deliveries?receiver=alone", "/deliveries?receiver=often", "the page"),
        ("/api/v1/deliveries?receiver=alone", "/api/v1/deliveries?receiver=often", "the API, which the command reads"),
        (&*format!("/deliveries?incident={one}"), &*format!("/deliveries?incident={many}"), "of one incident"),
        (&*format!("/incidents/{one}"), &*format!("/incidents/{many}"), "an incident's page"),
        (&*format!("/api/v1/incidents/{one}"), &*format!("/api/v1/incidents/{many}"), "an incident in the API"),
        ("/receivers", "/receivers", "receivers"),
        ("/api/v1/receivers", "/api/v1/receivers", "receivers in the API"),
    ];
    for (few, all, sentence) in rows {
        let ((text_of_one, of_one), (text_of_all, of_all)) = (counted(running, few).await, counted(running, all).await);
        assert!(few == all || text_of_all.len() > text_of_one.len() + 5_000, "{sentence}: there is much more of it");
        assert_eq!(of_one, of_all, "{sentence}: as many questions for one delivery as for {PROMISED}");
        assert!(of_one <= QUERIES_MAX, "{sentence}: {of_one} queries");
    }
}

/// Promises so many messages of an incident to a receiver.
async fn tell(running: &Running, incident: Incident, receiver: &str, messages: usize) {
    let opening = fixture::opening(&incident);
    let message = |n: usize| {
        let mut told = opening.outbox[0].clone();
        told.notification.id = format!("{}-{n}", told.notification.id);
        told.notification.sequence = n as u32 + 1;
        told.to = common::paging::addressees(&[(receiver, None)]);
        told
    };
    let outbox = (0..messages).map(message).collect();
    running.store.commit(ChangeSet { outbox, ..opening.clone() }).await.unwrap();
}

/// Tries once whatever may be tried; what is not taken is tried again.
async fn try_all(running: &Running, is_taken: bool) {
    let (now, all) = (Utc::now(), 2 * PROMISED);
    let claiming = Claiming { limit: all, per_receiver: all, per_unproven: all, ..Claiming::default() };
    let claims = running.store.claim(now, claiming).await.unwrap();
    assert!(claims.len() >= PROMISED, "{}", claims.len());
    let tried = claims.into_iter().map(|claim| {
        let failed = AttemptEnd::Failed { why: "HTTP 503".to_owned(), retry_after: None };
        running.store.attempted(Attempted {
            is_again: false,
            deliveries: vec![TriedDelivery { id: claim.delivery, stand_ins: Vec::new() }],
            lease: claim.lease,
            started_at: now,
            ended_at: now,
            end: if is_taken { AttemptEnd::Accepted } else { failed },
            external_ref: None,
            next: if is_taken { NextAttempt::Sent } else { NextAttempt::Retry(now) },
        })
    });
    futures_util::future::try_join_all(tried).await.unwrap();
}

/// A day and a week of canaries, in rows and packs, with lists of some that are lost.
async fn board(running: &Running) {
    let mut taken = Vec::new();
    for range in ["30m", "3h", "24h", "7d"] {
        let (text, queries) = counted(running, &format!("/monitors/support-kb?board={range}")).await;
        assert!(text.contains(&format!("rank over {range}")) && text.contains("gone from rank 1"), "{range}");
        assert!(queries <= QUERIES_MAX && text.len() < BYTES_MAX, "{range}: {queries} queries, {} bytes", text.len());
        taken.push(queries);
    }
    // Hours that are sealed name their canaries and answers by numbers: two more queries for all of them.
    assert!(taken[3] <= taken[0] + 3, "{taken:?}");
    let id = MonitorId::new("support-kb");
    let now = Utc::now();
    let asked = running.store.asked(&id, now - chrono::TimeDelta::days(2), now).await.unwrap();
    let whole = running.store.past(&id, now - chrono::TimeDelta::days(2), now).await.unwrap();
    let whole: Vec<_> = whole.iter().flat_map(|beat| beat.asks.iter().map(move |ask| (beat.started_at, ask))).collect();
    assert!(whole.len() > 1_000, "{}", whole.len());
    assert_eq!(asked.asks.len(), whole.len(), "every ask once, from rows and packs");
    for (line, (at, ask)) in asked.asks.iter().zip(whole) {
        assert_eq!((line.at, &line.canary, line.shape), (at, &ask.canary, ask.shape));
        assert_eq!(line.list, ask.answer.as_ref().map(|answer| answer.list), "a number in a pack is its list");
    }
}

async fn pages(running: &Running) {
    let rows: [(&str, &str, &[&str], &str); 7] = [
        ("/monitors/docs?range=30m", "beats", &["30m"], "half an hour"),
        (
            "/monitors/docs",
            "beats",
            &["aria-current=\"true\">3h", "class=\"heat high\""],
            "three hours and a week's heat",
        ),
        (
            "/monitors/docs?range=24h",
            "beats",
            &["up, 24h", "up, 90d", "coverage ", "right answers, 24h", "right answers, 90d"],
            "a day, and uptime beside right answers of every range",
        ),
        (
            "/monitors/docs?range=7d",
            "kept",
            &["aria-current=\"true\">7d", "p95 over the 1 h before each point"],
            "a week by hours",
        ),
        (
            "/monitors/docs?range=30d",
            "kept",
            &["p95 over the 1 d before each point", "class=\"shade\""],
            "a month by days, incidents shaded",
        ),
        ("/monitors/docs?range=90d", "kept", &["p95 over the 1 d before each point"], "three months by days"),
        (
            "/monitors/docs?range=90d&heat=35d",
            "kept",
            &[
                "class=\"heat low\"",
                "class=\"over\"",
                "too few for a bound",
                "class=\"none\"",
                "no samples",
                "?range=7d&amp;heat=35d#latency",
            ],
            "every hour that is kept, each kind by its own shape, and the other links keep the choice",
        ),
    ];
    let mut taken: Vec<(&str, usize)> = Vec::new();
    for (path, grain, wanted, sentence) in rows {
        let (text, queries) = counted(running, path).await;
        for part in wanted {
            let found = text.contains(part) || text.replace("&#38;", "&amp;").contains(part);
            assert!(found, "{sentence}: {path} lacks {part}");
        }
        assert!(queries > 0 && queries <= QUERIES_MAX, "{sentence}: {queries} queries");
        assert!(text.len() < BYTES_MAX, "{sentence}: {} bytes", text.len());
        let same = taken.iter().filter(|(other, _)| *other == grain).all(|(_, other)| *other == queries);
        assert!(same, "{sentence}: {queries} queries, others of its kind {taken:?}");
        taken.push((grain, queries));
    }
}

async fn api(running: &Running) {
    let (text, _) = counted(running, "/api/v1/monitors/docs/history?range=90d&heat=35d").await;
    let body: Value = serde_json::from_str(&text).unwrap();
    let share = |place: usize, key: &str| body["uptime"][place][key].as_f64().unwrap();
    let ranges: Vec<_> = (0..4).map(|place| body["uptime"][place]["range"].as_str().unwrap()).collect();
    assert_eq!(ranges, ["24h", "7d", "30d", "90d"]);
    assert!(
        (share(0, "uptime") - 1.0).abs() < 1e-9 && (share(1, "uptime") - 1.0).abs() < 1e-9,
        "the outage was before"
    );
    assert_eq!(body["uptime"][2]["down_seconds"], 7_200, "two hours three weeks ago");
    let month = share(2, "uptime");
    assert!(month < 1.0 && month > 0.995, "a month with two hours down: {month}");
    let week = share(1, "coverage");
    assert!(week > 0.95 && week < 0.985, "four hours of a night that nobody saw are not covered: {week}");
    let right = |place: usize| body["uptime"][place]["right_answers"].as_f64().unwrap();
    let asked = |place: usize| body["uptime"][place]["asked"].as_u64().unwrap();
    assert!((right(0) - 1.0).abs() < 1e-9, "nothing was wrong yesterday: {}", right(0));
    assert!((right(1) - 1.0).abs() < 1e-9 && right(2) < 1.0, "but on one day ten days ago: {}, {}", right(1), right(2));
    let wrong = asked(2) as f64 * (1.0 - right(2));
    assert!((wrong - 24.0).abs() < 1e-6, "one canary of eight, each hour of it, and no answer is not right: {wrong}");
    assert!(asked(3) > asked(2) && asked(2) > asked(1), "n is of the range");
    assert_eq!(body["latency"]["slice_seconds"], 86_400);
    let slices = body["latency"]["slices"].as_array().unwrap();
    assert_eq!(slices.len(), 91, "every day, the first one and today's counted in");
    assert_eq!(slices[0]["at"], body["latency"]["from"], "and the first begins where the range does");
    let worst = body["hours"].as_array().unwrap().iter().filter_map(|hour| hour["p95_ms"].as_f64()).fold(0.0, f64::max);
    assert!(worst > 800.0, "the bad morning is among the hours: {worst}");
    let few = body["hours"].as_array().unwrap().iter().find(|hour| hour["n"].as_u64().unwrap() < 59).unwrap();
    assert!(few["p95_ms"].is_null(), "no p95 of a few samples: {few}");
    let rows = [
        ("/api/v1/monitors/docs/history?range=1y", 422, "range is one of", "a range that is not kept"),
        ("/api/v1/monitors/docs/history?heat=1", 422, "heat is one of", "nor such a heat map"),
        ("/api/v1/monitors/nobody/history", 404, "no monitor", "a monitor that is not there"),
        ("/api/v1/monitors/legal/history", 200, "\"uptime\":null", "one that nobody saw has no uptime"),
    ];
    for (path, status, part, sentence) in rows {
        let (got, text) = get(running, path).await;
        assert!(got == status && text.contains(part), "{sentence}: {got} {text}");
    }
}

async fn fleet(running: &Running) {
    let (_, few) = counted(running, "/").await;
    let now = Utc::now();
    for n in 0..2_000 {
        let mut view = fixture::view(n % 12, now);
        view.id = MonitorId::new(&format!("monitor-{n:05}"));
        running.live.put(view);
    }
    let (_, many) = counted(running, "/").await;
    assert!(many <= few, "the fleet's page asks no more of two thousand monitors than of twenty: {many}, {few}");
    let (_, again) = counted(running, "/").await;
    assert_eq!(
        (few > 0, again),
        (true, 0),
        "and of those it knows nothing for a while: a page that lives costs no query"
    );
}
