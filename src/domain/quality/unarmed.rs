//! Which checks cannot judge a monitor, and what each of them needs for it.

use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::observation::ToolsSeen;
use crate::domain::quality::changes::{ChangeCheck, OFF};
use crate::domain::quality::near_misses;
use crate::domain::search::{Fresh, FreshWay};
use crate::domain::wording::counted;

/// A check that is not armed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unarmed {
    /// Its key in the file, below `rules`.
    pub(crate) check: &'static str,
    /// What it needs, such as `needs an entry in monitors.lock`, or that it is switched off.
    pub(crate) why: String,
}

/// The checks that are not armed on a monitor, in the order of the documentation.
pub(crate) fn unarmed(monitor: &Monitor) -> Vec<Unarmed> {
    let lacking = checks(monitor).into_iter();
    lacking.filter_map(|(check, why)| Some(Unarmed { check, why: why? })).collect()
}

/// Every check that not every monitor arms, by its key in the file, with why it is not armed; none: it is.
pub(crate) fn checks(monitor: &Monitor) -> Vec<(&'static str, Option<String>)> {
    let changes = ChangeCheck::ALL.into_iter().map(|check| (check.key(), check.lacks(monitor)));
    let others = [
        ("quality.checks.results", results(monitor)),
        ("quality, which part is broken", arms(monitor)),
        ("freshness.shrinks", shrinks(monitor)),
    ];
    others.into_iter().chain(changes).collect()
}

/// [`checks`], and before them whether the index is seen behind caches. `listed`: the tools as the server lists them; one
/// that listed none says nothing of its caches.
pub(crate) fn checks_seen(monitor: &Monitor, listed: Option<&ToolsSeen>) -> Vec<(&'static str, Option<String>)> {
    let past = listed.map(|tools| past_caches(monitor, tools.fresh));
    let mut checks = checks(monitor);
    // Who cannot pass caches compares nothing with what they give out.
    let compared = checks.iter_mut().find(|(check, why)| *check == ChangeCheck::Caches.key() && why.is_none());
    if let Some((compared, past)) = compared.zip(past.as_ref()) {
        compared.1.clone_from(past);
    }
    let pairs = checks.iter_mut().find(|(check, why)| *check == ChangeCheck::Pairs.key() && why.is_none());
    if let Some((pairs, _)) = pairs.zip(past.as_ref().filter(|past| past.is_some())) {
        pairs.1 = near_misses::lacks(monitor, false);
    }
    past.map(|past| ("quality, the index behind caches", past)).into_iter().chain(checks).collect()
}

/// Why its index is not seen behind caches; none: searches go past them. `way`: as the server's tools offer it.
fn past_caches(monitor: &Monitor, way: Option<FreshWay>) -> Option<String> {
    let holds = monitor.may_send_nonces();
    match (&monitor.search.fresh, way) {
        (Fresh::Off, _) => Some(OFF.to_owned()),
        (Fresh::Found, None) => {
            let (or_nonce, too_long) = if holds {
                ("", ", and not every question fits it with a nonce")
            } else {
                (", or nonce in monitors.lock", "")
            };
            let now_and_then = match reworded(monitor) {
                0 => String::new(),
                count => format!("; now and then other words reach it, of {}", counted(count, "canary", "canaries")),
            };
            let needs = "the tool offers no way that is known";
            Some(format!("needs search.fresh_arguments{or_nonce}: {needs}{too_long}{now_and_then}"))
        }
        (Fresh::Found | Fresh::Given(_), _) => None,
    }
}

/// Canaries that may be asked in other words.
fn reworded(monitor: &Monitor) -> usize {
    monitor.canaries.iter().filter(|canary| !canary.also.is_empty()).count()
}

/// By which way searches get past caches, as far as file and lock say it; what the tool offers stands before a nonce.
pub(crate) fn declared_way(monitor: &Monitor) -> String {
    let words = match reworded(monitor) {
        0 => None,
        count => Some(format!("other words, of {}", counted(count, "canary", "canaries"))),
    };
    match &monitor.search.fresh {
        Fresh::Given(_) => "search.fresh_arguments".to_owned(),
        Fresh::Off => "nothing, since the file leaves caches alone".to_owned(),
        Fresh::Found => {
            let known = Some("an argument that is known, where the tool has one".to_owned());
            let nonce = monitor.may_send_nonces().then(|| "a nonce".to_owned());
            // A nonce is there for every canary.
            let words = words.filter(|_| nonce.is_none());
            [known, nonce, words].into_iter().flatten().collect::<Vec<_>>().join("; else ")
        }
    }
}

