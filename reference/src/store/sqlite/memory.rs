//! Vectors in memory: one contiguous slice, scanned whole, exact, and therefore its own ground truth.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use pulp::{Simd, WithSimd};

use crate::store::filter::{Filter, SourceFacts};
use crate::store::records::{ChunkPlace, Near};

/// Dead entries that are put up with before the slice is made anew, however small it is.
const DEAD_MIN: usize = 1_024;

/// What the vector retriever scans.
#[derive(Debug, Default)]
pub struct InMemoryVectors {
    /// The file's count of changes that this has followed to.
    pub generation: i64,
    width: usize,
    numbers: Vec<f32>,
    entries: Vec<Entry>,
    pub(in crate::store) sources: Vec<Slot>,
    by_name: HashMap<String, u32>,
    dead: usize,
    reachable: usize,
}

/// Whose vector it is; keys only ever grow along the slice.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Entry {
    pub(in crate::store) id: i64,
    pub(in crate::store) slot: u32,
    pub(in crate::store) ordinal: u32,
}

#[derive(Debug, Clone)]
pub(in crate::store) struct Slot {
    pub(in crate::store) facts: SourceFacts,
    generation: i64,
    pub(in crate::store) is_alive: bool,
    /// Its chunks that have a vector.
    reachable: usize,
}

impl InMemoryVectors {
    /// Chunks that can be found.
    pub fn len(&self) -> usize {
        self.entries.len() - self.dead
    }

    /// Of these, those that have a vector.
    pub fn reachable(&self) -> usize {
        self.reachable
    }

    /// Whether nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The generation of a source, where it is here.
    pub fn generation_of(&self, source: &str) -> Option<i64> {
        self.by_name.get(source).map(|slot| self.sources[*slot as usize].generation)
    }

    /// Names of the sources that are here.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Puts a source in the place of what was here of it: keys and places of its chunks, and their
    /// vectors, which are empty where there is none yet. One of another width is cut or filled with zeros.
    pub fn put<'a>(
        &mut self,
        facts: SourceFacts,
        generation: i64,
        chunks: impl Iterator<Item = (i64, i64, &'a [f32])>,
    ) {
        self.remove(&facts.source);
        let slot = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        self.by_name.insert(facts.source.clone(), slot);
        let mut reachable = 0;
        for (id, ordinal, vector) in chunks {
            if self.width == 0 && !vector.is_empty() {
                self.width = vector.len();
                self.numbers = vec![0.0; self.entries.len() * self.width];
            }
            reachable += usize::from(!vector.is_empty());
            self.numbers.extend(vector.iter().copied().chain(std::iter::repeat(0.0)).take(self.width));
            self.entries.push(Entry { id, slot, ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX) });
        }
        self.sources.push(Slot { facts, generation, is_alive: true, reachable });
        self.reachable += reachable;
    }

    /// Takes a source away.
    pub fn remove(&mut self, source: &str) {
        let Some(slot) = self.by_name.remove(source) else { return };
        self.sources[slot as usize].is_alive = false;
        self.reachable -= self.sources[slot as usize].reachable;
        self.dead += self.entries.iter().rev().filter(|entry| entry.slot == slot).count();
        if self.dead > DEAD_MIN && self.dead > self.len() / 2 {
            self.compact();
        }
    }

    /// The nearest chunks of the sources that fit, the nearest first; equal ones by place. What is at a
    /// right angle or beyond is not near, so a question without words brings nothing.
    pub fn near(&self, question: &[f32], filter: &Filter, depth: usize) -> Vec<Near> {
        if depth == 0 || question.len() != self.width {
            return Vec::new();
        }
        let admitted: Vec<bool> = self.sources.iter().map(|slot| slot.is_alive && filter.admits(&slot.facts)).collect();
        // The worst of the best is on top. Of positive numbers the bits are in order, too.
        let bits = |cosine: &Reverse<u32>| f32::from_bits(cosine.0);
        let mut best = BinaryHeap::<(Reverse<u32>, &str, u32, i64)>::with_capacity(depth + 1);
        for (entry, vector) in self.iter().filter(|(entry, _)| admitted[entry.slot as usize]) {
            let cosine = dot(question, vector);
            if cosine <= 0.0 || (best.len() == depth && best.peek().is_some_and(|(worst, ..)| cosine < bits(worst))) {
                continue;
            }
            let source = self.sources[entry.slot as usize].facts.source.as_str();
            best.push((Reverse(cosine.to_bits()), source, entry.ordinal, entry.id));
            if best.len() > depth {
                best.pop();
            }
        }
        let near = |(cosine, source, ordinal, id): (_, &str, _, _)| Near {
            place: ChunkPlace { source: source.to_owned(), ordinal: i64::from(ordinal), id },
            cosine: bits(&cosine),
        };
        best.into_sorted_vec().into_iter().map(near).collect()
    }

    /// The vector of a chunk.
    pub fn vector(&self, id: i64) -> Option<&[f32]> {
        let at = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        let is_alive = self.sources[self.entries[at].slot as usize].is_alive;
        is_alive.then(|| &self.numbers[at * self.width..(at + 1) * self.width])
    }

    /// The kinds of sources that are here.
    pub fn kinds(&self) -> BTreeSet<String> {
        let alive = self.sources.iter().filter(|slot| slot.is_alive);
        let kinds: BTreeSet<&str> = alive.map(|slot| slot.facts.source_type.as_str()).collect();
        kinds.into_iter().map(str::to_owned).collect()
    }

    /// The first vector that can be found, with its source.
    pub fn first(&self) -> Option<(&str, &[f32])> {
        let mut all = self.iter().map(|(entry, vector)| (&self.sources[entry.slot as usize], vector));
        let first = all.find(|(slot, vector)| slot.is_alive && vector.iter().any(|number| *number != 0.0));
        first.map(|(slot, vector)| (slot.facts.source.as_str(), vector))
    }

    pub(in crate::store) fn iter(&self) -> impl Iterator<Item = (&Entry, &[f32])> {
        self.entries.iter().zip(self.numbers.chunks_exact(self.width.max(1)))
    }

    fn compact(&mut self) {
        let (generation, width, reachable) = (self.generation, self.width, self.reachable);
        let mut kept = Self { generation, width, reachable, ..Self::default() };
        let mut moved = HashMap::<u32, u32>::new();
        for (old, slot) in (0_u32..).zip(&self.sources).filter(|(_, slot)| slot.is_alive) {
            let new = u32::try_from(kept.sources.len()).unwrap_or(u32::MAX);
            moved.insert(old, new);
            kept.by_name.insert(slot.facts.source.clone(), new);
            kept.sources.push(slot.clone());
        }
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(slot) = moved.get(&entry.slot) {
                kept.numbers.extend_from_slice(&self.numbers[at * width..(at + 1) * width]);
                kept.entries.push(Entry { slot: *slot, ..*entry });
            }
        }
        *self = kept;
    }
}

