//! OAuth client credentials and strangers, against an authorization server and an MCP server of the tests' own.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use serin::domain::classify::classify;
use serin::domain::discovery::Discovered;
use serin::domain::monitor::{Monitor, OAuth};
use serin::domain::network::Network;
use serin::domain::observation::{BeatKind, Observation, Stranger};
use serin::domain::outcome::{Outcome, Verdict};
use serin::domain::reason::FailureReason;
use serin::domain::secret::Secret;
use serin::domain::server_profile::ServerProfile;
use serin::domain::signal::Signal;
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;
use tokio::net::TcpListener;

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use common::monitors::{address, assignment};

const SECRET: &str = "s3cret-of-serin";

/// How the servers behave.
#[derive(Debug, Clone, Default)]
struct Manners {
    /// What the metadata of the resource name instead of the issuer.
    other_issuer: Option<&'static str>,
    /// What the metadata of the issuer name instead of itself.
    misnamed: Option<&'static str>,
    /// Where they send the secret instead.
    endpoint: Option<&'static str>,
    /// Login by the form only.
    post_only: bool,
    /// No metadata of the resource at all.
    bare: bool,
    /// The token endpoint says no.
    refuses: bool,
    /// What the token endpoint answers, status and error, in place of a token.
    instead: Option<(u16, &'static str)>,
    /// The status with which the issuer's metadata are answered.
    metadata: Option<u16>,
    /// Where the issuer is, if not beside the MCP server.
    issuer: Option<&'static str>,
    /// The MCP server takes tokens from this number on.
    from: usize,
    /// It asks for a scope that the token has not.
    wants_scope: bool,
    /// It lets everybody in.
    open: bool,
}

#[derive(Debug, Clone)]
struct Both {
    home: String,
    manners: Arc<Mutex<Manners>>,
    /// Token requests: authorization header and form.
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

async fn answer(State(both): State<Both>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let manners = both.manners.lock().unwrap().clone();
    let issuer = manners.issuer.map_or(format!("{}/as", both.home), str::to_owned);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    match uri.path() {
        "/meta" if !manners.bare => {
            let server = manners.other_issuer.map_or(issuer, str::to_owned);
            Json(json!({"resource": format!("{}/mcp", both.home), "authorization_servers": [server], "scopes_supported": ["read"]})).into_response()
        }
        "/.well-known/oauth-authorization-server/as" if manners.metadata.is_some() => {
            StatusCode::from_u16(manners.metadata.unwrap_or_default()).unwrap().into_response()
        }
        "/.well-known/oauth-authorization-server/as" => {
            let named = manners.misnamed.map_or(issuer, str::to_owned);
            let endpoint = manners.endpoint.map_or(format!("{}/token", both.home), str::to_owned);
            let methods =
                if manners.post_only { json!(["client_secret_post"]) } else { json!(["client_secret_basic"]) };
            Json(json!({"issuer": named, "token_endpoint": endpoint, "token_endpoint_auth_methods_supported": methods}))
                .into_response()
        }
        "/token" => {
            let form = String::from_utf8(body.to_vec()).unwrap();
            let mut asked = both.asked.lock().unwrap();
            asked.push((header("authorization"), form));
            if manners.refuses {
                return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"}))).into_response();
            }
            if let Some((status, error)) = manners.instead {
                return (StatusCode::from_u16(status).unwrap(), Json(json!({"error": error}))).into_response();
            }
            let token = format!("token-{}-secret", asked.len());
            Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 1000})).into_response()
        }
        "/mcp" => {
            let call: Value = serde_json::from_slice(&body).unwrap_or_default();
            assert_eq!(call["params"]["_meta"]["traceparent"], header("traceparent"), "{call}");
            let number = header("authorization")
                .strip_prefix("Bearer token-")
                .and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
            if manners.wants_scope && number.is_some() {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
                return (StatusCode::FORBIDDEN, [("www-authenticate", challenge)]).into_response();
            }
            if !manners.open && number.is_none_or(|number| number < manners.from) {
                let challenge = if manners.bare {
                    "Bearer".to_owned()
                } else {
                    format!("Bearer resource_metadata=\"{}/meta\"", both.home)
                };
                return (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response();
            }
            mcp(&serde_json::from_slice(&body).unwrap_or_default()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn mcp(request: &Value) -> Json<Value> {
    let result = match request["method"].as_str() {
        Some("server/discover") => json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        _ => json!({"tools": []}),
    };
    let mut result = result;
    for (key, value) in [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))] {
        result[key] = value;
    }
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

impl Both {
    async fn start(manners: Manners) -> Self {
        let _already = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let home = format!("http://{}", listener.local_addr().unwrap());
        let both = Self { home, manners: Arc::new(Mutex::new(manners)), asked: Arc::default() };
        let router = Router::new().fallback(answer).with_state(both.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        both
    }

    fn monitor(&self) -> Monitor {
        let mut monitor = Monitor::undeclared("m", address(&format!("{}/mcp", self.home)));
        monitor.auth.oauth = Some(Box::new(OAuth {
            issuer: self.manners.lock().unwrap().issuer.map_or(format!("{}/as", self.home), str::to_owned),
            client_id: "serin".to_owned(),
            client_secret: Secret::new(SECRET),
            scope: None,
        }));
        (monitor.timeout, monitor.probe_budget) = (Duration::from_secs(10), Duration::from_secs(30));
        monitor
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

async fn beat(
    prober: &Prober,
    monitor: &Monitor,
    now: DateTime<Utc>,
    profile: ServerProfile,
) -> (Observation, Outcome, ServerProfile) {
    let assignment = Assignment { kind: BeatKind::Recheck, profile, ..assignment(monitor.clone(), now) };
    let (seen, profile) = prober.run(&assignment).await;
    let outcome = classify(monitor, &seen);
    for secret in [SECRET, "-secret"] {
        assert!(!format!("{seen:?}").contains(secret), "{secret} shows in {seen:#?}");
    }
    (seen, outcome, profile)
}

#[tokio::test]
async fn a_token_is_got_once_kept_and_renewed_before_it_ends() {
    let both = Both::start(Manners::default()).await;
    let (prober, monitor) = (Prober::new(8), both.monitor());
    // When, how many tokens were asked for by then, and why.
    let rows = [
        (0, 1, "the first beat gets one"),
        (60, 1, "the next has it"),
        (799, 1, "until four fifths of its life are over"),
        (801, 2, "then it is renewed"),
        (860, 2, "and the new one is kept"),
    ];
    for (seconds, count, sentence) in rows {
        let (seen, outcome, _) = beat(&prober, &monitor, at(seconds), ServerProfile::default()).await;
        assert_eq!(outcome.verdict, Verdict::Good, "{sentence}: {seen:#?}");
        assert_eq!(both.asked().len(), count, "{sentence}");
    }
    let (login, form) = both.asked()[0].clone();
    assert_eq!(login, "Basic c2VyaW46czNjcmV0LW9mLXNlcmlu", "id and secret in the header");
    let resource: String = url::form_urlencoded::byte_serialize(format!("{}/mcp", both.home).as_bytes()).collect();
    assert_eq!(form, format!("grant_type=client_credentials&resource={resource}&scope=read"));
    // The server forgets its tokens: one new one, in the same beat.
    both.manners.lock().unwrap().from = 3;
    let (_, outcome, _) = beat(&prober, &monitor, at(900), ServerProfile::default()).await;
    assert_eq!((outcome.verdict, both.asked().len()), (Verdict::Good, 3), "a stale token is renewed once");
}

#[tokio::test]
async fn whatever_goes_wrong_is_a_matter_of_access_and_the_secret_stays_with_the_issuer() {
    let ok = Manners::default;
    // The manners, what the finding says, and how often the token endpoint was asked.
    let rows = [
        (Manners { post_only: true, ..ok() }, None, 1, "the form carries it where the header may not"),
        (Manners { bare: true, ..ok() }, None, 1, "without metadata of the resource the declared issuer will do"),
        (
            Manners { other_issuer: Some("https://evil.example"), ..ok() },
            Some("names other authorization servers than the declared issuer"),
            0,
            "a server that names its own",
        ),
        (
            Manners { misnamed: Some("https://evil.example"), ..ok() },
            Some("the issuer in the metadata is https://evil.example, the file declares"),
            0,
            "metadata of somebody else",
        ),
        (
            Manners { endpoint: Some("http://evil.example/token"), ..ok() },
            Some("neither https nor this machine"),
            0,
            "an endpoint in the clear",
        ),
        (
            Manners { endpoint: Some("https://10.1.2.3/token"), ..ok() },
            Some("10.1.2.3 is a private address"),
            0,
            "an endpoint in a private network",
        ),
        (
            Manners { refuses: true, ..ok() },
            Some("the token endpoint answered 401: invalid_client"),
            1,
            "a client that is not known",
        ),
        (Manners { wants_scope: true, ..ok() }, Some("insufficient_scope"), 1, "a token that may too little"),
    ];
    for (manners, said, count, sentence) in rows {
        let post = manners.post_only;
        let both = Both::start(manners).await;
        let (seen, outcome, _) = beat(&Prober::new(8), &both.monitor(), at(0), ServerProfile::default()).await;
        assert_eq!(both.asked().len(), count, "{sentence}: {seen:#?}");
        match said {
            None => assert_eq!(outcome.verdict, Verdict::Good, "{sentence}: {seen:#?}"),
            Some(said) => {
                let finding = &outcome.findings[0];
                assert_eq!(
                    (finding.signal, finding.reason),
                    (Signal::Access, FailureReason::AuthRejected),
                    "{sentence}"
                );
                assert!(finding.summary.contains(said), "{sentence}: {}", finding.summary);
            }
        }
        if post {
            let (login, form) = both.asked()[0].clone();
            assert!(login.is_empty() && form.contains("client_secret=s3cret-of-serin"), "{form}");
        }
    }
}

#[tokio::test]
async fn what_a_list_names_leads_to_no_private_place_by_a_login() {
    let both = Both::start(Manners::default()).await;
    let port = url::Url::parse(&both.home).unwrap().port().unwrap();
    for (allow, is_asked, sentence) in
        [(None, false, "its own metadata are asked for nowhere"), (Some("::/0"), true, "unless its source may")]
    {
        let mut monitor = both.monitor();
        monitor.url = address(&format!("http://localhost:{port}/mcp"));
        let networks =
            allow.into_iter().chain(allow.map(|_| "127.0.0.0/8")).map(|net| Network(net.to_owned())).collect();
        let source = "prod".to_owned();
        monitor.discovered = Some(Box::new(Discovered { source, gone_since: None, allow_private: networks }));
        let (seen, ..) = beat(&Prober::new(8), &monitor, at(0), ServerProfile::default()).await;
        // Where it may ask, it gets to hear of an issuer that is not the one of the file, which here has another name.
        let said = seen
            .steps
            .iter()
            .find_map(|step| step.fault.as_ref())
            .map(|fault| fault.detail.clone())
            .unwrap_or_default();
        assert!(said.starts_with("OAuth: "), "{said}");
        assert_eq!(said.contains("list its network under `allow_private`"), !is_asked, "{sentence}: {said}");
    }
}

#[tokio::test]
async fn a_refusing_token_endpoint_is_asked_ever_more_rarely() {
    let both = Both::start(Manners { refuses: true, ..Manners::default() }).await;
    let (prober, monitor) = (Prober::new(8), both.monitor());
    for (seconds, count) in [(0, 1), (10, 1), (31, 2), (60, 2), (92, 3), (150, 3)] {
        let (_, outcome, _) = beat(&prober, &monitor, at(seconds), ServerProfile::default()).await;
        assert_eq!(both.asked().len(), count, "after {seconds} s");
        assert_eq!(outcome.findings[0].signal, Signal::Access, "after {seconds} s");
        let waits = outcome.findings[0].summary.contains("asked again at");
        assert_eq!(waits, matches!(seconds, 10 | 60 | 150), "after {seconds} s: {}", outcome.findings[0].summary);
    }
}

/// A port on which somebody accepts and then says nothing, or hangs up at once; or nobody listens.
async fn mute(answers: Mute) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    if answers == Mute::Absent {
        return at;
    }
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            if answers == Mute::Hangs {
                held.push(socket);
            }
        }
    });
    at
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mute {
    Hangs,
    HangsUp,
    Absent,
}

#[tokio::test]
async fn an_issuer_that_fails_is_no_refusal_and_a_server_that_fails_is_its_own_matter() {
    use FailureReason as R;
    let ok = Manners::default;
    let said = |text: String| -> &'static str { text.leak() };
    let hanging: &'static str = mute(Mute::Hangs).await.leak();
    let absent: &'static str = mute(Mute::Absent).await.leak();
    let dropping: &'static str = mute(Mute::HangsUp).await.leak();
    let endpoint = |at: &str| Manners { endpoint: Some(said(format!("http://{at}/token"))), ..ok() };
    let issuer = |scheme: &str, at: &str| Manners { issuer: Some(said(format!("{scheme}://{at}/as"))), ..ok() };
    let (failed, refused) = ((R::ExternalApiFailure, Signal::Access), (R::AuthRejected, Signal::Access));
    let token = |status, error| Manners { instead: Some((status, error)), ..ok() };
    // The manners, what it is, where the evidence points, what it says.
    let rows = [
        (token(503, "down"), failed, "127.0.0.1", "answered 503: down", "a token endpoint in trouble"),
        (token(500, ""), failed, "127.0.0.1", "answered 500", "one that broke down"),
        (token(429, "slow_down"), failed, "127.0.0.1", "answered 429", "one that is asked too much"),
        (Manners { metadata: Some(503), ..ok() }, failed, "127.0.0.1", "answers 503", "metadata behind a 503"),
        (endpoint(hanging), failed, hanging, "cannot be reached", "a token endpoint that hangs"),
        (endpoint(absent), failed, absent, "cannot be reached", "a token endpoint that nobody listens at"),
        (endpoint(dropping), failed, dropping, "cannot be reached", "a token endpoint that hangs up"),
        (issuer("http", hanging), failed, hanging, "cannot be reached", "an issuer that hangs"),
        (issuer("http", absent), failed, absent, "cannot be reached", "an issuer that is gone"),
        (issuer("https", dropping), failed, dropping, "cannot be reached", "an issuer that drops TLS"),
        (
            token(400, "invalid_client"),
            refused,
            "the token endpoint",
            "answered 400: invalid_client",
            "a client it does not know",
        ),
        (
            token(400, "invalid_scope"),
            refused,
            "the token endpoint",
            "answered 400: invalid_scope",
            "a scope it does not give",
        ),
        (token(403, ""), refused, "the token endpoint", "answered 403", "a client that may not"),
        (Manners { metadata: Some(404), ..ok() }, refused, "127.0.0.1", "has no metadata", "an issuer that is none"),
    ];
    for (manners, (reason, signal), host, said, sentence) in rows {
        let both = Both::start(manners).await;
        let mut monitor = both.monitor();
        monitor.probe_budget = Duration::from_millis(1_500);
        let (seen, outcome, _) = beat(&Prober::new(8), &monitor, at(0), ServerProfile::default()).await;
        let finding = &outcome.findings[0];
        assert_eq!((finding.reason, finding.signal), (reason, signal), "{sentence}: {seen:#?}");
        let detail = finding.evidence.iter().find(|evidence| evidence.key == "detail").unwrap();
        assert!(detail.value.contains(host) && detail.value.contains(said), "{sentence}: {}", detail.value);
    }
    for (address, reason, sentence) in [
        (absent, R::ConnectionRefused, "nobody listens at the monitored server"),
        (hanging, R::Timeout, "the monitored server hangs"),
    ] {
        let mut monitor = Both::start(ok()).await.monitor();
        monitor.url.resolved = Secret::new(&format!("http://{address}/mcp"));
        monitor.probe_budget = Duration::from_millis(1_500);
        let (seen, outcome, _) = beat(&Prober::new(8), &monitor, at(0), ServerProfile::default()).await;
        let finding = &outcome.findings[0];
        assert_eq!((finding.reason, finding.signal), (reason, Signal::Availability), "{sentence}: {seen:#?}");
    }
    let mut monitor = Both::start(ok()).await.monitor();
    let proxy = format!("http://{absent}");
    monitor.reach.proxy = Some(Box::new(address(&proxy)));
    let (seen, outcome, _) = beat(&Prober::new(8), &monitor, at(0), ServerProfile::default()).await;
    assert_eq!(
        (outcome.verdict, outcome.reason()),
        (Verdict::Unknown, Some(R::MonitorInternal)),
        "a dead proxy is ours: {seen:#?}"
    );
}

#[tokio::test]
async fn only_a_refusal_makes_the_next_question_rarer() {
    let both = Both::start(Manners { instead: Some((503, "down")), ..Manners::default() }).await;
    let (prober, monitor) = (Prober::new(8), both.monitor());
    for (seconds, count) in [(0, 1), (10, 1), (31, 2), (62, 3), (93, 4), (124, 5)] {
        let (_, outcome, _) = beat(&prober, &monitor, at(seconds), ServerProfile::default()).await;
        assert_eq!(both.asked().len(), count, "after {seconds} s");
        assert_eq!(outcome.findings[0].reason, FailureReason::ExternalApiFailure, "after {seconds} s");
    }
    both.manners.lock().unwrap().instead = None;
    let (_, outcome, _) = beat(&prober, &monitor, at(155), ServerProfile::default()).await;
    assert_eq!((outcome.verdict, both.asked().len()), (Verdict::Good, 6), "and it is back within half a minute");

    let (prober, mut monitor) = (Prober::new(8), both.monitor());
    let home = monitor.url.clone();
    monitor.url.resolved = Secret::new(&format!("http://{}/mcp", mute(Mute::Absent).await));
    let (_, outcome, _) = beat(&prober, &monitor, at(0), ServerProfile::default()).await;
    assert_eq!(outcome.findings[0].signal, Signal::Availability);
    monitor.url = home;
    let (_, outcome, _) = beat(&prober, &monitor, at(5), ServerProfile::default()).await;
    assert_eq!(outcome.verdict, Verdict::Good, "a server that was down for a moment is asked again at once");
}

#[tokio::test]
async fn a_server_that_lets_strangers_in_leaks() {
    let both = Both::start(Manners::default()).await;
    let (prober, mut monitor) = (Prober::new(8), both.monitor());
    monitor.auth.refuses_strangers = true;
    let (seen, outcome, profile) = beat(&prober, &monitor, at(0), ServerProfile::default()).await;
    assert_eq!((seen.stranger, outcome.verdict), (Some(Stranger::Refused), Verdict::Good), "a stranger is refused");
    assert!(!profile.admits_strangers);
    both.manners.lock().unwrap().open = true;
    let (_, outcome, profile) = beat(&prober, &monitor, at(60), profile).await;
    let finding = &outcome.findings[0];
    assert_eq!((finding.signal, finding.reason), (Signal::Access, FailureReason::AclLeak), "a stranger is let in");
    assert!(profile.admits_strangers && outcome.verdict == Verdict::Degraded);
    both.manners.lock().unwrap().open = false;
    let (seen, outcome, profile) = beat(&prober, &monitor, at(120), profile).await;
    assert_eq!((seen.stranger, outcome.verdict), (Some(Stranger::Refused), Verdict::Good), "and the mend shows");
    assert!(!profile.admits_strangers);
    let asked = |seconds: i64| {
        let (prober, monitor) = (&prober, &monitor);
        let assignment = assignment(monitor.clone(), at(seconds));
        async move { prober.run(&assignment).await.0.stranger.is_some() }
    };
    let mut times = 0;
    for beat in 0..60 {
        times += i32::from(asked(beat * 60).await);
    }
    assert_eq!(times, 1, "by the schedule once an hour");
}
