//! Hashes over definitions: equal exactly where nothing changed that matters.
//!
//! Lines do not count, since a definition that only moved is the same one. Resolved secrets do
//! count, so that a rotated token is a change; only the hash leaves this file. Each structure is
//! taken apart by name, so that a new field cannot be forgotten here.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::monitor::{Auth, Canary, Caps, Monitor, OAuth, Program, Reach, Search, SearchFields};
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::rules::{
    ContextRule, ContractRule, ErrorsRule, FreshnessRule, LatencyRule, QualityRule, Rules, StreakRule,
};
use crate::domain::secret::{Address, Secret};

/// Over everything about a monitor.
pub fn monitor(monitor: &Monitor) -> String {
    let Monitor {
        id,
        name,
        url,
        labels,
        reach,
        auth,
        caps,
        // How Serin names itself is nothing of the monitor's: its history goes on when the secret is rotated.
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
    } = monitor;
    let mut sum = Sum::default();
    sum.text("monitor").text(id.as_str()).text(name).address(url);
    sum.count(labels.len());
    for (key, value) in labels {
        sum.text(key).text(value);
    }
    sum.reach(reach).auth(auth).caps(*caps);
    sum.count(health.len());
    for address in health {
        sum.address(address);
    }
    sum.search(search);
    sum.count(canaries.len());
    for one in canaries {
        sum.text(&canary(one));
    }
    sum.duration(*every).duration(*timeout).duration(*probe_budget);
    sum.rules(rules);
    sum.hex()
}

/// Over everything about a canary.
pub fn canary(canary: &Canary) -> String {
    let Canary { id, query, kind, expect, within, max_score, line: _, definition_hash: _ } = canary;
    let mut sum = Sum::default();
    sum.text("canary").text(id).text(query).text(kind.slug()).count(expect.len());
    for source in expect {
        sum.text(source);
    }
    sum.count(*within as usize);
    sum.optional(max_score.map(|score| score.to_string()).as_deref());
    sum.hex()
}

/// Over everything about a receiver.
pub fn receiver(receiver: &Receiver) -> String {
    let Receiver { name, channel, line: _, definition_hash: _ } = receiver;
    let mut sum = Sum::default();
    sum.text("receiver").text(name);
    match channel {
        Channel::Webhook { url, secrets } => {
            sum.text("webhook").address(url).count(secrets.len());
            for secret in secrets {
                sum.text(secret.expose());
            }
        }
        Channel::Email { to } => {
            sum.text("email").count(to.len());
            for address in to {
                sum.text(address);
            }
        }
    }
    sum.hex()
}

/// Texts with their lengths before them, so that no two lists of texts are alike.
#[derive(Default)]
struct Sum(Sha256);

impl Sum {
    fn text(&mut self, text: &str) -> &mut Self {
        self.count(text.len());
        self.0.update(text.as_bytes());
        self
    }

    fn count(&mut self, count: usize) -> &mut Self {
        self.0.update((count as u64).to_le_bytes());
        self
    }

    fn optional(&mut self, text: Option<&str>) -> &mut Self {
        self.count(usize::from(text.is_some()));
        self.text(text.unwrap_or_default())
    }

    fn duration(&mut self, duration: Duration) -> &mut Self {
        self.0.update(duration.as_nanos().to_le_bytes());
        self
    }

    fn address(&mut self, address: &Address) -> &mut Self {
        let Address { shown, resolved } = address;
        self.text(shown).text(resolved.expose())
    }

