//! The web from outside: real requests to a real router over a real database file.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::process::Stdio;
use std::time::Duration;

use chrono::Utc;
use futures_util::StreamExt as _;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header, redirect};
use serin::domain::monitor::MonitorId;
use serin::domain::reason::FailureReason;
use serin::domain::schedule::Command;
use serin::live::state::Banner;
use serin::web::connections::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[path = "pages/fixture.rs"]
mod fixture;
#[path = "pages/connections.rs"]
mod connections;

use fixture::Running;

/// Text such as a hostile server sends.
const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\">'\n\r\u{0}{{7*7}}";

fn client() -> Client {
    Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap()
}

fn ask(running: &Running, method: Method, path: &str) -> RequestBuilder {
    client().request(method, format!("{}{path}", running.url))
}

/// A form's body; the client is built without its own.
fn form(request: RequestBuilder, pairs: &[(&str, &str)]) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
}

/// The form of `/login`, filled in.
fn sign_in(running: &Running, token: &str) -> RequestBuilder {
    let request = ask(running, Method::POST, "/login").header("origin", &running.url);
    form(request, &[("token", token), ("next", "/incidents")])
}

async fn get(running: &Running, path: &str) -> (StatusCode, String) {
    let answer = ask(running, Method::GET, path).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

fn set_cookie(answer: &Response) -> String {
    let line = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    line.split(';').next().unwrap().to_owned()
}

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
        ("/incidents", &["Open", "Ended", "wrong_results", "taken by Ada", "recovered after 26 min"], "incidents"),
        (
            &format!("/incidents/{over}"),
            &["recovered", "Open the runbook", "serin probe docs", "oncall"],
            "an incident that ended",
        ),
        (
            &format!("/incidents/{}", fixture::incident_id(0)),
            &["auth/tokens.md within 5", "What ends it", "Acknowledge"],
            "an open one",
        ),
        ("/deliveries", &["oncall", "pending", "incident.opened"], "the ledger"),
        ("/runbooks", &["wrong_results", "planned"], "the shelf of runbooks"),
        ("/runbooks/empty_results", &["<h2>"], "a runbook"),
        (
            "/metrics",
            &[
                "serin_monitor_up{monitor=\"docs\"} 1",
                "serin_incident_open{monitor=\"legal\",signal=\"availability\",reason=\"connection_refused\",severity=\"page\"} 1",
                "serin_search_p95_seconds{monitor=\"docs\"} 1.24",
                "serin_probe_requests_today{monitor=\"docs\"} 9214",
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
async fn what_a_server_says_stays_text() {
    let running = fixture::serve(None, fixture::fleet(&[fixture::monitor(0)])).await;
    let now = Utc::now();
    let mut view = fixture::view(0, now);
    let last = view.last.clone().unwrap();
    let (mut observation, mut outcome) = (*last).clone();
    for text in [&mut view.name, &mut view.url, &mut view.canaries[0].got, &mut view.signals[0].figure] {
        *text = HOSTILE.to_owned();
    }
    view.canaries[0].query = HOSTILE.to_owned();
    view.trouble = Some(HOSTILE.to_owned());
    view.labels.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
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
        assert!(text.matches("</script>").count() <= 1, "{page} ends a script that is not its own");
        assert!(!text.contains("onerror=\""), "{page} holds a live attribute");
    }
}

#[tokio::test]
async fn strangers_are_turned_away_at_the_door() {
    let running = fixture::varied().await;
    let recheck = "/monitors/docs/recheck";
    let own = running.url.clone();
    let rows: [(Method, &str, &str, &str, u16, &str); 9] = [
        (Method::GET, "/", "host", "evil.example.net", 421, "a name that was made to point here"),
        (Method::GET, "/events", "host", "evil.example.net:80", 421, "the stream as well"),
        (Method::GET, "/", "host", "serin.example.org", 200, "our public name"),
        (Method::GET, "/healthz", "host", "10.0.0.7", 200, "a health check by any name"),
        (Method::POST, recheck, "origin", "https://evil.example.net", 403, "another site's form"),
        (Method::POST, recheck, "sec-fetch-site", "cross-site", 403, "a form that hides its origin"),
        (Method::POST, "/api/v1/monitors/docs/recheck", "origin", "null", 403, "a sandboxed frame"),
        (Method::POST, recheck, "origin", &own, 303, "our own form"),
        (Method::POST, "/api/v1/monitors/docs/recheck", "accept", "*/*", 202, "a tool without a browser"),
    ];
    for (method, path, name, value, status, sentence) in rows {
        let request = ask(&running, method, path).header(name, value);
        let request = if path == recheck { form(request, &[("incident", "")]) } else { request };
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{sentence}");
    }
    let answer = ask(&running, Method::GET, "/").send().await.unwrap();
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert_eq!(answer.headers()["referrer-policy"], "same-origin", "with no-referrer a form's origin is null");
    let text = answer.text().await.unwrap();
    assert!(!text.contains(" style=") && !text.contains(" onclick="), "nothing is inline");
    let large = ask(&running, Method::POST, recheck).body("x".repeat(64 * 1024));
    let large = large.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    assert_eq!(large.send().await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn only_a_page_of_ours_acts() {
    let open = fixture::varied().await;
    let locked = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    let session = set_cookie(&sign_in(&locked, "let-me-in").send().await.unwrap());
    // `=` stands for the address that was asked.
    type Row<'a> = (Option<&'a str>, Option<&'a str>, bool, &'a str);
    let rows: [Row<'_>; 16] = [
        (Some("="), Some("same-origin"), true, "our own page"),
        (Some("="), None, true, "our own page, in a browser that says less"),
        (Some("https://serin.example.org"), Some("same-origin"), true, "our own page by its public name"),
        (Some("https://serin.example.org"), None, true, "the same, where a proxy keeps the rest to itself"),
        (Some("null"), Some("same-origin"), true, "our own page, on which something put no-referrer"),
        (Some("null"), Some("cross-site"), false, "a sandboxed frame"),
        (Some("null"), Some("same-site"), false, "a page of a sibling that hides its name"),
        (Some("null"), Some("none"), false, "nobody's page that hides its name"),
        (Some("null"), None, false, "a page that hides its name"),
        (Some("https://evil.example.net"), Some("cross-site"), false, "another site"),
        (Some("https://evil.example.net"), None, false, "another site, in a browser that says less"),
        (Some("http://127.0.0.1:1"), Some("same-site"), false, "another port of this machine"),
        (Some("http://serin.example.org"), None, false, "our public name without its TLS"),
        (Some("="), Some("cross-site"), false, "our address and another site's frame"),
        (Some(""), Some("same-origin"), false, "an origin without a name"),
        (None, Some("cross-site"), false, "another site that names no origin"),
    ];
    let posts = [(&open, "/monitors/docs/recheck"), (&locked, "/login"), (&locked, "/monitors/docs/recheck")];
    for (running, path) in posts {
        for (origin, site, ours, sentence) in rows {
            let origin = origin.map(|origin| if origin == "=" { running.url.as_str() } else { origin });
            let named = [("origin", origin), ("sec-fetch-site", site)];
            let bare = form(ask(running, Method::POST, path), &[("token", "let-me-in")]);
            let request = named
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .fold(bare.header(header::COOKIE, &session), |request, (name, value)| request.header(name, value));
            let status = request.send().await.unwrap().status();
            assert_eq!(status != StatusCode::FORBIDDEN, ours, "{sentence}: {path} is answered {status}");
        }
    }
}

#[tokio::test]
async fn with_a_token_everybody_signs_in_first() {
    let running = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    running.live.raise(Banner { kind: "config", text: "secret-banner".to_owned(), since: Utc::now() });
    let rows = [
        ("/", 303, "pages lead to the form"),
        ("/incidents/1", 303, "deep links too"),
        ("/api/v1/monitors", 401, "the API says so"),
        ("/api/v1/status", 401, "how Serin itself is concerns nobody else"),
        ("/metrics", 401, "metrics are no exception"),
        ("/events", 401, "nor is the stream"),
        ("/login", 200, "the form is open"),
        ("/runbooks/timeout", 200, "runbooks say nothing of the fleet"),
        ("/readyz", 200, "readiness is for the orchestrator"),
    ];
    for (path, status, sentence) in rows {
        let (got, text) = get(&running, path).await;
        assert_eq!(got.as_u16(), status, "{sentence}");
        assert!(!text.contains("secret-banner"), "{sentence}, and no banner is shown");
    }
    assert_eq!(sign_in(&running, "guess").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let answer = sign_in(&running, "let-me-in").send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()[header::LOCATION].to_str().unwrap()), (303, "/incidents"));
    let line = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict") && line.contains("Secure"), "{line}");
    let cookie = set_cookie(&answer);
    let with = |method: Method, path: &str| ask(&running, method, path).header(header::COOKIE, &cookie);
    assert_eq!(with(Method::GET, "/").send().await.unwrap().status(), StatusCode::OK);
    let blind = with(Method::POST, "/logout").send().await.unwrap();
    assert_eq!(blind.status(), StatusCode::FORBIDDEN, "a cookie acts only from our own page");
    let out = with(Method::POST, "/logout").header("origin", &running.url).send().await.unwrap();
    assert_eq!(out.status(), StatusCode::SEE_OTHER);
    assert_eq!(with(Method::GET, "/").send().await.unwrap().status(), StatusCode::SEE_OTHER, "signed out");
    let bearer = |token: &'static str| ask(&running, Method::GET, "/api/v1/monitors").bearer_auth(token);
    assert_eq!(bearer("let-me-in").send().await.unwrap().status(), StatusCode::OK);
    // The tenth was typed above; what was right since makes nothing good.
    for _ in 0..9 {
        assert_eq!(bearer("guess").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
    let answer = bearer("guess").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS, "guessing is told to stop");
    assert!(answer.headers().contains_key(header::RETRY_AFTER));
    let typed = sign_in(&running, "guess").send().await.unwrap();
    assert_eq!(typed.status(), StatusCode::TOO_MANY_REQUESTS, "the form counts as well");
    for path in ["/api/v1/monitors", "/metrics"] {
        let right = ask(&running, Method::GET, path).bearer_auth("let-me-in").send().await.unwrap();
        assert_eq!(right.status(), StatusCode::OK, "the right token always passes: {path}");
    }
    let typed = sign_in(&running, "let-me-in").send().await.unwrap();
    assert_eq!(typed.status(), StatusCode::SEE_OTHER, "also where it is typed");
}

/// What a request with a token is answered, by whom it is forwarded.
async fn forwarded(running: &Running, token: &str, lines: &str) -> u16 {
    let address = running.url.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /metrics HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{lines}\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn wrong_tokens_are_counted_by_who_sent_them() {
    let proxies = ["127.0.0.1/32", "10.0.0.0/8"].map(|network| network.parse().unwrap());
    for trusted_proxies in [Vec::new(), proxies.to_vec()] {
        let is_trusted = !trusted_proxies.is_empty();
        let limits = Limits { trusted_proxies, ..Limits::default() };
        let running = fixture::serve_within(Some("let-me-in"), fixture::fleet(&[]), limits).await;
        for _ in 0..10 {
            assert_eq!(forwarded(&running, "guess", "x-forwarded-for: 192.0.2.7\r\n").await, 401);
        }
        // Where nobody's `X-Forwarded-For` counts, all of these are one peer.
        let others = if is_trusted { 401 } else { 429 };
        let rows = [
            ("x-forwarded-for: 192.0.2.7\r\n", 429, "who guessed is told to stop"),
            ("x-forwarded-for: 192.0.2.7, 10.1.1.1\r\n", 429, "also behind one more proxy"),
            ("x-forwarded-for: 192.0.2.7\r\nx-forwarded-for: 10.1.1.1\r\n", 429, "also over two lines"),
            ("x-forwarded-for: 203.0.113.9, 192.0.2.7:4711\r\n", 429, "whatever it says that it forwards"),
            ("x-forwarded-for: 192.0.2.8\r\n", others, "somebody else behind the proxy is not"),
            ("x-forwarded-for: 192.0.2.7, 192.0.2.9\r\n", others, "nor who claims to have been sent by it"),
            ("", others, "nor the proxy itself"),
            ("x-forwarded-for: unknown\r\n", others, "nor who cannot be told"),
        ];
        for (lines, status, sentence) in rows {
            assert_eq!(forwarded(&running, "guess", lines).await, status, "{sentence} (trusted: {is_trusted})");
            assert_eq!(forwarded(&running, "let-me-in", lines).await, 200, "a right token passes: {sentence}");
        }
    }
}

#[tokio::test]
async fn who_acts_after_the_session_is_over_signs_in_and_is_told() {
    let running = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    let rows = [
        ("/incidents/1/acknowledge", "/login?next=%2Fincidents%2F1&said=over", "back to the incident"),
        ("/monitors/a%20b/accept", "/login?next=%2Fmonitors%2Fa%2520b&said=over", "back to the monitor"),
        ("/logout", "/login?next=%2F&said=over", "back to the fleet"),
    ];
    for (path, leads_to, sentence) in rows {
        let own = ask(&running, Method::POST, path).header("origin", &running.url);
        let answer = form(own, &[("actor", "Ada")]).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{sentence}");
        assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), leads_to, "{sentence}");
        assert!(get(&running, leads_to).await.1.contains("was not done"), "{sentence}");
        let tool = form(ask(&running, Method::POST, path), &[("actor", "Ada")]).send().await.unwrap();
        assert_eq!(tool.status(), StatusCode::UNAUTHORIZED, "a tool is told so instead");
    }
}

#[tokio::test]
async fn a_link_from_a_mail_finds_its_session() {
    let running = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    let answer =
        ask(&running, Method::GET, "/incidents/1").header("sec-fetch-site", "cross-site").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "the browser is asked to come again from here");
    assert!(answer.text().await.unwrap().contains("http-equiv=\"refresh\""));
}

#[tokio::test]
async fn actions_go_down_the_channel() {
    let mut running = fixture::varied().await;
    let open = fixture::incident_id(0);
    let take = |running: &Running, id: &str, actor: &str| {
        form(ask(running, Method::POST, &format!("/incidents/{id}/acknowledge")), &[("actor", actor)])
    };
    let answer = take(&running, &open, " Ada\u{7} Lovelace ").send().await.unwrap();
    assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), format!("/incidents/{open}?said=taken"));
    assert_eq!(set_cookie(&answer), "serin_actor=Ada+Lovelace", "the name is offered again next time");
    let wanted = Command::Acknowledge { incident: open.clone(), actor: "Ada Lovelace".to_owned() };
    assert_eq!(running.commands.recv().await, Some(wanted));
    let rows = [
        (fixture::incident_id(31), "Ada", "over", "one that ended is not taken"),
        (fixture::incident_id(4), "Ada", "over", "nor one that somebody has"),
        (open.clone(), " \u{7} ", "who", "nor by nobody"),
    ];
    for (id, actor, said, sentence) in rows {
        let answer = take(&running, &id, actor).send().await.unwrap();
        assert_eq!(
            answer.headers()[header::LOCATION].to_str().unwrap(),
            format!("/incidents/{id}?said={said}"),
            "{sentence}"
        );
    }
    let answer = form(ask(&running, Method::POST, "/monitors/docs/recheck"), &[("incident", "")]).send().await.unwrap();
    let back = answer.headers()[header::LOCATION].to_str().unwrap();
    assert!(back.starts_with("/monitors/docs?said=recheck&at=1"), "{back}");
    assert_eq!(running.commands.recv().await, Some(Command::Recheck { monitor: MonitorId::new("docs") }));
    let nobody = ask(&running, Method::POST, "/api/v1/monitors/nobody/recheck").send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
    for _ in 0..fixture::COMMANDS_MAX {
        let answer = ask(&running, Method::POST, "/api/v1/monitors/docs/recheck").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    let full = ask(&running, Method::POST, "/api/v1/monitors/docs/recheck").send().await.unwrap();
    assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE, "the channel is bounded");
}

