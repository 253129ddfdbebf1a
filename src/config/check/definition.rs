//! What a declaration says, key by key. A plan names the keys by which two of them differ; the hash over all of them is
//! what the rest of Serin knows an unchanged monitor, canary or receiver by.
//!
//! Lines do not count, since a definition that only moved is the same one. Resolved secrets do count, so that a rotated
//! token is a change; they leave this file in the hash alone. Each structure is taken apart by name, so that a new field
//! cannot be forgotten here. Hashes are stored: what is said stays as it is, and what comes is `added`.

mod quality_checks;

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::monitor::{Auth, Canary, Caps, ClientCertificate, Likeness, Monitor, OAuth, Program, Reach};
use crate::domain::rules::{
    After, ContextRule, ContractRule, ErrorsRule, FreshnessRule, LatencyRule, QualityRule, Rules, ShrinksRule,
    StreakRule,
};
use crate::domain::search::{Fresh, Search, SearchFields};
use crate::domain::secret::{Address, Secret};
use crate::domain::wanted::{ExpectedText, Pattern, TextSigns, Wanted};

mod pins;
mod receivers;

pub use pins::asked;
pub(in crate::config) use pins::of_pinned;
pub(in crate::config) use receivers::of_receiver;

/// Keys that a plan names earlier than the hash counts them, each with the one that it stands before.
const NAMED_BEFORE: &[(&str, &str)] =
    &[("close_sessions", "proxy"), ("rules.health", "rules.quality"), ("rules.freshness", "rules.context")];

/// What `rules.quality.after` was before it could be left to us.
const AFTER_BEFORE: u32 = 3;

/// Everything about a monitor. Its canaries are one key, by their hashes.
pub(in crate::config) fn of_monitor(monitor: &Monitor) -> Definition {
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
        // Whoever lists it, and whether it still is on the list: the monitor is the same one.
        discovered: _,
        health,
        search,
        canaries,
        near_misses,
        every,
        timeout,
        probe_budget,
        rules,
        likeness,
        depends_on,
        // The lock has a hash of its own, and nothing that is remembered of a monitor is forgotten when it moves.
        pinned: _,
        line: _,
        definition_hash: _,
    } = monitor;
    let mut said = Definition::default();
    said.key("").text("monitor").text(id.as_str());
    said.key("name").text(name);
    said.key("url").address(url);
    said.key("labels").count(labels.len());
    for (key, value) in labels {
        said.text(key).text(value);
    }
    said.reach(reach);
    said.auth(auth);
    let Caps { requests_per_day, bytes_per_day } = caps;
    said.key("caps.requests_per_day").optional_count(*requests_per_day);
    said.key("caps.bytes_per_day").optional_count(*bytes_per_day);
    said.key("health").count(health.len());
    for address in health {
        said.address(address);
    }
    said.search(search);
    said.key("canaries").count(canaries.len());
    for canary in canaries {
        said.text(&of_canary(canary).hash());
    }
    said.key("every").duration(*every);
    said.key("timeout").duration(*timeout);
    said.key("probe_budget").duration(*probe_budget);
    said.rules(rules);
    // What both ask follows from the declarations of both; that others are replicas of it changes nothing of it.
    let original = if let Likeness::ReplicaOf(original) = likeness { Some(original.id.as_str()) } else { None };
    said.added("replicas_of", original, Definition::text);
    let pairs: Vec<String> = near_misses.iter().map(|pair| format!("{} {}", pair.canary, pair.other)).collect();
    let parents: Vec<String> = depends_on.iter().map(|parent| parent.name().to_owned()).collect();
    said.added("depends_on", Some(parents).filter(|parents| !parents.is_empty()), Definition::shown);
    said.added("canaries.pair", Some(pairs).filter(|pairs| !pairs.is_empty()), Definition::shown);
    said
}

