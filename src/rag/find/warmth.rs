//! Vectors of questions already asked, and whether that memory is warm.
//!
//! The key holds the model, so that a change of model never answers from another's vectors. Warm
//! means that more than a fifth of the last five minutes' questions were found here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::rag::embed::hashing::HashingEmbedder;

/// Questions remembered: 1.5 MB of vectors.
const QUESTIONS_MAX: usize = 1_024;
/// Over how long the hit rate is taken.
const WINDOW: Duration = Duration::from_mins(5);
/// Looks remembered within the window; a busier server judges by its newest.
const LOOKS_MAX: usize = 4_096;
/// The hit rate above which the memory is warm.
const WARM_ABOVE: f64 = 0.2;

/// What a question's vector was found as.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The vector.
    pub vector: Arc<[f32]>,
    /// How long it has been here; `None` where it was just made.
    pub age: Option<Duration>,
}

/// The memory.
#[derive(Debug, Default)]
pub struct Warmth(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    vectors: HashMap<[u8; 32], (Arc<[f32]>, Instant)>,
    oldest_first: VecDeque<[u8; 32]>,
    looks: VecDeque<(Instant, bool)>,
}

impl Warmth {
    /// The vector of a question, from memory or made now.
    pub fn embed(&self, model: HashingEmbedder, question: &str, now: Instant) -> Remembered {
        let key: [u8; 32] =
            Sha256::new().chain_update(model.name()).chain_update([0]).chain_update(question).finalize().into();
        let known = self.memory().vectors.get(&key).cloned();
        let hit = known.is_some();
        let remembered = match known {
            Some((vector, since)) => Remembered { vector, age: Some(now.saturating_duration_since(since)) },
            None => Remembered { vector: model.embed(question).into(), age: None },
        };
        let mut memory = self.memory();
        if !hit && memory.vectors.insert(key, (Arc::clone(&remembered.vector), now)).is_none() {
            memory.oldest_first.push_back(key);
            if memory.oldest_first.len() > QUESTIONS_MAX
                && let Some(oldest) = memory.oldest_first.pop_front()
            {
                memory.vectors.remove(&oldest);
            }
        }
        memory.looks.push_back((now, hit));
        if memory.looks.len() > LOOKS_MAX {
            memory.looks.pop_front();
        }
        remembered
    }

    /// Whether enough of the last questions were found here.
    pub fn is_warm(&self, now: Instant) -> bool {
        let memory = self.memory();
        let (mut looks, mut hits) = (0_u32, 0_u32);
        for (_, hit) in memory.looks.iter().filter(|(at, _)| now.saturating_duration_since(*at) <= WINDOW) {
            looks += 1;
            hits += u32::from(*hit);
        }
        looks > 0 && f64::from(hits) / f64::from(looks) > WARM_ABOVE
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_warms_and_cools() {
        let warmth = Warmth::default();
        let start = Instant::now();
        assert!(!warmth.is_warm(start), "nothing asked is cold");
        assert!(warmth.embed(HashingEmbedder::INDEX, "a pool", start).age.is_none(), "the first is made");
        assert!(!warmth.is_warm(start), "only misses is cold");
        assert!(
            warmth.embed(HashingEmbedder::OTHER, "a pool", start).age.is_none(),
            "another model's vector is not taken"
        );
        assert!(warmth.embed(HashingEmbedder::INDEX, "a pool", start).age.is_some(), "the second is found");
        assert!(warmth.is_warm(start), "one of three is warm");
        assert!(!warmth.is_warm(start + WINDOW * 2), "and cools when nobody asks");
    }

    #[test]
    fn a_memory_has_an_end() {
        let warmth = Warmth::default();
        let now = Instant::now();
        for number in 0..=QUESTIONS_MAX {
            warmth.embed(HashingEmbedder::INDEX, &number.to_string(), now);
        }
        assert!(warmth.embed(HashingEmbedder::INDEX, "0", now).age.is_none(), "the oldest had to go");
        assert!(warmth.embed(HashingEmbedder::INDEX, "900", now).age.is_some(), "a newer one is still there");
    }
}
