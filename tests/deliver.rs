//! Delivery over real sockets: what a webhook receiver and a mail server see, and what they can do to us.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, Uri};
use chrono::{DateTime, Utc};
use serin::cli::demo::inbox::Inbox;
use serin::cli::demo::smtp_sink::{Manners, SmtpSink};
use serin::deliver::channel::ChannelSender;
use serin::deliver::internal::InternalAlerts;
use serin::deliver::internal_alert::InternalAlert;
use serin::deliver::message::{Message, freeze};
use serin::domain::body_template::BodyTemplate;
use serin::domain::fleet::Fleet;
use serin::domain::incident::Incident;
use serin::domain::monitor::MonitorId;
use serin::domain::network::Network;
use serin::domain::outcome::Evidence;
use serin::domain::paging::delivery::AttemptEnd;
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::reason::FailureReason;
use serin::domain::receiver::{Channel, Receiver, Smtp, SmtpTls, WebhookForm};
use serin::domain::rules::RulePlace;
use serin::domain::secret::{Address, Secret};
use serin::domain::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use common::paging;

/// Base64 of 32 bytes.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const OLD_SECRET: &str = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk";
/// Text as a hostile server would choose it.
const HOSTILE: &str = "docs: \"no\"\r\nBcc: everybody@example.org\r\n\r\n</script><script>alert(1)</script>";

fn crypto() {
    let _already = rustls::crypto::ring::default_provider().install_default();
}

/// A test that hangs is a failure with a name; nothing is asserted about how long anything takes.
async fn soon<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap_or_else(|_| panic!("{what} did not happen"))
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a moment")
}

fn notification(id: &str, sequence: u32, event: Event, summary: &str) -> Notification {
    let opened_at = at("2026-11-21T09:14:03Z");
    let rule = RulePlace { file: "monitors.yaml".into(), line: 24, commit: Some("c0ffee".into()) };
    let evidence = vec![Evidence::new("answer", summary), Evidence::new("rank", "none of 5")];
    let incident = Incident {
        signal: Signal::Quality,
        reason: FailureReason::WrongResults,
        stage: "search".into(),
        summary: summary.into(),
        evidence: evidence.clone(),
        rule: rule.clone(),
        sequence,
        ..paging::incident("0199-incident", MonitorId::new("docs"), opened_at)
    };
    Notification {
        sequence,
        event,
        monitor: MonitorCard {
            id: "docs".into(),
            name: "Product documentation".into(),
            url: "https://docs.example/mcp".into(),
            labels: BTreeMap::new(),
        },
        reason: Some(incident.reason),
        failed_stage: Some(incident.stage.clone()),
        incident: Some(incident),
        summary: summary.into(),
        evidence,
        resolves_when: Some("two good rounds".into()),
        runbook_url: "https://serin.example/runbooks/wrong_results".into(),
        incident_url: Some("https://serin.example/incidents/0199-incident".into()),
        rule: Some(rule),
        ..paging::notification(id, opened_at)
    }
}

fn opened(id: &str) -> String {
    freeze(&notification(id, 1, Event::IncidentOpened, "docs: the expected source is gone"))
}

fn fleet(allow: &[&str], smtp: Option<Smtp>, receivers: Vec<Receiver>) -> Fleet {
    Fleet {
        internal: receivers.iter().map(|receiver| receiver.name.clone()).collect(),
        receivers: receivers.into_iter().map(Arc::new).collect(),
        allow_private: allow.iter().map(|network| Network((*network).to_owned())).collect(),
        smtp,
        public_url: "https://serin.example".into(),
        ..Fleet::default()
    }
}

fn hook(url: &str, secrets: &[&str]) -> Receiver {
    let secrets = secrets.iter().map(|secret| Secret::new(secret)).collect();
    let url = Address { shown: "${env:HOOK}".into(), resolved: Secret::new(url) };
    Receiver {
        name: "oncall".into(),
        channel: Channel::Webhook { url, secrets, form: Box::default() },
        at_most: None,
        line: 1,
        definition_hash: String::new(),
    }
}

