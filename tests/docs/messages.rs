//! What each channel gets of an incident, as it came over a real connection: `docs/messages/README.md` shows that.

use std::collections::BTreeMap;
use std::future::IntoFuture as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use chrono::{DateTime, Utc};
use mail_parser::MessageParser;
use serde_json::{Value, json};
use serin::cli::demo::inbox::{Inbox, Mail};
use serin::cli::demo::smtp_sink::{Manners, SmtpSink};
use serin::config::check::checker::Unset;
use serin::config::load;
use serin::config::read::source::read;
use serin::deliver::attempt::Frozen;
use serin::deliver::channel::ChannelSender;
use serin::deliver::message::{Message, freeze};
use serin::deliver::write_permit::WritePermit;
use serin::domain::fleet::Fleet;
use serin::domain::incident::{Course, Incident, ResolveCause};
use serin::domain::monitor::MonitorId;
use serin::domain::network::Network;
use serin::domain::outcome::Evidence;
use serin::domain::paging::delivery::AttemptEnd;
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::receiver::{Channel, Receiver, Smtp, SmtpTls};
use serin::domain::rules::RulePlace;
use serin::domain::secret::{Address, Secret};
use serin::domain::signal::Signal;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::lists::check_generated;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a moment")
}

/// An outage of quality, as it opens, and as it ends six minutes later.
fn said(event: Event) -> String {
    let (opened_at, over_at) = (at("2026-11-21T09:14:03Z"), at("2026-11-21T09:20:03Z"));
    let is_over = event == Event::IncidentResolved;
    let story = "every search lost its source: 8 of 8 asked since 09:12 UTC (8 of 8 meaning)";
    let rule = RulePlace { file: "monitors.yaml".to_owned(), line: 24, commit: Some("9f3c2ab".to_owned()) };
    let evidence = vec![
        Evidence::new("canary token-life", "wrong_results: auth/tokens.md is not among 5; first legal/imprint.md"),
        Evidence::new("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"),
    ];
    let incident = Incident {
        id: "0199a1b2-3c4d-7000-8000-00000000002a".to_owned(),
        monitor: MonitorId::new("docs"),
        signal: Signal::Quality,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::WrongResults,
        stage: "search".to_owned(),
        summary: format!("docs: {story}"),
        evidence: evidence.clone(),
        rule: rule.clone(),
        opened_at,
        resolved_at: is_over.then_some(over_at),
        resolve_cause: is_over.then_some(ResolveCause::Recovered),
        acknowledged: None,
        sequence: if is_over { 2 } else { 1 },
        course: Course { began_at: Some(at("2026-11-21T09:12:03Z")), ..Course::default() },
    };
    let notification = Notification {
        id: format!("0199a1b2-3c4d-7000-8000-0000000000{}", if is_over { "02" } else { "01" }),
        sequence: incident.sequence,
        event,
        at: if is_over { over_at } else { opened_at },
        monitor: MonitorCard {
            id: "docs".to_owned(),
            name: "Product documentation".to_owned(),
            url: "https://docs-rag.example.org/mcp".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "docs".to_owned())]),
        },
        reason: Some(incident.reason),
        failed_stage: Some(incident.stage.clone()),
        severity: incident.severity,
        summary: if is_over {
            format!("docs: recovered after 8 min; it was wrong results: {story}")
        } else {
            incident.summary.clone()
        },
        evidence,
        resolves_when: (!is_over).then(|| "each failing canary is answered rightly twice in a row".to_owned()),
        runbook_url: "https://runbooks.example.org/mcp#wrong_results".to_owned(),
        incident_url: Some(format!("https://serin.example.org/incidents/{}", incident.id)),
        rule: Some(rule),
        group_key: None,
        reproduce: incident.reproduce(),
        incident: Some(incident),
    };
    let mut message = Message::parse(&freeze(&notification)).expect("a message");
    // Each receiver's own, which holds a signature.
    message.acknowledge_url = (!is_over).then(|| "https://serin.example.org/take/0199a1b2…/oncall/…".to_owned());
    message.frozen()
}

