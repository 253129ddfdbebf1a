//! What `rules.quality.checks` says of a monitor.

use crate::config::check::definition::Definition;
use crate::domain::reason::Severity;
use crate::domain::rules::{CheckRule, ChunksCheck, ListsCheck, QualityChecks, ResultsCheck};

impl Definition {
    /// Each says something only where it is not what it is where nobody writes it.
    pub(super) fn checks(&mut self, checks: &QualityChecks) {
        let QualityChecks {
            results,
            self_reported,
            lists,
            scores,
            reranker,
            chunks,
            relations,
            caches,
            pairs,
            replicas,
        } = checks;
        let standard = QualityChecks::STANDARD;
        let ResultsCheck { judge, least } = results;
        self.added("rules.quality.checks.results.judge", (!judge).then_some(()), |said, ()| said);
        self.share("rules.quality.checks.results.least", *least, standard.results.least);
        self.check(SELF_REPORTED, *self_reported, standard.self_reported);
        let ListsCheck { similar, share, rule } = lists;
        self.share("rules.quality.checks.lists.similar", *similar, standard.lists.similar);
        self.share("rules.quality.checks.lists.share", *share, standard.lists.share);
        self.check(LISTS, *rule, standard.lists.rule);
        self.check(SCORES, *scores, standard.scores);
        self.loudness("rules.quality.checks.reranker.severity", *reranker, standard.reranker);
        let ChunksCheck { factor, rule } = chunks;
        let other = (*factor != standard.chunks.factor).then_some(*factor as usize);
        self.added("rules.quality.checks.chunks.factor", other, Self::count);
        self.check(CHUNKS, *rule, standard.chunks.rule);
        self.check(RELATIONS, *relations, standard.relations);
        self.check(CACHES, *caches, standard.caches);
        self.check(PAIRS, *pairs, standard.pairs);
        let ListsCheck { similar, share, rule } = replicas;
        self.share("rules.quality.checks.replicas.similar", *similar, standard.replicas.similar);
        self.share("rules.quality.checks.replicas.share", *share, standard.replicas.share);
        self.check(REPLICAS, *rule, standard.replicas.rule);
    }

    fn check(&mut self, [after, severity]: [&'static str; 2], rule: CheckRule, standard: CheckRule) {
        self.added(after, (rule.after != standard.after).then_some(rule.after as usize), Self::count);
        self.loudness(severity, rule.severity, standard.severity);
    }

    pub(super) fn loudness(&mut self, key: &'static str, severity: Option<Severity>, standard: Option<Severity>) {
        let word = severity.map_or("off", Severity::slug);
        self.added(key, (severity != standard).then_some(word), Self::text);
    }

    pub(super) fn share(&mut self, key: &'static str, share: f64, standard: f64) {
        self.added(key, (share.to_bits() != standard.to_bits()).then_some(share), |said, share| {
            said.text(&share.to_string())
        });
    }
}

const SELF_REPORTED: [&str; 2] =
    ["rules.quality.checks.self_reported.after", "rules.quality.checks.self_reported.severity"];
const LISTS: [&str; 2] = ["rules.quality.checks.lists.rounds", "rules.quality.checks.lists.severity"];
const SCORES: [&str; 2] = ["rules.quality.checks.scores.rounds", "rules.quality.checks.scores.severity"];
const CHUNKS: [&str; 2] = ["rules.quality.checks.chunks.after", "rules.quality.checks.chunks.severity"];
const REPLICAS: [&str; 2] = ["rules.quality.checks.replicas.rounds", "rules.quality.checks.replicas.severity"];
const RELATIONS: [&str; 2] = ["rules.quality.checks.relations.after", "rules.quality.checks.relations.severity"];
const PAIRS: [&str; 2] = ["rules.quality.checks.pairs.after", "rules.quality.checks.pairs.severity"];
const CACHES: [&str; 2] = ["rules.quality.checks.caches.after", "rules.quality.checks.caches.severity"];
