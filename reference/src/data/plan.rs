//! What the generator will write, as arithmetic: which document holds which passages, and what each
//! is about. Any passage can be worked out alone, so nothing has to be kept while millions are written.

use crate::text::concepts;
use crate::text::draw::mix;

/// The least a corpus has: below it BM25 weighs nothing.
pub const CHUNKS_MIN: usize = 100;
/// The most: the space of combinations holds 2^20, and each is used once.
pub const CHUNKS_MAX: usize = 1_000_000;
/// Documents at most: what a corpus folder may hold. Larger corpora have longer documents.
const DOCUMENTS_MAX: usize = 10_000;
/// Passages of a document, its introduction among them, while there are documents enough.
const PASSAGES: usize = 10;
/// Every product comes in two variants, with these kinds of document each.
pub const KINDS: [(&str, &str); 5] = [
    ("handbook", "operating handbook"),
    ("service", "service instructions"),
    ("field", "field notes"),
    ("edition", "edition notes"),
    ("bulletin", "technical bulletin"),
];
/// Documents of one product.
const BLOCK: usize = 2 * KINDS.len();
/// Bits of a passage's number: four choose a concept in each of five slots.
const BITS: u32 = 20;

/// The size and seed of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManualsPlan {
    seed: u64,
    chunks: usize,
    documents: usize,
}

/// A size that is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} chunks cannot be made: ask for {CHUNKS_MIN} to {CHUNKS_MAX}")]
pub struct SizeError(pub usize);

/// A fictional product, in one of its variants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// A word of no language.
    pub name: String,
    /// The variant's number; the other variant's differs by `VARIANT_STEP`.
    pub model: u64,
    /// What it is.
    pub family: &'static Family,
}

/// What a product is.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// One of it.
    pub one: &'static str,
    /// The folder of its documents.
    pub folder: &'static str,
    /// What its error codes begin with.
    pub code: &'static str,
}

/// How far the models of two variants lie apart.
const VARIANT_STEP: u64 = 5;

const FAMILIES: [Family; 8] = [
    Family { one: "pump", folder: "pumps", code: "PX" },
    Family { one: "compressor", folder: "compressors", code: "KV" },
    Family { one: "oven", folder: "ovens", code: "VN" },
    Family { one: "conveyor", folder: "conveyors", code: "CY" },
    Family { one: "chiller", folder: "chillers", code: "HL" },
    Family { one: "centrifuge", folder: "centrifuges", code: "ZF" },
    Family { one: "generator", folder: "generators", code: "GQ" },
    Family { one: "winch", folder: "winches", code: "WN" },
];

const BEGINNINGS: [&str; 24] = [
    "Cor", "Bel", "Dra", "Fen", "Gal", "Hol", "Jor", "Kel", "Lum", "Mar", "Nor", "Pel", "Quo", "Ral", "Sol", "Tor",
    "Ulm", "Ver", "Wex", "Zan", "Arv", "Bro", "Cal", "Dun",
];
const MIDDLES: [&str; 12] = ["va", "be", "do", "ki", "la", "mo", "ne", "po", "ri", "su", "ta", "xi"];
const ENDINGS: [&str; 8] = ["dor", "lis", "mar", "nex", "qua", "ric", "ton", "vy"];
const NAMES: usize = BEGINNINGS.len() * MIDDLES.len() * ENDINGS.len();
/// Shares no divisor with `NAMES`, so that multiples of it meet every name before any comes again.
const NAMES_STRIDE: usize = 1_223;

/// What a passage is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualPassage {
    /// Its number in the corpus, which no other passage has.
    pub id: usize,
    /// Place in its document; 0 is the introduction.
    pub ordinal: usize,
    /// What decides its phrases: a near-duplicate has that of its twin.
    pub phrases: u64,
    /// The concept of each slot of `trade::SLOTS`.
    pub concepts: [usize; 5],
    /// A measure a technician keeps, drawn from 0 to 999; near-duplicates differ in it and in nothing else.
    pub measure: u64,
    /// The error code, which stands in no other passage.
    pub code: Option<String>,
    /// The document that holds the near-duplicate.
    pub twin: Option<usize>,
}

