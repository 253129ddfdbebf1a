//! The vector retriever: Chroma's HNSW, or all vectors that a filter admits where they are few.
//!
//! Chroma knows nothing of our filters. Where few chunks fit, their vectors are fetched and compared here, which is
//! exact. Where many do, Chroma is asked for more and more of the nearest until enough of them fit. HNSW walks a graph
//! and gives what it met, so a list may be shorter than was asked; one that is shorter than it must be is never
//! believed. A collection that holds less than it should is told.

use std::collections::{HashMap, HashSet};

use crate::store::chroma::client::Chroma;
use crate::store::chroma::places::{self, cosine};
use crate::store::filter::Filter;
use crate::store::records::{ChunkPlace, Near, StoreError};
use crate::store::sqlite::following::SharedVectors;

/// Numbers that are fetched so that a filter is exact: some 1,000 vectors of 384, and 20 ms.
const SCANNED_NUMBERS_MAX: usize = 400_000;
/// Numbers that are fetched where HNSW does not reach enough, though asked for everything: islands of its graph, which
/// were met among vectors in two far clusters. Some 10,000 vectors of 384, and a fifth of a second.
const UNREACHED_NUMBERS_MAX: usize = 4_000_000;
/// Asked for beyond what is wanted, so that equal ones at the end can be ordered by place.
const TIES: usize = 16;
/// By how much more is asked for where too few fit.
const DEEPER: usize = 8;
/// The most that is asked for: some 3 MB, and a third of a second.
const ASKED_MAX: usize = 100_000;

/// Where a search looks.
#[derive(Debug)]
pub struct VectorSearch<'a> {
    /// Who has the vectors.
    pub chroma: &'a Chroma,
    /// What is known of their chunks.
    pub memory: &'a SharedVectors,
    /// What is asked.
    pub vector: &'a [f32],
    /// Which sources may answer.
    pub filter: &'a Filter,
    /// Vectors that should be there.
    pub expected: usize,
}

/// What was near.
#[derive(Debug)]
pub struct Met {
    /// The nearest, in their order.
    pub near: Vec<Near>,
    /// Whether vectors are missing that might have been among them.
    pub lacks: bool,
}

impl VectorSearch<'_> {
    /// The nearest chunks of the sources that fit, the nearest first; equal ones by place.
    ///
    /// # Errors
    /// `Vectors` where Chroma does not answer, has none of the vectors, or where it would have to give too many to find
    /// enough that fit.
    pub async fn find(&self, depth: usize) -> Result<Met, StoreError> {
        let mut met = self.meet(depth).await?;
        met.near.retain(|near| near.cosine > 0.0);
        met.near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.place.cmp(&b.place)));
        met.near.truncate(depth);
        Ok(met)
    }

    async fn meet(&self, depth: usize) -> Result<Met, StoreError> {
        if !self.filter.is_open()
            && let Some(few) = self.few(&HashSet::new(), SCANNED_NUMBERS_MAX)
        {
            let (near, found) = (self.compare(&few).await?, few.len());
            if near.is_empty() && found > 0 {
                return Err(self.chroma.emptied(found));
            }
            return Ok(Met { lacks: near.len() < found, near });
        }
        self.walk(depth).await
    }

    /// Chunks that fit, but for those that were met; `None` where they are too many to be compared.
    fn few(&self, met: &HashSet<i64>, numbers_max: usize) -> Option<HashMap<i64, ChunkPlace>> {
        places::few(&self.memory.read(), self.filter, met, numbers_max / self.vector.len().max(1))
    }

    /// Each of these chunks whose vector is there.
    async fn compare(&self, places: &HashMap<i64, ChunkPlace>) -> Result<Vec<Near>, StoreError> {
        let ids: Vec<i64> = places.keys().copied().collect();
        let vectors = self.chroma.vectors(&ids).await?;
        let near = |(id, place): (&i64, &ChunkPlace)| {
            Some(Near { place: place.clone(), cosine: cosine(self.vector, vectors.get(id)?) })
        };
        Ok(places.iter().filter_map(near).collect())
    }

    async fn walk(&self, depth: usize) -> Result<Met, StoreError> {
        let mut wanted = depth.saturating_add(TIES).saturating_mul(if self.filter.is_open() { 1 } else { DEEPER });
        loop {
            wanted = wanted.min(ASKED_MAX);
            let (hits, count) = tokio::try_join!(self.chroma.nearest(self.vector, wanted), self.chroma.count())?;
            if hits.is_empty() || count == 0 {
                return Err(self.chroma.emptied(self.expected));
            }
            let ids: HashSet<i64> = hits.iter().map(|(id, _)| *id).collect();
            let mut places = places::admitted(&self.memory.read(), &ids, self.filter);
            let near = |(id, distance)| Some(Near { place: places.remove(&id)?, cosine: 1.0 - distance });
            let mut met = Met { near: hits.into_iter().filter_map(near).collect(), lacks: count < self.expected };
            if met.near.len() >= depth {
                return Ok(met);
            }
            if wanted >= count {
                self.complete(&mut met, &ids).await?;
                return Ok(met);
            }
            if wanted == ASKED_MAX {
                let why = format!("the {ASKED_MAX} nearest vectors hardly fit the filter: narrow the question further");
                return Err(self.chroma.unusable(why));
            }
            wanted = wanted.saturating_mul(DEEPER);
        }
    }

    /// Adds what HNSW does not reach, even where it is asked for everything.
    async fn complete(&self, met: &mut Met, ids: &HashSet<i64>) -> Result<(), StoreError> {
        let Some(rest) = self.few(ids, UNREACHED_NUMBERS_MAX) else {
            met.lacks = true;
            return Ok(());
        };
        if !rest.is_empty() {
            let near = self.compare(&rest).await?;
            met.lacks |= near.len() < rest.len();
            met.near.extend(near);
        }
        Ok(())
    }
}
