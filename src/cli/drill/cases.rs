//! What is broken, and what it should be told as: written down before anything is measured.
//!
//! A row says what somebody outside can know. Where the lab breaks a thing that nobody outside can tell from another, the
//! row says what it looks like, and `note` says what it is.

use serin_reference::lab::kinds::{Dose, Fault};

use crate::cli::drill::case::{Case, Deed};
use crate::cli::drill::shape::Shape;
use crate::domain::reason::FailureReason as R;

/// Beats that a fault is given to be named, where each costs little.
const BEATS_MAX: u32 = 40;
/// Where each beat waits for answers that are late.
const SLOW_BEATS_MAX: u32 = 12;
/// Five rounds of 24 canaries, two a beat, in one of which each is asked plainly, and what confirms it.
const ROUNDS_BEATS_MAX: u32 = 70;
const ALL: &[Shape] = &Shape::ALL;
/// Shapes with two arms.
const TWO_ARMS: &[Shape] = &[Shape::Fused, Shape::Reranked, Shape::Scoreless];
const FUSED: &[Shape] = &[Shape::Fused, Shape::Scoreless];
const RERANKED: &[Shape] = &[Shape::Reranked];
/// A row of which nothing special is to be said.
const ROW: Case = Case {
    name: "",
    faults: &[],
    deed: Deed::None,
    told: &[],
    on_cosine: None,
    shapes: ALL,
    needs_cache: false,
    is_drawn: false,
    is_of_nine: false,
    limits_answers: false,
    beats_max: BEATS_MAX,
    note: "",
};

const fn of(fault: Fault) -> (Fault, Dose) {
    (fault, Dose::of(fault))
}

const fn in_mode(fault: Fault, mode: &'static str) -> (Fault, Dose) {
    (fault, Dose::of(fault).mode(mode))
}

const fn part(fault: Fault, share: f64) -> (Fault, Dose) {
    (fault, Dose::of(fault).share(share))
}

const fn dose(fault: Fault, amount: f64) -> (Fault, Dose) {
    (fault, Dose::of(fault).amount(amount))
}

