//! What the inbox serves: the webhook receiver, and a page that shows what arrived.
//!
//! Everything it shows came from outside and is escaped by its template.

use std::convert::Infallible;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use chrono::SecondsFormat;
use futures_util::Stream;
use futures_util::StreamExt as _;
use tokio::net::TcpListener;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;

use crate::cli::demo::inbox::{Hook, Inbox, InboxItem, Item, Mail};
use crate::deliver::message::Message;
use crate::deliver::{plain, signature};

/// Bytes of one webhook: a message of Serin's is below 64 kB.
const HOOK_BYTES_MAX: usize = 1 << 20;

/// An open page is redrawn at most so often: several arrivals at once are one redraw.
const FOLLOW_EVERY: Duration = Duration::from_millis(250);

impl Inbox {
    /// Serves hook and page until the token is cancelled; open pages are let go then.
    ///
    /// # Errors
    /// Where the listener breaks.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> std::io::Result<()> {
        let app = self.router(stop.clone());
        axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await
    }

    /// `POST /hook`, `GET /`, `GET /api/messages`, `GET /events`.
    pub fn router(self, stop: CancellationToken) -> Router {
        Router::new()
            .route("/hook", post(take).layer(DefaultBodyLimit::max(HOOK_BYTES_MAX)))
            .route("/", get(page))
            .route("/api/messages", get(messages))
            .route("/events", get(move |state| follow(state, stop.clone())))
            .with_state(self)
    }
}

async fn take(State(inbox): State<Inbox>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (id, timestamp, signed) = (text("webhook-id"), text("webhook-timestamp"), text("webhook-signature"));
    let verified = inbox
        .shared
        .secret
        .as_ref()
        .map(|secret| timestamp.parse().is_ok_and(|at| signature::verifies(secret, &id, at, &body, &signed)));
    let (status, retry_after) = match (inbox.state().fail_with.clone(), verified) {
        (Some(failing), _) => failing,
        (None, Some(false)) => (StatusCode::UNAUTHORIZED, None),
        (None, _) => (StatusCode::OK, None),
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    inbox.keep(InboxItem::Webhook(Hook {
        id,
        timestamp,
        signature: signed,
        verified,
        answered: status.as_u16(),
        body,
    }));
    let mut response = (status, if status.is_success() { "kept" } else { "told to fail" }).into_response();
    if let Some(value) = retry_after.and_then(|text| text.parse().ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

async fn messages(State(inbox): State<Inbox>) -> Json<Vec<Item>> {
    Json(inbox.items())
}

/// One event for each arrival, until the inbox stops.
async fn follow(
    State(inbox): State<Inbox>,
    stop: CancellationToken,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let arrivals = WatchStream::new(inbox.shared.arrivals.subscribe());
    let events = arrivals.take_until(stop.cancelled_owned()).then(|count| async move {
        tokio::time::sleep(FOLLOW_EVERY).await;
        Ok(Event::default().data(count.to_string()))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    rows: Vec<InboxRow>,
    hooks: usize,
    mails: usize,
}

/// One message as the page shows it; the template escapes every field.
struct InboxRow {
    number: u64,
    time: String,
    /// The time of day in it.
    clock: String,
    channel: &'static str,
    /// The signature does not verify.
    suspect: bool,
    /// `opened`, `resolved`, …: the last word of the event, for shape and colour.
    word: String,
    title: String,
    facts: Vec<(&'static str, String)>,
    /// A link, only where it is a web address.
    runbook: Option<String>,
    text: String,
    text_name: &'static str,
}

async fn page(State(inbox): State<Inbox>) -> Response {
    let items = inbox.items();
    let hooks = items.iter().filter(|item| matches!(item.what, InboxItem::Webhook(_))).count();
    let page = InboxPage { hooks, mails: items.len() - hooks, rows: items.iter().rev().map(InboxRow::of).collect() };
    match page.render() {
        Ok(text) => ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(text)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The page brings its own style and script and fetches nothing else; the hash of neither changes what a message may do,
/// because no message is ever written into them.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'";

impl InboxRow {
    fn of(item: &Item) -> Self {
        let time = item.received_at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let clock = item.received_at.format("%H:%M:%S").to_string();
        match &item.what {
            InboxItem::Webhook(hook) => Self::of_hook(item.number, time, clock, hook),
            InboxItem::Mail(mail) => Self::of_mail(item.number, time, clock, mail),
        }
    }

    fn of_hook(number: u64, time: String, clock: String, hook: &Hook) -> Self {
        let verdict = match hook.verified {
            Some(true) => "verified",
            Some(false) => "does not verify",
            None => "not checked",
        };
        let message = Message::parse(&hook.body).ok();
        let mut facts = Vec::new();
        if let Some(message) = &message {
            facts.extend(message.failure_reason.clone().map(|reason| ("reason", reason)));
            facts.extend(message.failed_stage.clone().map(|stage| ("stage", stage)));
            facts.push(("event", message.event.clone()));
        }
        facts.push(("signature", verdict.to_owned()));
        facts.push(("answered", hook.answered.to_string()));
        facts.push(("webhook-id", hook.id.clone()));
        let pretty = serde_json::from_str::<serde_json::Value>(&hook.body)
            .and_then(|value| serde_json::to_string_pretty(&value))
            .unwrap_or_else(|_| hook.body.clone());
        Self {
            number,
            time,
            clock,
            channel: "webhook",
            suspect: hook.verified == Some(false),
            word: message.as_ref().map_or("unknown", |message| last_word(&message.event)).to_owned(),
            title: message
                .as_ref()
                .map_or_else(|| "not a message of Serin's".to_owned(), |message| message.summary.clone()),
            facts,
            runbook: message.map(|message| message.runbook_url).filter(|url| is_web(url)),
            text: pretty,
            text_name: "the body, indented",
        }
    }

    fn of_mail(number: u64, time: String, clock: String, mail: &Mail) -> Self {
        let header = |name: &str| {
            let found = mail.raw.split("\r\n").take_while(|line| !line.is_empty()).find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| plain::line(value, 200))
            });
            found.unwrap_or_default()
        };
        let runbook = mail.text.lines().find_map(|line| line.strip_prefix("Runbook")).map(|url| url.trim().to_owned());
        let mut facts = vec![("from", mail.from.clone()), ("to", mail.to.join(", "))];
        let thread = header("In-Reply-To");
        facts.push((
            "thread",
            if thread.is_empty() { "starts one".to_owned() } else { format!("in reply to {thread}") },
        ));
        Self {
            number,
            time,
            clock,
            channel: "mail",
            suspect: false,
            word: last_word(&header("X-Serin-Event")).to_owned(),
            title: mail.subject.clone(),
            facts,
            runbook: runbook.filter(|url| is_web(url)),
            text: mail.text.clone(),
            text_name: "the mail",
        }
    }
}

/// `incident.opened` → `opened`, limited to words the style knows.
fn last_word(event: &str) -> &'static str {
    const WORDS: [&str; 10] = [
        "opened",
        "updated",
        "reminder",
        "escalated",
        "acknowledged",
        "resolved",
        "restarted",
        "changed",
        "trouble",
        "trouble_over",
    ];
    let last = event.rsplit('.').next().unwrap_or_default();
    WORDS.into_iter().find(|word| *word == last).unwrap_or("unknown")
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
