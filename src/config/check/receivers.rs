//! `receivers:`: who can be told, and how each one is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::config::check::addresses::STAND_IN_URL;
use crate::config::check::checker::{Checker, Fields, similar};
use crate::config::check::process::mailbox;
use crate::config::check::{auth, definition, grouping, keys, webhook_body};
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, NodeValue};
use crate::domain::receiver::{AtMost, Channel, Receiver, WebhookForm};
use crate::domain::route::Route;
use crate::domain::secret::{Address, Secret};

/// More destinations than people can tell apart.
const RECEIVERS_MAX: usize = 1_000;
/// Secrets of one webhook during a rotation.
const SECRETS_MAX: usize = 8;
const ADDRESSES_MAX: usize = 100;
/// The key of a receiver that is no way to reach it.
const AT_MOST: &str = "at_most";
/// Where Slack's methods are.
const SLACK_API: &str = "https://slack.com/api";
/// Where PagerDuty takes events, but for its European region.
const PAGERDUTY_URL: &str = "https://events.pagerduty.com/v2/enqueue";

/// Receivers as read, with the place of each name.
#[derive(Debug, Default)]
pub(in crate::config) struct Receivers {
    /// In the order of the file.
    pub list: Vec<Arc<Receiver>>,
    /// Every name in the file, also of a receiver that is faulty, so that nothing is called unknown that is only wrong.
    places: BTreeMap<String, TextSpan>,
}

/// Reads the `receivers:` of all files. `has_smtp`: the first one names a mail server, right or wrong.
pub(in crate::config) fn receivers<'n, 'a: 'n>(
    checker: &mut Checker<'_>,
    sections: impl Iterator<Item = &'n MapEntry<'a>>,
    has_smtp: bool,
) -> Receivers {
    let mut found = Receivers::default();
    let maps = sections.filter_map(|section| checker.map("'receivers'", &section.value));
    let entries: Vec<&MapEntry<'_>> = maps.flatten().collect();
    if let Some(entry) = entries.get(RECEIVERS_MAX) {
        checker.report(
            Diagnostic::new(entry.place, format!("more than {RECEIVERS_MAX} receivers"))
                .help("let one of them fan out"),
        );
    }
    for entry in entries.iter().take(RECEIVERS_MAX) {
        if let Some(first) = found.places.get(&*entry.key) {
            let diagnostic = Diagnostic::new(entry.place, format!("receiver {} is declared twice", quoted(&entry.key)));
            checker.report(diagnostic.note(*first, "first declared here").help("give each receiver its own name"));
            continue;
        }
        found.places.insert(entry.key.to_string(), entry.place);
        let Some(name) = checker.id("receiver", &entry.key, entry.place) else { continue };
        let Some((channel, at_most)) = receiver(checker, entry) else { continue };
        if matches!(channel, Channel::Email { .. }) && !has_smtp {
            let message = format!("receiver '{name}' is told by mail, and no mail server is named");
            let mend = "add `smtp: { host: …, from: … }` under `serin`";
            checker.report(Diagnostic::new(entry.place, message).help(mend));
        }
        let mut receiver = Receiver { name, channel, at_most, line: entry.place.line, definition_hash: String::new() };
        receiver.definition_hash = definition::of_receiver(&receiver).hash();
        found.list.push(Arc::new(receiver));
    }
    found
}

