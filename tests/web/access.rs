//! Who gets in.

use chrono::Utc;
use reqwest::{Method, StatusCode, header};
use serin::live::banner::Banner;
use serin::web::connections::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fixture::Running;
use crate::{ask, fixture, form, get, set_cookie, sign_in};

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
async fn an_agent_is_told_in_json_that_it_needs_a_token() {
    let running = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    let opening = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "agent", "version": "1" } } });
    let (none, wrong, right) = (None, Some("guess"), Some("let-me-in"));
    let (ours, site) = (None, Some(("origin", "https://evil.example.net")));
    let host = Some(("host", "evil.example.net"));
    let rows = [
        (Method::POST, "/mcp", none, ours, 401, "without a token"),
        (Method::POST, "/mcp", wrong, ours, 401, "with a wrong one"),
        (Method::POST, "/mcp", right, ours, 200, "with the right one it is answered"),
        (Method::POST, "/mcp", right, site, 403, "another site's page, whatever it brings"),
        (Method::POST, "/mcp", right, host, 421, "a name that was made to point here"),
        (Method::GET, "/mcp", none, ours, 401, "who wants a stream"),
        (Method::GET, "/mcp/", none, ours, 401, "the same address with a slash"),
        (Method::POST, "/mcp/x", wrong, ours, 401, "and what is below"),
        (Method::GET, "/.well-known/oauth-protected-resource/mcp", none, ours, 404, "who gives out tokens: nobody"),
        (Method::GET, "/.well-known/oauth-authorization-server", wrong, ours, 404, "also where the token comes along"),
        (Method::GET, "/.well-known/openid-configuration", right, ours, 404, "also for whom we know"),
        (Method::GET, "/.well-known/openid-configuration", none, host, 421, "but only under our name"),
    ];
    for (method, path, token, header, status, sentence) in rows {
        let mut request = ask(&running, method.clone(), path).header("accept", "application/json, text/event-stream");
        if method == Method::POST {
            request = request.json(&opening);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{sentence}");
        let kind = if status == 200 { "application/json" } else { "application/problem+json" };
        assert_eq!(answer.headers()["content-type"], kind, "{sentence}");
        assert_eq!(answer.headers().contains_key(header::WWW_AUTHENTICATE), status == 401, "{sentence}");
        let said: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(said["result"]["serverInfo"]["name"] == "serin", status == 200, "{sentence}: {said}");
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
async fn whatever_the_api_refuses_it_says_in_one_form() {
    let open = fixture::varied().await;
    let locked = fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await;
    let acknowledge = format!("/api/v1/incidents/{}/acknowledge", fixture::incident_id(0));
    let json = |body: &'static str| Some((body, "application/json"));
    let large = "x".repeat(17 * 1024);
    let cut = "/api/v1/incidents?before=2026-11-22T03:10:00+00:00";
    let rows = [
        (&open, Method::GET, "/api/v1/monitors/nobody", None, 404, "there is no monitor with this id"),
        (&open, Method::GET, "/api/v1/nothing", None, 404, "there is no such address"),
        (&open, Method::DELETE, "/api/v1/monitors", None, 405, "Method Not Allowed"),
        (&open, Method::POST, acknowledge.as_str(), json("{\"actor\": "), 400, "Failed to parse the request body"),
        (&open, Method::POST, acknowledge.as_str(), json("{\"who\": 1}"), 422, "missing field `actor`"),
        (&open, Method::POST, acknowledge.as_str(), Some(("actor=a", "text/plain")), 415, "application/json"),
        (&open, Method::POST, acknowledge.as_str(), json("{\"actor\": \" \"}"), 422, "say who takes it"),
        (&open, Method::POST, acknowledge.as_str(), Some((large.as_str(), "application/json")), 413, "to buffer"),
        (&open, Method::GET, cut, None, 422, "send the `next` of the page before"),
        (&open, Method::GET, "/.well-known/oauth-protected-resource", None, 404, "nobody gives out tokens"),
        (&locked, Method::GET, "/api/v1/status", None, 401, "sign in"),
    ];
    for (running, method, path, body, status, detail) in rows {
        let mut request = ask(running, method, path);
        if let Some((body, kind)) = body {
            request = request.body(body.to_owned()).header("content-type", kind);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let said: serde_json::Value = answer.json().await.unwrap();
        assert_eq!((&said["type"], &said["status"]), (&"about:blank".into(), &status.into()), "{path}");
        assert!(said["title"].is_string() && said["detail"].as_str().unwrap().contains(detail), "{path}: {said}");
    }
    let page = ask(&open, Method::GET, "/nothing").send().await.unwrap();
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "a page stays a page");
}
