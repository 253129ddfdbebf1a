//! Bringing a frozen message to a receiver: one attempt.

use chrono::{DateTime, Utc};

use crate::deliver::mail::Mailer;
use crate::deliver::trust;
use crate::deliver::webhook::{Post, WebhookClient};
use crate::domain::fleet::{Fleet, Heartbeat};
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::receiver::{Channel, Receiver};

/// Sends. Holds the HTTP client, the TLS roots and what mail recipients already took; cheap to share in an `Arc`.
#[derive(Debug)]
pub struct ChannelSender {
    hooks: WebhookClient,
    post: Mailer,
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
    /// byte for byte; a mail is rendered from it. Never fails and never panics: the end says it all.
    pub async fn attempt(
        &self,
        fleet: &Fleet,
        receiver: &Receiver,
        id: &str,
        payload: &str,
        now: DateTime<Utc>,
    ) -> AttemptEnd {
        match &receiver.channel {
            Channel::Webhook { url, secrets } => {
                self.hooks.send(&fleet.allow_private, url, secrets, Post { id, body: payload, at: now }).await
            }
            // Boxed: a mail's conversation is large, and every webhook's future would carry its size.
            Channel::Email { to } => {
                Box::pin(self.post.send(fleet.smtp.as_ref(), &receiver.name, to, id, payload)).await
            }
        }
    }
}
