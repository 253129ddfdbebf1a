//! What pages say, however large the fleet and whatever a server says.

use std::process::Stdio;
use std::time::Duration;

use chrono::Utc;
use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode, header};
use serin::domain::flapping::{CALM_MIN, Flapping};
use serin::domain::monitor::MonitorId;
use serin::domain::reason::FailureReason;
use serin::live::banner::Banner;
use serin::live::monitor_view::HourMark;

use crate::{HOSTILE, ask, fixture, get};

#[tokio::test]
async fn every_page_says_what_it_is_for() {
    let running = fixture::varied().await;
    let over = fixture::incident_id(31);
    let rows: &[(&str, &[&str], &str)] = &[
        (
            "/",
            &["9 monitors need attention", "class=\"row down\"", "connection_refused", "4/8", "of 800 ms, n=40"],
            "the fleet",
        ),
        ("/?state=down", &["legal", "tickets"], "the fleet, narrowed"),
        ("/?q=legal", &["Legal archive"], "the fleet, searched"),
        (
            "/monitors/docs",
            &["p95 over", "class=\"p50\"", "class=\"shade\"", "token-life", "monitors.yaml:52", "n = "],
            "a monitor",
        ),
        ("/monitors/legal", &["refused", "192.0.2.14:443 refused the connection"], "a probe that broke"),
        ("/monitors/api-ref", &["held back: the server restarted"], "a signal held back, in words"),
        (
            "/incidents",
            &["Open", "Ended", "wrong_results", "acknowledged by Ada", "recovered after 26 min"],
            "incidents",
        ),
        (
            &format!("/incidents/{over}"),
            &["recovered", "Open the runbook", "serin probe docs", "oncall"],
            "an incident that ended",
        ),
        (
            &format!("/incidents/{}", fixture::incident_id(0)),
            &["auth/tokens.md within 5", "Resolves when", "Acknowledge"],
            "an open one",
        ),
        ("/deliveries", &["oncall", "pending", "incident.opened"], "the ledger"),
        ("/receivers", &["Receivers", "nobody is notified of anything"], "who can be told"),
        ("/runbooks", &["wrong_results", "canary_stale"], "the shelf of runbooks"),
        ("/runbooks/empty_results", &["<h2>"], "a runbook"),
        (
            "/metrics",
            &[
                "serin_monitor_up{monitor=\"docs\"} 1",
                "serin_incident_open{monitor=\"legal\",signal=\"availability\",reason=\"connection_refused\",severity=\"page\"} 1",
                "serin_search_p95_seconds{monitor=\"docs\"} 1.24",
                "serin_probe_requests_today{monitor=\"docs\"} 9214",
                "serin_anonymous_memory_bytes ",
                "process_cpu_seconds_total ",
            ],
            "metrics",
        ),
        ("/api/v1/monitors?state=down", &["\"total\":2", "\"state\":\"down\""], "monitors as JSON"),
        ("/api/v1/monitors/docs", &["\"canaries\":[", "\"latency_elevated\""], "a monitor as JSON"),
        ("/api/v1/incidents?state=open", &["\"failure_reason\":\"wrong_results\""], "incidents as JSON"),
        (
            &format!("/api/v1/incidents/{over}"),
            &["\"resolve_cause\":\"recovered\"", "\"timeline\":["],
            "an incident as JSON",
        ),
        (
            "/api/v1/status",
            &["\"ill\":[\"receiver 'mail' is behind", "\"sqlite\":\"3.", "\"time_zone_data\":null", "\"down\":2"],
            "how Serin itself is, as JSON",
        ),
        ("/healthz", &["ok"], "health"),
        ("/readyz", &["\"ready\":true"], "readiness"),
    ];
    for (path, wanted, sentence) in rows {
        let (status, text) = get(&running, path).await;
        assert_eq!(status, StatusCode::OK, "{sentence}: {path}");
        for part in *wanted {
            assert!(text.contains(part), "{sentence}: {path} lacks {part}");
        }
    }
    for path in ["/monitors/nobody", "/incidents/none", "/runbooks/nothing", "/nowhere", "/assets/app.css"] {
        assert_eq!(get(&running, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

/// What stands between the tags of the first element that begins so.
fn inside<'a>(page: &'a str, element: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(element).unwrap_or_else(|| panic!("{element} is missing in {page}"));
    rest.split_once(end).map_or(rest, |(inner, _)| inner)
}

#[tokio::test]
async fn pages_are_drawn_anew_without_taking_what_somebody_does() {
    let running = fixture::varied().await;
    let open = format!("/incidents/{}", fixture::incident_id(0));
    let refreshes =
        [("/", true), ("/incidents", true), (open.as_str(), false), ("/silences", false), ("/monitors/docs", false)];
    for (path, expected) in refreshes {
        let page = get(&running, path).await.1;
        assert_eq!(page.contains("http-equiv=\"refresh\""), expected, "a form is not drawn over: {path}");
    }
    let page = get(&running, &open).await.1;
    for part in ["id=\"why\" data-live", "id=\"evidence\" data-live", "id=\"resolves\" data-live"] {
        assert!(page.contains(part), "what an incident says of itself stays fresh: {part}");
    }
    let chart = get(&running, "/monitors/docs").await.1;
    let shade = inside(&chart, "class=\"shade\"", "</title>");
    assert!(shade.contains(" UTC–"), "a shade's start has its zone: {shade}");
    assert!(chart.contains("<tr data-x=") && chart.contains(" data-t=\"1"), "a point is known by its moment");
}

#[tokio::test]
async fn the_headline_is_the_fleets_under_any_filter() {
    let running = fixture::varied().await;
    let whole = get(&running, "/").await.1;
    let headline = inside(&whole, "<h1>", "</h1>");
    assert_eq!(headline, "9 monitors need attention, 2 are waiting, one is unknown");
    assert!(whole.contains("all 20 monitors") && !whole.contains("shown:"), "nothing is filtered, nothing is said");
    let rows = [
        ("/?q=legal", "shown: 1 of 20, matching <b>legal</b>", "a search"),
        ("/?q=nothing-like-it", "shown: 0 of 20, matching <b>nothing-like-it</b>", "a search that finds nothing"),
        ("/?state=up", "shown: 8 of 20, <b>up</b>", "a state"),
        ("/?label=team:docs", "shown: 7 of 20, <b>team: docs</b>", "a label"),
        (
            "/?state=down&label=team:support&q=tick",
            "shown: 1 of 20, matching <b>tick</b>, <b>team: support</b>, <b>down</b>",
            "all of them",
        ),
    ];
    for (path, said, sentence) in rows {
        let page = get(&running, path).await.1;
        assert_eq!(inside(&page, "<h1>", "</h1>"), headline, "{sentence}: the fleet is no better for being filtered");
        assert_eq!(inside(&page, "<title>", "</title>"), "(9) Fleet · Serin", "{sentence}");
        assert!(page.contains(said), "{sentence}: {path} lacks {said}: {}", inside(&page, "headline", "</ul>"));
        for tile in ["<b>2</b>", "<b>5</b>"] {
            assert!(page.contains(tile), "{sentence}: counts are the fleet's too");
        }
    }
    let page = get(&running, "/?q=legal").await.1;
    assert!(page.contains("1 shown") && page.contains("0 shown"), "and each says how many of them are shown");
}

#[tokio::test]
async fn what_flaps_says_so_wherever_it_is_shown() {
    let running = fixture::serve(None, fixture::fleet(&[fixture::monitor(0)])).await;
    let now = Utc::now();
    let flapping = Some(Flapping { openings: 4, calm: CALM_MIN, told: true });
    let mut view = fixture::view(0, now);
    let mut open = view.signals.iter_mut().filter_map(|signal| signal.incident.as_mut());
    open.next().unwrap().flapping = flapping;
    running.live.put(view);
    let mut incident = fixture::incident(0, FailureReason::WrongResults, "wrong again", now);
    incident.course.flapping = flapping;
    running.store.commit(fixture::opening(&incident)).await.unwrap();
    let said = "opened 4 times in 60 min; stays open until calm for 15 min";
    let rows = [
        ("/".to_owned(), format!("flapping: {said}")),
        ("/monitors/support-kb".to_owned(), format!("flapping: {said}")),
        (format!("/incidents/{}", incident.id), format!("<b>Flapping:</b> {said}.")),
        (format!("/incidents/{}", incident.id), "It is calm for 15 min without a break, since it flaps.".to_owned()),
        (format!("/api/v1/incidents/{}", incident.id), "\"flapping\":true".to_owned()),
        ("/api/v1/monitors/support-kb".to_owned(), "\"flapping\":true".to_owned()),
    ];
    for (path, wanted) in rows {
        let (_, text) = get(&running, &path).await;
        assert!(text.contains(&wanted), "{path} lacks {wanted}");
    }
}

#[tokio::test]
async fn what_a_server_says_stays_text() {
    let running = fixture::serve(None, fixture::fleet(&[fixture::monitor(0)])).await;
    let now = Utc::now();
    let mut view = fixture::view(0, now);
    let last = view.last.clone().unwrap();
    let (mut observation, mut outcome) = (*last).clone();
    for text in
        [&mut view.declared.name, &mut view.declared.url, &mut view.canaries[0].got, &mut view.signals[0].figure]
    {
        *text = HOSTILE.to_owned();
    }
    view.canaries[0].query = HOSTILE.to_owned();
    view.trouble = Some(HOSTILE.to_owned());
    view.declared.labels.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    observation.steps[0].label = HOSTILE.to_owned();
    observation.steps[0].notes = vec![HOSTILE.to_owned()];
    observation.server.as_mut().unwrap().name = HOSTILE.to_owned();
    std::sync::Arc::make_mut(&mut observation.tools.as_mut().unwrap().listing).tools[0].name = HOSTILE.to_owned();
    observation.health[0].reason = Some(HOSTILE.to_owned());
    outcome.findings[0].summary = HOSTILE.to_owned();
    outcome.findings[0].evidence[0].value = HOSTILE.to_owned();
    view.last = Some(std::sync::Arc::new((observation, outcome)));
    running.live.put(view);
    running.live.raise(Banner { kind: "config", text: HOSTILE.to_owned(), since: now });
    let mut incident = fixture::incident(0, FailureReason::WrongResults, HOSTILE, now);
    incident.evidence[0].key = HOSTILE.to_owned();
    incident.evidence[0].value = HOSTILE.to_owned();
    running.store.commit(fixture::opening(&incident)).await.unwrap();
    let question: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    let pages = [
        "/".to_owned(),
        format!("/?q={question}&state={question}&label={question}:{question}"),
        "/monitors/support-kb".to_owned(),
        "/incidents".to_owned(),
        format!("/incidents?monitor={question}"),
        format!("/incidents/{}", incident.id),
        format!("/incidents/{}?said={question}", incident.id),
        format!("/login?next={question}"),
        "/deliveries".to_owned(),
    ];
    for page in pages {
        let (_, text) = get(&running, &page).await;
        assert!(!text.contains("<img src=x"), "{page} holds a live element");
        assert!(text.matches("</script>").count() <= 3, "{page} ends a script that is not its own");
        assert!(!text.contains("onerror=\""), "{page} holds a live attribute");
    }
}

/// A quarter of a year in which every day was bad in one way or the other, and so was every hour of the last one: no two
/// neighbours are alike.
fn restless(now: chrono::DateTime<Utc>) -> Vec<HourMark> {
    let hour = |back: i64| {
        let at = now.timestamp() - now.timestamp().rem_euclid(3_600) - back * 3_600;
        let (up, right) = if back.rem_euclid(2) == 0 { (20, 60) } else { (59, 119) };
        let hour = chrono::DateTime::from_timestamp(at, 0).unwrap();
        HourMark { hour, due: 60, due_s: 3_600, seen: 60, up, apart: 0, asked: 120, right }
    };
    let days = (2..90).rev().map(|back| 24 * back + back % 2);
    days.chain((0..24).rev()).map(hour).collect()
}

#[tokio::test]
async fn the_first_page_stays_small_with_ten_thousand_monitors() {
    let running = fixture::serve(None, fixture::fleet(&[])).await;
    let now = Utc::now();
    for n in 0..10_000 {
        let mut view = fixture::view(n % 12, now);
        view.id = MonitorId::new(&format!("monitor-with-a-long-name-{n:05}"));
        view.day.hours = restless(now);
        view.day.first_seen = now - chrono::TimeDelta::days(100);
        std::sync::Arc::make_mut(&mut view.strip)
            .iter_mut()
            .step_by(2)
            .for_each(|mark| mark.verdict = serin::domain::outcome::Verdict::Down);
        running.live.put(view);
    }
    let (status, text) = get(&running, "/").await;
    assert_eq!(status, StatusCode::OK);
    assert!(text.len() < 300_000, "{} bytes", text.len());
    assert_eq!(text.matches("<div class=\"row ").count(), 100);
    let drawn = ["90 days", "24 hours"].map(|bar| text.matches(&format!("<title>{bar}: up")).count());
    assert!(drawn[0] == drawn[1] && drawn[0] >= 5, "of rows that are so restless a few are drawn whole: {drawn:?}");
    assert!(text.contains(&format!("Of {} rows the bars are left out", 100 - drawn[0])), "and the page says so");
    assert!(text.contains("page 1 of 100") && text.contains("10000 monitors"), "counts are of all");
    assert!(get(&running, "/?page=100").await.1.contains("page 100 of 100"));
}

#[tokio::test]
async fn pages_live_on_while_the_database_is_away() {
    let running = fixture::varied().await;
    running.store.close().await;
    let open = fixture::incident_id(2);
    let rows: [(&str, u16, &str, &str); 9] = [
        ("/api/v1/status", 200, "the database does not answer a read", "the status says so"),
        ("/", 200, "connection_refused", "the fleet needs no database"),
        ("/monitors/docs", 200, "The database does not answer", "a monitor shows what memory has"),
        ("/incidents", 200, "connection_refused", "open incidents are known"),
        (&format!("/incidents/{open}"), 200, "The database does not answer", "an open one can be read"),
        (&format!("/incidents/{}", fixture::incident_id(31)), 503, "Not just now", "one that ended cannot"),
        ("/deliveries", 200, "The database does not answer", "the ledger says why it is empty"),
        ("/readyz", 503, "\"database\":false", "readiness tells"),
        ("/api/v1/incidents", 503, "does not answer", "the API tells"),
    ];
    for (path, status, part, sentence) in rows {
        let (got, text) = get(&running, path).await;
        assert_eq!(got.as_u16(), status, "{sentence}");
        assert!(text.contains(part), "{sentence}");
    }
}

#[tokio::test]
async fn a_stream_tells_of_changes_and_ends_with_the_server() {
    let running = fixture::varied().await;
    let answer = ask(&running, Method::GET, "/events").send().await.unwrap();
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut stream = Box::pin(futures_util::stream::unfold(answer, |mut answer| async {
        let chunk = answer.chunk().await.ok().flatten()?;
        Some((String::from_utf8_lossy(&chunk).into_owned(), answer))
    }));
    let mut text = String::new();
    while text.matches("event: beat").count() < 2 {
        text += &stream.next().await.expect("the stream is open");
    }
    assert!(!text.contains("event: change"), "nothing changed, and the page hears that Serin is there: {text}");
    running.live.put(fixture::view(1, Utc::now()));
    while !text.contains("\"docs\"") {
        text += &stream.next().await.expect("the stream is open");
    }
    assert!(text.contains("event: change"), "{text}");
    running.shutdown.cancel();
    while let Some(more) = stream.next().await {
        text += &more;
    }
    assert!(text.contains("event: bye"), "{text}");
    running.server.await.unwrap();
}

/// Pictures of every page, and proof that none scrolls sideways or complains. Needs `chromium` and `npm ci` in tests/pages.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn pages_look_right_in_a_browser() {
    let running = fixture::lived_in().await;
    let text = "error: monitor 'docs' notifies unknown receiver 'oncal'\n  --> monitors.yaml:12:25\n   |\n12 |   - { match: {}, to: [oncal] }\n   |                       ^^^^^ help: did you mean 'oncall'?";
    running.live.raise(Banner {
        kind: "config",
        text: text.to_owned(),
        since: Utc::now() - chrono::TimeDelta::minutes(3),
    });
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");
    let open = format!("/incidents/{}", fixture::incident_id(0));
    let run = tokio::process::Command::new("node")
        .args(["shot.mjs", &running.url, "../../target/pages", &open])
        .current_dir(folder)
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let live = std::sync::Arc::clone(&running.live);
    let looked = tokio::spawn(async move {
        while running.asked_for().await.is_empty() {
            running.store.action_asked().notified().await;
        }
        let mut view = fixture::view(1, Utc::now());
        view.declared.name = "Looked at again".to_owned();
        live.put(view);
    });
    let status = tokio::time::timeout(Duration::from_mins(10), run).await.expect("it ends").unwrap();
    assert!(looked.is_finished(), "the button reaches the loops");
    assert!(status.success(), "a page scrolls sideways or complains; see above");
}

/// Charts by pointer and key, folds by link and click, deliveries by their filter.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn a_monitors_page_is_used_in_a_browser() {
    let running = fixture::varied().await;
    let of = |n: usize| format!("/incidents/{}", fixture::incident_id(n));
    let paths = serde_json::json!({ "slow": of(1), "failing": of(31), "wrong": of(0) }).to_string();
    let run = tokio::process::Command::new("node")
        .args(["monitor.mjs", &running.url, "../../target/pages", &paths])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let status = tokio::time::timeout(Duration::from_mins(10), run).await.expect("it ends").unwrap();
    assert!(status.success(), "something does not work as people use it; see above");
}
