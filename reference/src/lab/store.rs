//! A store whose connections fail on request: it stands before the real one, and hides, delays or keeps what passes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::lab::activation::{self, FaultActivation};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::lab::waits;
use crate::store::cache::{CachedAnswer, NewAnswer, ShownChunk, StoreCache};
use crate::store::contract::{Connection, Patience, Store};
use crate::store::filter::Filter;
use crate::store::records::{
    ChunkPlace, Figures, Holding, Near, NewSource, PoolFigures, Replaced, StoreError, StoredChunk, StoredSource, Worded,
};

/// How much deeper the keyword retriever looks where a fault hides what it finds: as if the rest were all there is.
const DEEPER: usize = 10;
/// Rows that the vector retriever looks at under a fault; with 99 in 100 struck there is still enough among them.
const STRUCK_MAX: usize = 100_000;

/// A store behind the switchboard.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Faults,
    started: Instant,
}

impl FaultyStore {
    /// A store whose cold start began at `started`.
    pub fn new(inner: Arc<dyn Store>, faults: Faults, started: Instant) -> Self {
        Self { inner, faults, started }
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError> {
        let inner = self.inner.connect(patience).await?;
        let (faults, started) = (self.faults.clone(), self.started);
        Ok(Box::new(FaultyConnection { inner, faults, started, reads: patience == Patience::Search, waits: false }))
    }

    fn pool(&self) -> PoolFigures {
        self.inner.pool()
    }

    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        if self.faults.dose(Fault::IndexFrozen).is_some() {
            return Ok(Replaced::Changed);
        }
        let drops_answers = self.faults.dose(Fault::CacheStale).is_none();
        self.inner.replace(NewSource { drops_answers, ..new }).await
    }

    async fn remove(&self, source: &str) -> Result<bool, StoreError> {
        self.inner.remove(source).await
    }

    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError> {
        self.inner.wipe(embeddings).await
    }

    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.inner.set_fact(key, value).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// A connection behind the switchboard.
#[derive(Debug)]
struct FaultyConnection {
    inner: Box<dyn Connection>,
    faults: Faults,
    started: Instant,
    /// Whether it is a reader's: whoever writes sees what there is.
    reads: bool,
    /// Whether the vector retriever waits the next time: a search asks for words first, health for vectors alone.
    waits: bool,
}

impl FaultyConnection {
    async fn affected(&mut self) -> Result<FaultActivation, StoreError> {
        activation::now(self.inner.as_mut(), &self.faults).await
    }

    /// What is near and was not struck, looked for ever deeper until there is enough of it.
    async fn spared(
        &mut self,
        vector: &[f32],
        filter: &Filter,
        depth: usize,
        affected: &FaultActivation,
    ) -> Result<Vec<Near>, StoreError> {
        let mut wanted = depth.saturating_mul(4);
        loop {
            let met = self.inner.near(vector, filter, wanted).await?;
            let is_all = met.len() < wanted || wanted >= STRUCK_MAX;
            let is_spared = |ChunkPlace { source, ordinal, .. }: &ChunkPlace| {
                !affected.loses(source, *ordinal) && !affected.zeroes(source, *ordinal)
            };
            let kept: Vec<Near> = met.into_iter().filter(|near| is_spared(&near.place)).take(depth).collect();
            if kept.len() >= depth || is_all {
                return Ok(kept);
            }
            wanted = wanted.saturating_mul(8).min(STRUCK_MAX);
        }
    }
}

#[async_trait]
impl Connection for FaultyConnection {
    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.inner.fact(key).await
    }

    async fn generation(&mut self) -> Result<i64, StoreError> {
        self.inner.generation().await
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        self.inner.is_empty().await
    }

    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError> {
        self.inner.kinds().await
    }

    async fn worded(&mut self, terms: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError> {
        self.waits = true;
        if self.faults.activated(Fault::KeywordArmOff).is_some() {
            return Ok(Vec::new());
        }
        let affected = self.affected().await?;
        let deep = if affected.is_none() { depth } else { depth * DEEPER };
        let found = self.inner.worded(terms, filter, deep).await?;
        let seen = found.into_iter().filter(|worded| !affected.hides(&worded.place.source, worded.place.ordinal));
        Ok(seen.take(depth).collect())
    }

    async fn holding(&mut self, terms: &[String], ids: &[i64]) -> Result<Holding, StoreError> {
        self.inner.holding(terms, ids).await
    }

    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError> {
        if std::mem::take(&mut self.waits) {
            waits::nearest(&self.faults, self.started).await;
        }
        if self.faults.activated(Fault::VectorArmOff).is_some() {
            return Ok(Vec::new());
        }
        let affected = self.affected().await?;
        if affected.is_none() {
            return self.inner.near(vector, filter, depth).await;
        }
        self.spared(vector, filter, depth, &affected).await
    }

    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        self.inner.cosines(vector, ids).await
    }

    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
        self.inner.chunks(ids).await
    }

    /// A passage that the corpus has lost has no text to be asked for, so that health's canary passes it by.
    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let Some(mut chunk) = self.inner.chunk_at(source, ordinal).await? else { return Ok(None) };
        if chunk.role == "passage" && self.affected().await?.hides(source, ordinal) {
            chunk.content.clear();
        }
        Ok(Some(chunk))
    }

    /// What the corpus has lost is on no list either.
    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        let sources = self.inner.sources().await?;
        let affected = if self.reads { self.affected().await? } else { FaultActivation::default() };
        if affected.hides_none() {
            return Ok(sources);
        }
        let left = sources.into_iter().map(|source| {
            let there = (0..source.chunk_count).filter(|ordinal| !affected.hides(&source.source, *ordinal));
            StoredSource { chunk_count: there.count().try_into().unwrap_or(source.chunk_count), ..source }
        });
        Ok(left.filter(|source| source.chunk_count > 0).collect())
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        self.inner.text(source).await
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        self.inner.figures().await
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        self.inner.longest().await
    }

    /// What the corpus has lost is no sample of it.
    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        let Some((source, vector)) = self.inner.sample().await? else { return Ok(None) };
        let affected = self.affected().await?;
        if affected.hides_none() {
            return Ok(Some((source, vector)));
        }
        let filter = Filter { source: source.clone(), ..Filter::default() };
        let own = self.inner.near(&vector, &filter, 1).await?;
        let is_lost = own.iter().any(|near| affected.hides(&near.place.source, near.place.ordinal));
        Ok((!is_lost).then_some((source, vector)))
    }

    fn lacks_vectors(&self) -> bool {
        self.inner.lacks_vectors()
    }
}

#[async_trait]
impl StoreCache for FaultyConnection {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        self.inner.embedded(keys).await
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.inner.keep_embedded(vectors, now).await
    }

    async fn looked_for(&mut self, terms: &[String]) -> Result<Vec<String>, StoreError> {
        self.inner.looked_for(terms).await
    }

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        self.inner.answer(exact, now).await
    }

    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.inner.keep_answer(answer, now).await
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        self.inner.shown(conversation, since).await
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.inner.keep_shown(conversation, shown, now, forget_before).await
    }
}