/// Every fault of the laboratory, then what harms nobody.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "wrong_query_model",
        faults: &[of(Fault::WrongQueryModel)],
        told: &[R::EmbeddingMismatch],
        is_of_nine: true,
        ..ROW
    },
    Case {
        name: "embedder_down:fallback",
        faults: &[in_mode(Fault::EmbedderDown, "fallback")],
        told: &[R::EmbeddingMismatch],
        ..ROW
    },
    Case {
        name: "embedder_down:error",
        faults: &[in_mode(Fault::EmbedderDown, "error")],
        told: &[R::SelfReportedDegradation, R::VectorArmDown, R::ExternalApiFailure],
        on_cosine: Some(&[R::ElevatedErrorRate, R::ExternalApiFailure, R::EmptyResults, R::SelfReportedDegradation]),
        note: "which provider is down only the server's health knows",
        ..ROW
    },
    Case {
        name: "vector_arm_off",
        faults: &[of(Fault::VectorArmOff)],
        told: &[R::VectorArmDown],
        on_cosine: Some(&[R::EmptyResults]),
        is_of_nine: true,
        ..ROW
    },
    Case {
        name: "vectors_zeroed",
        faults: &[part(Fault::VectorsZeroed, 0.7)],
        told: &[R::IndexUnreachableVectors],
        on_cosine: Some(&[R::IndexUnreachableVectors, R::CorpusTruncated]),
        is_drawn: true,
        is_of_nine: true,
        note: "where vectors are all there is, chunks without one and chunks that are gone look the same",
        ..ROW
    },
    Case {
        name: "vectors_unreachable",
        faults: &[part(Fault::VectorsUnreachable, 0.7)],
        told: &[R::IndexUnreachableVectors],
        on_cosine: Some(&[R::IndexUnreachableVectors, R::CorpusTruncated]),
        is_drawn: true,
        is_of_nine: true,
        note: "where vectors are all there is, chunks out of reach and chunks that are gone look the same",
        ..ROW
    },
    Case {
        name: "keyword_arm_off",
        faults: &[of(Fault::KeywordArmOff)],
        told: &[R::KeywordArmDown],
        shapes: TWO_ARMS,
        is_of_nine: true,
        note: "seen by keyword canaries whose token means nothing to the embedder",
        ..ROW
    },
    Case {
        name: "corpus_truncated",
        faults: &[part(Fault::CorpusTruncated, 0.4)],
        told: &[R::CorpusTruncated],
        on_cosine: Some(&[R::CorpusTruncated, R::IndexUnreachableVectors]),
        is_drawn: true,
        is_of_nine: true,
        note: "where vectors are all there is, chunks out of reach and chunks that are gone look the same",
        ..ROW
    },
    Case {
        name: "corpus_truncated:newest",
        faults: &[(Fault::CorpusTruncated, Dose::of(Fault::CorpusTruncated).mode("newest").share(0.15))],
        told: &[R::CorpusTruncated, R::SourceStale],
        // Sources are listed once an hour.
        beats_max: ROUNDS_BEATS_MAX,
        note: "seen by the count of sources, where the lock has it and they are listed again, or by a canary on what was added last",
        ..ROW
    },
    Case {
        name: "k_cut",
        faults: &[of(Fault::KCut)],
        told: &[R::ResultMalformed],
        note: "fewer results than pinned",
        ..ROW
    },
    Case {
        name: "rrf_steep",
        faults: &[of(Fault::RrfSteep)],
        told: &[R::ScoreShift, R::RankingChanged],
        shapes: FUSED,
        note: "without scores only lists can show it",
        ..ROW
    },
    Case {
        name: "rrf_zero_based",
        faults: &[of(Fault::RrfZeroBased)],
        told: &[R::ScoreShift, R::RankingChanged],
        shapes: FUSED,
        note: "without scores only lists can show it",
        ..ROW
    },
    Case {
        name: "empty_results",
        faults: &[of(Fault::EmptyResults)],
        told: &[R::EmptyResults],
        is_of_nine: true,
        ..ROW
    },
    Case {
        name: "scores_offset",
        faults: &[of(Fault::ScoresOffset)],
        told: &[R::ScoreShift, R::ThresholdBroken],
        shapes: &[Shape::Cosine],
        note: "callers with a threshold are harmed, and a negative canary is such a caller",
        ..ROW
    },
    Case {
        name: "shuffled",
        faults: &[of(Fault::Shuffled)],
        told: &[R::InconsistentResults],
        is_drawn: true,
        is_of_nine: true,
        ..ROW
    },
    Case {
        name: "reranker_off",
        faults: &[of(Fault::RerankerOff)],
        told: &[R::RerankerChanged],
        shapes: RERANKED,
        ..ROW
    },
    Case {
        name: "reranker_reversed",
        faults: &[of(Fault::RerankerReversed)],
        told: &[R::RerankerChanged],
        shapes: RERANKED,
        is_of_nine: true,
        ..ROW
    },
    Case {
        name: "reranker_fails:memory",
        faults: &[in_mode(Fault::RerankerFails, "memory")],
        told: &[R::SelfReportedDegradation, R::RerankerChanged],
        shapes: RERANKED,
        ..ROW
    },
    Case {
        name: "reranker_fails:slow",
        faults: &[in_mode(Fault::RerankerFails, "slow")],
        told: &[R::SelfReportedDegradation, R::LatencyElevated, R::RerankerChanged],
        shapes: RERANKED,
        beats_max: SLOW_BEATS_MAX,
        ..ROW
    },
    Case {
        name: "budget_exceeded",
        faults: &[of(Fault::BudgetExceeded)],
        told: &[R::ContextCost, R::ResultMalformed],
        limits_answers: true,
        note: "seen where the file limits what an answer may take of a model's context (`rules.context`)",
        ..ROW
    },
    Case { name: "chunks_tripled", faults: &[of(Fault::ChunksTripled)], told: &[R::ChunkingChanged], ..ROW },
    Case { name: "chunks_mid_sentence", faults: &[of(Fault::ChunksMidSentence)], told: &[R::ChunkingChanged], ..ROW },
    Case {
        name: "chunks_empty",
        faults: &[part(Fault::ChunksEmpty, 0.5)],
        told: &[R::CorpusTruncated, R::ChunkSizeAnomaly, R::ResultMalformed],
        is_drawn: true,
        note: "that a chunk is there without its text shows only where it is still found, by its heading",
        ..ROW
    },
    Case { name: "chunks_duplicated", faults: &[of(Fault::ChunksDuplicated)], told: &[R::ResultMalformed], ..ROW },
    Case {
        name: "text_garbled",
        faults: &[part(Fault::TextGarbled, 0.5)],
        told: &[R::CorpusTruncated],
        is_drawn: true,
        note: "that the sources are there and cannot be read shows only to whoever reads them: a canary with `contains`",
        ..ROW
    },
    Case {
        name: "pool_saturated:empty",
        faults: &[of(Fault::PoolSaturated)],
        told: &[R::EmptyResults, R::PoolSaturated],
        note: "that it is the pool only the server's health knows",
        ..ROW
    },
    Case {
        name: "pool_saturated:slow",
        faults: &[in_mode(Fault::PoolSaturated, "slow")],
        told: &[R::ElevatedErrorRate, R::LatencyElevated, R::PoolSaturated],
        beats_max: SLOW_BEATS_MAX,
        note: "that it is the pool only the server's health knows",
        ..ROW
    },
    Case {
        name: "error_as_empty",
        faults: &[of(Fault::ErrorAsEmpty), of(Fault::ToolError)],
        told: &[R::EmptyResults],
        note: "with tool_error, which it swallows",
        ..ROW
    },
    Case {
        name: "index_in_memory",
        faults: &[of(Fault::IndexInMemory)],
        deed: Deed::Crash,
        told: &[R::ElevatedErrorRate, R::EmptyResults, R::IndexEmptyOrStale],
        ..ROW
    },
    Case {
        name: "tool_error",
        faults: &[part(Fault::ToolError, 0.5)],
        told: &[R::ElevatedErrorRate],
        is_drawn: true,
        ..ROW
    },
    Case { name: "panic", faults: &[part(Fault::Panic, 0.5)], told: &[R::ElevatedErrorRate], is_drawn: true, ..ROW },
    Case { name: "hang", faults: &[of(Fault::Hang)], told: &[R::ElevatedErrorRate], beats_max: SLOW_BEATS_MAX, ..ROW },
    Case {
        name: "latency_step",
        faults: &[dose(Fault::LatencyStep, 900.0)],
        told: &[R::LatencyElevated],
        beats_max: SLOW_BEATS_MAX,
        ..ROW
    },
    Case {
        name: "slow_on_miss",
        faults: &[dose(Fault::SlowOnMiss, 900.0)],
        told: &[R::LatencyElevated],
        beats_max: SLOW_BEATS_MAX,
        ..ROW
    },
    Case { name: "cache_false_hit", faults: &[dose(Fault::CacheFalseHit, 0.0)], told: &[R::CacheFalseHit], ..ROW },
    Case {
        name: "cache_stale",
        faults: &[of(Fault::CacheStale)],
        deed: Deed::Twin,
        told: &[R::CacheStale],
        needs_cache: true,
        beats_max: ROUNDS_BEATS_MAX,
        note: "an old answer that is still right harms nobody yet: a notice, once its canary is asked plainly, in one round of five",
        ..ROW
    },
    Case {
        name: "cache_without_model",
        faults: &[of(Fault::CacheWithoutModel)],
        deed: Deed::OtherModel,
        told: &[R::CacheStale],
        needs_cache: true,
        note: "whose answers the cache gives out only the server knows",
        ..ROW
    },
    Case {
        name: "schema_drift:wording",
        faults: &[in_mode(Fault::SchemaDrift, "wording")],
        told: &[R::SchemaDrift],
        ..ROW
    },
    Case {
        name: "schema_drift:compatible",
        faults: &[in_mode(Fault::SchemaDrift, "compatible")],
        told: &[R::SchemaDrift],
        ..ROW
    },
    Case {
        name: "schema_drift:breaking",
        faults: &[in_mode(Fault::SchemaDrift, "breaking")],
        told: &[R::SchemaDrift],
        ..ROW
    },
    Case { name: "auth_required", faults: &[of(Fault::AuthRequired)], told: &[R::AuthRequired], ..ROW },
    Case {
        name: "session_lost",
        faults: &[part(Fault::SessionLost, 0.8)],
        deed: Deed::Sessions,
        told: &[R::SessionLost],
        is_drawn: true,
        ..ROW
    },
    Case { name: "refused", faults: &[of(Fault::Refused)], told: &[R::ConnectionRefused], ..ROW },
    // What harms nobody.
    Case { name: "corpus +10 %", deed: Deed::Grow(10), ..ROW },
    Case { name: "corpus +30 %", deed: Deed::Grow(30), ..ROW },
    Case { name: "renumbered chunks", deed: Deed::Renumber, ..ROW },
    Case { name: "edited documents", deed: Deed::Edit, ..ROW },
    Case { name: "jittering scores", deed: Deed::Jitter, ..ROW },
    Case { name: "reordered ties", faults: &[in_mode(Fault::Shuffled, "ties")], is_drawn: true, ..ROW },
    Case { name: "re-index", deed: Deed::Reindex, ..ROW },
    Case { name: "restart", deed: Deed::Crash, ..ROW },
    Case { name: "cache flush", deed: Deed::Flush, needs_cache: true, ..ROW },
    Case {
        name: "latency_decay",
        faults: &[(Fault::LatencyDecay, Dose { amount: 1_500.0, tau_ms: 2_000.0, ..Dose::of(Fault::LatencyDecay) })],
        deed: Deed::Crash,
        note: "a cold start: slow after a restart, and less each beat",
        ..ROW
    },
];