fn mailbox(to: &[&str]) -> Receiver {
    let to = to.iter().map(|text| (*text).to_owned()).collect();
    Receiver {
        name: "mail".into(),
        channel: Channel::Email { to },
        at_most: None,
        line: 1,
        definition_hash: String::new(),
    }
}

fn smtp_at(address: SocketAddr) -> Smtp {
    Smtp {
        host: "127.0.0.1".into(),
        port: address.port(),
        tls: SmtpTls::None,
        login: None,
        from: "Serin <serin@example.org>".into(),
        ca: None,
    }
}

/// An inbox whose webhook address is known, until the guard is dropped.
async fn inbox_running(secret: Option<&str>) -> (Inbox, SocketAddr, DropGuard) {
    crypto();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let inbox = Inbox::new(secret);
    let stop = CancellationToken::new();
    tokio::spawn(inbox.clone().serve(listener, stop.clone()));
    (inbox, address, stop.drop_guard())
}

async fn sink_running(inbox: &Inbox, manners: Manners) -> (SocketAddr, DropGuard) {
    crypto();
    let sink = SmtpSink::bind(inbox.clone(), manners).await.expect("a free port");
    let address = sink.address().expect("an address");
    let stop = CancellationToken::new();
    tokio::spawn(sink.run(stop.clone()));
    (address, stop.drop_guard())
}

/// A listener that answers every connection with these bytes, once it has read the head of a request.
async fn raw_server(answer: &'static [u8]) -> SocketAddr {
    crypto();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _read = stream.read(&mut buffer).await;
            let _written = stream.write_all(answer).await;
        }
    });
    address
}

fn why(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Accepted => "accepted".to_owned(),
        AttemptEnd::Failed { why, .. } => format!("failed: {why}"),
        AttemptEnd::Refused { why } => format!("refused: {why}"),
    }
}

#[tokio::test]
async fn a_webhook_verifies_with_an_independent_library_and_keeps_its_bytes() {
    let (inbox, address, _stop) = inbox_running(Some(SECRET)).await;
    let receiver = hook(&format!("http://{address}/hook"), &[SECRET, OLD_SECRET]);
    let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
    let sender = ChannelSender::new().expect("a sender");
    let payload = opened("0199-a");
    let now = Utc::now();
    for attempt in 0..2 {
        let end = sender.attempt(&fleet, &receiver, "0199-a", &payload, now + Duration::from_secs(attempt)).await;
        assert_eq!(end, AttemptEnd::Accepted);
    }
    let hooks = inbox.hooks();
    assert_eq!(hooks.len(), 2);
    for hook in &hooks {
        assert_eq!(hook.body, payload, "every attempt has exactly the frozen bytes");
        assert_eq!(hook.id, "0199-a", "and the same id");
        assert_eq!(hook.verified, Some(true));
        let mut headers = http::HeaderMap::new();
        for (name, value) in
            [("webhook-id", &hook.id), ("webhook-timestamp", &hook.timestamp), ("webhook-signature", &hook.signature)]
        {
            headers.insert(name, value.parse().expect("a header"));
        }
        for secret in [SECRET, OLD_SECRET] {
            let verifier = standardwebhooks::Webhook::new(secret).expect("a secret");
            verifier.verify(hook.body.as_bytes(), &headers).expect("either secret verifies during rotation");
        }
        let stranger = standardwebhooks::Webhook::new("whsec_c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vy").expect("a secret");
        assert!(stranger.verify(hook.body.as_bytes(), &headers).is_err(), "a stranger's secret does not");
    }
    assert_ne!(hooks[0].timestamp, hooks[1].timestamp, "the timestamp is the attempt's own");
}

