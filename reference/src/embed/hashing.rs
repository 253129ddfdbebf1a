//! The embedder that is built in: a text becomes a direction, without weights, files or network.
//!
//! Three blocks are hashed into one vector: stems, pieces of three to five letters, and the
//! concepts of `concepts`, which is what lets a question meet a text that shares no word with it.
//! Each block is brought to length one before they are added, so that a long text is not all
//! pieces and a short one not all concepts. The same text gives the same bits on every machine.
//!
//! The seed is the model. Two seeds give two models of the same width whose vectors mean nothing to
//! each other, which is exactly what happens when a server is deployed with another model than
//! the one its index was built with.

use std::borrow::Cow;

use crate::embed::{EmbedError, Embedder, Model, Purpose, concepts, normalise};
use crate::text::draw::{fnv, mix};
use crate::text::words as text;

/// Numbers in a vector.
pub const DIMENSIONS: usize = 384;
/// Places in the vector that one feature is written to: two halve the harm of a collision.
const PLACES: u64 = 2;
/// Letters of a text that are embedded: past this a chunk has no business being a chunk.
const LETTERS_MAX: usize = 8_192;
const STEMS_WEIGHT: f32 = 0.60;
const PIECES_WEIGHT: f32 = 0.25;
const CONCEPTS_WEIGHT: f32 = 0.76;

/// Texts embedded between two looks at the runtime: a few milliseconds of work.
const BATCH_MAX: usize = 16;

static INDEX_MODEL: Model = model("serin-hash-a");
static OTHER_MODEL: Model = model("serin-hash-b");

const fn model(name: &'static str) -> Model {
    // A change of this file or of `text::words` that moves vectors is another revision. Without the words of the
    // manuals' trade vectors are others too, so an index is not searched by a program that reads it otherwise.
    let revision = if cfg!(feature = "figures") { "2" } else { "2-core" };
    Model { name: Cow::Borrowed(name), revision: Cow::Borrowed(revision), dimensions: DIMENSIONS, normalised: true }
}

/// The built-in embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashingEmbedder {
    model: &'static Model,
    seed: u64,
}

#[async_trait::async_trait]
impl Embedder for HashingEmbedder {
    fn model(&self) -> &Model {
        self.model
    }

    /// Never fails, and makes the same of a document and a question.
    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH_MAX) {
            vectors.extend(batch.iter().map(|text| HashingEmbedder::embed(*self, text)));
            tokio::task::yield_now().await;
        }
        Ok(vectors)
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }
}

impl HashingEmbedder {
    /// The model that indexes, and that questions ought to be embedded with.
    pub const INDEX: Self = Self { model: &INDEX_MODEL, seed: 0x5E21_4A11 };
    /// Another model of the same width.
    pub const OTHER: Self = Self { model: &OTHER_MODEL, seed: 0x0DD5_EED5 };

    /// The model's name as answers and the index give it.
    pub fn name(self) -> &'static str {
        &self.model.name
    }

    /// What an index remembers of the model that made it: name, width and a digest of the vectors
    /// of a fixed text, so that a change of this file or of how words are read is noticed too.
    pub fn fingerprint(self) -> String {
        let probe = self.embed("the quick brown fox pages an engineer about the team's stale index");
        let digest = probe.iter().fold(self.seed, |sum, number| mix(sum ^ u64::from(number.to_bits())));
        format!("{}/{DIMENSIONS}/{digest:016x}", self.name())
    }

    /// The direction of a text: `DIMENSIONS` numbers of length one, or all zero for a text without
    /// any word.
    pub fn embed(self, text: &str) -> Vec<f32> {
        let text: String = text.chars().take(LETTERS_MAX).collect();
        let stems = text::content_stems(&text);
        let mut sum = vec![0.0; DIMENSIONS];
        self.add(&mut sum, STEMS_WEIGHT, "w", stems.iter().cloned());
        self.add(&mut sum, PIECES_WEIGHT, "g", stems.iter().flat_map(|stem| pieces(stem)));
        self.add(&mut sum, CONCEPTS_WEIGHT, "c", concepts::of(&stems).into_iter().map(str::to_owned));
        normalise(&mut sum);
        sum
    }

    fn add(self, sum: &mut [f32], weight: f32, block: &str, features: impl Iterator<Item = String>) {
        let mut counts = std::collections::BTreeMap::<String, f32>::new();
        for feature in features {
            *counts.entry(feature).or_default() += 1.0;
        }
        let mut own = vec![0.0; DIMENSIONS];
        for (feature, count) in counts {
            // The tenth mention says hardly more than the second.
            let strength = 1.0 + count.ln();
            let base = self.hash(block, &feature);
            for place in 0..PLACES {
                let hash = mix(base ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                let slot = usize::try_from(hash % DIMENSIONS as u64).unwrap_or(0);
                own[slot] += if hash >> 63 == 0 { strength } else { -strength };
            }
        }
        normalise(&mut own);
        for (total, part) in sum.iter_mut().zip(own) {
            *total += weight * part;
        }
    }

    fn hash(self, block: &str, feature: &str) -> u64 {
        mix(fnv(block.bytes().chain(feature.bytes())) ^ mix(self.seed))
    }
}

/// Pieces of three to five letters of a stem, its ends marked, so that *tokeniser* and *tokenizer* are near.
fn pieces(stem: &str) -> Vec<String> {
    let letters: Vec<char> = std::iter::once('^').chain(stem.chars()).chain(std::iter::once('$')).collect();
    (3..=5).flat_map(|width| letters.windows(width).map(|piece| piece.iter().collect()).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    fn near(model: HashingEmbedder, left: &str, right: &str) -> f32 {
        model.embed(left).iter().zip(HashingEmbedder::INDEX.embed(right)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn directions_mean_something() {
        let text = "A cold start after a restart makes the first searches slow.";
        assert!(near(HashingEmbedder::INDEX, text, text) > 0.999, "a text is itself");
        assert!(
            near(HashingEmbedder::INDEX, "chilly and sluggish once rebooted", text) > 0.35,
            "other words for the same things are near"
        );
        assert!(near(HashingEmbedder::INDEX, "sourdough hydration", text) < 0.2, "something else is far");
        assert!(near(HashingEmbedder::OTHER, text, text).abs() < 0.2, "another model's vectors mean nothing here");
    }

    #[test]
    fn a_text_without_words_has_no_direction() {
        assert!(HashingEmbedder::INDEX.embed(" … ").iter().all(|number| *number == 0.0));
    }

    #[test]
    fn fingerprints_tell_models_apart_and_stay() {
        assert_ne!(HashingEmbedder::INDEX.fingerprint(), HashingEmbedder::OTHER.fingerprint());
        assert_eq!(HashingEmbedder::INDEX.fingerprint(), HashingEmbedder::INDEX.fingerprint());
    }
}
