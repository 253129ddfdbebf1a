//! Who may do what: every address and method, by everybody there is, against a written table.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use reqwest::{Client, Method, StatusCode, header};
use serde_json::{Value, json};
use serin::domain::fleet::Fleet;
use serin::domain::fleet_files::FileWord;
use serin::domain::fleet_files::FleetFiles;
use serin::domain::sign_in::SignIn;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::fixture::{self, Running};
use crate::forging::Forger;
use crate::users;
use crate::{accessible, ask, client, form, get, set_cookie, sign_in};

const TOKEN: &str = "let-me-in";

/// What one has to be allowed; each may what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wants {
    /// Whoever comes.
    Nothing,
    Read,
    Act,
    Owner,
}

use Wants::{Act, Nothing, Owner, Read};

/// Every address that is answered, with what a GET of it wants, and what a POST does.
const TABLE: &[(&str, Option<Wants>, Option<Wants>)] = &[
    ("/", Some(Read), None),
    ("/monitors/{id}", Some(Read), None),
    ("/monitors/{id}/recheck", None, Some(Act)),
    ("/monitors/{id}/accept", None, Some(Act)),
    ("/monitors/{id}/why", Some(Read), None),
    ("/incidents", Some(Read), None),
    ("/incidents/{id}", Some(Read), None),
    ("/incidents/{id}/why", Some(Read), None),
    ("/incidents/{id}/acknowledge", None, Some(Act)),
    ("/incidents/{id}/give-back", None, Some(Act)),
    ("/incidents/{id}/silence", None, Some(Act)),
    ("/incidents/{id}/transcripts", Some(Read), None),
    ("/incidents/{id}/replay", None, Some(Act)),
    ("/silences", Some(Read), Some(Act)),
    ("/silences/{id}/end", None, Some(Act)),
    ("/transcripts/{hash}", Some(Read), None),
    ("/deliveries", Some(Read), None),
    ("/deliveries/{id}/replay", None, Some(Act)),
    ("/lists", Some(Read), None),
    ("/lists/{source}/accept", None, Some(Act)),
    ("/lists/{source}/read", None, Some(Act)),
    ("/receivers", Some(Read), None),
    ("/receivers/{name}/test", None, Some(Act)),
    ("/events", Some(Read), None),
    ("/metrics", Some(Read), None),
    ("/mcp", Some(Read), Some(Read)),
    // They say nothing of the fleet, or prove themselves who may.
    ("/runbooks", Some(Nothing), None),
    ("/runbooks/{reason}", Some(Nothing), None),
    ("/healthz", Some(Nothing), None),
    ("/readyz", Some(Nothing), None),
    ("/assets/{name}", Some(Nothing), None),
    ("/login", Some(Nothing), Some(Nothing)),
    ("/login/oidc", Some(Nothing), None),
    ("/login/oidc/callback", Some(Nothing), None),
    ("/logout", None, Some(Read)),
    ("/status", Some(Nothing), None),
    ("/status/feed.atom", Some(Nothing), None),
    ("/badge/{name}", Some(Nothing), None),
    ("/api/v2/summary.json", Some(Nothing), None),
    ("/api/v2/status.json", Some(Nothing), None),
    ("/api/v2/components.json", Some(Nothing), None),
    ("/api/v2/incidents.json", Some(Nothing), None),
    ("/api/v2/incidents/unresolved.json", Some(Nothing), None),
    ("/take/{incident}/{receiver}/{until}/{mark}", Some(Nothing), Some(Nothing)),
    ("/api/v1/openapi.json", Some(Read), None),
    ("/api/v1/status", Some(Read), None),
    ("/api/v1/monitors", Some(Read), None),
    ("/api/v1/monitors/{id}", Some(Read), None),
    ("/api/v1/monitors/{id}/tools", Some(Read), None),
    ("/api/v1/monitors/{id}/history", Some(Read), None),
    ("/api/v1/monitors/{id}/canaries", Some(Read), None),
    ("/api/v1/monitors/{id}/why", Some(Read), None),
    ("/api/v1/monitors/{id}/recheck", None, Some(Act)),
    ("/api/v1/monitors/{id}/accept", None, Some(Act)),
    ("/api/v1/incidents", Some(Read), None),
    ("/api/v1/incidents/{id}", Some(Read), None),
    ("/api/v1/incidents/{id}/why", Some(Read), None),
    ("/api/v1/incidents/{id}/transcripts", Some(Read), None),
    ("/api/v1/incidents/{id}/acknowledge", None, Some(Act)),
    ("/api/v1/incidents/{id}/give-back", None, Some(Act)),
    ("/api/v1/transcripts/{hash}", Some(Read), None),
    ("/api/v1/deliveries", Some(Read), None),
    ("/api/v1/deliveries/replay", None, Some(Act)),
    ("/api/v1/deliveries/{id}/replay", None, Some(Act)),
    ("/api/v1/receivers", Some(Read), None),
    ("/api/v1/receivers/{name}/test", None, Some(Act)),
    ("/api/v1/silences", Some(Read), Some(Act)),
    ("/api/v1/silences/{id}/end", None, Some(Act)),
    ("/api/v1/discover", Some(Read), None),
    ("/api/v1/discover/{source}/accept", None, Some(Act)),
    ("/api/v1/discover/{source}/read", None, Some(Act)),
    ("/api/v1/keys", Some(Owner), Some(Owner)),
    ("/api/v1/keys/{id}/end", None, Some(Owner)),
    ("/api/v1/audit", Some(Owner), None),
];