#[tokio::test]
async fn hostile_text_stays_text_in_json() {
    let (inbox, address, _stop) = inbox_running(None).await;
    let receiver = hook(&format!("http://{address}/hook"), &[]);
    let payload = freeze(&notification("0199-b", 1, Event::IncidentOpened, HOSTILE));
    let sender = ChannelSender::new().expect("a sender");
    let end = sender.attempt(&fleet(&["127.0.0.1/32"], None, vec![]), &receiver, "0199-b", &payload, Utc::now()).await;
    assert_eq!(end, AttemptEnd::Accepted);
    let body = inbox.hooks().remove(0).body;
    let value: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let plain = "docs: \"no\" Bcc: everybody@example.org </script><script>alert(1)</script>";
    assert_eq!(value["summary"], plain);
    assert_eq!(value["evidence"]["answer"], plain);
    assert_eq!(Message::parse(&body).expect("a message").frozen(), payload);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let page = client.get(format!("http://{address}/")).send().await.expect("a page").text().await.expect("text");
    assert!(page.contains("newest first"));
    assert!(!page.contains("<script>alert(1)"), "the inbox page shows it as text too");
    let listed = client.get(format!("http://{address}/api/messages")).send().await.expect("a list");
    let listed: serde_json::Value = listed.json().await.expect("JSON");
    assert_eq!(listed[0]["channel"], "webhook");
}

#[tokio::test]
async fn a_receivers_answer_decides_what_happens_next() {
    let rows: [(&'static [u8], &str, &str); 6] = [
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "refused: HTTP 302 Found; redirects are not followed",
            "a redirect is not followed",
        ),
        (
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 16\r\n\r\ninvalid\r\npayload",
            "refused: HTTP 400 Bad Request; it said: invalid payload",
            "the answer's own words help",
        ),
        (
            b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 999\r\n\r\nhalf",
            "failed: HTTP 500 Internal Server Error; it said: half",
            "a body that breaks off takes nothing from the status",
        ),
        (b"not HTTP at all\r\n\r\n", "failed: ", "nonsense may pass"),
        (b"", "failed: ", "a closed connection may pass"),
        (b"HTTP/1.1 202 Accepted\r\ncontent-length: 5000000\r\n\r\n", "accepted", "a yes is a yes, whatever follows"),
    ];
    let sender = ChannelSender::new().expect("a sender");
    for (answer, expected, sentence) in rows {
        let address = raw_server(answer).await;
        let receiver = hook(&format!("http://{address}/hook"), &[SECRET]);
        let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
        let end = soon(sentence, sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now())).await;
        assert!(why(&end).starts_with(expected), "{sentence}: {}", why(&end));
        assert!(!why(&end).contains(&address.to_string()), "the address is not shown: {}", why(&end));
    }
}

/// A receiver in a service, by its channel.
fn service(channel: Channel) -> Receiver {
    Receiver { name: "team".into(), channel, at_most: None, line: 1, definition_hash: String::new() }
}

/// A routing key as PagerDuty gives them out.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A server that says yes to everything, and what it was posted: path, headers, body.
async fn recorder() -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<(String, HeaderMap, String)>) {
    crypto();
    let (posts, seen) = tokio::sync::mpsc::unbounded_channel();
    let keep = move |uri: Uri, headers: HeaderMap, body: String| async move {
        let _ended = posts.send((uri.path().to_owned(), headers, body));
        StatusCode::ACCEPTED
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(keep)).await });
    (address, seen)
}