    fn reach(&mut self, reach: &Reach) -> &mut Self {
        let Reach { transport, era, program, cross_check, close_sessions, proxy, ca, client_certificate } = reach;
        self.optional(transport.map(|transport| transport.slug())).optional(era.map(|era| era.slug()));
        self.count(usize::from(program.is_some()));
        if let Some(Program { command, args, env, keep }) = program {
            self.text(command).count(args.len());
            for argument in args {
                self.text(argument.expose());
            }
            self.pairs(env).count(usize::from(*keep));
        }
        self.count(usize::from(*cross_check)).count(usize::from(proxy.is_some()));
        if let Some(proxy) = proxy {
            self.address(proxy);
        }
        // Counted only where it is written, so that a monitor without it keeps the fingerprint that it had.
        if let Some(close) = close_sessions {
            self.text("close_sessions").count(usize::from(*close));
        }
        self.optional(ca.as_deref());
        self.optional(client_certificate.as_ref().map(|pair| pair.certificate.as_str()));
        self.optional(client_certificate.as_ref().map(|pair| pair.key.as_str()))
    }

    fn auth(&mut self, auth: &Auth) -> &mut Self {
        let Auth { bearer, headers, oauth, expires_at, refuses_strangers } = auth;
        self.optional(bearer.as_ref().map(|secret| secret.expose())).pairs(headers);
        self.count(usize::from(oauth.is_some()));
        if let Some(OAuth { issuer, client_id, client_secret, scope }) = oauth {
            self.text(issuer).text(client_id).text(client_secret.expose()).optional(scope.as_deref());
        }
        self.optional(expires_at.map(|at| at.to_rfc3339()).as_deref()).count(usize::from(*refuses_strangers))
    }

    fn caps(&mut self, caps: Caps) -> &mut Self {
        let Caps { requests_per_day, bytes_per_day } = caps;
        for cap in [requests_per_day, bytes_per_day] {
            self.optional(cap.map(|cap| cap.to_string()).as_deref());
        }
        self
    }

    fn pairs(&mut self, pairs: &[(String, Secret)]) -> &mut Self {
        self.count(pairs.len());
        for (name, value) in pairs {
            self.text(name).text(value.expose());
        }
        self
    }

    fn search(&mut self, search: &Search) {
        let Search { tool, query, arguments, results, fields, per_beat } = search;
        let SearchFields { source, content, score, total } = fields;
        self.optional(tool.as_deref()).text(query).count(arguments.len());
        for (name, json) in arguments {
            self.text(name).text(json);
        }
        for pointer in [results, source, content, score, total] {
            self.optional(pointer.as_deref());
        }
        self.count(*per_beat as usize);
    }

    fn rules(&mut self, rules: &Rules) {
        let Rules { availability, access, errors, latency, contract, health, quality, freshness, context } = rules;
        for StreakRule { after, recover_after, page_after, severity, line: _ } in [availability, access, health] {
            self.count(*after as usize).count(*recover_after as usize).duration(*page_after).text(severity.slug());
        }
        let ErrorsRule { share, window, min_bad, severity, line: _ } = errors;
        self.text(&share.to_string()).duration(*window).count(*min_bad as usize).text(severity.slug());
        let LatencyRule { p95, window, window_derived: _, sustained, min_samples, severity, line: _ } = latency;
        self.duration(*p95).duration(*window).duration(*sustained).count(*min_samples as usize).text(severity.slug());
        let ContractRule { breaking, compatible, wording, line: _ } = contract;
        self.text(breaking.slug()).text(compatible.slug()).text(wording.slug());
        let QualityRule { within, after, severity, line: _ } = quality;
        self.count(*within as usize).count(*after as usize).text(severity.slug());
        self.count(usize::from(context.is_some()));
        if let Some(ContextRule { tools_tokens, answer_tokens, severity, line: _ }) = context {
            for limit in [tools_tokens, answer_tokens] {
                self.optional(limit.map(|limit| limit.to_string()).as_deref());
            }
            self.text(severity.slug());
        }
        self.count(usize::from(freshness.is_some()));
        if let Some(FreshnessRule { older_than, severity, line: _ }) = freshness {
            self.duration(*older_than).text(severity.slug());
        }
    }

    fn hex(self) -> String {
        hex::encode(self.0.finalize())
    }
}
