//! What differs between two declarations, by the keys that say it. Each structure is taken apart by name, so that a new
//! field cannot be forgotten here.

use std::collections::BTreeMap;

use crate::domain::fleet::Fleet;
use crate::domain::monitor::{
    Auth, Canary, Caps, ClientCertificate, Monitor, OAuth, ProbeIdentity, Program, Reach, Search, SearchFields,
};
use crate::domain::receiver::{Channel, Receiver, Smtp};
use crate::domain::rules::{
    ContextRule, ContractRule, ErrorsRule, FreshnessRule, LatencyRule, QualityRule, Rules, StreakRule,
};

/// Keys found so far.
#[derive(Debug, Default)]
struct Keys(Vec<String>);

impl Keys {
    fn unless<T: PartialEq>(&mut self, key: &str, old: &T, new: &T) {
        if old != new {
            self.0.push(key.to_owned());
        }
    }

    /// The keys of a map inside, or the map's own key where it came or went.
    fn inside<T: PartialEq>(&mut self, key: &str, old: Option<&T>, new: Option<&T>, keys: impl Fn(&mut Keys, &T, &T)) {
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut inside = Self::default();
                keys(&mut inside, old, new);
                self.0.extend(inside.0.into_iter().map(|name| format!("{key}.{name}")));
            }
            (None, None) => {}
            _ => self.0.push(key.to_owned()),
        }
    }
}

/// The keys by which a monitor differs from what it was; its id is the same.
pub fn monitor(old: &Monitor, new: &Monitor) -> Vec<String> {
    let Monitor {
        id: _,
        name,
        url,
        labels,
        reach,
        auth,
        caps,
        // One for all monitors, and told as `serin.probe_identity`.
        identity: _,
        health,
        search,
        canaries,
        every,
        timeout,
        probe_budget,
        rules,
        line: _,
        definition_hash: _,
    } = old;
    let mut keys = Keys::default();
    keys.unless("name", name, &new.name);
    // A program's address is its command and arguments, which have keys of their own.
    if reach.program.is_none() || new.reach.program.is_none() {
        keys.unless("url", url, &new.url);
    }
    let names = labels.keys().chain(new.labels.keys().filter(|key| !labels.contains_key(*key)));
    names.for_each(|key| keys.unless(&format!("labels.{key}"), &labels.get(key), &new.labels.get(key)));
    reached(&mut keys, reach, &new.reach);
    keys.inside("auth", Some(auth), Some(&new.auth), authorized);
    keys.inside("caps", Some(caps), Some(&new.caps), |keys, old, new| {
        let Caps { requests_per_day, bytes_per_day } = old;
        keys.unless("requests_per_day", requests_per_day, &new.requests_per_day);
        keys.unless("bytes_per_day", bytes_per_day, &new.bytes_per_day);
    });
    keys.unless("health", health, &new.health);
    keys.inside("search", Some(search), Some(&new.search), searched);
    asked(&mut keys, canaries, &new.canaries);
    keys.unless("every", every, &new.every);
    keys.unless("timeout", timeout, &new.timeout);
    keys.unless("probe_budget", probe_budget, &new.probe_budget);
    keys.inside("rules", Some(rules), Some(&new.rules), ruled);
    keys.0
}

fn reached(keys: &mut Keys, old: &Reach, new: &Reach) {
    let Reach { transport, era, program, cross_check, close_sessions, proxy, ca, client_certificate } = old;
    keys.unless("transport", transport, &new.transport);
    keys.unless("era", era, &new.era);
    match (program, &new.program) {
        (Some(old), Some(new)) => {
            let Program { command, args, env, keep } = old;
            keys.unless("command", command, &new.command);
            keys.unless("args", args, &new.args);
            keys.unless("env", env, &new.env);
            keys.unless("keep", keep, &new.keep);
        }
        (old, new) => keys.unless("command", old, new),
    }
    keys.unless("cross_check", cross_check, &new.cross_check);
    keys.unless("close_sessions", close_sessions, &new.close_sessions);
    keys.unless("proxy", proxy, &new.proxy);
    keys.unless("ca", ca, &new.ca);
    keys.inside(
        "client_certificate",
        client_certificate.as_ref(),
        new.client_certificate.as_ref(),
        |keys, old, new| {
            let ClientCertificate { certificate, key } = old;
            keys.unless("certificate", certificate, &new.certificate);
            keys.unless("key", key, &new.key);
        },
    );
}