#[tokio::test]
async fn tools_are_accepted_by_whom_and_as_seen() {
    let mut running = fixture::varied().await;
    let [id, same, unseen] = [1, 0, 8].map(|n| fixture::monitor(n).id.clone());
    let page = get(&running, &format!("/monitors/{id}")).await.1;
    let shown = [
        "argument `lang` is now required",
        "2 of 9 known calls break",
        "Texts that read like instructions",
        "and do not tell the user",
        "Accept these tools",
        "tokens</b> of a model",
        "answers counted since Serin started",
    ];
    for part in shown {
        assert!(page.contains(part), "the page lacks {part}");
    }
    let tools = get(&running, &format!("/api/v1/monitors/{id}/tools")).await.1;
    let tools: serde_json::Value = serde_json::from_str(&tools).unwrap();
    assert_eq!((&tools["differs"], &tools["changes"][0]["class"]), (&true.into(), &"instruction".into()), "{tools:#}");
    let hash = tools["seen"]["hash"].as_str().unwrap().to_owned();
    let accept = |id: &str, actor: &str, hash: &str| {
        let body = serde_json::json!({"actor": actor, "hash": hash});
        ask(&running, Method::POST, &format!("/api/v1/monitors/{id}/accept")).json(&body)
    };
    let rows = [
        (id.as_str(), "Ada", "another", 409, "the tools have changed since you looked"),
        (id.as_str(), " \u{7} ", &hash, 422, "say who accepts"),
        ("nobody", "Ada", &hash, 404, "no monitor with this id"),
        (same.as_str(), "Ada", &"5e1b0c77aa42".repeat(5), 409, "nothing differs"),
        (unseen.as_str(), "Ada", &hash, 409, "no tools were seen"),
    ];
    for (id, actor, hash, status, why) in rows {
        let answer = accept(id, actor, hash).send().await.unwrap();
        let seen = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(seen.0 == status && seen.1.contains(why), "{why}: {seen:?}");
    }
    assert_eq!(accept(id.as_str(), "Ada", &hash).send().await.unwrap().status(), StatusCode::ACCEPTED);
    let wanted = Command::Accept { monitor: id.clone(), hash: hash.clone(), actor: "Ada".to_owned() };
    assert_eq!(running.commands.recv().await, Some(wanted.clone()));
    let button =
        form(ask(&running, Method::POST, &format!("/monitors/{id}/accept")), &[("actor", "Ada"), ("hash", &hash)]);
    let answer = button.send().await.unwrap();
    assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), format!("/monitors/{id}?said=accepted"));
    assert_eq!(running.commands.recv().await, Some(wanted));
    let strange =
        ask(&running, Method::POST, &format!("/monitors/{id}/accept")).header("origin", "https://evil.example.net");
    assert_eq!(strange.send().await.unwrap().status(), StatusCode::FORBIDDEN, "another site's form");
    let metrics = get(&running, "/metrics").await.1;
    for line in [
        format!("serin_tools_tokens{{monitor=\"{id}\"}} 2140"),
        format!("serin_answer_tokens_bucket{{le=\"1000.0\",monitor=\"{id}\"}} 222"),
        "serin_fleet_tools_tokens_count ".to_owned(),
    ] {
        assert!(metrics.contains(&line), "metrics lack {line}");
    }
}

