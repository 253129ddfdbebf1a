//! What can be broken on request, how strongly, and where it acts.
//!
//! A fault never makes an answer up: it takes connections from the pool, embeds a question with
//! another model, hides rows from an arm. What follows from that is left to follow. Each has a
//! dose: an amount in its own unit, a share and a seed, so that the same half of the calls or of
//! the chunks is struck again tomorrow.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::text::draw::mix;

macro_rules! faults {
    ($($name:ident, $slug:literal, $alias:literal, $modes:expr, $unit:literal, $amount:literal, $acts:literal;)*) => {
        /// Everything that can be broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $acts] $name,)*
        }

        impl Fault {
            /// Every fault, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Everything that is fixed about it.
            pub const fn facts(self) -> FaultFacts {
                match self {
                    $(Self::$name => FaultFacts {
                        name: $slug, alias: $alias, modes: &$modes, unit: $unit, amount: $amount, acts: $acts,
                    },)*
                }
            }
        }
    };
}

/// What is fixed about a fault.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FaultFacts {
    /// Its name on the command line and at the admin endpoint.
    pub name: &'static str,
    /// Another name it answers to; empty where there is none.
    pub alias: &'static str,
    /// The ways in which it can act, the usual one first; empty where there is one way only.
    pub modes: &'static [&'static str],
    /// What its amount counts; empty where it has none.
    pub unit: &'static str,
    /// The amount it has where none is given.
    pub amount: f64,
    /// Where it acts.
    pub acts: &'static str,
}

