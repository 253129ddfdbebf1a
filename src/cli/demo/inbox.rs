//! The inbox: a webhook receiver, and a page that shows what it and the SMTP sink got.
//!
//! It keeps the last 200 messages in memory. Everything it shows came from outside and is
//! escaped by its template; a webhook's signature is verified and shown, never trusted silently.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use mail_parser::MessageParser;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::watch;

/// Messages kept; the oldest gives way.
const KEPT_MAX: usize = 200;

/// What arrived, and how to answer. Cheap to clone: all clones are one inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    pub(super) shared: Arc<InboxShared>,
}

#[derive(Debug)]
pub(super) struct InboxShared {
    pub(super) secret: Option<String>,
    pub(super) state: Mutex<KeptItem>,
    /// Counts arrivals, so that pages and tests can follow.
    pub(super) arrivals: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(super) struct KeptItem {
    pub(super) items: VecDeque<Item>,
    pub(super) count: u64,
    pub(super) fail_with: Option<(StatusCode, Option<String>)>,
}

/// One message as it arrived.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Counts up from 1, over webhooks and mails.
    pub number: u64,
    /// UTC, by the inbox's own clock.
    pub received_at: DateTime<Utc>,
    /// Flattened in JSON, with the kind under `channel`.
    #[serde(flatten)]
    pub what: InboxItem,
}

/// A webhook or a mail.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "channel", rename_all = "lowercase")]
pub enum InboxItem {
    /// A POST to `/hook`.
    Webhook(Hook),
    /// A mail that the SMTP sink took.
    Mail(Mail),
}

/// A POST to `/hook` with its headers as they came, signed or not.
#[derive(Debug, Clone, Serialize)]
pub struct Hook {
    /// Header `webhook-id`: the same in each attempt.
    pub id: String,
    /// Header `webhook-timestamp`: seconds since 1970, as text.
    pub timestamp: String,
    /// Header `webhook-signature`: `v1,` and base64, several with blanks between.
    pub signature: String,
    /// Whether the signature verified; none where the inbox knows no secret.
    pub verified: Option<bool>,
    /// The HTTP status it was answered with.
    pub answered: u16,
    /// The exact body, as text.
    pub body: String,
}

/// What the SMTP sink took, decoded and raw.
#[derive(Debug, Clone, Serialize)]
pub struct Mail {
    /// `MAIL FROM` of the envelope.
    pub from: String,
    /// `RCPT TO` of the envelope, in order.
    pub to: Vec<String>,
    /// The header, decoded (RFC 2047); empty where there is none.
    pub subject: String,
    /// The first text part, decoded; empty where there is none.
    pub text: String,
    /// Everything as it came over the wire.
    pub raw: String,
    /// Whether the connection was encrypted.
    pub encrypted: bool,
    /// The user of `AUTH`; none where nobody signed in.
    pub login: Option<String>,
}

impl Inbox {
    /// An empty inbox; `secret` is what webhooks are to be signed with.
    pub fn new(secret: Option<&str>) -> Self {
        let shared =
            InboxShared { secret: secret.map(str::to_owned), state: Mutex::default(), arrivals: watch::Sender::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// Answers webhooks with this status from now on, and with `Retry-After` where given; 200 is the normal state.
    /// They are kept all the same.
    pub fn fail_with(&self, status: StatusCode, retry_after: Option<&str>) {
        let failing = (!status.is_success()).then(|| (status, retry_after.map(str::to_owned)));
        self.state().fail_with = failing;
    }

    /// Everything kept, the oldest first.
    pub fn items(&self) -> Vec<Item> {
        self.state().items.iter().cloned().collect()
    }

    /// The webhooks kept, the oldest first.
    pub fn hooks(&self) -> Vec<Hook> {
        let hook = |item: &Item| match &item.what {
            InboxItem::Webhook(hook) => Some(hook.clone()),
            InboxItem::Mail(_) => None,
        };
        self.state().items.iter().filter_map(hook).collect()
    }

    /// The mails kept, the oldest first.
    pub fn mails(&self) -> Vec<Mail> {
        let mail = |item: &Item| match &item.what {
            InboxItem::Mail(mail) => Some(mail.clone()),
            InboxItem::Webhook(_) => None,
        };
        self.state().items.iter().filter_map(mail).collect()
    }

    /// Waits until `found` finds what it looks for among the messages; the caller bounds the time.
    pub async fn wait_for<T>(&self, mut found: impl FnMut(&[Item]) -> Option<T>) -> T {
        let mut arrivals = self.shared.arrivals.subscribe();
        loop {
            arrivals.borrow_and_update();
            if let Some(found) = found(&self.items()) {
                return found;
            }
            if arrivals.changed().await.is_err() {
                // The sender lives in `self`; this cannot happen, and waiting on is the honest answer.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Takes a mail in as the sink got it; `raw` is its bytes.
    pub fn keep_mail(&self, from: String, to: Vec<String>, raw: &[u8], encrypted: bool, login: Option<String>) {
        let parsed = MessageParser::default().parse(raw);
        let subject = parsed.as_ref().and_then(|mail| mail.subject()).unwrap_or_default().to_owned();
        let text = parsed.as_ref().and_then(|mail| mail.body_text(0)).unwrap_or_default().into_owned();
        let raw = String::from_utf8_lossy(raw).into_owned();
        self.keep(InboxItem::Mail(Mail { from, to, subject, text, raw, encrypted, login }));
    }

    pub(super) fn keep(&self, what: InboxItem) {
        let mut state = self.state();
        state.count += 1;
        let number = state.count;
        if state.items.len() >= KEPT_MAX {
            state.items.pop_front();
        }
        state.items.push_back(Item { number, received_at: Utc::now(), what });
        drop(state);
        self.shared.arrivals.send_modify(|count| *count += 1);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, KeptItem> {
        self.shared.state.lock()
    }
}
