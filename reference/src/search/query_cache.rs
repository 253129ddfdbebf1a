//! Vectors of questions already asked, and whether what is remembered of questions is warm.
//!
//! The key holds the model, so that a change of model never answers from another's vectors. Warm
//! means that of more than a fifth of the last five minutes' questions something was remembered: the
//! answer to their very words, the answer to a question that means the same, or their vector. A
//! question is one look, however many parts it is split into.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};

/// Questions remembered: 1.5 MB of vectors.
const QUESTIONS_MAX: usize = 1_024;
/// Over how long the hit rate is taken.
const WINDOW: Duration = Duration::from_mins(5);
/// Looks remembered within the window; a busier server judges by its newest.
const LOOKS_MAX: usize = 4_096;
/// The hit rate above which the memory is warm.
const WARM_ABOVE: f64 = 0.2;

/// The memory.
#[derive(Debug, Default)]
pub struct QueryCache(Mutex<Cached>);

#[derive(Debug, Default)]
struct Cached {
    vectors: HashMap<[u8; 32], (Arc<[f32]>, Instant)>,
    oldest_first: VecDeque<[u8; 32]>,
    looks: VecDeque<(Instant, bool)>,
}

impl QueryCache {
    /// The vector of a question, by its model and its words, and for how long it has been here.
    pub fn recall(&self, model: &str, question: &str, now: Instant) -> Option<(Arc<[f32]>, Duration)> {
        let known = self.memory().vectors.get(&key(model, question)).cloned();
        known.map(|(vector, since)| (vector, now.saturating_duration_since(since)))
    }

    /// Keeps a question's vector; the oldest goes where there are too many.
    pub fn keep(&self, model: &str, question: &str, vector: Arc<[f32]>, now: Instant) {
        let mut memory = self.memory();
        let key = key(model, question);
        if memory.vectors.insert(key, (vector, now)).is_none() {
            memory.oldest_first.push_back(key);
            if memory.oldest_first.len() > QUESTIONS_MAX
                && let Some(oldest) = memory.oldest_first.pop_front()
            {
                memory.vectors.remove(&oldest);
            }
        }
    }

    /// Counts a question: whether its answer or its vector was remembered.
    pub fn looked(&self, hit: bool, now: Instant) {
        let mut memory = self.memory();
        memory.looks.push_back((now, hit));
        if memory.looks.len() > LOOKS_MAX {
            memory.looks.pop_front();
        }
    }

    /// The share of hits among the looks of the window; `None` where nobody asked.
    pub fn hit_rate(&self, now: Instant) -> Option<f64> {
        let memory = self.memory();
        let within = memory.looks.iter().filter(|(at, _)| now.saturating_duration_since(*at) <= WINDOW);
        let (mut looks, mut hits) = (0_u32, 0_u32);
        for (_, hit) in within {
            looks += 1;
            hits += u32::from(*hit);
        }
        (looks > 0).then(|| f64::from(hits) / f64::from(looks))
    }

    /// Whether enough of the last questions were found here.
    pub fn is_warm(&self, now: Instant) -> bool {
        self.hit_rate(now).is_some_and(|rate| rate > WARM_ABOVE)
    }

    fn memory(&self) -> MutexGuard<'_, Cached> {
        self.0.lock()
    }
}

fn key(model: &str, question: &str) -> [u8; 32] {
    Sha256::new().chain_update(model).chain_update([0]).chain_update(question).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query_cache: &QueryCache, model: &str, question: &str, now: Instant) -> bool {
        let known = query_cache.recall(model, question, now).is_some();
        query_cache.looked(known, now);
        query_cache.keep(model, question, Arc::from([1.0_f32]), now);
        known
    }

    #[test]
    fn a_memory_warms_and_cools() {
        let query_cache = QueryCache::default();
        let start = Instant::now();
        assert!(!query_cache.is_warm(start), "nothing asked is cold");
        assert!(!asked(&query_cache, "a", "a pool", start), "the first is made");
        assert!(!query_cache.is_warm(start), "only misses is cold");
        assert!(!asked(&query_cache, "b", "a pool", start), "another model's vector is not taken");
        assert!(asked(&query_cache, "a", "a pool", start), "the second is found");
        assert!(query_cache.is_warm(start), "one of three is warm");
        assert!(!query_cache.is_warm(start + WINDOW * 2), "and cools when nobody asks");
    }

    #[test]
    fn a_memory_has_an_end() {
        let query_cache = QueryCache::default();
        let now = Instant::now();
        for number in 0..=QUESTIONS_MAX {
            asked(&query_cache, "a", &number.to_string(), now);
        }
        assert!(query_cache.recall("a", "0", now).is_none(), "the oldest had to go");
        assert!(query_cache.recall("a", "900", now).is_some(), "a newer one is still there");
    }
}
