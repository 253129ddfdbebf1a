//! What a receiver says: its channel's word, and the keys of that channel.

use crate::config::check::definition::Definition;
use crate::domain::body_template::{BodyTemplate, MessageField, TextPiece};
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::Secret;

pub(in crate::config) fn of_receiver(receiver: &Receiver) -> Definition {
    let Receiver { name, channel, at_most, line: _, definition_hash: _ } = receiver;
    let mut said = Definition::default();
    said.key("").text("receiver").text(name);
    match channel {
        Channel::Webhook { url, secrets, form } => {
            said.text("webhook");
            said.key("webhook.url").address(url);
            said.key("webhook.secrets").texts(secrets.iter().map(Secret::expose));
            let headers = Some(&form.headers).filter(|headers| !headers.is_empty());
            said.added("webhook.headers", headers, |said, headers| {
                headers.iter().fold(said, |said, (name, value)| said.text(name).text(value.expose()))
            });
            said.added("webhook.body", form.body.as_ref(), body);
        }
        Channel::Email { to } => {
            said.text("email");
            said.key("email.to").texts(to.iter().map(String::as_str));
        }
        Channel::Slack { url } => {
            said.text("slack");
            said.key("slack.url").address(url);
        }
        // Where its methods are is the same for all.
        Channel::SlackBot { api: _, token, channel } => {
            said.text("slack");
            said.key("slack.token").text(token.expose());
            said.key("slack.channel").text(channel);
        }
        Channel::Discord { url } => {
            said.text("discord");
            said.key("discord.url").address(url);
        }
        Channel::Teams { url } => {
            said.text("teams");
            said.key("teams.url").address(url);
        }
        Channel::Alertmanager { url } => {
            said.text("alertmanager");
            said.key("alertmanager.url").address(url);
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
    said.added("at_most", at_most.as_ref(), |said, at_most| {
        said.text(&at_most.messages.to_string()).text(&at_most.per.as_millis().to_string())
    });
    said
}

/// A body, each part with its kind before it.
fn body<'s>(said: &'s mut Definition, template: &BodyTemplate) -> &'s mut Definition {
    match template {
        BodyTemplate::Text(pieces) => pieces.iter().fold(said.text("text").count(pieces.len()), piece),
        BodyTemplate::Secret(secret) => said.text("secret").text(secret.expose()),
        BodyTemplate::Plain(json) => said.text("plain").text(json),
        BodyTemplate::List(items) => items.iter().fold(said.text("list").count(items.len()), body),
        BodyTemplate::Map(entries) => {
            let said = said.text("map").count(entries.len());
            entries.iter().fold(said, |said, (key, value)| body(said.text(key), value))
        }
    }
}

fn piece<'s>(said: &'s mut Definition, piece: &TextPiece) -> &'s mut Definition {
    match piece {
        TextPiece::Literal(literal) => said.text("literal").text(literal),
        TextPiece::Place { field, chars_max } => {
            let said = match field {
                MessageField::Named(name) => said.text("place").text(name),
                MessageField::Label(label) => said.text("label").text(label),
            };
            said.count(chars_max.unwrap_or_default())
        }
    }
}