/// Bodies as they were posted, by the first part of the path.
type Bodies = Arc<Mutex<Vec<(String, Value)>>>;

async fn take(State(bodies): State<Bodies>, Path(path): Path<String>, body: String) -> axum::Json<Value> {
    bodies.lock().expect("no panic").push((path, serde_json::from_str(&body).expect("JSON")));
    // What a service says that remembers the message.
    axum::Json(json!({ "ok": true, "channel": "C0123", "ts": "1763716443.000100" }))
}

/// Every way there is, each to its own path.
fn receivers(web: SocketAddr) -> Vec<Receiver> {
    let address = |path: &str| {
        let url = format!("http://{web}/{path}");
        Address { shown: url.clone(), resolved: Secret::new(&url) }
    };
    let channels = [
        ("mail", Channel::Email { to: vec!["sre@example.org".to_owned()] }),
        ("slack", Channel::Slack { url: address("slack") }),
        ("bot", Channel::SlackBot { api: address("bot/"), token: Secret::new("xoxb-1"), channel: "C0123".to_owned() }),
        ("discord", Channel::Discord { url: address("discord") }),
        ("teams", Channel::Teams { url: address("teams") }),
        ("pagerduty", Channel::PagerDuty { url: address("pagerduty"), routing_key: Secret::new("•••") }),
        ("alertmanager", Channel::Alertmanager { url: address("alertmanager") }),
        ("ntfy", Channel::Ntfy { url: address("sre-pages"), token: None }),
        ("webhook", Channel::Webhook { url: address("webhook"), secrets: Vec::new(), form: Box::default() }),
    ];
    let receiver = |(name, channel): (&str, Channel)| Receiver {
        name: name.to_owned(),
        channel,
        at_most: None,
        line: 1,
        definition_hash: String::new(),
    };
    channels.into_iter().map(receiver).collect()
}

/// The receiver of a preset, with its address led here.
fn preset(name: &str, url: &str) -> Receiver {
    let path = crate::root().join(format!("docs/presets/{name}.yaml"));
    let folder = tempfile::tempdir().expect("a folder");
    let whole = format!(
        "version: 1\n{}routes: [{{ to: [{name}] }}]\nmonitors: [{{ id: docs, url: \"https://docs.example.org/mcp\" }}]\n",
        std::fs::read_to_string(path).expect("the preset is there")
    );
    std::fs::write(folder.path().join("monitors.yaml"), whole).expect("a file");
    let source = read(&folder.path().join("monitors.yaml")).expect("it can be read");
    let loaded = load(&source, &|_| Some(url.to_owned()), Unset::Refuse).unwrap_or_else(|why| panic!("{why}"));
    Receiver::clone(loaded.fleet.receiver(name).expect("it is declared"))
}

#[tokio::test]
async fn every_channel_shows_its_messages() {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let bodies = Bodies::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let web = listener.local_addr().expect("an address");
    let app = axum::Router::new().route("/{*path}", axum::routing::post(take)).with_state(Arc::clone(&bodies));
    let app = app.route(
        "/",
        axum::routing::post(async |State(bodies): State<Bodies>, body: String| {
            take(State(bodies), Path("ntfy".to_owned()), body).await
        })
        .with_state(Arc::clone(&bodies)),
    );
    tokio::spawn(axum::serve(listener, app).into_future());
    let inbox = Inbox::new(None);
    let sink = SmtpSink::bind(inbox.clone(), Manners::default()).await.expect("a port");
    let smtp = Smtp {
        host: "127.0.0.1".to_owned(),
        port: sink.address().expect("an address").port(),
        tls: SmtpTls::None,
        login: None,
        from: "Serin <serin@example.org>".to_owned(),
        ca: None,
    };
    tokio::spawn(sink.run(CancellationToken::new()));
    let fleet = Fleet {
        allow_private: vec![Network("127.0.0.0/8".to_owned())],
        smtp: Some(smtp),
        public_url: "https://serin.example.org".to_owned(),
        ..Fleet::default()
    };
    let sender = ChannelSender::new().expect("a sender");
    let mut all = receivers(web);
    all.push(preset("google-chat", &format!("http://{web}/google-chat")));
    for receiver in all {
        let mut known = None;
        for event in [Event::IncidentOpened, Event::IncidentResolved] {
            let payload = said(event);
            let id = Message::parse(&payload).expect("a message").id;
            let over_at = (event == Event::IncidentResolved).then(|| at("2026-11-21T09:20:03Z"));
            let message =
                Frozen { id: &id, payload: &payload, external_ref: known.as_deref(), over_at, replayed: false };
            let now = at(if over_at.is_some() { "2026-11-21T09:20:04Z" } else { "2026-11-21T09:14:04Z" });
            let attempt = sender.attempt_while(&WritePermit::always(), &fleet, &receiver, message, now).await;
            assert_eq!(attempt.end, AttemptEnd::Accepted, "{}", receiver.name);
            known = attempt.external_ref;
        }
    }
    let mut page = mails(&inbox.mails());
    let bodies = std::mem::take(&mut *bodies.lock().expect("no panic"));
    page += &chats(&bodies);
    page += &machines(&bodies);
    check_generated("docs/messages/README.md", "messages", &page);
}

