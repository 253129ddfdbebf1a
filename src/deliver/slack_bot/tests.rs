use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use parking_lot::Mutex;

use super::*;
use crate::deliver::attempt::Frozen;
use crate::deliver::channel::ChannelSender;
use crate::deliver::message::MessageGroup;
use crate::deliver::services::samples::{hostile, opened, resolved, texts};
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::Fleet;
use crate::domain::receiver::{Channel, Receiver};

/// A server that behaves as Slack does: 200 with `ok`, and a `ts` for what is posted. Answers are taken from the list
/// first.
#[derive(Clone, Default)]
struct Slack {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    got: Arc<Mutex<Vec<(String, Value)>>>,
}

async fn method(
    State(slack): State<Slack>,
    Path(method): Path<String>,
    headers: HeaderMap,
    body: Json<Value>,
) -> Response {
    assert_eq!(headers["authorization"], "Bearer xoxb-geheim");
    slack.got.lock().push((method, body.0));
    let ts = format!("1700000000.{:06}", slack.got.lock().len());
    let usual = || (200, json!({ "ok": true, "channel": "C0123", "ts": ts }));
    let (status, answer) = slack.answers.lock().pop_front().unwrap_or_else(usual);
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("retry-after", "30")], Json(answer)).into_response()
}

/// A bot, what it is told, and what it remembers.
struct Stage {
    slack: Slack,
    sender: ChannelSender,
    receiver: Receiver,
    known: Option<String>,
}

impl Stage {
    async fn new() -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let slack = Slack::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = format!("http://{}/api", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/api/{method}", axum::routing::post(method)).with_state(slack.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let channel = Channel::SlackBot {
            api: Address { shown: String::new(), resolved: Secret::new(&api) },
            token: Secret::new("xoxb-geheim"),
            channel: "C0123".to_owned(),
        };
        let receiver =
            Receiver { name: "chat".to_owned(), channel, at_most: None, line: 1, definition_hash: String::new() };
        Self { slack, sender: ChannelSender::new().unwrap(), receiver, known: None }
    }

    async fn tell(&mut self, message: &Message) -> AttemptEnd {
        self.tell_as(message, false).await
    }

    async fn tell_as(&mut self, message: &Message, replayed: bool) -> AttemptEnd {
        let fleet = Fleet { allow_private: vec![Network("127.0.0.0/8".to_owned())], ..Fleet::default() };
        let payload = message.frozen();
        let frozen =
            Frozen { id: "n", payload: &payload, external_ref: self.known.as_deref(), over_at: None, replayed };
        let permit = WritePermit::always();
        let attempt = self.sender.attempt_while(&permit, &fleet, &self.receiver, frozen, Utc::now()).await;
        self.known = attempt.external_ref.or(self.known.take());
        attempt.end
    }

    /// What was called since: method, and the `ts` that it is about.
    fn calls(&self) -> Vec<String> {
        let called = |(method, body): (String, Value)| {
            let about = ["ts", "thread_ts"].iter().find_map(|key| Some(format!(" {key} {}", body[*key].as_str()?)));
            format!("{method}{}", about.unwrap_or_default())
        };
        self.slack.got.lock().drain(..).map(called).collect()
    }

    fn answers(&self, status: u16, error: &str) {
        self.slack.answers.lock().push_back((status, json!({ "ok": false, "error": error })));
    }
}

fn event(event: &str, severity: &str) -> Message {
    Message { event: event.into(), severity: severity.into(), ..opened() }
}

#[tokio::test]
async fn one_incident_is_one_message_and_what_rings_stands_in_its_thread() {
    let mut stage = Stage::new().await;
    let first = "ts 1700000000.000001";
    let (edit, reply) = (format!("chat.update {first}"), format!("chat.postMessage thread_{first}"));
    let rows = [
        (event("incident.opened", "ticket"), vec!["chat.postMessage".to_owned()], "the opening is a message"),
        (event("incident.updated", "ticket"), vec![edit.clone()], "a change edits it"),
        (event("incident.updated", "page"), vec![edit.clone(), reply.clone()], "one for the worse is heard too"),
        (event("incident.updated", "page"), vec![edit.clone()], "once"),
        (event("incident.acknowledged", "page"), vec![edit.clone()], "who took it need not be heard"),
        (event("incident.reminder", "page"), vec![edit.clone(), reply.clone()], "that nobody took it has to be"),
        (event("incident.escalated", "page"), vec![edit.clone(), reply.clone()], "an escalation is heard"),
        (resolved(), vec![edit, reply.clone()], "and so is the end"),
    ];
    for (message, calls, sentence) in rows {
        assert_eq!(stage.tell(&message).await, AttemptEnd::Accepted, "{sentence}");
        assert_eq!(stage.calls(), calls, "{sentence}");
    }
    assert_eq!(stage.tell_as(&event("incident.opened", "ticket"), true).await, AttemptEnd::Accepted);
    assert_eq!(stage.calls(), [reply], "what is brought once more edits nothing that is so by now");
}

