//! The words of packs, by number. Only ever add at the end: a number means the same word in every pack ever made.

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;

use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};

/// All words that a beat or an ask is described with. The first is "none".
const WORDS: &[&str] = &[
    "",
    // kinds of beats
    "scheduled",
    "suspect",
    "recheck",
    "burst",
    "drill",
    // eras and transports
    "legacy",
    "modern",
    "http",
    "sse",
    "stdio",
    // whether anything was seen
    "seen",
    "missed",
    "internal",
    "uplink",
    "held",
    // verdicts of beats and of asks
    "good",
    "degraded",
    "down",
    "unknown",
    "right",
    "wrong",
    "failed",
    "not_asked",
    // stages
    "connect",
    "handshake",
    "tools",
    "search",
    "health",
    // variants and turns (`scheduled` and `not_asked` are above)
    "plain",
    "fresh",
    "re-ask",
    // reasons
    "dns_failure",
    "connection_refused",
    "connect_timeout",
    "network_error",
    "tls_failure",
    "auth_required",
    "auth_rejected",
    "acl_leak",
    "certificate_expiring",
    "credential_expiring",
    "http_error",
    "rate_limited",
    "redirected",
    "timeout",
    "protocol_error",
    "version_unsupported",
    "not_mcp",
    "response_too_large",
    "session_lost",
    "tool_missing",
    "tool_error",
    "schema_drift",
    "context_cost",
    "elevated_error_rate",
    "external_api_failure",
    "vector_store_unreachable",
    "pool_saturated",
    "index_empty_or_stale",
    "chunk_size_anomaly",
    "unhealthy",
    "self_reported_degradation",
    "empty_results",
    "wrong_results",
    "result_malformed",
    "retrieval_regression",
    "embedding_mismatch",
    "vector_arm_down",
    "keyword_arm_down",
    "reranker_changed",
    "index_unreachable_vectors",
    "corpus_truncated",
    "source_stale",
    "cache_stale",
    "cache_false_hit",
    "constant_response",
    "threshold_broken",
    "inconsistent_results",
    "replica_divergence",
    "ranking_changed",
    "score_shift",
    "chunking_changed",
    "canary_stale",
    "latency_elevated",
    "cold_start",
    "monitor_internal",
    "monitor_uplink",
];

static NUMBERS: LazyLock<HashMap<&str, u64>> =
    LazyLock::new(|| (0..).zip(WORDS).map(|(number, word)| (*word, number)).collect());

/// Writes a word by its number. A word that is not in the list is a mistake of ours, which a test holds.
pub(in crate::store) fn write(written: &mut BitWriter, word: &str) -> io::Result<()> {
    let number = NUMBERS.get(word).ok_or_else(|| damaged("a word that packs do not know"))?;
    written.low(BITS, *number)
}

/// Reads a word back as what it stands for.
pub(in crate::store) fn read<T>(read: &mut BitReader<'_>, meaning: impl Fn(&str) -> Option<T>) -> io::Result<T> {
    let number = usize::try_from(read.low(BITS)?).unwrap_or(usize::MAX);
    let word = WORDS.get(number).ok_or_else(|| damaged("a word of a newer Serin"))?;
    meaning(word).ok_or_else(|| damaged("a word in a place where it means nothing"))
}

/// Reads a word back that may be none.
pub(in crate::store) fn read_or_none<T>(
    bits: &mut BitReader<'_>,
    meaning: impl Fn(&str) -> Option<T>,
) -> io::Result<Option<T>> {
    read(bits, |word| if word.is_empty() { Some(None) } else { meaning(word).map(Some) })
}

/// Bits of a word's number.
const BITS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::FailureReason;

    #[test]
    fn every_reason_is_a_word_and_the_list_only_grows() {
        for reason in FailureReason::ALL {
            assert!(NUMBERS.contains_key(reason.slug()), "add {:?} at the end of WORDS", reason.slug());
        }
        assert_eq!(NUMBERS.len(), WORDS.len(), "no word is there twice");
        assert!(WORDS.len() < 1 << BITS, "a number fits its bits");
        // Packs of 35 days hold these numbers.
        for (number, word) in
            [(1, "scheduled"), (16, "good"), (31, "re-ask"), (32, "dns_failure"), (87, "monitor_uplink")]
        {
            assert_eq!(WORDS[number], word, "number {number} has always been {word:?}");
        }
    }
}
