//! What a receiver says: its channel's word, and the keys of that channel.

use crate::config::check::definition::Definition;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::Secret;

pub(in crate::config) fn of_receiver(receiver: &Receiver) -> Definition {
    let Receiver { name, channel, line: _, definition_hash: _ } = receiver;
    let mut said = Definition::default();
    said.key("").text("receiver").text(name);
    match channel {
        Channel::Webhook { url, secrets } => {
            said.text("webhook");
            said.key("webhook.url").address(url);
            said.key("webhook.secrets").texts(secrets.iter().map(Secret::expose));
        }
        Channel::Email { to } => {
            said.text("email");
            said.key("email.to").texts(to.iter().map(String::as_str));
        }
        Channel::Slack { url } => {
            said.text("slack");
            said.key("slack.url").address(url);
        }
        Channel::Discord { url } => {
            said.text("discord");
            said.key("discord.url").address(url);
        }
        Channel::Teams { url } => {
            said.text("teams");
            said.key("teams.url").address(url);
        }
        Channel::Ntfy { url, token } => {
            said.text("ntfy");
            said.key("ntfy.url").address(url);
            said.key("ntfy.token").optional(token.as_ref().map(Secret::expose));
        }
        Channel::PagerDuty { url, routing_key } => {
            said.text("pagerduty");
            said.key("pagerduty.routing_key").text(routing_key.expose());
            said.key("pagerduty.url").address(url);
        }
    }
    said
}