#[tokio::test]
async fn a_body_of_the_file_is_signed_and_the_same_at_every_attempt() {
    let (address, mut posts) = recorder().await;
    let template = BodyTemplate::Map(vec![
        ("text".to_owned(), BodyTemplate::text("{tag}: {summary}").expect("a template")),
        ("key".to_owned(), BodyTemplate::Secret(Secret::new(KEY))),
    ]);
    let form = WebhookForm { headers: vec![("x-team".to_owned(), Secret::new("sre"))], body: Some(template) };
    let url = Address { shown: String::new(), resolved: Secret::new(&format!("http://{address}/hook")) };
    let receiver = service(Channel::Webhook { url, secrets: vec![Secret::new(SECRET)], form: Box::new(form) });
    let sender = ChannelSender::new().expect("a sender");
    let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
    let payload = freeze(&notification("0199-n", 1, Event::IncidentOpened, HOSTILE));
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let end = soon("an answer", sender.attempt(&fleet, &receiver, "0199-n", &payload, Utc::now())).await;
        assert_eq!(end, AttemptEnd::Accepted);
        let (_, headers, body) = posts.recv().await.expect("a post");
        assert_eq!(headers["x-team"], "sre");
        let verifier = standardwebhooks::Webhook::new(SECRET).expect("a secret");
        verifier.verify(body.as_bytes(), &headers).expect("what is sent is what is signed");
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1]);
    let body: serde_json::Value = serde_json::from_str(&bodies[0]).expect("JSON, whatever a server said");
    let said = body["text"].as_str().expect("a text");
    assert!(said.starts_with("page: docs: \"no\" Bcc: everybody@\u{200b}example.org"), "{said}");
    assert_eq!(body["key"], KEY);
}

/// Where the bodies are kept that services got, for the types of their makers to judge: `tests/services/check.sh`.
const KEPT_BODIES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/services");

#[tokio::test]
async fn services_of_others_get_each_event_in_their_own_form() {
    std::fs::create_dir_all(KEPT_BODIES).expect("a folder");
    let (address, mut posts) = recorder().await;
    let url = |path: &str| Address { shown: String::new(), resolved: Secret::new(&format!("http://{address}{path}")) };
    let url_of_chat = url("/services/T0/B0/geheimnis");
    let services = [
        (Channel::Slack { url: url_of_chat.clone() }, "/services/T0/B0/geheimnis"),
        (Channel::Discord { url: url("/api/webhooks/1/geheimnis") }, "/api/webhooks/1/geheimnis"),
        (Channel::Teams { url: url("/workflows/geheimnis") }, "/workflows/geheimnis"),
        (Channel::Ntfy { url: url("/sre-pages"), token: Some(Secret::new(KEY)) }, "/"),
        (Channel::PagerDuty { url: url("/v2/enqueue"), routing_key: Secret::new(KEY) }, "/v2/enqueue"),
    ];
    let [sender, later] = [(); 2].map(|()| ChannelSender::new().expect("a sender"));
    for (channel, path) in services {
        let receiver = service(channel);
        for event in Event::ALL {
            for (kind, summary) in [("plain", "docs: the expected source is gone"), ("hostile", HOSTILE)] {
                let payload = freeze(&notification("0199-n", 1, event, summary));
                let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
                let end = soon("an answer", sender.attempt(&fleet, &receiver, "0199-n", &payload, Utc::now())).await;
                assert_eq!(end, AttemptEnd::Accepted, "{}", receiver.channel.key());
                let (found, headers, body) = posts.recv().await.expect("a post");
                let hour = Duration::from_secs(3600);
                let again = later.attempt(&fleet, &receiver, "0199-n", &payload, Utc::now() + hour);
                assert_eq!(soon("an answer", again).await, AttemptEnd::Accepted);
                assert_eq!(
                    posts.recv().await.expect("a post").2,
                    body,
                    "a repeat says the same, an hour and a start later"
                );
                assert_eq!((found.as_str(), headers["content-type"].as_bytes()), (path, &b"application/json"[..]));
                let token = headers.get("authorization").map(|value| value.to_str().expect("ASCII"));
                let is_ntfy = receiver.channel.key() == "ntfy";
                assert_eq!(token, is_ntfy.then_some(&*format!("Bearer {KEY}")), "{}", receiver.channel.key());
                assert!(!headers.contains_key("webhook-id"), "it is no Standard Webhook");
                let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
                let name = format!("{KEPT_BODIES}/{}.{}.{kind}.json", receiver.channel.key(), event.slug());
                std::fs::write(name, body.to_string()).expect("it is written");
            }
        }
    }
    let receiver = service(Channel::Slack { url: url_of_chat });
    let end = sender.attempt(&fleet(&[], None, vec![]), &receiver, "n", &opened("n"), Utc::now()).await;
    assert!(matches!(end, AttemptEnd::Refused { .. }), "the guard is the webhook's: {end:?}");
}