/// Every address and method that the router names.
fn routed() -> BTreeSet<(String, &'static str)> {
    // Those for everybody stand first: they are under no `/api/v1`.
    let text = [include_str!("../../src/web/public/routes.rs"), include_str!("../../src/web/router.rs")].join("\n}\n");
    let api = text.find("fn api_routes").unwrap();
    let mut found = BTreeSet::from([("/mcp".to_owned(), "GET"), ("/mcp".to_owned(), "POST")]);
    for (at, _) in text.match_indices(".route(") {
        let rest = &text[at + 7..];
        let route = &rest[..rest.find("\n        .").or_else(|| rest.find("\n}")).unwrap_or(rest.len())];
        let path = route.split('"').nth(1).unwrap();
        let path = if at > api { format!("/api/v1{path}") } else { path.to_owned() };
        for (word, method) in [("get(", "GET"), ("post(", "POST")] {
            if route.contains(word) {
                found.insert((path.clone(), method));
            }
        }
    }
    found
}

async fn key(running: &Running, name: &str, role: &str) -> Value {
    let wanted = json!({ "name": name, "role": role, "seconds": 3600, "actor": "ada" });
    let answer = ask(running, Method::POST, "/api/v1/keys").bearer_auth(TOKEN).json(&wanted).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    answer.json().await.unwrap()
}