impl ManualsPlan {
    /// A corpus of exactly so many chunks (passages that fit one chunk each).
    ///
    /// # Errors
    /// `SizeError` outside `CHUNKS_MIN` to `CHUNKS_MAX`.
    pub fn new(seed: u64, chunks: usize) -> Result<Self, SizeError> {
        if !(CHUNKS_MIN..=CHUNKS_MAX).contains(&chunks) {
            return Err(SizeError(chunks));
        }
        Ok(Self { seed, chunks, documents: chunks.div_ceil(PASSAGES).min(DOCUMENTS_MAX) })
    }

    /// Passages of the whole corpus.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Documents of the corpus.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Passages of a document.
    pub fn passages(&self, document: usize) -> usize {
        self.chunks / self.documents + usize::from(document < self.chunks % self.documents)
    }

    /// The product a document is about.
    pub fn product(&self, document: usize) -> Product {
        let block = document / BLOCK;
        let offset = (mix(self.seed) % NAMES as u64) as usize;
        let at = (block * NAMES_STRIDE + offset) % NAMES;
        let (beginning, rest) = (at % BEGINNINGS.len(), at / BEGINNINGS.len());
        let (middle, ending) = (rest % MIDDLES.len(), rest / MIDDLES.len());
        let name = [BEGINNINGS[beginning], MIDDLES[middle], ENDINGS[ending]].concat();
        let model = 200 + 10 * (self.draw(block as u64, "model") % 70) + VARIANT_STEP * u64::from(variant(document));
        Product { name, model, family: &FAMILIES[block % FAMILIES.len()] }
    }

    /// The kind of a document: its short name and its title.
    pub fn kind(document: usize) -> (&'static str, &'static str) {
        KINDS[document % KINDS.len()]
    }

    /// The name of a document, which is its path within the corpus folder.
    pub fn source(&self, document: usize) -> String {
        let product = self.product(document);
        let (kind, _) = Self::kind(document);
        format!("{}/{}-{}/{kind}.md", product.family.folder, product.name.to_lowercase(), product.model)
    }

    /// A passage of a document.
    pub fn passage(&self, document: usize, ordinal: usize) -> ManualPassage {
        let id = self.first(document) + ordinal;
        let twin = self.twin(document, ordinal);
        // The later twin repeats what the earlier one says.
        let origin = match twin {
            Some(other) if other < document => self.first(other) + ordinal,
            _ => id,
        };
        let combination = permute(origin as u64, self.seed);
        let mut measure = self.draw(origin as u64, "measure") % 1_000;
        if origin != id {
            measure = (measure + 1 + self.draw(id as u64, "measure") % 999) % 1_000;
        }
        ManualPassage {
            id,
            ordinal,
            phrases: self.draw(origin as u64, "phrases"),
            concepts: std::array::from_fn(|slot| (combination >> (4 * slot)) as usize % concepts::CONCEPTS),
            measure,
            code: (ordinal % 3 == 2).then(|| {
                let number = 1_000_000 + permute(id as u64, mix(self.seed ^ 0xC0DE));
                format!("{}-{number}", self.product(document).family.code)
            }),
            twin,
        }
    }

    /// Whether these slots of a passage tell it from every other of the same product, its twin aside.
    pub fn tells_apart(&self, document: usize, passage: &ManualPassage, slots: &[usize]) -> bool {
        let block = document / BLOCK * BLOCK;
        (block..(block + BLOCK).min(self.documents)).all(|other| {
            (1..self.passages(other)).all(|ordinal| {
                let found = self.passage(other, ordinal);
                found.phrases == passage.phrases
                    || slots.iter().any(|slot| found.concepts[*slot] != passage.concepts[*slot])
            })
        })
    }

    /// A number that depends on the seed, a thing and a purpose.
    pub fn draw(&self, thing: u64, purpose: &str) -> u64 {
        purpose.bytes().fold(mix(mix(self.seed) ^ thing), |sum, byte| mix(sum ^ u64::from(byte)))
    }