#[tokio::test]
async fn a_service_that_refuses_wakes_the_fallback_and_its_address_stays_hidden() {
    let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 39\r\n\r\nno_service at /services/T0/B0/geheimnis";
    let address = raw_server(answer).await;
    let url = format!("http://{address}/services/T0/B0/geheimnis");
    let url = Address { shown: "${env:CHAT}".into(), resolved: Secret::new(&url) };
    let receiver = service(Channel::Slack { url });
    let sender = ChannelSender::new().expect("a sender");
    let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
    let end = soon("an answer", sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now())).await;
    assert_eq!(why(&end), "refused: HTTP 404 Not Found; it said: no_service at …");
}

#[tokio::test]
async fn a_key_in_the_body_is_not_kept_when_it_is_echoed() {
    let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 44\r\n\r\nno such key 0123456789abcdef0123456789abcdef";
    let address = raw_server(answer).await;
    let url = Address { shown: String::new(), resolved: Secret::new(&format!("http://{address}/v2/enqueue")) };
    let receiver = service(Channel::PagerDuty { url, routing_key: Secret::new(KEY) });
    let sender = ChannelSender::new().expect("a sender");
    let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
    let end = soon("an answer", sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now())).await;
    assert_eq!(why(&end), "refused: HTTP 400 Bad Request; it said: no such key …");
}

#[tokio::test]
async fn retry_after_reaches_the_courier() {
    let (inbox, address, _stop) = inbox_running(None).await;
    let receiver = hook(&format!("http://{address}/hook"), &[]);
    let fleet = fleet(&["127.0.0.0/8"], None, vec![]);
    let sender = ChannelSender::new().expect("a sender");
    inbox.fail_with(StatusCode::TOO_MANY_REQUESTS, Some("120"));
    let end = sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now()).await;
    assert!(matches!(end, AttemptEnd::Failed { retry_after: Some(wait), .. } if wait == Duration::from_secs(120)));
    inbox.fail_with(StatusCode::OK, None);
    assert_eq!(sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now()).await, AttemptEnd::Accepted);
}

#[tokio::test]
async fn the_guard_judges_what_a_name_resolves_to() {
    let (inbox, address, _stop) = inbox_running(None).await;
    let port = address.port();
    let sender = ChannelSender::new().expect("a sender");
    let rows = [
        (format!("http://127.0.0.1:{port}/hook"), &[][..], false, "a loopback address is refused"),
        (format!("http://localhost:{port}/hook"), &[], false, "so is a name that resolves to it"),
        (format!("http://[::ffff:127.0.0.1]:{port}/hook"), &[], false, "so is its mapped form"),
        (format!("http://2130706433:{port}/hook"), &[], false, "so is its spelling as a number"),
        (format!("http://127.0.0.1:{port}/hook"), &["10.0.0.0/8"], false, "allowing another network changes nothing"),
        (format!("http://127.0.0.1:{port}/hook"), &["127.0.0.0/8"], true, "an allowed network is reached"),
        (format!("http://localhost:{port}/hook"), &["127.0.0.0/8"], true, "also by name"),
        (format!("http://127.0.0.1:{port}/hook"), &[], false, "and closed again when the file closes it"),
    ];
    let mut taken = 0;
    for (url, allow, reached, sentence) in rows {
        let end = sender.attempt(&fleet(allow, None, vec![]), &hook(&url, &[]), "n", &opened("n"), Utc::now()).await;
        match reached {
            true => assert_eq!(end, AttemptEnd::Accepted, "{sentence}"),
            false => assert!(why(&end).contains("allow_private"), "{sentence}: {}", why(&end)),
        }
        assert_eq!(matches!(end, AttemptEnd::Refused { .. }), !reached, "{sentence}: {}", why(&end));
        taken += usize::from(reached);
        assert_eq!(inbox.hooks().len(), taken, "{sentence}");
    }
}

