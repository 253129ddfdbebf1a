//! The store: its file, and the collection that has its vectors.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use crate::store::chroma::client::Chroma;
use crate::store::chroma::ledger;
use crate::store::chroma::options::ChromaOptions;
use crate::store::chroma::reading::ChromaReader;
use crate::store::chroma::writing::ChromaWriter;
use crate::store::contract::{Connection, Patience, Store};
use crate::store::records::{NewSource, PoolFigures, Replaced, StoreError};
use crate::store::sqlite::open::SqliteStore;
use crate::store::sqlite::reading::SqliteReader;

/// A store whose vectors are in Chroma.
#[derive(Debug)]
pub struct ChromaStore {
    file: SqliteStore,
    chroma: Arc<Chroma>,
}

impl ChromaStore {
    /// Opens the file, making it where there is none. Chroma is not asked before it is needed, so that a server starts,
    /// and answers by words, while Chroma is down.
    ///
    /// # Errors
    /// `Schema` for a file of another version; `Sql` for one that cannot be opened, or options that cannot be used.
    pub async fn open(path: &Path, options: ChromaOptions) -> Result<Self, StoreError> {
        let file = SqliteStore::open(path).await?;
        let index = ledger::prepare(&mut *file.pool.acquire(Patience::Writer).await?).await?;
        Ok(Self { file, chroma: Arc::new(Chroma::new(options, index)?) })
    }
}

#[async_trait]
impl Store for ChromaStore {
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError> {
        let (connection, memory) = (self.file.pool.acquire(patience).await?, Arc::clone(&self.file.memory));
        let file = SqliteReader { connection, memory };
        Ok(Box::new(ChromaReader { file, chroma: Arc::clone(&self.chroma), lacks: false }))
    }

    fn pool(&self) -> PoolFigures {
        self.file.pool()
    }

    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        let _alone = self.file.writing.lock().await;
        let connection = &mut *self.file.pool.acquire(Patience::Writer).await?;
        ChromaWriter { connection, memory: &self.file.memory, chroma: &self.chroma }.replace(new).await
    }

    async fn remove(&self, source: &str) -> Result<bool, StoreError> {
        let _alone = self.file.writing.lock().await;
        let connection = &mut *self.file.pool.acquire(Patience::Writer).await?;
        ChromaWriter { connection, memory: &self.file.memory, chroma: &self.chroma }.remove(source).await
    }

    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError> {
        let _alone = self.file.writing.lock().await;
        let connection = &mut *self.file.pool.acquire(Patience::Writer).await?;
        ChromaWriter { connection, memory: &self.file.memory, chroma: &self.chroma }.wipe(embeddings).await
    }

    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        let _alone = self.file.writing.lock().await;
        let connection = &mut *self.file.pool.acquire(Patience::Writer).await?;
        ChromaWriter { connection, memory: &self.file.memory, chroma: &self.chroma }.set_fact(key, value).await
    }

    async fn close(&self) {
        self.file.close().await;
    }
}