faults! {
    PoolSaturated, "pool_saturated", "empty", ["empty", "slow"], "", 0.0, "Store: a share of the pool's connections is taken and held; a search that gets none reports no rows, as naive servers do (`empty`), or waits for one until its caller has gone (`slow`).";
    IndexInMemory, "index_in_memory", "", [], "", 0.0, "Store: the index is kept in memory only; the next start begins with none.";
    ErrorAsEmpty, "error_as_empty", "", [], "", 0.0, "Retrieval: whatever goes wrong inside is swallowed and reported as no rows.";
    WrongQueryModel, "wrong_query_model", "", [], "", 0.0, "Embedding: a share of the questions is embedded with another model than the index was built with.";
    EmbedderDown, "embedder_down", "", ["error", "fallback"], "", 0.0, "Embedding: the embedder refuses, as a provider does that is down (`error`); or another model steps in and nobody is told (`fallback`).";
    VectorArmOff, "vector_arm_off", "", [], "", 0.0, "Vector arm: brings nothing.";
    VectorsZeroed, "vectors_zeroed", "", [], "", 0.0, "Vector arm: the vectors of a share of the chunks read as zero.";
    VectorsUnreachable, "vectors_unreachable", "", ["lasting", "healing"], "", 0.0, "Vector arm: a share of the chunks is never reached (`lasting`), or fewer of them as time goes by (`healing`, by `tau_ms`).";
    KeywordArmOff, "keyword_arm_off", "", [], "", 0.0, "Keyword arm: brings nothing.";
    CorpusTruncated, "corpus_truncated", "", ["share", "newest"], "", 0.0, "Both arms: a share of the chunks, or the newest share of the sources (`newest`), is as if it had never been indexed.";
    KCut, "k_cut", "", [], "hits", 1.0, "Fusion: the merged list is cut to so many hits, whatever was asked for.";
    RrfSteep, "rrf_steep", "", [], "", 0.0, "Fusion: the constant of reciprocal rank fusion is 1 and not 3.";
    RrfZeroBased, "rrf_zero_based", "", [], "", 0.0, "Fusion: ranks are counted from 0 and not from 1.";
    EmptyResults, "empty_results", "", [], "", 0.0, "Fusion: `min_score` is read as 50 percent, 50, and compared with the fused score, which never reaches it: no hit is left.";
    ScoresOffset, "scores_offset", "", [], "added", 0.3, "Fusion: the score that callers see is moved.";
    Shuffled, "shuffled", "", ["anew", "ties"], "", 0.0, "Fusion: a share of the searches comes in an order drawn anew (`anew`), or with hits of equal score in another order, each time the same (`ties`).";
    RerankerOff, "reranker_off", "", [], "", 0.0, "Rerank: does nothing; the fused order and its scores stay.";
    RerankerReversed, "reranker_reversed", "", [], "", 0.0, "Rerank: its scores are taken upside down, the worst first.";
    RerankerFails, "reranker_fails", "", ["memory", "slow"], "", 0.0, "Rerank: it is out of memory, or too slow for its limit; the fused order is answered, with `partial`.";
    BudgetExceeded, "budget_exceeded", "", [], "times", 4.0, "Context: the budget of tokens is so many times what was asked for.";
    ChunksTripled, "chunks_tripled", "", [], "", 0.0, "Cutting: a share of the sources is cut into three times as many chunks. Acts on what is there, too: it is cut again.";
    ChunksMidSentence, "chunks_mid_sentence", "", [], "", 0.0, "Cutting: a share of the sources is cut every few hundred characters, in the middle of words. Acts on what is there, too.";
    ChunksEmpty, "chunks_empty", "", [], "", 0.0, "Cutting: a share of the chunks has lost its text. Acts on what is there, too.";
    ChunksDuplicated, "chunks_duplicated", "", [], "", 0.0, "Cutting: a share of the chunks is there twice. Acts on what is there, too.";
    TextGarbled, "text_garbled", "", [], "", 0.0, "Extraction: of a share of the sources the letters and digits are others, as out of a PDF whose fonts say the wrong ones. Acts on what is there, too.";
    SecretLeaked, "secret_leaked", "", [], "", 0.0, "Indexing: secrets are not taken out of what is indexed from now on.";
    IndexFrozen, "index_frozen", "", [], "", 0.0, "Indexing: documents are accepted and never reach the index.";
    CacheStale, "cache_stale", "", [], "", 0.0, "Cache: an index that changes drops no remembered answer.";
    CacheFalseHit, "cache_false_hit", "", [], "cosine", 0.3, "Cache: a question that is only so near to a remembered one gets its answer, whatever numbers or negations it holds.";
    CacheWithoutModel, "cache_without_model", "", [], "", 0.0, "Cache: its key does not hold the embedder, so another model's answers are given.";
    LatencyStep, "latency_step", "slow", [], "ms", 2000.0, "Vector arm: a share of the searches waits before it scans.";
    LatencyDecay, "latency_decay", "cold_start", [], "ms", 3000.0, "Vector arm: searches wait after a start, less and less (`tau_ms`), as with a cold index; `cache_warm` says so.";
    SlowOnMiss, "slow_on_miss", "", [], "ms", 1500.0, "Cache: a search whose answer is not remembered waits.";
    Hang, "hang", "", [], "", 0.0, "Retrieval: a share of the searches is never answered.";
    TenantLeak, "tenant_leak", "", [], "", 0.0, "Retrieval: a share of the tenants' searches is answered from all collections, as a server does that forgets its filter; serve a project with `tenants`.";
    ToolError, "tool_error", "", [], "", 0.0, "Retrieval: a share of the searches fails with an error.";
    Panic, "panic", "", [], "", 0.0, "Tools: a share of the searches panics.";
    SchemaDrift, "schema_drift", "", ["wording", "compatible", "breaking"], "", 0.0, "Tools: descriptions (`wording`), an optional argument (`compatible`) or the question's name (`breaking`) differ.";
    ScoresHidden, "scores_hidden", "", [], "", 0.0, "Tools: answers leave every score out, as those of many servers do.";
    AuthRequired, "auth_required", "", [], "", 0.0, "Door: callers are asked for a bearer token, and no token is known.";
    SessionLost, "session_lost", "", [], "", 0.0, "Sessions: a share of the requests that carry one at `/legacy/mcp` finds it dropped, and gets 404.";
    Refused, "refused", "", [], "", 0.0, "Door: nothing listens any more, while the process lives on.";
}

impl Fault {
    /// Its name.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The fault a name or alias stands for.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| {
            let facts = fault.facts();
            facts.name == name || (!facts.alias.is_empty() && facts.alias == name)
        })
    }
}