pub(in crate::config) fn of_canary(canary: &Canary) -> Definition {
    let Canary { id, query, kind, expect, within, max_score, text, forbid, also, line: _, definition_hash: _ } = canary;
    let mut said = Definition::default();
    said.key("").text("canary").text(id);
    said.key("query").text(query);
    said.key("kind").text(kind.slug());
    said.key("expect").texts(expect.iter().map(String::as_str));
    said.key("within").count(*within as usize);
    said.key("max_score").optional(max_score.map(|score| score.to_string()).as_deref());
    let wanted = |of: fn(&ExpectedText) -> &Vec<Wanted>| {
        let wanted = text.as_deref().map(of).filter(|wanted| !wanted.is_empty())?;
        Some(wanted.iter().map(Wanted::shown).collect::<Vec<_>>())
    };
    said.added("contains", wanted(|text| &text.contains), Definition::shown);
    said.added("not_contains", wanted(|text| &text.not_contains), Definition::shown);
    let forbidden = forbid.iter().map(|pattern| pattern.as_str().to_owned()).collect::<Vec<_>>();
    said.added("forbid", Some(forbidden).filter(|forbidden| !forbidden.is_empty()), Definition::shown);
    said.added("also", Some(also.clone()).filter(|also| !also.is_empty()), Definition::shown);
    said
}