fn results(monitor: &Monitor) -> Option<String> {
    let pinned = monitor.pinned.as_ref();
    let is_any = pinned.is_some_and(|pinned| monitor.canaries.iter().any(|canary| canary.pinned(pinned).is_some()));
    match () {
        () if !monitor.rules.quality.checks.results.judge => Some(OFF.to_owned()),
        () if !is_any => Some("needs a canary in monitors.lock that the index answered".to_owned()),
        () => None,
    }
}

/// A half of the search is named by what the other one still finds.
fn arms(monitor: &Monitor) -> Option<String> {
    let count = |kind: CanaryKind| monitor.canaries.iter().filter(|canary| canary.kind == kind).count();
    let (keyword, meaning) = (count(CanaryKind::Keyword), count(CanaryKind::Meaning));
    let has = format!("has {keyword} and {meaning}");
    (keyword < 2 || meaning < 2).then(|| format!("needs two canaries each of the kinds keyword and meaning, and {has}"))
}

fn shrinks(monitor: &Monitor) -> Option<String> {
    match monitor.shrinks() {
        None => Some("needs rules.freshness, or the number of sources in monitors.lock".to_owned()),
        Some(rule) => rule.severity.is_none().then(|| OFF.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::domain::monitor::{Canary, Likeness, MonitorId, Original};
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn every_check_that_is_not_armed_says_why() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        assert_eq!(unarmed(&monitor).len(), 11, "a server of which only the address is known");
        let canary = |at: usize| Canary {
            id: at.to_string(),
            query: String::new(),
            kind: if at < 2 { CanaryKind::Keyword } else { CanaryKind::Meaning },
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        };
        monitor.canaries = (0..3).map(canary).collect();
        let why = |monitor: &Monitor, check: &str| {
            unarmed(monitor).into_iter().find(|one| one.check.starts_with(check)).map(|one| one.why)
        };
        let needs = "needs two canaries each of the kinds keyword and meaning, and has 2 and 1";
        assert_eq!(why(&monitor, "quality, which").as_deref(), Some(needs));
        assert_eq!(why(&monitor, "quality.checks.self_reported"), None, "it needs no more than a canary");
        monitor.canaries.push(canary(3));
        assert_eq!(why(&monitor, "quality, which"), None);
        monitor.rules.quality.checks.results.judge = false;
        assert_eq!(why(&monitor, "quality.checks.results").as_deref(), Some(OFF));
        let shared = |count: usize| (0..count).map(|at| (at.to_string(), String::new())).collect();
        let replica_of = |count: usize| {
            let original =
                Original { id: MonitorId::new("docs"), shared: shared(count), round: Duration::from_secs(360) };
            Likeness::ReplicaOf(Arc::new(original))
        };
        assert!(why(&monitor, "quality.checks.replicas").is_some_and(|why| why.starts_with("needs replicas_of")));
        monitor.likeness = replica_of(4);
        let needs = "needs 11 canaries that 'docs' asks in the same words, and has 4";
        assert_eq!(why(&monitor, "quality.checks.replicas").as_deref(), Some(needs));
        monitor.likeness = replica_of(11);
        assert_eq!(why(&monitor, "quality.checks.replicas"), None, "it takes no lock");
        let all = checks(&monitor);
        assert_eq!(all.len() - unarmed(&monitor).len(), all.iter().filter(|(_, why)| why.is_none()).count());
    }

    #[test]
    fn an_index_is_seen_behind_caches_where_there_is_a_way() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        let way = Some(FreshWay::Known("cache", "\"bypass\""));
        assert!(past_caches(&monitor, None).is_some_and(|why| why.contains("fresh_arguments")), "no way is known");
        assert_eq!(past_caches(&monitor, way), None, "its tools offer one");
        assert_eq!(past_caches(&monitor, Some(FreshWay::Nonce)), None, "or the lock knows one");
        monitor.search.fresh = Fresh::Given(std::collections::BTreeMap::new());
        assert_eq!(past_caches(&monitor, None), None, "the file gives one");
        monitor.search.fresh = Fresh::Off;
        assert_eq!(past_caches(&monitor, way).as_deref(), Some(OFF));
    }
}