#[tokio::test]
async fn a_mail_arrives_readable_threaded_and_the_same_every_time() {
    let inbox = Inbox::new(None);
    let (address, _stop) = sink_running(&inbox, Manners::default()).await;
    let fleet = fleet(&[], Some(smtp_at(address)), vec![]);
    let receiver = mailbox(&["sre@example.org", "Ops <ops@example.org>"]);
    let first = opened("0199-c");
    let second = freeze(&notification("0199-d", 2, Event::IncidentResolved, HOSTILE));
    let sends = [("0199-c", &first), ("0199-c", &first), ("0199-d", &second)];
    for (id, payload) in sends {
        // A sender of its own each: nothing in memory may decide about the bytes.
        let sender = ChannelSender::new().expect("a sender");
        assert_eq!(sender.attempt(&fleet, &receiver, id, payload, Utc::now()).await, AttemptEnd::Accepted);
    }
    let mails = inbox.mails();
    assert_eq!(mails.len(), 3);
    assert_eq!(mails[0].raw, mails[1].raw, "a repeated mail has the same bytes");
    assert_eq!(mails[0].to, ["sre@example.org", "ops@example.org"]);
    assert_eq!(mails[0].subject, "[page] docs: the expected source is gone");
    assert!(mails[0].text.contains("Runbook   https://serin.example/runbooks/wrong_results"), "{}", mails[0].text);
    let parse = |raw: &str| mail_parser::MessageParser::default().parse(raw.as_bytes()).expect("a mail").into_owned();
    let (opening, ending) = (parse(&mails[0].raw), parse(&mails[2].raw));
    assert_eq!(ending.in_reply_to().as_text(), opening.message_id(), "the resolve answers the page");
    assert_eq!(opening.date().map(|date| date.to_rfc3339()), Some("2026-11-21T09:14:03Z".to_owned()));
    let names: Vec<String> = ending.headers().iter().map(|header| header.name().to_ascii_lowercase()).collect();
    assert!(!names.contains(&"bcc".to_owned()), "hostile text makes no header: {names:?}");
    let subject = ending.subject().expect("a subject");
    assert!(subject.starts_with("[resolved] docs: \"no\" Bcc: everybody@example.org </script>"), "{subject}");
}

#[tokio::test]
async fn a_mail_servers_word_decides_what_happens_next() {
    let rows = [
        (451, "failed", "a passing trouble is tried again"),
        (250, "accepted", "and then taken"),
        (552, "refused", "a lasting one wakes the fallback"),
    ];
    let inbox = Inbox::new(None);
    let next_codes: VecDeque<u16> = rows.iter().map(|(code, _, _)| *code).collect();
    let (address, _stop) = sink_running(&inbox, Manners { next_codes, ..Manners::default() }).await;
    let fleet = fleet(&[], Some(smtp_at(address)), vec![]);
    let sender = ChannelSender::new().expect("a sender");
    for (index, (_, expected, sentence)) in rows.into_iter().enumerate() {
        let id = format!("n-{}", index / 2);
        let end = sender.attempt(&fleet, &mailbox(&["sre@example.org"]), &id, &opened(&id), Utc::now()).await;
        assert!(why(&end).starts_with(expected), "{sentence}: {}", why(&end));
    }
    assert_eq!(inbox.mails().len(), 1);
}

#[tokio::test]
async fn one_dead_recipient_keeps_the_mail_from_nobody_else() {
    let inbox = Inbox::new(None);
    let recipient_codes = [("gone@example.org".to_owned(), 550)].into();
    let (address, _stop) = sink_running(&inbox, Manners { recipient_codes, ..Manners::default() }).await;
    let fleet = fleet(&[], Some(smtp_at(address)), vec![]);
    let sender = ChannelSender::new().expect("a sender");
    let receiver = mailbox(&["gone@example.org", "sre@example.org"]);
    for _ in 0..2 {
        let end = sender.attempt(&fleet, &receiver, "n", &opened("n"), Utc::now()).await;
        assert!(matches!(end, AttemptEnd::Refused { .. }), "the fallback hears of it: {}", why(&end));
    }
    let mails = inbox.mails();
    assert_eq!(mails.len(), 1, "who took it is not asked again");
    assert_eq!(mails[0].to, ["sre@example.org"]);
}