/// Faults that no canary can show, and why; they are in no row.
pub(super) const NOT_DRILLED: &[(Fault, &str)] = &[
    (Fault::SecretLeaked, "seen by a canary whose text may not hold it (`not_contains`); no source changes its rank"),
    (
        Fault::IndexFrozen,
        "seen by `rules.freshness` after its own limit, by the server's clock, which a drill cannot turn",
    ),
    (Fault::TenantLeak, "needs a server with tenants: tests/journey/leaks.rs"),
    (Fault::ScoresHidden, "makes the scoreless shape"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_the_laboratory_is_a_row_or_said_not_to_be() {
        for fault in Fault::ALL {
            let is_row = CASES.iter().any(|case| case.faults.iter().any(|(one, _)| one == fault));
            let is_left_out = NOT_DRILLED.iter().any(|(one, _)| one == fault);
            assert!(is_row != is_left_out || *fault == Fault::RerankerOff, "{}", fault.name());
        }
        assert_eq!(CASES.iter().filter(|case| case.is_of_nine).count(), 9, "nine of nine");
    }

    #[test]
    fn a_mode_is_one_of_its_faults() {
        for (fault, dose) in CASES.iter().flat_map(|case| case.faults) {
            let modes = fault.facts().modes;
            assert!(modes.is_empty() || modes.contains(&dose.mode), "{}: {}", fault.name(), dose.mode);
        }
    }
}
