//! A store whose connections show a tenant its own collections and nothing else.
//!
//! It is the only way from a tool to the database, so a new tool or a new step of a search is limited without knowing it.
//! Statistics of BM25 are of the whole index: how many chunks hold a word is not hidden, only which.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::store::cache::{CachedAnswer, NewAnswer, ShownChunk, StoreCache};
use crate::store::contract::{Connection, Patience, Store};
use crate::store::filter::Filter;
use crate::store::records::{
    Figures, Holding, Near, NewSource, PoolFigures, Replaced, StoreError, StoredChunk, StoredSource, Worded,
};
use crate::tenants::asker::{Tenant, asking};

/// A store that tenants ask.
#[derive(Debug)]
pub struct TenantStore {
    inner: Arc<dyn Store>,
}

impl TenantStore {
    /// A store whose connections are the asking tenant's.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner }
    }
}

#[async_trait]
impl Store for TenantStore {
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError> {
        let inner = self.inner.connect(patience).await?;
        Ok(match asking() {
            Some(tenant) => Box::new(TenantConnection { inner, tenant }),
            None => inner,
        })
    }

    fn pool(&self) -> PoolFigures {
        self.inner.pool()
    }

    /// A name that is taken in another's collection is refused: to overwrite it would be worse than to let its tenant
    /// guess that it is taken, and two sources of one name cannot be told apart in citations.
    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        let Some(tenant) = asking() else { return self.inner.replace(new).await };
        if !tenant.has(new.collection) {
            let own = tenant.collections.as_deref().unwrap_or_default().join(", ");
            return Err(StoreError::Denied(format!("this 'collection' is not yours: write into one of {own}")));
        }
        // Among all: a source without a chunk is somebody's, too.
        let sources = self.inner.connect(Patience::Writer).await?.sources().await?;
        if sources.iter().any(|known| known.source == new.source && !tenant.has(&known.collection)) {
            return Err(StoreError::Denied("this 'source' cannot be used: choose another name".to_owned()));
        }
        self.inner.replace(new).await
    }

    async fn remove(&self, source: &str) -> Result<bool, StoreError> {
        only_operator()?;
        self.inner.remove(source).await
    }

    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError> {
        only_operator()?;
        self.inner.wipe(embeddings).await
    }

    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        only_operator()?;
        self.inner.set_fact(key, value).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// No tool does this today; one that did would not do it for a tenant.
fn only_operator() -> Result<(), StoreError> {
    match asking() {
        Some(_tenant) => Err(StoreError::Denied("only the operator may do this".to_owned())),
        None => Ok(()),
    }
}

/// A connection that is a tenant's for as long as it is held.
#[derive(Debug)]
struct TenantConnection {
    inner: Box<dyn Connection>,
    tenant: Arc<Tenant>,
}

impl TenantConnection {
    fn narrowed(&self, filter: &Filter) -> Filter {
        Filter { collections: self.tenant.collections.clone(), ..filter.clone() }
    }

    async fn may_see(&mut self, source: &str) -> Result<bool, StoreError> {
        Ok(self.chunk_at(source, 0).await?.is_some())
    }

    /// The key of an answer that only this tenant gets, and only while its collections are these.
    fn own(&self, exact: &[u8; 32]) -> [u8; 32] {
        let scope = self.tenant.collections.as_ref().map_or_else(|| "*".to_owned(), |own| own.join("\u{1f}"));
        Sha256::new().chain_update(exact).chain_update(self.tenant.marked(&scope)).finalize().into()
    }
}

#[async_trait]
impl Connection for TenantConnection {
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
        Ok(self.sources().await?.into_iter().map(|source| source.source_type).collect())
    }

    async fn worded(&mut self, terms: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError> {
        let filter = self.narrowed(filter);
        self.inner.worded(terms, &filter, depth).await
    }

    async fn holding(&mut self, terms: &[String], ids: &[i64]) -> Result<Holding, StoreError> {
        self.inner.holding(terms, ids).await
    }

    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError> {
        let filter = self.narrowed(filter);
        self.inner.near(vector, &filter, depth).await
    }

    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        self.inner.cosines(vector, ids).await
    }

    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
        let mut chunks = self.inner.chunks(ids).await?;
        chunks.retain(|chunk| self.tenant.has(&chunk.collection));
        Ok(chunks)
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let chunk = self.inner.chunk_at(source, ordinal).await?;
        Ok(chunk.filter(|chunk| self.tenant.has(&chunk.collection)))
    }

    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        let mut sources = self.inner.sources().await?;
        sources.retain(|source| self.tenant.has(&source.collection));
        Ok(sources)
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        if self.may_see(source).await? { self.inner.text(source).await } else { Ok(None) }
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        self.inner.figures().await
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        self.inner.longest().await
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        let sample = self.inner.sample().await?;
        let Some((source, _)) = &sample else { return Ok(None) };
        Ok(if self.may_see(source).await? { sample } else { None })
    }

    fn lacks_vectors(&self) -> bool {
        self.inner.lacks_vectors()
    }
}

#[async_trait]
impl StoreCache for TenantConnection {
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
        let exact = self.own(exact);
        self.inner.answer(&exact, now).await
    }

    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let own = NewAnswer { exact: self.own(&answer.exact), ..answer.clone() };
        self.inner.keep_answer(&own, now).await
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        self.inner.shown(&self.tenant.marked(conversation), since).await
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.inner.keep_shown(&self.tenant.marked(conversation), shown, now, forget_before).await
    }
}
