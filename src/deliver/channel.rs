//! Bringing a frozen message to a receiver: one attempt.
//!
//! A repeat has the same id and the same body, byte for byte, though no body is kept: each is made of the frozen message
//! and of what the file says of its receiver, and of no clock and no chance. Kept bodies would be secrets in the database
//! (a routing key, a token in a body of the file). So a repeat differs only by what is the attempt's own (the timestamp that
//! is signed, the signature, until when an alert fires), and where the receiver's declaration or Serin itself was changed
//! in between.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard};

use crate::deliver::attempt::{Attempt, Frozen};
use crate::deliver::mail::Mailer;
use crate::deliver::message::Message;
use crate::deliver::services::{alertmanager, discord, ntfy, pagerduty, slack, teams, templated};
use crate::deliver::slack_bot::{self, Bot};
use crate::deliver::trust;
use crate::deliver::webhook::{Post, PostTo, Proof, WebhookClient};
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::{Fleet, Heartbeat};
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::Address;

/// Alerts in one post: some hundred kilobytes at most.
const ALERTS_MAX: usize = 64;

/// Sends. Holds the HTTP client, the TLS roots and what mail recipients already took; cheap to share in an `Arc`.
#[derive(Debug)]
pub struct ChannelSender {
    hooks: WebhookClient,
    post: Mailer,
    /// Of receivers that are posted to from more than one place; at most as many as there ever were.
    turns: Mutex<HashMap<String, Arc<TurnMutex<()>>>>,
}

/// A receiver's turn, until it is dropped.
#[derive(Debug)]
pub struct ReceiverTurn {
    _held: OwnedMutexGuard<()>,
}

impl ChannelSender {
    /// A sender with its HTTP client, guard and TLS roots.
    ///
    /// # Errors
    /// Where no HTTP client can be built.
    pub fn new() -> anyhow::Result<Self> {
        let roots = trust::machine_roots();
        let hooks = WebhookClient::new(trust::client_config(&roots)?);
        Ok(Self { hooks, post: Mailer::new(roots), turns: Mutex::default() })
    }

    /// One sign of life, at most [`crate::domain::paging::delivery::ATTEMPT_MAX`]: guarded as a webhook is.
    pub async fn ping(&self, fleet: &Fleet, heartbeat: &Heartbeat, now: DateTime<Utc>) -> AttemptEnd {
        self.hooks.ping(&fleet.allow_private, heartbeat, now).await
    }

    /// One attempt, at most [`crate::domain::paging::delivery::ATTEMPT_MAX`].
    ///
    /// `id` is the notification's: `webhook-id`, and the mail's Message-ID. A webhook gets `payload`
    /// byte for byte; everything else is rendered from it. Never fails and never panics: the end says it all.
    pub async fn attempt(
        &self,
        fleet: &Fleet,
        receiver: &Receiver,
        id: &str,
        payload: &str,
        now: DateTime<Utc>,
    ) -> AttemptEnd {
        let message = Frozen { id, payload, external_ref: None, over_at: None, replayed: false };
        self.attempt_while(&WritePermit::always(), fleet, receiver, message, now).await.end
    }

    /// The same, of which nothing is written once the permit holds no more: it says then that it was withheld, and the
    /// attempt was none.
    pub async fn attempt_while(
        &self,
        permit: &WritePermit,
        fleet: &Fleet,
        receiver: &Receiver,
        Frozen { id, payload, external_ref, over_at, replayed }: Frozen<'_>,
        now: DateTime<Utc>,
    ) -> Attempt {
        let post =
            |proof| Post { id, body: payload, at: now, proof, to: PostTo::Address, permit, form: None, replayed };
        let end = match &receiver.channel {
            Channel::Webhook { url, secrets, form } => {
                let post = Post { form: Some(form), ..post(Proof::Standard(secrets)) };
                match &form.body {
                    Some(template) => {
                        self.rendered(fleet, url, post, |message| templated::body(message, template)).await
                    }
                    None => self.hooks.send(&fleet.allow_private, url, post).await,
                }
            }
            Channel::Slack { url } => self.rendered(fleet, url, post(Proof::Address), slack::body).await,
            Channel::Discord { url } => self.rendered(fleet, url, post(Proof::Address), discord::body).await,
            Channel::Teams { url } => self.rendered(fleet, url, post(Proof::Address), teams::body).await,
            Channel::Ntfy { url, token } => {
                let proof = token.as_ref().map_or(Proof::Address, Proof::Bearer);
                let topic = ntfy::topic(url).unwrap_or_default();
                let body = |message: &Message| ntfy::body(message, &topic);
                self.rendered(fleet, url, Post { to: PostTo::Root, ..post(proof) }, body).await
            }
            Channel::PagerDuty { url, routing_key } => {
                let body = |message: &Message| pagerduty::body(message, routing_key);
                self.rendered(fleet, url, post(Proof::Body(routing_key)), body).await
            }
            // Boxed: a mail's conversation is large, and every webhook's future would carry its size.
            Channel::Email { to } => {
                Box::pin(self.post.send(permit, fleet.smtp.as_ref(), (&receiver.name, to), id, payload)).await
            }
            Channel::SlackBot { api, token, channel } => {
                let bot = Bot { api, token, channel };
                let telling =
                    slack_bot::tell(&self.hooks, &fleet.allow_private, bot, post(Proof::Bearer(token)), external_ref);
                return slack_bot::in_time(telling).await;
            }
            Channel::Alertmanager { url } => {
                return self.alert(fleet, receiver, url, post(Proof::Address), (external_ref, over_at)).await;
            }
        };
        Attempt { end, external_ref: None }
    }