#[tokio::test]
async fn the_first_page_stays_small_with_ten_thousand_monitors() {
    let running = fixture::serve(None, fixture::fleet(&[])).await;
    let now = Utc::now();
    for n in 0..10_000 {
        let mut view = fixture::view(n % 12, now);
        view.id = MonitorId::new(&format!("monitor-with-a-long-name-{n:05}"));
        std::sync::Arc::make_mut(&mut view.strip)
            .iter_mut()
            .step_by(2)
            .for_each(|mark| mark.verdict = serin::domain::outcome::Verdict::Down);
        running.live.put(view);
    }
    let (status, text) = get(&running, "/").await;
    assert_eq!(status, StatusCode::OK);
    assert!(text.len() < 300_000, "{} bytes", text.len());
    assert_eq!(text.matches("<li class=\"row ").count(), 100);
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
    let mut running = fixture::lived_in().await;
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
        let asked = running.commands.recv().await;
        let mut view = fixture::view(1, Utc::now());
        view.name = "Looked at again".to_owned();
        live.put(view);
        asked
    });
    let status = tokio::time::timeout(Duration::from_mins(10), run).await.expect("it ends").unwrap();
    assert!(looked.is_finished(), "the button reaches the loops");
    assert!(status.success(), "a page scrolls sideways or complains; see above");
}
