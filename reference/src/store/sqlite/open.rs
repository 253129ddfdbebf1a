//! The file and its pool.
//!
//! One writer at a time; a reader never waits for it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, Sqlite, SqliteConnection};

use crate::store::contract::{Connection, Patience, Store};
use crate::store::pool::ConnectionPool;
use crate::store::records::{NewSource, PoolFigures, Replaced, StoreError};
use crate::store::sqlite::following::SharedVectors;
use crate::store::sqlite::reading::SqliteReader;
use crate::store::sqlite::schema::{self, TablesVersion};
use crate::store::sqlite::writing;

/// Connections in the pool: enough for two cores, few enough that saturation is easily met.
pub const CONNECTIONS: u32 = 4;
/// How long a statement waits for another process's write.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// A store in a file.
#[derive(Debug)]
pub struct SqliteStore {
    pub(in crate::store) pool: ConnectionPool<Sqlite>,
    pub(in crate::store) writing: tokio::sync::Mutex<()>,
    pub(in crate::store) memory: Arc<SharedVectors>,
}

impl SqliteStore {
    /// Opens the file, making it where there is none, and reads its vectors into memory.
    ///
    /// # Errors
    /// `Schema` for a file of another version, `Sql` for one that cannot be opened.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let mut first = SqliteConnection::connect_with(&options(path)).await?;
        let place = path.display().to_string();
        match schema::look(&mut first).await? {
            TablesVersion::Current => {}
            TablesVersion::Nothing => schema::make(&mut first).await?,
            TablesVersion::Older(version) => return Err(schema::refused(&place, &version.to_string())),
            TablesVersion::Unknown => return Err(schema::refused(&place, "unknown")),
        }
        let memory = Arc::new(SharedVectors::default());
        // No count of changes is this one, so that whatever is in the file is read.
        memory.write().generation = -1;
        memory.follow(&mut first).await?;
        first.close().await?;
        let pool = ConnectionPool::options(CONNECTIONS).test_before_acquire(false).connect_with(options(path)).await?;
        Ok(Self { pool: ConnectionPool::new(pool), writing: tokio::sync::Mutex::new(()), memory })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError> {
        let connection = self.pool.acquire(patience).await?;
        Ok(Box::new(SqliteReader { connection, memory: Arc::clone(&self.memory) }))
    }

    fn pool(&self) -> PoolFigures {
        self.pool.figures()
    }

    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        let _alone = self.writing.lock().await;
        let mut connection = self.pool.acquire(Patience::Writer).await?;
        writing::replace(&mut connection, &self.memory, &new, None).await
    }

    async fn remove(&self, source: &str) -> Result<bool, StoreError> {
        let _alone = self.writing.lock().await;
        let mut connection = self.pool.acquire(Patience::Writer).await?;
        writing::remove(&mut connection, &self.memory, source).await
    }

    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError> {
        let _alone = self.writing.lock().await;
        let mut connection = self.pool.acquire(Patience::Writer).await?;
        writing::wipe(&mut connection, &self.memory, embeddings).await
    }

    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut connection = self.pool.acquire(Patience::Writer).await?;
        writing::set_fact(&mut connection, key, value).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // What is lost to a power cut is indexed again from its source.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY_LIMIT)
}
