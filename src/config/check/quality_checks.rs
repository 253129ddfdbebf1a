//! `rules.quality.checks:` and `rules.freshness.shrinks:`, what is judged beside right answers and the age of sources.

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::layers::Layers;
use crate::config::check::numbers::IN_A_ROW;
use crate::config::check::reach::flag;
use crate::config::read::node::MapEntry;
use crate::domain::reason::Severity;
use crate::domain::rules::{CheckRule, ChunksCheck, ListsCheck, QualityChecks, ResultsCheck, ShrinksRule};

/// How many times longer chunks may be; more would be no chunks any more.
const FACTOR: std::ops::RangeInclusive<u32> = 2..=100;
/// Looks of the last five.
const OF_FIVE: std::ops::RangeInclusive<u32> = 1..=5;
const SEVERITIES: &[(&str, Option<Severity>)] = &[
    ("page", Some(Severity::Page)),
    ("ticket", Some(Severity::Ticket)),
    ("notice", Some(Severity::Notice)),
    ("off", None),
];

/// Reads what the rule's layers say below `checks`.
pub(in crate::config) fn quality_checks(checker: &mut Checker<'_>, rule: Layers<'_, '_>) -> QualityChecks {
    const SECTION: &str = "monitors.rules.quality.checks";
    let checks = within(checker, rule, "checks", SECTION);
    let of = |name: &str| within(checker, checks, name, &format!("{SECTION}.{name}"));
    let [results, self_reported, lists, scores, reranker, chunks, relations, caches, pairs, replicas] = [
        "results",
        "self_reported",
        "lists",
        "scores",
        "reranker",
        "chunks",
        "relations",
        "caches",
        "pairs",
        "replicas",
    ]
    .map(of);
    let standard = QualityChecks::STANDARD;
    let judge = results.get("judge").and_then(|entry| flag(checker, "'judge'", entry));
    QualityChecks {
        results: ResultsCheck {
            judge: judge.unwrap_or(standard.results.judge),
            least: share(checker, results, "least", standard.results.least),
        },
        self_reported: check(checker, self_reported, "after", standard.self_reported),
        lists: lists_check(checker, lists, standard.lists),
        scores: check(checker, scores, "rounds", standard.scores),
        reranker: severity(checker, reranker, standard.reranker),
        chunks: ChunksCheck {
            factor: whole(checker, chunks, "factor", FACTOR, standard.chunks.factor),
            rule: check(checker, chunks, "after", standard.chunks.rule),
        },
        relations: check(checker, relations, "after", standard.relations),
        caches: check(checker, caches, "after", standard.caches),
        pairs: CheckRule {
            after: whole(checker, pairs, "after", OF_FIVE, standard.pairs.after),
            severity: severity(checker, pairs, standard.pairs.severity),
        },
        replicas: lists_check(checker, replicas, standard.replicas),
    }
}

fn lists_check(checker: &mut Checker<'_>, layers: Layers<'_, '_>, standard: ListsCheck) -> ListsCheck {
    ListsCheck {
        similar: share(checker, layers, "similar", standard.similar),
        share: share(checker, layers, "share", standard.share),
        rule: check(checker, layers, "rounds", standard.rule),
    }
}

/// Reads what the rule's layers say below `shrinks`.
pub(in crate::config) fn shrinks(checker: &mut Checker<'_>, rule: Layers<'_, '_>) -> ShrinksRule {
    let shrinks = within(checker, rule, "shrinks", "monitors.rules.freshness.shrinks");
    let standard = ShrinksRule::STANDARD;
    ShrinksRule {
        by: share(checker, shrinks, "by", standard.by),
        severity: severity(checker, shrinks, standard.severity),
    }
}

/// The map under a key, in both layers.
fn within<'n, 'a>(checker: &mut Checker<'_>, layers: Layers<'n, 'a>, name: &str, section: &str) -> Layers<'n, 'a> {
    let mut read = |entry: &'n MapEntry<'a>| -> Option<Fields<'n, 'a>> {
        checker.fields(format_args!("'{name}'"), &entry.value, section)
    };
    let own = layers.own(name).and_then(&mut read);
    let shared = layers.shared(name).and_then(&mut read);
    Layers::new(own, shared)
}

fn check(checker: &mut Checker<'_>, layers: Layers<'_, '_>, after: &str, standard: CheckRule) -> CheckRule {
    CheckRule {
        after: whole(checker, layers, after, IN_A_ROW, standard.after),
        severity: severity(checker, layers, standard.severity),
    }
}

fn whole(
    checker: &mut Checker<'_>,
    layers: Layers<'_, '_>,
    key: &str,
    range: std::ops::RangeInclusive<u32>,
    standard: u32,
) -> u32 {
    let entry = layers.get(key);
    entry.and_then(|entry| checker.whole(format_args!("'{key}'"), &entry.value, range)).unwrap_or(standard)
}

fn share(checker: &mut Checker<'_>, layers: Layers<'_, '_>, key: &str, standard: f64) -> f64 {
    let entry = layers.get(key);
    entry.and_then(|entry| checker.share(format_args!("'{key}'"), &entry.value)).unwrap_or(standard)
}

fn severity(checker: &mut Checker<'_>, layers: Layers<'_, '_>, standard: Option<Severity>) -> Option<Severity> {
    let entry = layers.get("severity");
    entry.and_then(|entry| checker.choice("'severity'", &entry.value, SEVERITIES)).unwrap_or(standard)
}