const ENDS: [&str; 2] = ["As it opens", "As it ends"];

/// A heading, and what a channel shows of either message, as a block of this language.
fn section(heading: &str, language: &str, shown: [String; 2]) -> String {
    let mut section = format!("\n## {heading}\n");
    for (end, shown) in ENDS.iter().zip(shown) {
        section += &format!("\n{end}:\n\n```{language}\n{}\n```\n", shown.trim_end());
    }
    section
}

fn mails(mails: &[Mail]) -> String {
    let [opened, resolved] = mails else { panic!("two mails: {}", mails.len()) };
    let part = |mail: &Mail, html: bool| {
        let parsed = MessageParser::default().parse(mail.raw.as_bytes()).expect("a mail");
        let body = if html {
            displayed(&parsed.body_html(0).expect("a part of HTML"))
        } else {
            parsed.body_text(0).expect("a part of text").replace("\r\n", "\n")
        };
        format!("From: {}\nTo: {}\nSubject: {}\n\n{body}", mail.from, mail.to.join(", "), mail.subject)
    };
    let of = |html| [part(opened, html), part(resolved, html)];
    section("Mail, as text", "text", of(false)) + &section("Mail, as HTML shows it", "text", of(true))
}

/// What a page of HTML displays, a line each; links as their words.
fn displayed(html: &str) -> String {
    let body = html.split_once("<body").map_or("", |(_, body)| body).split_once('>').map_or("", |(_, body)| body);
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines() {
        let (mut text, mut is_tag) = (String::new(), false);
        for sign in line.replace("<a ", "[<a ").replace("</a>", "</a>]").chars() {
            match sign {
                '<' => is_tag = true,
                '>' => is_tag = false,
                _ if !is_tag => text.push(sign),
                _ => {}
            }
        }
        let text = text.trim();
        if !text.is_empty() {
            assert!(!text.contains('&'), "nothing in it has to be escaped: {text}");
            lines.push(text.to_owned());
        }
    }
    lines.join("\n")
}

/// What was posted to a path, first and last.
fn posted<'a>(bodies: &'a [(String, Value)], path: &str) -> [&'a Value; 2] {
    let mut found = bodies.iter().filter(|(to, _)| to == path).map(|(_, body)| body);
    let found = [found.next(), found.next_back()];
    found.map(|body| body.unwrap_or_else(|| panic!("two came to {path}")))
}

fn chats(bodies: &[(String, Value)]) -> String {
    let shown = |path: &str, show: fn(&Value) -> String| posted(bodies, path).map(show);
    let mut chats = section("Slack, by webhook", "text", shown("slack", slack));
    chats += &bot(bodies);
    chats += &section("Discord", "text", shown("discord", discord));
    chats += &section("Microsoft Teams", "text", shown("teams", teams));
    chats += &section("ntfy", "text", shown("ntfy", ntfy));
    chats + &section("A preset: Google Chat", "text", shown("google-chat", |body| words(&body["text"])))
}