    /// The number of a document's first passage.
    fn first(&self, document: usize) -> usize {
        document * (self.chunks / self.documents) + document.min(self.chunks % self.documents)
    }

    /// The other variant's document where it says the same: every third passage from the first on.
    fn twin(&self, document: usize, ordinal: usize) -> Option<usize> {
        let other = if variant(document) { document - KINDS.len() } else { document + KINDS.len() };
        (ordinal % 3 == 1 && other < self.documents && ordinal < self.passages(other)).then_some(other)
    }
}

fn variant(document: usize) -> bool {
    document % BLOCK >= KINDS.len()
}

/// A shuffle of the numbers of `BITS` bits: each step can be undone, so no two numbers meet.
fn permute(number: u64, key: u64) -> u64 {
    let mask = (1 << BITS) - 1;
    (0..3).fold(number & mask, |value, round| {
        let key = mix(key ^ round);
        // An odd factor and a sum undo each other's likes modulo a power of two; so does x ^ (x >> n).
        let value = value.wrapping_mul(key | 1).wrapping_add(key >> 32) & mask;
        value ^ (value >> 9)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_size_is_met_exactly_or_refused() {
        for chunks in [100, 101, 109, 2_500, 99_999, 100_001, 1_000_000] {
            let plan = ManualsPlan::new(7, chunks).unwrap();
            let total: usize = (0..plan.documents()).map(|document| plan.passages(document)).sum();
            assert_eq!(total, chunks);
            assert!(plan.documents() <= DOCUMENTS_MAX);
        }
        assert_eq!(ManualsPlan::new(7, 99), Err(SizeError(99)));
        assert_eq!(ManualsPlan::new(7, 1_000_001), Err(SizeError(1_000_001)));
    }

    #[test]
    fn numbers_are_shuffled_and_none_is_lost() {
        let seen: HashSet<u64> = (0..1 << BITS).map(|number| permute(number, 42)).collect();
        assert_eq!(seen.len(), 1 << BITS);
        assert!(seen.iter().all(|number| *number < 1 << BITS));
    }

    #[test]
    fn names_codes_and_combinations_are_unique() {
        let plan = ManualsPlan::new(3, 20_000).unwrap();
        let sources: HashSet<String> = (0..plan.documents()).map(|document| plan.source(document)).collect();
        assert_eq!(sources.len(), plan.documents());
        let (mut codes, mut combinations) = (HashSet::new(), HashSet::new());
        for document in 0..plan.documents() {
            for ordinal in 0..plan.passages(document) {
                let passage = plan.passage(document, ordinal);
                assert!(passage.code.is_none_or(|code| codes.insert(code)));
                let repeats = passage.twin.is_some_and(|twin| twin < document);
                assert_ne!(combinations.insert(passage.concepts), repeats, "only a twin repeats");
            }
        }
        let largest = ManualsPlan::new(3, CHUNKS_MAX).unwrap();
        let products: HashSet<String> =
            (0..largest.documents()).step_by(BLOCK).map(|document| largest.product(document).name).collect();
        assert_eq!(products.len(), DOCUMENTS_MAX / BLOCK);
    }

    #[test]
    fn twins_differ_in_their_measure_alone() {
        let plan = ManualsPlan::new(3, 2_000).unwrap();
        let mut twins = 0;
        for document in 0..plan.documents() {
            for ordinal in 0..plan.passages(document) {
                let passage = plan.passage(document, ordinal);
                let Some(twin) = passage.twin else { continue };
                let other = plan.passage(twin, ordinal);
                assert_eq!(other.twin, Some(document));
                assert_eq!((passage.concepts, passage.phrases, &passage.code), (other.concepts, other.phrases, &None));
                assert_ne!(passage.measure, other.measure);
                twins += 1;
            }
        }
        assert_eq!(twins, 600, "ordinals 1, 4 and 7 of each of 200 documents");
    }
}
