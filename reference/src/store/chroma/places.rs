//! What memory knows of chunks that have a vector: their places, and whether a filter admits them. Of the vectors
//! themselves it has the lengths.
//!
//! Every look passes over all chunks, 10 ms for a million: keys are reserved before their chunks come, so two servers
//! that write at once bring them out of order, and memory cannot be searched by key.

use std::collections::{HashMap, HashSet};

use crate::store::filter::Filter;
use crate::store::records::ChunkPlace;
use crate::store::sqlite::memory::InMemoryVectors;

/// The places of all chunks with these keys that have a direction, and that a filter admits.
pub fn admitted(memory: &InMemoryVectors, ids: &HashSet<i64>, filter: &Filter) -> HashMap<i64, ChunkPlace> {
    places(memory, filter, |id| ids.contains(&id)).collect()
}

/// The places of all chunks with a direction that a filter admits, but for some; `None` where they are more than
/// `limit`.
pub fn few(
    memory: &InMemoryVectors,
    filter: &Filter,
    but: &HashSet<i64>,
    limit: usize,
) -> Option<HashMap<i64, ChunkPlace>> {
    let fitting: HashMap<_, _> = places(memory, filter, |id| !but.contains(&id)).take(limit + 1).collect();
    (fitting.len() <= limit).then_some(fitting)
}

/// Those of these keys whose chunks have a direction.
pub fn directed(memory: &InMemoryVectors, ids: &[i64]) -> Vec<i64> {
    let asked: HashSet<i64> = ids.iter().copied().collect();
    admitted(memory, &asked, &Filter::default()).into_keys().collect()
}

/// The first chunk that has a direction, with its source.
pub fn first(memory: &InMemoryVectors) -> Option<(i64, String)> {
    places(memory, &Filter::default(), |_| true).next().map(|(id, place)| (id, place.source))
}

fn places<'m>(
    memory: &'m InMemoryVectors,
    filter: &Filter,
    wants: impl Fn(i64) -> bool + 'm,
) -> impl Iterator<Item = (i64, ChunkPlace)> + 'm {
    let fits: Vec<bool> = memory.sources.iter().map(|slot| slot.is_alive && filter.admits(&slot.facts)).collect();
    let directed = memory.iter().filter(|(_, length)| length.iter().any(|length| *length > 0.0));
    directed.filter(move |(entry, _)| fits[entry.slot as usize] && wants(entry.id)).map(|(entry, _)| {
        let source = memory.sources[entry.slot as usize].facts.source.clone();
        (entry.id, ChunkPlace { source, ordinal: i64::from(entry.ordinal), id: entry.id })
    })
}

/// What stands in the file in a vector's place: its length, or nothing.
pub fn length(vector: &[f32]) -> Vec<f32> {
    if vector.is_empty() { Vec::new() } else { vec![norm(vector)] }
}

/// The cosine of two vectors; 0, as at a right angle, where one has no direction.
pub fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let product: f32 = left.iter().zip(right).map(|(a, b)| a * b).sum();
    let lengths = norm(left) * norm(right);
    if lengths > 0.0 && left.len() == right.len() { product / lengths } else { 0.0 }
}

fn norm(vector: &[f32]) -> f32 {
    vector.iter().map(|number| number * number).sum::<f32>().sqrt()
}
