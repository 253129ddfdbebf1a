//! The board of canaries: what it says, with every n, and how large it may get.

use chrono::Utc;
use reqwest::StatusCode;
use serin::live::monitor_view::CanaryView;

use crate::{HOSTILE, fixture, get};

/// Bytes of a monitor's page at most, with as many canaries as a file may hold.
const BYTES_MAX: usize = 300_000;

#[tokio::test]
async fn every_figure_carries_its_n() {
    let running = fixture::varied().await;
    let rows: &[(&str, &[&str], &str)] = &[
        (
            "/monitors/support-kb",
            &[
                "1 of 3</b><small>at least 6 %",
                "E = 12 of 146\u{202f}751",
                "not yet judged: 143 of 200 answers",
                "fell: 41 of the last 64 looks right",
                "never judged",
                "share of right answers over 24h: lowest",
                "n = ",
                "auth/tokens.md gone from rank 1; of 4 sources 2 gone, 1 moved, 1 new",
                "accepted in monitors.lock:12",
                "last right answer, ",
                "↑3",
                "against <span class=\"mono\">monitors.lock:12 @ 9f3c2ab</span>",
                "20 runs, 1 of 8 canaries",
                "aria-current=\"true\">24h</a>",
            ],
            "a monitor with wrong canaries, a lock and a day's past",
        ),
        ("/monitors/support-kb?board=7d", &["answers right, 7d", "aria-current=\"true\">7d</a>"], "over a week"),
        ("/monitors/docs", &["no lock", "serin pin docs", "not asked in"], "one without a lock, never asked"),
        (
            "/api/v1/monitors/support-kb",
            &[
                "\"limit\":146751.0",
                "\"state\":\"learning\",\"asked\":143,\"needed\":200",
                "\"file\":\"monitors.lock\",\"line\":12,\"commit\":\"9f3c2ab\"",
                "\"armed\":false,\"why\":\"",
                "\"wrong_since\":\"",
            ],
            "the same as JSON",
        ),
        (
            "/api/v1/monitors/support-kb/canaries?range=24h",
            &[
                "\"range\":\"24h\"",
                "\"column_seconds\":900,\"slice_seconds\":3600",
                "\"came\":\"right\",\"rank\":1}",
                "\"came\":\"lost\",\"rank\":null}",
                "\"kind\":\"meaning\",\"asked\":",
            ],
            "ranks over time as JSON",
        ),
    ];
    for (path, wanted, sentence) in rows {
        let (status, text) = get(&running, path).await;
        assert_eq!(status, StatusCode::OK, "{sentence}");
        for part in *wanted {
            assert!(text.contains(part), "{sentence}: {path} lacks {part}");
        }
    }
    for (path, status) in [("none", StatusCode::NOT_FOUND), ("docs", StatusCode::OK)] {
        assert_eq!(get(&running, &format!("/api/v1/monitors/{path}/canaries")).await.0, status, "{path}");
    }
    let (refused, said) = get(&running, "/api/v1/monitors/docs/canaries?range=90d").await;
    assert_eq!(refused, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(said.contains("30m, 3h, 24h, 7d"), "{said}");
    let (_, text) = get(&running, "/monitors/support-kb").await;
    let order = ["token-life <i>", "sso <i>", "err-4417 <i>"].map(|canary| text.find(canary));
    assert!(order.is_sorted() && order[0].is_some(), "what is wrong comes first: {order:?}");
    for path in ["/api/v1/monitors", "/api/v1/monitors?after="] {
        assert!(!get(&running, path).await.1.contains("\"checks\""), "a list of monitors stays short");
    }
}

#[tokio::test]
async fn an_incident_shows_what_its_canaries_lost() {
    let running = fixture::varied().await;
    let (_, page) = get(&running, &format!("/incidents/{}", fixture::incident_id(0))).await;
    for part in ["Then and now", "auth/tokens.md gone from rank 1", "marketing/2019.md", "auth/saml.md"] {
        assert!(page.contains(part), "it lacks {part}");
    }
    let (_, page) = get(&running, &format!("/incidents/{}", fixture::incident_id(2))).await;
    assert!(!page.contains("Then and now"), "one of availability has no lists");
}

#[tokio::test]
async fn five_hundred_canaries_stay_a_page() {
    let running = fixture::serve(None, fixture::fleet(&[fixture::monitor(0)])).await;
    let mut view = fixture::view(0, Utc::now());
    let canary = view.canaries[1].clone();
    let many = |nth: usize| CanaryView { id: format!("canary-with-a-long-name-{nth:03}"), ..canary.clone() };
    view.canaries.extend((0..492).map(many));
    running.live.put(view);
    let (_, page) = get(&running, "/monitors/support-kb").await;
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    assert_eq!(page.matches("<svg class=\"ranks\"").count(), 100);
    assert!(page.contains("And 400 more") && page.contains("sso <i>"), "those that are wrong are among the first");
}

#[tokio::test]
async fn names_in_a_list_stay_text() {
    let running = fixture::varied().await;
    let now = Utc::now();
    let sources = vec![HOSTILE.to_owned(), "x".repeat(5_000)];
    fixture::lost(&running.store, "token-life", sources, now).await;
    for path in ["/monitors/support-kb".to_owned(), format!("/incidents/{}", fixture::incident_id(0))] {
        let (_, text) = get(&running, &path).await;
        assert!(text.contains("&#60;/script&#62;") || text.contains("&lt;/script&gt;"), "{path} shows the name");
        assert!(!text.contains("<img src=x") && !text.contains("onerror=\""), "{path} holds a live element");
        assert!(!text.contains(&"x".repeat(500)), "{path} shows a name without end");
    }
}