fn authorized(keys: &mut Keys, old: &Auth, new: &Auth) {
    let Auth { bearer, headers, oauth, expires_at, refuses_strangers } = old;
    keys.unless("bearer", bearer, &new.bearer);
    keys.unless("headers", headers, &new.headers);
    keys.inside("oauth", oauth.as_ref(), new.oauth.as_ref(), |keys, old, new| {
        let OAuth { issuer, client_id, client_secret, scope } = old;
        keys.unless("issuer", issuer, &new.issuer);
        keys.unless("client_id", client_id, &new.client_id);
        keys.unless("client_secret", client_secret, &new.client_secret);
        keys.unless("scope", scope, &new.scope);
    });
    keys.unless("expires", expires_at, &new.expires_at);
    keys.unless("refuses_strangers", refuses_strangers, &new.refuses_strangers);
}

fn searched(keys: &mut Keys, old: &Search, new: &Search) {
    let Search { tool, query, arguments, results, fields, per_beat } = old;
    keys.unless("tool", tool, &new.tool);
    keys.unless("query", query, &new.query);
    keys.unless("arguments", arguments, &new.arguments);
    keys.unless("results", results, &new.results);
    keys.inside("fields", Some(fields), Some(&new.fields), |keys, old, new| {
        let SearchFields { source, content, score, total } = old;
        keys.unless("source", source, &new.source);
        keys.unless("content", content, &new.content);
        keys.unless("score", score, &new.score);
        keys.unless("total", total, &new.total);
    });
    keys.unless("per_beat", per_beat, &new.per_beat);
}

/// Canaries by id: one that came or went is named, one that stayed by its keys.
fn asked(keys: &mut Keys, old: &[Canary], new: &[Canary]) {
    let before: BTreeMap<&str, &Canary> = old.iter().map(|canary| (canary.id.as_str(), canary)).collect();
    let after: BTreeMap<&str, &Canary> = new.iter().map(|canary| (canary.id.as_str(), canary)).collect();
    let found = keys.0.len();
    for id in before.keys().chain(after.keys().filter(|id| !before.contains_key(*id))) {
        let (old, new) = (before.get(id).copied(), after.get(id).copied());
        keys.inside(&format!("canaries.{id}"), old, new, |keys, old, new| {
            let Canary { id: _, query, kind, expect, within, max_score, line: _, definition_hash: _ } = old;
            keys.unless("query", query, &new.query);
            keys.unless("kind", kind, &new.kind);
            keys.unless("expect", expect, &new.expect);
            keys.unless("within", within, &new.within);
            keys.unless("max_score", max_score, &new.max_score);
        });
    }
    let ids = |canaries: &[Canary]| canaries.iter().map(|canary| canary.id.clone()).collect::<Vec<_>>();
    if keys.0.len() == found && ids(old) != ids(new) {
        keys.0.push("canaries (their order)".to_owned());
    }
}

fn ruled(keys: &mut Keys, old: &Rules, new: &Rules) {
    let Rules { availability, access, errors, latency, contract, health, quality, freshness, context } = old;
    let streak = |keys: &mut Keys, old: &StreakRule, new: &StreakRule| {
        let StreakRule { after, recover_after, page_after, severity, line: _ } = old;
        keys.unless("after", after, &new.after);
        keys.unless("recover_after", recover_after, &new.recover_after);
        keys.unless("page_after", page_after, &new.page_after);
        keys.unless("severity", severity, &new.severity);
    };
    keys.inside("availability", Some(availability), Some(&new.availability), streak);
    keys.inside("access", Some(access), Some(&new.access), streak);
    keys.inside("errors", Some(errors), Some(&new.errors), |keys, old, new| {
        let ErrorsRule { share, window, min_bad, severity, line: _ } = old;
        keys.unless("share", share, &new.share);
        keys.unless("window", window, &new.window);
        keys.unless("min_bad", min_bad, &new.min_bad);
        keys.unless("severity", severity, &new.severity);
    });
    keys.inside("latency", Some(latency), Some(&new.latency), |keys, old, new| {
        let LatencyRule { p95, window, window_derived: _, sustained, min_samples: _, severity, line: _ } = old;
        keys.unless("p95", p95, &new.p95);
        keys.unless("window", window, &new.window);
        keys.unless("for", sustained, &new.sustained);
        keys.unless("severity", severity, &new.severity);
    });
    keys.inside("contract", Some(contract), Some(&new.contract), |keys, old, new| {
        let ContractRule { breaking, compatible, wording, line: _ } = old;
        keys.unless("breaking", breaking, &new.breaking);
        keys.unless("compatible", compatible, &new.compatible);
        keys.unless("wording", wording, &new.wording);
    });
    keys.inside("health", Some(health), Some(&new.health), streak);
    keys.inside("quality", Some(quality), Some(&new.quality), |keys, old, new| {
        let QualityRule { within, after, severity, line: _ } = old;
        keys.unless("within", within, &new.within);
        keys.unless("after", after, &new.after);
        keys.unless("severity", severity, &new.severity);
    });
    keys.inside("freshness", freshness.as_ref(), new.freshness.as_ref(), |keys, old, new| {
        let FreshnessRule { older_than, severity, line: _ } = old;
        keys.unless("older_than", older_than, &new.older_than);
        keys.unless("severity", severity, &new.severity);
    });
    keys.inside("context", context.as_ref(), new.context.as_ref(), |keys, old, new| {
        let ContextRule { tools_tokens, answer_tokens, severity, line: _ } = old;
        keys.unless("tools_tokens", tools_tokens, &new.tools_tokens);
        keys.unless("answer_tokens", answer_tokens, &new.answer_tokens);
        keys.unless("severity", severity, &new.severity);
    });
}