/// The keys of a declaration, each with what it says: texts with their lengths before them, so that no two lists of texts
/// are alike.
#[derive(Debug, Default)]
pub(in crate::config) struct Definition {
    bytes: Vec<u8>,
    /// Each key with where in `bytes` it starts. What is said under the empty key tells declarations apart and is none
    /// of their keys.
    keys: Vec<(&'static str, usize)>,
}

impl Definition {
    /// Lowercase hex; equal exactly where nothing changed that matters.
    pub(in crate::config) fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.bytes))
    }

    /// The keys by which it differs from what it was. What is inside a key that came or went is not named beside it.
    pub(in crate::config) fn differing(&self, old: &Self) -> Vec<&'static str> {
        let mut keys: Vec<&'static str> = self.keys.iter().map(|(key, _)| *key).filter(|key| !key.is_empty()).collect();
        for (key, before) in NAMED_BEFORE {
            let (moved, mut rest): (Vec<_>, Vec<_>) = keys.into_iter().partition(|one| one.starts_with(key));
            let at = rest.iter().position(|one| one.starts_with(before)).unwrap_or(rest.len());
            rest.splice(at..at, moved);
            keys = rest;
        }
        keys.retain(|key| self.value(key).zip(old.value(key)).is_some_and(|(new, old)| new != old));
        keys
    }

    fn value(&self, key: &str) -> Option<&[u8]> {
        let at = self.keys.iter().position(|(one, _)| *one == key)?;
        let end = self.keys.get(at + 1).map_or(self.bytes.len(), |(_, start)| *start);
        self.bytes.get(self.keys[at].1..end)
    }

    /// Starts a key; what is said from here on is its value.
    fn key(&mut self, key: &'static str) -> &mut Self {
        self.keys.push((key, self.bytes.len()));
        self
    }

    /// A key that came when hashes were stored already: it counts only where it is written, so that a declaration
    /// without it keeps the hash that it had.
    fn added<T>(&mut self, key: &'static str, written: Option<T>, say: impl FnOnce(&mut Self, T) -> &mut Self) {
        self.key(key);
        if let Some(value) = written {
            self.text(key);
            say(self, value);
        }
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    fn count(&mut self, count: usize) -> &mut Self {
        self.bytes.extend_from_slice(&(count as u64).to_le_bytes());
        self
    }

    fn flag(&mut self, flag: bool) -> &mut Self {
        self.count(usize::from(flag))
    }

    fn texts<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t str>) -> &mut Self {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
        self
    }

    fn shown(&mut self, texts: Vec<String>) -> &mut Self {
        self.texts(texts.iter().map(String::as_str))
    }

    fn optional(&mut self, text: Option<&str>) -> &mut Self {
        self.flag(text.is_some()).text(text.unwrap_or_default())
    }

    fn optional_count(&mut self, count: Option<u64>) -> &mut Self {
        self.optional(count.map(|count| count.to_string()).as_deref())
    }

    fn duration(&mut self, duration: Duration) -> &mut Self {
        self.bytes.extend_from_slice(&duration.as_nanos().to_le_bytes());
        self
    }

    fn address(&mut self, address: &Address) -> &mut Self {
        let Address { shown, resolved } = address;
        self.text(shown).text(resolved.expose())
    }

    fn pairs(&mut self, pairs: &[(String, Secret)]) -> &mut Self {
        self.count(pairs.len());
        for (name, value) in pairs {
            self.text(name).text(value.expose());
        }
        self
    }

    fn reach(&mut self, reach: &Reach) {
        let Reach { transport, era, program, cross_check, close_sessions, proxy, ca, client_certificate } = reach;
        self.key("transport").optional(transport.map(|transport| transport.slug()));
        self.key("era").optional(era.map(|era| era.slug()));
        self.key("command").flag(program.is_some());
        if let Some(Program { command, args, env, keep }) = program.as_deref() {
            self.text(command);
            self.key("args").texts(args.iter().map(Secret::expose));
            self.key("env").pairs(env);
            self.key("keep").flag(*keep);
        }
        self.key("cross_check").flag(*cross_check);
        self.key("proxy").flag(proxy.is_some());
        if let Some(proxy) = proxy {
            self.address(proxy);
        }
        self.added("close_sessions", *close_sessions, |said, close| said.flag(close));
        self.key("ca").optional(ca.as_deref());
        self.key("client_certificate").flag(client_certificate.is_some());
        match client_certificate.as_deref() {
            Some(ClientCertificate { certificate, key }) => {
                self.key("client_certificate.certificate").text(certificate);
                self.key("client_certificate.key").optional(Some(key));
            }
            None => {
                self.text("").optional(None);
            }
        }
    }

    fn auth(&mut self, auth: &Auth) {
        let Auth { bearer, headers, oauth, expires_at, refuses_strangers } = auth;
        self.key("auth.bearer").optional(bearer.as_ref().map(Secret::expose));
        self.key("auth.headers").pairs(headers);
        self.key("auth.oauth").flag(oauth.is_some());
        if let Some(OAuth { issuer, client_id, client_secret, scope }) = oauth.as_deref() {
            self.key("auth.oauth.issuer").text(issuer);
            self.key("auth.oauth.client_id").text(client_id);
            self.key("auth.oauth.client_secret").text(client_secret.expose());
            self.key("auth.oauth.scope").optional(scope.as_deref());
        }
        self.key("auth.expires").optional(expires_at.map(|at| at.to_rfc3339()).as_deref());
        self.key("auth.refuses_strangers").flag(*refuses_strangers);
    }

    fn search(&mut self, search: &Search) {
        let Search { tool, query, arguments, results, fields, by_columns, said, per_beat, fresh, harvest } = search;
        self.key("search.tool").optional(tool.as_deref());
        self.key("search.query");
        match &query[..] {
            // As it was said when a name was all that could be written: nobody is edited by a new version.
            [pointer] if !pointer[1..].contains(['/', '~']) => self.text(&pointer[1..]),
            pointers => self.texts(pointers.iter().map(String::as_str)),
        };
        self.key("search.arguments").count(arguments.len());
        for (name, json) in arguments {
            self.text(name).text(json);
        }
        self.key("search.results").optional(results.as_deref());
        let SearchFields { source, content, score, total } = fields;
        let [in_source, in_content, in_score] = if *by_columns { COLUMNS } else { FIELDS };
        self.key(in_source).optional(source.as_deref());
        self.key(in_content).optional(content.as_deref());
        self.key(in_score).optional(score.as_deref());
        self.key("search.fields.total").optional(total.as_deref());
        self.key("search.per_beat").count(*per_beat as usize);
        self.added("search.columns", by_columns.then_some(()), |said, ()| said);
        let sign = |sign: fn(&TextSigns) -> &Option<Pattern>| {
            said.as_deref().and_then(|said| sign(said).as_ref()).map(Pattern::as_str)
        };
        self.added("search.error", sign(|said| &said.error), Self::text);
        self.added("search.empty", sign(|said| &said.empty), Self::text);
        self.added("search.fresh", matches!(fresh, Fresh::Off).then_some("off"), Self::text);
        self.added("search.harvest", harvest.then_some(()), |said, ()| said);
        let given = if let Fresh::Given(given) = fresh { Some(given) } else { None };
        self.added("search.fresh_arguments", given, |said, given| {
            said.texts(given.iter().flat_map(|(name, json)| [name.as_str(), json]).collect::<Vec<_>>().into_iter())
        });
    }

    fn rules(&mut self, rules: &Rules) {
        let Rules { availability, access, errors, latency, contract, health, quality, freshness, context } = rules;
        self.streak(AVAILABILITY, availability);
        self.streak(ACCESS, access);
        self.streak(HEALTH, health);
        let ErrorsRule { share, window, min_bad, severity, line: _ } = errors;
        self.key("rules.errors.share").text(&share.to_string());
        self.key("rules.errors.window").duration(*window);
        self.key("rules.errors.min_bad").count(*min_bad as usize);
        self.key("rules.errors.severity").text(severity.slug());
        let LatencyRule { p95, window, window_derived: _, sustained, min_samples, severity, line: _ } = latency;
        self.key("rules.latency.p95").duration(*p95);
        self.key("rules.latency.window").duration(*window);
        self.key("rules.latency.for").duration(*sustained);
        self.key("").count(*min_samples as usize);
        self.key("rules.latency.severity").text(severity.slug());
        let ContractRule { breaking, compatible, wording, line: _ } = contract;
        self.key("rules.contract.breaking").text(breaking.slug());
        self.key("rules.contract.compatible").text(compatible.slug());
        self.key("rules.contract.wording").text(wording.slug());
        let QualityRule { within, after, severity, checks, line: _ } = quality;
        self.key("rules.quality.within").count(*within as usize);
        // To leave it to us is what was 3 before, and keeps its hash; to write 3 says more now.
        let answers = if let After::Answers(answers) = after { *answers } else { AFTER_BEFORE };
        self.key("rules.quality.after").count(answers as usize);
        if *after == After::Answers(AFTER_BEFORE) {
            self.text("written");
        }
        self.key("rules.quality.severity").text(severity.slug());
        self.checks(checks);
        self.key("rules.context").flag(context.is_some());
        if let Some(ContextRule { tools_tokens, answer_tokens, severity, line: _ }) = context {
            self.key("rules.context.tools_tokens").optional_count(tools_tokens.map(u64::from));
            self.key("rules.context.answer_tokens").optional_count(answer_tokens.map(u64::from));
            self.key("rules.context.severity").text(severity.slug());
        }
        self.key("rules.freshness").flag(freshness.is_some());
        if let Some(FreshnessRule { older_than, shrinks, severity, line: _ }) = freshness {
            self.key("rules.freshness.older_than").duration(*older_than);
            self.key("rules.freshness.severity").text(severity.slug());
            let (ShrinksRule { by, severity }, standard) = (shrinks, ShrinksRule::STANDARD);
            self.share("rules.freshness.shrinks.by", *by, standard.by);
            self.loudness("rules.freshness.shrinks.severity", *severity, standard.severity);
        }
    }

    fn streak(&mut self, keys: [&'static str; 5], rule: &StreakRule) {
        let StreakRule { after, of, recover_after, page_after, severity, line: _ } = rule;
        let in_a_row = if of.is_some() { AFTER_BEFORE } else { *after };
        self.key(keys[0]).count(in_a_row as usize);
        self.key(keys[1]).count(*recover_after as usize);
        self.key(keys[2]).duration(*page_after);
        self.key(keys[3]).text(severity.slug());
        self.added(keys[4], *of, |said, of| said.count(*after as usize).count(of as usize));
    }
}

const FIELDS: [&str; 3] = ["search.fields.source", "search.fields.content", "search.fields.score"];
const COLUMNS: [&str; 3] = ["search.columns.source", "search.columns.content", "search.columns.score"];
const AVAILABILITY: [&str; 5] = [
    "rules.availability.after",
    "rules.availability.recover_after",
    "rules.availability.page_after",
    "rules.availability.severity",
    "rules.availability.m_of_n",
];
const ACCESS: [&str; 5] = [
    "rules.access.after",
    "rules.access.recover_after",
    "rules.access.page_after",
    "rules.access.severity",
    "rules.access.m_of_n",
];
const HEALTH: [&str; 5] = [
    "rules.health.after",
    "rules.health.recover_after",
    "rules.health.page_after",
    "rules.health.severity",
    "rules.health.m_of_n",
];