fn words(text: &Value) -> String {
    text.as_str().unwrap_or_else(|| panic!("a text: {text}")).to_owned()
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().unwrap_or_else(|| panic!("a list: {list}")).iter()
}

/// Texts of its blocks; links as their words.
fn slack(body: &Value) -> String {
    let block = |block: &Value| {
        let text = words(&block["text"]["text"]);
        if block["text"]["type"] == "plain_text" {
            return text;
        }
        let links = text.split('<').filter_map(|link| link.split_once('>')?.0.split_once('|'));
        let links: Vec<String> = links.map(|(_, words)| format!("[{words}]")).collect();
        if links.is_empty() { text.replace('*', "") } else { links.join(" ") }
    };
    each(&body["blocks"]).map(block).collect::<Vec<_>>().join("\n")
}

/// A bot says what a webhook says; what differs is where.
fn bot(bodies: &[(String, Value)]) -> String {
    let [opened, resolved] = posted(bodies, "slack");
    let of_bot: Vec<_> = bodies.iter().filter_map(|(path, body)| Some((path.strip_prefix("bot/")?, body))).collect();
    let where_to = |method: &str, body: &Value| match (method, body["thread_ts"].is_string()) {
        ("chat.postMessage", true) => "posts this into its thread",
        ("chat.postMessage", false) => "posts this into the channel",
        ("chat.update", _) => "edits that message, which reads now",
        (other, _) => panic!("another method: {other}"),
    };
    let mut text = "\n## Slack, by a bot\n\n".to_owned();
    for (at, (method, body)) in of_bot.iter().enumerate() {
        let (end, like) = if at == 0 { (ENDS[0], opened) } else { (ENDS[1], resolved) };
        assert_eq!(body["blocks"], like["blocks"], "a bot says what a webhook says");
        text += &format!("- {end} it {}: as by webhook above.\n", where_to(method, body));
    }
    text
}

/// What a reader sees of its Markdown: an escaped mark is the mark.
fn discord(body: &Value) -> String {
    let embed = &body["embeds"][0];
    let fields = each(&embed["fields"]).map(|field| format!("{}: {}", words(&field["name"]), words(&field["value"])));
    let lines = [words(&body["content"]), String::new(), words(&embed["title"]), words(&embed["description"])];
    lines.into_iter().chain(fields).collect::<Vec<_>>().join("\n").replace('\\', "")
}

fn teams(body: &Value) -> String {
    let card = &body["attachments"][0]["content"];
    let runs = each(&card["body"]).flat_map(|container| each(&container["items"])).map(|block| {
        let runs = each(&block["inlines"]).map(|run| words(&run["text"]));
        runs.collect::<String>()
    });
    let buttons: Vec<String> = each(&card["actions"]).map(|action| format!("[{}]", words(&action["title"]))).collect();
    runs.chain([buttons.join(" ")]).collect::<Vec<_>>().join("\n")
}

fn ntfy(body: &Value) -> String {
    let buttons: Vec<String> = each(&body["actions"]).map(|action| format!("[{}]", words(&action["label"]))).collect();
    let tags: Vec<String> = each(&body["tags"]).map(words).collect();
    let (title, message, priority) = (words(&body["title"]), words(&body["message"]), &body["priority"]);
    format!("{title}\n{message}\n{}\n(priority {priority}, {})", buttons.join(" "), tags.join(", "))
}

fn machines(bodies: &[(String, Value)]) -> String {
    let json = |path: &str| posted(bodies, path).map(|body| format!("{body:#}"));
    // In the order of the contract.
    let message = |body: &Value| {
        let message = Message::parse(&body.to_string()).expect("a message");
        serde_json::to_string_pretty(&message).expect("JSON")
    };
    section("PagerDuty", "json", json("pagerduty"))
        + &section("Alertmanager", "json", json("alertmanager/api/v2/alerts"))
        + &section("Webhook", "json", posted(bodies, "webhook").map(message))
}