#[tokio::test]
async fn a_replay_asked_for_by_a_person_sends_again() {
    let inbox = Inbox::new(None);
    let (address, _stop) = sink_running(&inbox, Manners::default()).await;
    let fleet = fleet(&[], Some(smtp_at(address)), vec![]);
    let sender = ChannelSender::new().expect("a sender");
    for _ in 0..2 {
        let end = sender.attempt(&fleet, &mailbox(&["sre@example.org"]), "n", &opened("n"), Utc::now()).await;
        assert_eq!(end, AttemptEnd::Accepted);
    }
    assert_eq!(inbox.mails().len(), 2);
}

#[tokio::test]
async fn who_accepts_and_never_answers_is_given_up() {
    crypto();
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("an address");
    let fleet = fleet(&["127.0.0.0/8"], Some(smtp_at(address)), vec![]);
    let sender = ChannelSender::new().expect("a sender");
    let (web, mail) = (hook(&format!("http://{address}/hook"), &[]), mailbox(&["sre@example.org"]));
    let payload = opened("n");
    let both = async {
        tokio::join!(
            sender.attempt(&fleet, &web, "n", &payload, Utc::now()),
            sender.attempt(&fleet, &mail, "n", &payload, Utc::now()),
        )
    };
    let (web, mail) = soon("the end of both attempts", Box::pin(both)).await;
    assert_eq!(why(&web), "failed: no answer within 10 s");
    assert_eq!(why(&mail), "failed: the mail server did not finish within 10 s");
}

#[tokio::test]
async fn own_trouble_is_told_again_when_the_receiver_is_back() {
    let (inbox, address, _stop) = inbox_running(None).await;
    inbox.fail_with(StatusCode::SERVICE_UNAVAILABLE, None);
    let fleet = Arc::new(fleet(&["127.0.0.0/8"], None, vec![hook(&format!("http://{address}/hook"), &[])]));
    let (_keep, fleet) = watch::channel(fleet);
    let alerts = InternalAlerts::new();
    let stop = CancellationToken::new();
    let sender = Arc::new(ChannelSender::new().expect("a sender"));
    let running = tokio::spawn(alerts.clone().run(sender, fleet, stop.clone()));
    alerts.raise(InternalAlert::DatabaseLocked, "held by another process", Utc::now());
    alerts.clear(InternalAlert::DatabaseLocked, Utc::now());
    soon("a first attempt", inbox.wait_for(|items| (!items.is_empty()).then_some(()))).await;
    inbox.fail_with(StatusCode::OK, None);
    soon("all messages", inbox.wait_for(|items| (items.len() == 3).then_some(()))).await;
    stop.cancel();
    soon("the end of the loop", running).await.expect("an orderly end");
    let hooks = inbox.hooks();
    assert_eq!(hooks[0].body, hooks[1].body, "tried again with the same bytes");
    assert_eq!(hooks[0].id, hooks[1].id);
    let last = Message::parse(&hooks[2].body).expect("a message");
    assert_eq!(last.event, "serin.trouble_over", "in order: the all-clear never overtakes the alert");
}

/// A certificate for 127.0.0.1 and its authority's file.
fn certificate() -> (Arc<rustls::ServerConfig>, tempfile::NamedTempFile) {
    crypto();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a configuration");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), made.cert.pem()).expect("a written file");
    (Arc::new(config), file)
}