fn receiver(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<(Channel, Option<AtMost>)> {
    let what = format!("receiver {}", quoted(&entry.key));
    let fields = checker.fields(&what, &entry.value, "receivers.*")?;
    let at_most = fields.get(AT_MOST).and_then(|entry| grouping::at_most(checker, &what, entry));
    Some((channel(checker, entry, fields)?, at_most))
}

fn channel(checker: &mut Checker<'_>, entry: &MapEntry<'_>, fields: Fields<'_, '_>) -> Option<Channel> {
    let what = format!("receiver {}", quoted(&entry.key));
    let ways = keys::known("receivers.*").iter().filter(|key| **key != AT_MOST);
    let ways: Vec<&MapEntry<'_>> = ways.filter_map(|key| fields.get(key)).collect();
    match ways[..] {
        [] => {
            let diagnostic = Diagnostic::new(entry.place, format!("{what} is reached in no way"));
            checker.report(diagnostic.help(
                "give it `webhook: { url: … }`, `email: { to: [ … ] }` or a service such as `slack: { url: … }`",
            ));
            None
        }
        [way] => match &*way.key {
            "webhook" => webhook(checker, &what, way),
            "email" => email(checker, &what, way),
            "slack" => slack(checker, &what, way),
            "discord" => {
                Some(Channel::Discord { url: hook_of(checker, &what, way, "Discord", "receivers.*.discord")? })
            }
            "teams" => Some(Channel::Teams { url: hook_of(checker, &what, way, "Teams", "receivers.*.teams")? }),
            "ntfy" => ntfy(checker, &what, way),
            "alertmanager" => alertmanager(checker, &what, way),
            "pagerduty" => pagerduty(checker, &what, way),
            _ => None,
        },
        [_, second, ..] => {
            let diagnostic = Diagnostic::new(second.place, format!("{what} is reached in two ways"));
            checker.report(diagnostic.help("make two receivers of it, and name both in a route's `to`"));
            None
        }
    }
}

/// An incoming webhook, or a bot's token and the channel that it tells.
fn slack(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    const SECTION: &str = "receivers.*.slack";
    let (NodeValue::Map(entries), has) = (&entry.value.value, |key: &str| entry.value.get(key).is_some()) else {
        return Some(Channel::Slack { url: hook_of(checker, what, entry, "Slack", SECTION)? });
    };
    if !has("token") && !has("channel") {
        return Some(Channel::Slack { url: hook_of(checker, what, entry, "Slack", SECTION)? });
    }
    let bot = format!("the Slack bot of {what}");
    let fields = checker.fields(&bot, &entry.value, SECTION)?;
    if let Some(url) = entries.iter().find(|entry| entry.key == "url") {
        let diagnostic = Diagnostic::new(url.place, format!("{what} has both a webhook and a bot of Slack's"));
        checker.report(diagnostic.help("keep `url`, or `token` and `channel`"));
    }
    let token = fields.get("token").map(|token| checker.secret(format_args!("the token of {bot}"), &token.value));
    let channel =
        fields.get("channel").map(|channel| checker.text(format_args!("the channel of {bot}"), &channel.value));
    // Neither is missed where there is a webhook, so that no schema may ask for them.
    let needed = [
        ("token", token.is_none(), "such as `token: ${env:SLACK_TOKEN}`, with the scope chat:write"),
        ("channel", channel.is_none(), "its id, such as `channel: C0123456789`"),
    ];
    for (key, _, mend) in needed.into_iter().filter(|(_, is_missing, _)| *is_missing) {
        checker.report(Diagnostic::new(entry.place, format!("{bot} has no '{key}'")).help(mend));
    }
    let api = Address { shown: SLACK_API.to_owned(), resolved: Secret::new(SLACK_API) };
    Some(Channel::SlackBot { api, token: token??, channel: channel?? })
}

/// The webhook that a service gave out: `{ url: … }`, of which everything behind the host is a secret.
fn hook_of(
    checker: &mut Checker<'_>,
    what: &str,
    entry: &MapEntry<'_>,
    service: &str,
    section: &str,
) -> Option<Address> {
    let fields = checker.fields(format_args!("the {service} webhook of {what}"), &entry.value, section)?;
    let Some(url) = fields.get("url") else {
        let mend = "such as `url: ${env:CHAT_URL}`";
        checker.missing(format_args!("the {service} webhook of {what}"), entry.place, "url", mend);
        return None;
    };
    checker.secret_address(format_args!("the address of the {service} webhook of {what}"), &url.value)
}

fn ntfy(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    let fields = checker.fields(format_args!("the ntfy topic of {what}"), &entry.value, "receivers.*.ntfy")?;
    let token = fields.get("token").map(|token| checker.secret(format_args!("the ntfy token of {what}"), &token.value));
    let Some(url) = fields.get("url") else {
        let mend = "such as `url: ${env:NTFY_URL}`";
        checker.missing(format_args!("the ntfy topic of {what}"), entry.place, "url", mend);
        return None;
    };
    let Address { shown, resolved } = checker.address(format_args!("the ntfy address of {what}"), &url.value)?;
    if !names_topic(resolved.expose()) {
        let diagnostic = Diagnostic::new(url.value.place, format!("the ntfy address of {what} names no topic"));
        checker.report(diagnostic.help("the server, and one topic of letters, digits, `-` and `_` behind it"));
        return None;
    }
    // Where a topic is open, its name is all that keeps others out.
    let shown = match shown.rsplit_once('/') {
        Some((server, _)) if server.contains("://") => format!("{server}/***"),
        _ => shown,
    };
    Some(Channel::Ntfy { url: Address { shown, resolved }, token: token.map_or(Some(None), |token| token.map(Some))? })
}

/// Whether the path is one topic (server.go of ntfy, `topicPathRegex`), or the variable was not set.
fn names_topic(address: &str) -> bool {
    const TOPIC_CHARS_MAX: usize = 64;
    let Ok(url) = Url::parse(address) else { return false };
    let topic = url.path().trim_matches('/');
    let shaped = topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    shaped && (1..=TOPIC_CHARS_MAX).contains(&topic.len()) || address == STAND_IN_URL
}

fn alertmanager(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    let fields =
        checker.fields(format_args!("the Alertmanager of {what}"), &entry.value, "receivers.*.alertmanager")?;
    let Some(url) = fields.get("url") else {
        let mend = "such as `url: https://alertmanager.example.org`";
        checker.missing(format_args!("the Alertmanager of {what}"), entry.place, "url", mend);
        return None;
    };
    Some(Channel::Alertmanager {
        url: checker.address(format_args!("the Alertmanager's address of {what}"), &url.value)?,
    })
}

fn pagerduty(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    let fields =
        checker.fields(format_args!("the PagerDuty service of {what}"), &entry.value, "receivers.*.pagerduty")?;
    let url = match fields.get("url") {
        Some(url) => checker.address(format_args!("the PagerDuty address of {what}"), &url.value),
        None => Some(Address { shown: PAGERDUTY_URL.to_owned(), resolved: Secret::new(PAGERDUTY_URL) }),
    };
    let Some(key) = fields.get("routing_key") else {
        let mend = "such as `routing_key: ${env:PAGERDUTY_KEY}`";
        checker.missing(format_args!("the PagerDuty service of {what}"), entry.place, "routing_key", mend);
        return None;
    };
    let routing_key = checker.secret(format_args!("the routing key of {what}"), &key.value)?;
    Some(Channel::PagerDuty { url: url?, routing_key })
}

fn webhook(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    let fields = checker.fields(format_args!("the webhook of {what}"), &entry.value, "receivers.*.webhook")?;
    let secrets = secrets(checker, what, fields);
    let Some(url) = fields.get("url") else {
        checker.missing(format_args!("the webhook of {what}"), entry.place, "url", "such as `url: ${env:ONCALL_URL}`");
        return None;
    };
    let url = checker.address(format_args!("the webhook's address of {what}"), &url.value)?;
    let headers = fields.get("headers").map(|entry| auth::headers(checker, what, entry, "Serin"));
    let body = match fields.get("body") {
        Some(entry) => Some(webhook_body::body(checker, &format!("'body' of {what}"), &entry.value)?),
        None => None,
    };
    let form = WebhookForm { headers: headers.unwrap_or_default(), body };
    Some(Channel::Webhook { url, secrets, form: Box::new(form) })
}

fn secrets(checker: &mut Checker<'_>, what: &str, fields: Fields<'_, '_>) -> Vec<Secret> {
    if let (Some(one), Some(several)) = (fields.get("secret"), fields.get("secrets")) {
        let diagnostic = Diagnostic::new(several.place, "'secret' and 'secrets' stand side by side")
            .note(one.place, "the other one");
        checker.report(diagnostic.help("put all of them into 'secrets', the current one first"));
    }
    let mut nodes = Vec::new();
    if let Some(entry) = fields.get("secret") {
        nodes.push(&*entry.value);
    }
    if let Some(entry) = fields.get("secrets") {
        let items = checker.list("'secrets'", &entry.value).unwrap_or_default();
        if items.is_empty() || items.len() > SECRETS_MAX {
            let diagnostic = Diagnostic::new(entry.place, format!("'secrets' holds {} secrets", items.len()));
            checker.report(diagnostic.help(format!("one to {SECRETS_MAX}, the current one first")));
        }
        nodes.extend(items.iter().take(SECRETS_MAX).map(|item| &**item));
    }
    let mut found = Vec::new();
    for node in nodes {
        let Some(secret) = checker.secret(format_args!("the webhook's secret of {what}"), node) else { continue };
        let key = secret.expose().strip_prefix("whsec_");
        if key.is_some_and(|key| STANDARD.decode(key).is_err()) {
            let diagnostic = Diagnostic::new(
                node.place,
                format!("the webhook's secret of {what} starts with whsec_ and goes on as no base64"),
            );
            checker.report(diagnostic.help("copy it anew, or leave `whsec_` out for a secret of plain text"));
        }
        found.push(secret);
    }
    found
}

fn email(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Channel> {
    let fields = checker.fields(format_args!("the mail of {what}"), &entry.value, "receivers.*.email")?;
    let Some(to) = fields.get("to") else {
        checker.missing(format_args!("the mail of {what}"), entry.place, "to", "such as `to: [sre@example.org]`");
        return None;
    };
    let items = checker.list("'to'", &to.value)?;
    if items.is_empty() || items.len() > ADDRESSES_MAX {
        let diagnostic = Diagnostic::new(to.place, format!("the mail of {what} goes to {} addresses", items.len()));
        checker.report(diagnostic.help(format!("one to {ADDRESSES_MAX}")));
        return None;
    }
    Some(Channel::Email { to: items.iter().filter_map(|item| mailbox(checker, "a recipient", item)).collect() })
}

impl Receivers {
    /// Says where a name is not known; the message starts with `who`, such as `route 1 notifies`.
    pub(in crate::config) fn known(&self, checker: &mut Checker<'_>, who: &str, name: &str, place: TextSpan) -> bool {
        if self.places.contains_key(name) {
            return true;
        }
        let diagnostic = Diagnostic::new(place, format!("{who} unknown receiver {}", quoted(name)));
        checker.report(match similar(name, self.places.keys().map(String::as_str)) {
            Some(word) => diagnostic
                .note(self.places[word], "a similar name is declared here")
                .help(format!("did you mean {}?", quoted(word))),
            None => diagnostic.help("declare it under `receivers`"),
        });
        false
    }

    /// Says which receivers nobody ever tells anything.
    pub(in crate::config) fn unused(
        &self,
        checker: &mut Checker<'_>,
        routes: &[(Route, TextSpan)],
        internal: &[(String, TextSpan)],
    ) {
        let told: BTreeSet<&str> = routes
            .iter()
            .flat_map(|(route, _)| route.reached())
            .chain(internal.iter().map(|(name, _)| name.as_str()))
            .collect();
        for (name, place) in self.places.iter().filter(|(name, _)| !told.contains(name.as_str())) {
            let diagnostic = Diagnostic::warning(*place, format!("no route leads to receiver {}", quoted(name)));
            checker.report(diagnostic.help("name it in a route's `to`, or leave it out"));
        }
    }
}