/// What somebody has in their hands.
#[derive(Debug, Clone)]
enum With {
    None,
    Secret(String),
    /// A name and its password.
    User(&'static str, String),
    /// The values of the provider's claim.
    Provider(&'static str, String),
}

/// The session of somebody who comes in a browser; a new one where the page to be asked ends it.
async fn cookie(running: &Running, provider: &Forger, with: &With, path: &str) -> Option<String> {
    match with {
        With::User(name, _) if path == "/logout" => Some(users::session(running, name).await),
        With::Provider(group, _) if path == "/logout" => Some(provider.session(running, &[*group]).await),
        With::User(_, cookie) | With::Provider(_, cookie) => Some(cookie.clone()),
        With::None | With::Secret(_) => None,
    }
}

/// Whether somebody with this in their hands is let through to what answers.
async fn is_let_in(running: &Running, provider: &Forger, (method, path): (&Method, &str), with: &With) -> bool {
    static CLIENT: LazyLock<Client> = LazyLock::new(client);
    let mut request = CLIENT.request(method.clone(), format!("{}{path}", running.url)).header("origin", &running.url);
    if let With::Secret(secret) = with {
        request = request.bearer_auth(secret);
    }
    if let Some(cookie) = cookie(running, provider, with, path).await {
        request = request.header(header::COOKIE, cookie);
    }
    if *method == Method::POST {
        request = if path.starts_with("/api/") || path == "/mcp" {
            request.json(&json!({}))
        } else {
            form(request, &[("token", TOKEN)])
        };
    }
    let answer = request.send().await.unwrap();
    let is_asked_to_sign_in =
        answer.headers().get(header::LOCATION).is_some_and(|to| to.to_str().unwrap().starts_with("/login?"));
    if path == "/login/oidc/callback" && *method == Method::GET {
        return answer.text().await.unwrap().contains("was not begun in this browser");
    }
    !is_asked_to_sign_in && !matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

#[tokio::test]
async fn everybody_may_what_the_table_says_and_nothing_else() {
    let named: BTreeSet<_> = TABLE
        .iter()
        .flat_map(|(path, get, post)| {
            [get.map(|_| "GET"), post.map(|_| "POST")].into_iter().flatten().map(|method| ((*path).to_owned(), method))
        })
        .collect();
    assert_eq!(routed(), named, "an address is not in the table, or is no more");

    let provider = Forger::start().await;
    let sign_in = SignIn { provider: Some(provider.declared()), ..users::of_each_role() };
    let running = fixture::serve(Some(TOKEN), Fleet { sign_in, ..fixture::fleet(&[]) }).await;
    let (reader, actor) = (key(&running, "reader", "read").await, key(&running, "actor", "act").await);
    let secret = |key: &Value| With::Secret(key["secret"].as_str().unwrap().to_owned());
    let mut callers = vec![(With::None, Nothing), (secret(&reader), Read), (secret(&actor), Act)];
    callers.push((With::Secret(TOKEN.to_owned()), Owner));
    for (name, group, has) in [("rita", "everybody", Read), ("ada", "sre", Act), ("olga", "platform", Owner)] {
        callers.push((With::User(name, users::session(&running, name).await), has));
        callers.push((With::Provider(group, provider.session(&running, &[group]).await), has));
    }
    for (template, get, post) in TABLE {
        let parts = template.split('/').map(|part| if part.starts_with('{') { "docs" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        // What there is no such method for wants as much as what acts there.
        let other = match (post.or(*get), *template) {
            (Some(Nothing), _) => Nothing,
            (_, "/mcp" | "/logout") => Read,
            (Some(Owner), _) => Owner,
            _ => Act,
        };
        let methods = [(Method::GET, *get), (Method::POST, *post)];
        let others = [Method::PUT, Method::DELETE, Method::PATCH].map(|method| (method, Some(other)));
        for (method, wants) in methods.into_iter().chain(others) {
            let Some(wants) = wants else { continue };
            for (with, has) in &callers {
                let has = *has;
                // Whoever has a key, and asks for what is open to all by another method, is told so by the door already.
                if wants == Nothing && has != Nothing && !matches!(method, Method::GET | Method::POST) {
                    continue;
                }
                let is_in = is_let_in(&running, &provider, (&method, &path), with).await;
                assert_eq!(is_in, has >= wants, "{method} {path} wants {wants:?}, and comes with {with:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_key_ends_with_its_sessions_and_what_was_asked_for_is_on_record() {
    let running = fixture::serve(Some(TOKEN), fixture::fleet(&[])).await;
    let made = key(&running, "grafana", "read").await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(secret.starts_with("serin_key_") && secret.len() > 50, "{secret}");

    let signed_in = sign_in(&running, secret).send().await.unwrap();
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER, "a browser signs in with it too");
    let cookie = set_cookie(&signed_in);
    let page = async || {
        let answer = ask(&running, Method::GET, "/").header(header::COOKIE, &cookie).send().await.unwrap();
        let status = answer.status().as_u16();
        let is_told = answer.text().await.unwrap().contains("<body class=\"looks-only\">");
        assert_eq!(is_told, status == 200, "what acts is left out of its pages");
        status
    };
    assert_eq!(page().await, 200);
    let (_, open) = get(&fixture::varied().await, "/").await;
    assert!(open.contains("<body>"), "and not out of those of whoever may act");
    let recheck = ask(&running, Method::POST, "/monitors/docs/recheck").header(header::COOKIE, &cookie);
    let recheck = form(recheck.header("origin", &running.url), &[("incident", "")]).send().await.unwrap();
    assert_eq!(recheck.status(), StatusCode::FORBIDDEN, "and may look, and not act");
    assert!(recheck.text().await.unwrap().contains("to look, not to act"));

    let asked = async |path: &str, body: Value, with: &str| {
        ask(&running, Method::POST, path).bearer_auth(with).json(&body).send().await.unwrap().status().as_u16()
    };
    let wanted = |name: &str, role: &str, seconds: u64, actor: &str| json!({ "name": name, "role": role, "seconds": seconds, "actor": actor });
    let rows = [
        (wanted("a", "owner", 60, "ada"), 422, "a key makes no keys"),
        (wanted("", "read", 60, "ada"), 422, "it has to be for something"),
        (wanted("a", "read", 0, "ada"), 422, "and for a while"),
        (wanted("a", "read", 400 * 86_400, "ada"), 422, "but not for ever"),
        (wanted("a", "read", 60, " "), 422, "and somebody makes it"),
        (wanted(&"a".repeat(65), "read", 60, "ada"), 422, "a name is no story"),
    ];
    for (body, status, sentence) in rows {
        assert_eq!(asked("/api/v1/keys", body, TOKEN).await, status, "{sentence}");
    }
    let end = format!("/api/v1/keys/{id}/end");
    assert_eq!(asked(&end, json!({ "actor": "ada" }), secret).await, 403, "it does not end itself");
    assert_eq!(asked(&end, json!({ "actor": "ada" }), TOKEN).await, 200);
    assert_eq!(asked(&end, json!({ "actor": "ada" }), TOKEN).await, 404, "it is over");
    assert_eq!(page().await, 303, "its sessions ended with it");
    let bare = ask(&running, Method::GET, "/api/v1/monitors").bearer_auth(secret).send().await.unwrap();
    assert_eq!(bare.status(), StatusCode::UNAUTHORIZED);

    let log = ask(&running, Method::GET, "/api/v1/audit").bearer_auth(TOKEN).send().await.unwrap();
    let log: Value = log.json().await.unwrap();
    let lines = log["lines"].as_array().unwrap().iter().rev();
    let key_name = format!("key grafana {}", &id[id.len() - 8..]);
    let told: Vec<String> =
        lines.map(|line| format!("{} {} {}", line["who"], line["action"], line["status"]).replace('"', "")).collect();
    let refused = "token POST /api/v1/keys 422";
    let mut expected = vec![
        "token POST /api/v1/keys 201".to_owned(),
        format!("{key_name} signed in 303"),
        format!("{key_name} POST /monitors/docs/recheck 403"),
    ];
    expected.extend([refused; 6].map(str::to_owned));
    expected.push(format!("{key_name} POST {end} 403"));
    expected.push(format!("token POST {end} 200"));
    expected.push(format!("token POST {end} 404"));
    assert_eq!(told, expected);
    assert!(!log.to_string().contains(secret), "no secret is on record");
    assert_eq!(log["lines"][0]["source"], "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn whoever_may_look_is_offered_nothing_that_acts() {
    let running = fixture::varied_behind(Some(TOKEN)).await;
    accessible::furnish(&running).await;
    let declared = running.fleet.borrow().clone();
    running
        .store
        .config_loaded(&declared, (&FleetFiles::default(), FileWord::Change), chrono::Utc::now())
        .await
        .unwrap();
    let silence = json!({ "actor": "ada", "comment": "disks are changed", "match": { "monitor": ["legal"] },
        "until": (chrono::Utc::now() + chrono::TimeDelta::hours(1)).to_rfc3339() });
    let made = ask(&running, Method::POST, "/api/v1/silences").bearer_auth(TOKEN).json(&silence).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let reader = key(&running, "wall", "read").await;
    let run = tokio::process::Command::new("node")
        .args(["looks.mjs", &running.url, reader["secret"].as_str().unwrap()])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let status = tokio::time::timeout(Duration::from_mins(10), run).await.expect("it ends").unwrap();
    assert!(status.success(), "a page offers what its reader may not do; see above");
}

#[tokio::test]
async fn whoever_has_no_right_leaves_no_line_and_a_stream_ends_with_its_key() {
    let running = fixture::serve(Some(TOKEN), fixture::fleet(&[])).await;
    for path in ["/healthz", "/status", "/badge/a.svg", "/runbooks/timeout"] {
        let answer = ask(&running, Method::POST, path).header("origin", &running.url).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    let made = key(&running, "wall", "read").await;
    let secret = made["secret"].as_str().unwrap();
    let mut stream = ask(&running, Method::GET, "/events").bearer_auth(secret).send().await.unwrap();
    assert!(String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()).contains("event: beat"));
    let end = format!("/api/v1/keys/{}/end", made["id"].as_str().unwrap());
    let ending = ask(&running, Method::POST, &end).bearer_auth(TOKEN).json(&json!({ "actor": "ada" }));
    assert_eq!(ending.send().await.unwrap().status(), StatusCode::OK);
    let mut last = String::new();
    while let Some(chunk) = stream.chunk().await.unwrap() {
        last = String::from_utf8_lossy(&chunk).into_owned();
    }
    assert!(last.contains("event: bye"), "{last}");
    let log = ask(&running, Method::GET, "/api/v1/audit").bearer_auth(TOKEN).send().await.unwrap();
    let log: Value = log.json().await.unwrap();
    assert_eq!(log["lines"].as_array().unwrap().len(), 2, "the making and the end of a key, and nothing else: {log:#}");
}

#[tokio::test]
async fn where_nobody_signs_in_nobody_needs_a_key() {
    let running = fixture::varied().await;
    let wanted = json!({ "name": "a", "role": "read", "seconds": 60, "actor": "ada" });
    let answer = ask(&running, Method::POST, "/api/v1/keys").json(&wanted).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CONFLICT);
    assert!(answer.text().await.unwrap().contains("declare serin.token first"));
}

/// A reader of the audit log finds what is being done, and nothing is done that cannot be found there.
#[tokio::test]
async fn an_action_is_on_record_before_it_is_done() {
    let running = fixture::varied_behind(Some(TOKEN)).await;
    let last = async || {
        let log = ask(&running, Method::GET, "/api/v1/audit").bearer_auth(TOKEN).send().await.unwrap();
        log.json::<Value>().await.unwrap()["lines"][0].clone()
    };
    // Its body is announced, and comes when we say so.
    let wanted = json!({ "name": "wall", "role": "read", "seconds": 60, "actor": "ada" }).to_string();
    let host = running.url.trim_start_matches("http://");
    let head = format!(
        "POST /api/v1/keys HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        wanted.len()
    );
    let mut asking = TcpStream::connect(host).await.unwrap();
    asking.write_all(head.as_bytes()).await.unwrap();
    let mut line = last().await;
    while line.is_null() {
        tokio::task::yield_now().await;
        line = last().await;
    }
    assert_eq!((&line["action"], &line["status"]), (&json!("POST /api/v1/keys"), &Value::Null), "{line}");
    asking.write_all(wanted.as_bytes()).await.unwrap();
    let mut answer = String::new();
    asking.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let answered = last().await;
    assert_eq!((&answered["id"], &answered["status"]), (&line["id"], &json!(201)), "the same line: {answered}");

    running.store.close().await;
    let recheck = ask(&running, Method::POST, "/monitors/docs/recheck").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(recheck.status(), StatusCode::SERVICE_UNAVAILABLE, "a look would need no row of its own");
    assert!(recheck.text().await.unwrap().contains("nothing is done that cannot be noted"));
}