#[tokio::test]
async fn starttls_and_login_are_used_and_demanded() {
    let (tls, ca) = certificate();
    let inbox = Inbox::new(None);
    let login = Some(("serin".to_owned(), "s3cret-word".to_owned()));
    let secured = Manners { tls: Some(tls), login, ..Manners::default() };
    let (address, _stop) = sink_running(&inbox, secured).await;
    let (open_address, _open_stop) = sink_running(&inbox, Manners::default()).await;
    let ca = Some(ca.path().to_string_lossy().into_owned());
    let with = |address, tls, password: &str, ca: Option<String>| Smtp {
        tls,
        login: Some(("serin".to_owned(), Secret::new(password))),
        ca,
        ..smtp_at(address)
    };
    let rows = [
        (
            with(address, SmtpTls::StartTls, "s3cret-word", ca.clone()),
            "accepted",
            "the right word over TLS is admitted",
        ),
        (with(address, SmtpTls::StartTls, "wrong-w0rd", ca.clone()), "refused: 535", "a wrong word is refused"),
        (with(address, SmtpTls::StartTls, "s3cret-word", None), "failed", "an unknown authority is not trusted"),
        (with(address, SmtpTls::Tls, "s3cret-word", ca.clone()), "failed", "TLS from the first byte is not STARTTLS"),
        (with(open_address, SmtpTls::StartTls, "s3cret-word", ca), "failed", "without STARTTLS nothing is sent"),
        (
            with(open_address, SmtpTls::StartTls, "s3cret-word", Some("/nowhere/ca.pem".into())),
            "refused: smtp.ca /nowhere/ca.pem",
            "a missing authority is named",
        ),
    ];
    let sender = ChannelSender::new().expect("a sender");
    for (index, (smtp, expected, sentence)) in rows.into_iter().enumerate() {
        let fleet = fleet(&[], Some(smtp), vec![]);
        let id = format!("n-{index}");
        let (receiver, payload) = (mailbox(&["sre@example.org"]), opened(&id));
        let attempt = sender.attempt(&fleet, &receiver, &id, &payload, Utc::now());
        let end = soon(sentence, attempt).await;
        assert!(why(&end).starts_with(expected), "{sentence}: {}", why(&end));
        for word in ["s3cret-word", "wrong-w0rd"] {
            assert!(!why(&end).contains(word), "no secret in an error: {}", why(&end));
        }
    }
    let mails = inbox.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].encrypted);
    assert_eq!(mails[0].login.as_deref(), Some("serin"));
}

#[tokio::test]
async fn own_trouble_needs_neither_database_nor_outbox() {
    let (inbox, address, _stop) = inbox_running(Some(SECRET)).await;
    let dead = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        listener.local_addr().expect("an address")
    };
    let live = hook(&format!("http://{address}/hook"), &[SECRET]);
    let gone = Receiver { name: "gone".into(), ..hook(&format!("http://{dead}/hook"), &[]) };
    let fleet = Arc::new(fleet(&["127.0.0.0/8"], None, vec![gone, live]));
    let (_keep, fleet) = watch::channel(fleet);
    let alerts = InternalAlerts::new();
    let stop = CancellationToken::new();
    let sender = Arc::new(ChannelSender::new().expect("a sender"));
    let running = tokio::spawn(alerts.clone().run(sender, fleet, stop.clone()));
    for _ in 0..5 {
        alerts.raise(InternalAlert::DiskFull, "no space left on device", Utc::now());
    }
    soon("the alert", inbox.wait_for(|items| (items.len() == 1).then_some(()))).await;
    alerts.clear(InternalAlert::DiskFull, Utc::now());
    soon("the all-clear", inbox.wait_for(|items| (items.len() == 2).then_some(()))).await;
    stop.cancel();
    soon("the end of the loop", running).await.expect("an orderly end");
    let hooks = inbox.hooks();
    let events: Vec<String> =
        hooks.iter().map(|hook| Message::parse(&hook.body).expect("a message of the contract").event).collect();
    assert_eq!(events, ["serin.trouble", "serin.trouble_over"], "five sightings are one alert, and it ends");
    assert!(hooks.iter().all(|hook| hook.verified == Some(true)), "signed like any other");
    let first = Message::parse(&hooks[0].body).expect("a message");
    assert_eq!(first.monitor, None, "it is never a monitor's fault");
    assert_eq!(first.failure_reason.as_deref(), Some("monitor_internal"));
}