/// How strongly a fault acts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dose {
    /// In the fault's own unit.
    pub amount: f64,
    /// How fast `Fault::LatencyDecay` fades: the time after which a third is left.
    pub tau_ms: f64,
    /// Which share is struck, 0 to 1: of the calls, of the questions, of the chunks, or of the pool's connections.
    pub share: f64,
    /// Decides which ones.
    pub seed: u64,
    /// In which of its ways it acts; empty where it has one only.
    pub mode: &'static str,
}

/// How fast a cold start fades where nothing is said: most of it is over within a minute.
const TAU_MS: f64 = 20_000.0;
/// The longest wait a fault may ask for: an hour, past every timeout there is.
const AMOUNT_MAX: f64 = 3_600_000.0;

impl Dose {
    /// The dose a fault has where nothing is said: all calls, its own amount.
    pub const fn of(fault: Fault) -> Self {
        let facts = fault.facts();
        let mode = match facts.modes.first() {
            Some(mode) => mode,
            None => "",
        };
        Self { amount: facts.amount, tau_ms: TAU_MS, share: 1.0, seed: 0, mode }
    }

    /// With another amount.
    pub const fn amount(mut self, amount: f64) -> Self {
        self.amount = amount;
        self
    }

    /// Fading at another speed.
    pub const fn tau(mut self, tau: Duration) -> Self {
        self.tau_ms = tau.as_secs_f64() * 1_000.0;
        self
    }

    /// Striking only a share.
    pub const fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Striking others.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Acting in another way, which must be one of the fault's.
    pub const fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// Whether the thing with this number is among those struck.
    pub fn applies_to(&self, number: u64) -> bool {
        // The upper 53 bits are what an f64 holds exactly.
        let drawn = (mix(mix(self.seed) ^ number) >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < self.share
    }
}

/// Why a setting was not understood; the message names the mend.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// No fault has this name.
    #[error("no fault is called '{name}'; known are {known}")]
    Unknown {
        /// As it was written.
        name: String,
        /// All that there are.
        known: String,
    },
    /// The fault exists, its value does not fit.
    #[error("fault '{name}': {why}")]
    Value {
        /// The fault.
        name: &'static str,
        /// What does not fit.
        why: String,
    },
}

/// Reads one setting; `None` is off. A value is `true`, `false`, an amount, a mode, or
/// `{"amount", "mode", "tau_ms", "share", "seed"}` (`ms` and `count` are `amount`).
///
/// # Errors
/// `FaultError` for an unknown name or a value that does not fit.
pub fn read(name: &str, value: &Value) -> Result<(Fault, Option<Dose>), FaultError> {
    let Some(fault) = Fault::named(name) else {
        let known = Fault::ALL.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(", ");
        return Err(FaultError::Unknown { name: name.chars().take(60).collect(), known });
    };
    let wrong = |why: String| FaultError::Value { name: fault.name(), why };
    let mut dose = Dose::of(fault);
    match value {
        Value::Bool(false) => return Ok((fault, None)),
        Value::Bool(true) => {}
        Value::Number(_) | Value::String(_) => put(&mut dose, fault, "amount", value).map_err(wrong)?,
        Value::Object(parts) => {
            for (key, part) in parts {
                put(&mut dose, fault, key, part).map_err(wrong)?;
            }
        }
        _ => return Err(wrong("write true, false, an amount, or an object".to_owned())),
    }
    Ok((fault, Some(dose)))
}

/// Reads `NAME`, `NAME=VALUE` or `NAME=VALUE,share=0.5,seed=7` from a command line.
///
/// # Errors
/// As `read`.
pub fn parse(argument: &str) -> Result<(Fault, Option<Dose>), FaultError> {
    let (name, rest) = argument.split_once('=').unwrap_or((argument, ""));
    let mut parts = serde_json::Map::new();
    for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, text) = part.split_once('=').unwrap_or(("amount", part));
        let value = text.parse::<f64>().map_or_else(|_| Value::from(text), Value::from);
        parts.insert(key.to_owned(), value);
    }
    match parts.get("amount") {
        Some(Value::String(word)) if word == "off" => read(name, &Value::Bool(false)),
        Some(Value::String(word)) if word == "on" => read(name, &Value::Bool(true)),
        _ => read(name, &Value::Object(parts)),
    }
}