/// The keys by which a receiver differs from what it was; its name is the same.
pub fn receiver(old: &Receiver, new: &Receiver) -> Vec<String> {
    let Receiver { name: _, channel, line: _, definition_hash: _ } = old;
    let mut keys = Keys::default();
    match (channel, &new.channel) {
        (Channel::Webhook { url, secrets }, Channel::Webhook { url: new_url, secrets: new_secrets }) => {
            keys.unless("webhook.url", url, new_url);
            keys.unless("webhook.secrets", secrets, new_secrets);
        }
        (Channel::Email { to }, Channel::Email { to: new_to }) => keys.unless("email.to", to, new_to),
        (Channel::Webhook { .. }, Channel::Email { .. }) => keys.0.push("webhook, now email".to_owned()),
        (Channel::Email { .. }, Channel::Webhook { .. }) => keys.0.push("email, now webhook".to_owned()),
    }
    keys.0
}

/// The keys outside of monitors, receivers and routes by which a fleet differs from what it was.
pub fn rest(old: &Fleet, new: &Fleet) -> Vec<String> {
    let Fleet {
        provenance: _,
        monitors,
        receivers: _,
        routes: _,
        internal,
        runbooks,
        allow_private,
        control,
        retention,
        heartbeat,
        smtp,
        public_url,
    } = old;
    let mut keys = Keys::default();
    keys.unless("serin.public_url", public_url, &new.public_url);
    keys.unless("serin.internal", internal, &new.internal);
    keys.unless("serin.allow_private", allow_private, &new.allow_private);
    keys.unless("serin.control", control, &new.control);
    keys.unless("serin.retention", retention, &new.retention);
    keys.unless("serin.heartbeat", heartbeat, &new.heartbeat);
    keys.inside("serin.smtp", smtp.as_ref(), new.smtp.as_ref(), |keys, old, new| {
        let Smtp { host, port, tls, login, from, ca } = old;
        keys.unless("host", host, &new.host);
        keys.unless("port", port, &new.port);
        keys.unless("tls", tls, &new.tls);
        keys.unless("username and password", login, &new.login);
        keys.unless("from", from, &new.from);
        keys.unless("ca", ca, &new.ca);
    });
    let identity = |fleet: &Fleet| -> Option<ProbeIdentity> {
        fleet.monitors.first().and_then(|monitor| monitor.identity.as_deref().cloned())
    };
    if !monitors.is_empty() && !new.monitors.is_empty() {
        keys.unless("serin.probe_identity", &identity(old), &identity(new));
    }
    keys.unless("runbooks.default", &runbooks.default, &new.runbooks.default);
    let more = new.runbooks.by_reason.keys().filter(|reason| !runbooks.by_reason.contains_key(*reason));
    for reason in runbooks.by_reason.keys().chain(more) {
        let (old, new) = (runbooks.by_reason.get(reason), new.runbooks.by_reason.get(reason));
        keys.unless(&format!("runbooks.{reason}"), &old, &new);
    }
    keys.0
}