/// The dot product, which for vectors of length one is the cosine.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(Dot(left, right))
}

/// As many numbers at a time as this processor takes, in four sums, so that none waits for the one before.
struct Dot<'a>(&'a [f32], &'a [f32]);

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let ((left, left_rest), (right, right_rest)) = (S::as_simd_f32s(self.0), S::as_simd_f32s(self.1));
        let ((left, left_few), (right, right_few)) = (pulp::as_arrays::<4, _>(left), pulp::as_arrays::<4, _>(right));
        let mut sums = [simd.splat_f32s(0.0); 4];
        for (left, right) in left.iter().zip(right) {
            for at in 0..4 {
                sums[at] = simd.mul_add_e_f32s(left[at], right[at], sums[at]);
            }
        }
        for (left, right) in left_few.iter().zip(right_few) {
            sums[0] = simd.mul_add_e_f32s(*left, *right, sums[0]);
        }
        let [a, b, c, d] = sums;
        let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
        rest + simd.reduce_sum_f32s(simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(source: &str) -> SourceFacts {
        SourceFacts { source: source.to_owned(), ..SourceFacts::default() }
    }

    fn memory(sources: usize) -> InMemoryVectors {
        let mut memory = InMemoryVectors::default();
        for number in 0..sources {
            let id = i64::try_from(number).unwrap();
            let vector = [1.0, number as f32, 0.0, 0.0];
            memory.put(facts(&format!("s{number}")), 1, std::iter::once((id, 0, vector.as_slice())));
        }
        memory
    }

    fn check(says: &str, memory: &InMemoryVectors, depth: usize, expected: &[i64]) {
        let near = memory.near(&[0.0, 1.0, 0.0, 0.0], &Filter::default(), depth);
        assert_eq!(near.iter().map(|near| near.place.id).collect::<Vec<_>>(), expected, "{says}");
    }

    #[test]
    fn the_nearest_come_first() {
        let mut memory = memory(5);
        check("a right angle is not near", &memory, 10, &[4, 3, 2, 1]);
        check("as many as asked", &memory, 2, &[4, 3]);
        check("nothing asked", &memory, 0, &[]);
        let twin = [1.0, 4.0, 0.0, 0.0];
        memory.put(facts("twin"), 2, std::iter::once((9, 0, twin.as_slice())));
        check("equal ones by source", &memory, 2, &[4, 9]);
        memory.put(facts("early"), 3, std::iter::once((11, 0, twin.as_slice())));
        check("whatever was written first", &memory, 2, &[11, 4]);
        memory.remove("early");
        memory.remove("s4");
        check("what is removed is gone", &memory, 2, &[9, 3]);
        assert!(memory.vector(4).is_none() && memory.vector(9).is_some());
        assert!(memory.near(&[1.0], &Filter::default(), 5).is_empty(), "another width");
    }

    #[test]
    fn holes_are_closed_and_nothing_else_changes() {
        let mut memory = memory(4_000);
        for number in 0..3_000 {
            memory.remove(&format!("s{number}"));
        }
        assert_eq!(memory.len(), 1_000);
        assert!(memory.entries.len() < 2_500, "{} entries are kept for 1,000", memory.entries.len());
        check("the nearest are found", &memory, 2, &[3_999, 3_998]);
        assert_eq!(memory.vector(3_500), Some([1.0, 3_500.0, 0.0, 0.0].as_slice()));
        assert_eq!((memory.generation_of("s3500"), memory.generation_of("s1")), (Some(1), None));
    }
}