    /// A receiver's turn: whoever has it is the only one to post there, of those who ask for it.
    pub async fn turn(&self, receiver: &Receiver) -> ReceiverTurn {
        let turn = Arc::clone(self.turns.lock().entry(receiver.name.clone()).or_default());
        ReceiverTurn { _held: turn.lock_owned().await }
    }

    /// Has alerts of an Alertmanager fire on: each is the last message of an incident that is open. Whoever calls it has
    /// read them in the same turn, so that none of them ended meanwhile, and permits no post that comes long after.
    pub async fn fire_again(
        &self,
        (_turn, permit): (&ReceiverTurn, &WritePermit),
        fleet: &Fleet,
        receiver: &Receiver,
        firing: &[Frozen<'_>],
        now: DateTime<Utc>,
    ) -> AttemptEnd {
        let Channel::Alertmanager { url } = &receiver.channel else {
            return AttemptEnd::Refused { why: format!("receiver '{}' is no Alertmanager", receiver.name) };
        };
        // One that is refused must not let the others run out.
        let mut first = AttemptEnd::Accepted;
        for some in firing.chunks(ALERTS_MAX) {
            let known = some.iter().filter_map(|one| Some((Message::parse(one.payload).ok()?, one.external_ref)));
            let known: Vec<_> = known.collect();
            let alerts = known
                .iter()
                .map(|(message, known_by)| (message, alertmanager::labels(message, &receiver.name, *known_by)));
            let body = alertmanager::body(alerts, None, now).to_string();
            let to = PostTo::Below(alertmanager::PATH);
            let post =
                Post { id: "", body: &body, at: now, proof: Proof::Address, to, permit, form: None, replayed: false };
            let end = self.hooks.send(&fleet.allow_private, url, post).await;
            if first == AttemptEnd::Accepted {
                first = end;
            }
        }
        first
    }

    /// One attempt to have an alert fire or end.
    async fn alert(
        &self,
        fleet: &Fleet,
        receiver: &Receiver,
        url: &Address,
        post: Post<'_>,
        (known_by, over_at): (Option<&str>, Option<DateTime<Utc>>),
    ) -> Attempt {
        let Ok(message) = Message::parse(post.body) else { return Attempt { end: unreadable(), external_ref: None } };
        let labels = alertmanager::labels(&message, &receiver.name, known_by);
        let external_ref = Some(alertmanager::remember(&labels));
        let body = alertmanager::body([(&message, labels)].into_iter(), over_at, post.at).to_string();
        let _turn = self.turn(receiver).await;
        let post = Post { body: &body, to: PostTo::Below(alertmanager::PATH), ..post };
        Attempt { end: self.hooks.send(&fleet.allow_private, url, post).await, external_ref }
    }

    /// One attempt to bring a message to a service of others, as it takes it; the exchange is a webhook's.
    async fn rendered(
        &self,
        fleet: &Fleet,
        url: &Address,
        post: Post<'_>,
        body: impl FnOnce(&Message) -> Value,
    ) -> AttemptEnd {
        let Ok(message) = Message::parse(post.body) else {
            return unreadable();
        };
        let body = body(&message).to_string();
        self.hooks.send(&fleet.allow_private, url, Post { body: &body, ..post }).await
    }
}

fn unreadable() -> AttemptEnd {
    AttemptEnd::Refused { why: "the stored message cannot be read as contract version 1".to_owned() }
}