fn put(dose: &mut Dose, fault: Fault, key: &str, value: &Value) -> Result<(), String> {
    let number = || {
        value
            .as_f64()
            .filter(|number| (0.0..=AMOUNT_MAX).contains(number))
            .ok_or_else(|| format!("'{key}' wants a number between 0 and {AMOUNT_MAX}"))
    };
    match (key, value) {
        ("amount" | "mode" | "drift", Value::String(word)) if !fault.facts().modes.is_empty() => {
            let modes = fault.facts().modes;
            let known = modes.iter().find(|mode| *mode == word);
            dose.mode = known.ok_or_else(|| format!("it acts in one of these ways: {}", modes.join(", ")))?;
        }
        ("amount" | "ms" | "count", _) if !fault.facts().unit.is_empty() => dose.amount = number()?,
        ("amount" | "ms" | "count", _) => return Err("it has no amount; write true, or set its share".to_owned()),
        ("tau_ms" | "tau", _) => dose.tau_ms = number()?.max(1.0),
        ("share", _) => {
            dose.share = number()?;
            if dose.share > 1.0 {
                return Err("'share' is between 0 and 1".to_owned());
            }
        }
        // Seeds come as f64 from a command line; whole ones up to 2^53 are exact.
        ("seed", _) => dose.seed = value.as_u64().unwrap_or(number()? as u64),
        _ => return Err(format!("'{key}' is not known; there are amount, mode, tau_ms, share and seed")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, argument: &str, expected: Option<(Fault, Option<Dose>)>) {
        assert_eq!(parse(argument).ok(), expected, "{says}");
    }

    #[test]
    fn a_command_line_is_read() {
        let step = Dose::of(Fault::LatencyStep);
        check("a bare name is its default", "latency_step", Some((Fault::LatencyStep, Some(step))));
        check("an amount", "latency_step=900", Some((Fault::LatencyStep, Some(step.amount(900.0)))));
        check(
            "a share and a seed",
            "tool_error=share=0.5,seed=7",
            Some((Fault::ToolError, Some(Dose::of(Fault::ToolError).share(0.5).seed(7)))),
        );
        check("an alias", "empty", Some((Fault::PoolSaturated, Some(Dose::of(Fault::PoolSaturated)))));
        check(
            "a mode",
            "schema_drift=breaking",
            Some((Fault::SchemaDrift, Some(Dose::of(Fault::SchemaDrift).mode("breaking")))),
        );
        check("a mode it does not have is refused", "pool_saturated=never", None);
        check(
            "a mode and a share",
            "corpus_truncated=newest,share=0.2",
            Some((Fault::CorpusTruncated, Some(Dose::of(Fault::CorpusTruncated).mode("newest").share(0.2)))),
        );
        check("off", "hang=off", Some((Fault::Hang, None)));
        check("an unknown name is refused", "latency", None);
        check("an amount where there is none is refused", "tool_error=5", None);
        check("a share over one is refused", "tool_error=share=2", None);
        check("a negative amount is refused", "latency_step=-1", None);
        check("not a number is refused", "latency_step=NaN", None);
    }

    #[test]
    fn a_share_strikes_the_same_ones_again() {
        let dose = Dose::of(Fault::ToolError).share(0.25).seed(3);
        let affected = |dose: Dose| (0..10_000).filter(|number| dose.applies_to(*number)).collect::<Vec<_>>();
        let share = affected(dose).len();
        assert!((2_300..2_700).contains(&share), "a quarter, not {share}");
        assert_eq!(affected(dose), affected(dose));
        assert_ne!(affected(dose), affected(dose.seed(4)));
        assert_eq!(affected(dose.share(0.0)).len(), 0);
        assert_eq!(affected(dose.share(1.0)).len(), 10_000);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Fault::ALL.len());
    }
}
