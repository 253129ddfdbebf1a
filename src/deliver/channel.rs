//! Bringing a frozen message to a receiver: one attempt.

use chrono::{DateTime, Utc};

use crate::deliver::mail::Mailer;
use crate::deliver::message::Message;
use crate::deliver::services::{discord, ntfy, pagerduty, slack, teams, templated};
use crate::deliver::trust;
use crate::deliver::webhook::{Post, Proof, WebhookClient};
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::{Fleet, Heartbeat};
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::Address;
use serde_json::Value;

/// Sends. Holds the HTTP client, the TLS roots and what mail recipients already took; cheap to share in an `Arc`.
#[derive(Debug)]
pub struct ChannelSender {
    hooks: WebhookClient,
    post: Mailer,
}

/// A message as it was written at the decision.
#[derive(Debug, Clone, Copy)]
pub struct Frozen<'a> {
    /// The notification's id, constant over attempts and receivers.
    pub id: &'a str,
    /// Its bytes.
    pub payload: &'a str,
}

impl ChannelSender {
    /// A sender with its HTTP client, guard and TLS roots.
    ///
    /// # Errors
    /// Where no HTTP client can be built.
    pub fn new() -> anyhow::Result<Self> {
        let roots = trust::machine_roots();
        Ok(Self { hooks: WebhookClient::new(trust::client_config(&roots)?), post: Mailer::new(roots) })
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
        self.attempt_while(&WritePermit::always(), fleet, receiver, Frozen { id, payload }, now).await
    }

    /// The same, of which nothing is written once the permit holds no more: it says then that it was withheld, and the
    /// attempt was none.
    pub async fn attempt_while(
        &self,
        permit: &WritePermit,
        fleet: &Fleet,
        receiver: &Receiver,
        Frozen { id, payload }: Frozen<'_>,
        now: DateTime<Utc>,
    ) -> AttemptEnd {
        let post = |proof| Post { id, body: payload, at: now, proof, at_root: false, permit, form: None };
        match &receiver.channel {
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
                self.rendered(fleet, url, Post { at_root: true, ..post(proof) }, body).await
            }
            Channel::PagerDuty { url, routing_key } => {
                let body = |message: &Message| pagerduty::body(message, routing_key);
                self.rendered(fleet, url, post(Proof::Body(routing_key)), body).await
            }
            // Boxed: a mail's conversation is large, and every webhook's future would carry its size.
            Channel::Email { to } => {
                Box::pin(self.post.send(permit, fleet.smtp.as_ref(), (&receiver.name, to), id, payload)).await
            }
        }
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
            return AttemptEnd::Refused { why: "the stored message cannot be read as contract version 1".to_owned() };
        };
        let body = body(&message).to_string();
        self.hooks.send(&fleet.allow_private, url, Post { body: &body, ..post }).await
    }
}