#[tokio::test]
async fn its_word_decides_what_happens_next() {
    let rows = [
        (200, "channel_not_found", "refused", "it will not get better by itself"),
        (200, "invalid_auth", "refused", "nor will a token"),
        (200, "internal_error", "failed", "this may pass"),
        (200, "ratelimited", "failed", "so does this"),
        (503, "service_unavailable", "failed", "a status counts as any webhook's"),
        (404, "unknown_method", "refused", "also where it refuses"),
    ];
    for (status, word, expected, sentence) in rows {
        let mut stage = Stage::new().await;
        stage.answers(status, word);
        let end = stage.tell(&opened()).await;
        let (found, why) = match &end {
            AttemptEnd::Accepted => ("accepted", ""),
            AttemptEnd::Failed { why, .. } => ("failed", why.as_str()),
            AttemptEnd::Refused { why } => ("refused", why.as_str()),
        };
        assert_eq!(found, expected, "{sentence}");
        assert!(why.contains(word) && !why.contains("geheim"), "{why}");
        assert_eq!(stage.known, None, "nothing was told, so nothing is remembered");
    }
    let mut stage = Stage::new().await;
    stage.answers(429, "ratelimited");
    let end = stage.tell(&opened()).await;
    let AttemptEnd::Failed { retry_after, .. } = end else { panic!("{end:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(30)), "its wish to wait is heard");
}

#[tokio::test]
async fn a_message_that_is_gone_is_told_anew_and_another_channel_begins_anew() {
    let mut stage = Stage::new().await;
    assert_eq!(stage.tell(&opened()).await, AttemptEnd::Accepted);
    stage.calls();
    stage.answers(200, "message_not_found");
    assert_eq!(stage.tell(&event("incident.updated", "page")).await, AttemptEnd::Accepted);
    assert_eq!(stage.calls(), ["chat.update ts 1700000000.000001", "chat.postMessage"], "somebody deleted it");
    // An edit that worked and a reply that did not: the next attempt makes both again.
    stage.slack.answers.lock().push_back((200, json!({ "ok": true })));
    stage.answers(200, "internal_error");
    assert!(matches!(stage.tell(&resolved()).await, AttemptEnd::Failed { .. }));
    assert_eq!(stage.tell(&resolved()).await, AttemptEnd::Accepted);
    assert_eq!(stage.calls().len(), 4);
    if let Channel::SlackBot { channel, .. } = &mut stage.receiver.channel {
        *channel = "C9999".to_owned();
    }
    assert_eq!(stage.tell(&resolved()).await, AttemptEnd::Accepted);
    assert_eq!(stage.calls(), ["chat.postMessage"], "the file names another channel now");
}

#[tokio::test]
async fn hostile_text_stays_text() {
    let mut stage = Stage::new().await;
    assert_eq!(stage.tell(&hostile()).await, AttemptEnd::Accepted);
    let (_, body) = stage.slack.got.lock().pop().unwrap();
    assert_eq!((&body["unfurl_links"], &body["channel"]), (&json!(false), &json!("C0123")));
    for text in texts(&body) {
        for dead in ["<!", "<@", "@channel", "@here", "@everyone", "]("] {
            assert!(!text.contains(dead), "{dead}: {text}");
        }
    }
}

#[tokio::test]
async fn a_list_of_incidents_stays_and_what_follows_stands_in_its_thread() {
    let mut stage = Stage::new().await;
    let first = "ts 1700000000.000001";
    let list = |event: &str| Message {
        group: Some(MessageGroup { key: "team=docs".into(), incidents: 2, url: None }),
        ..self::event(event, "page")
    };
    let rows = [
        (list("incident.opened"), "chat.postMessage".to_owned(), "several incidents are one message"),
        (list("incident.updated"), format!("chat.postMessage thread_{first}"), "the next list takes no place of it"),
        (event("incident.updated", "page"), format!("chat.postMessage thread_{first}"), "nor does one of them"),
        (resolved(), format!("chat.postMessage thread_{first}"), "nor its end"),
    ];
    for (message, call, sentence) in rows {
        assert_eq!(stage.tell(&message).await, AttemptEnd::Accepted, "{sentence}");
        assert_eq!(stage.calls(), [call], "{sentence}");
    }
}
