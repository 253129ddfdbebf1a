//! The store: its address, its tables, its pool.

use std::fmt;

use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection};

use crate::store::contract::{Connection, Patience, Store};
use crate::store::pool::WRITER_WAITS;
use crate::store::postgres::pool::{PostgresPool, set, silent};
use crate::store::postgres::reading::PostgresReader;
use crate::store::postgres::{address, schema, writing};
use crate::store::records::{NewSource, PoolFigures, Replaced, StoreError};

/// The most connections of a pool; PostgreSQL has a hundred for everybody where nothing is said.
const POOL_MAX: u32 = 64;

/// How the store is to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The schema its tables are in: small letters, digits and `_`. Made where it is missing.
    pub schema: String,
    /// Connections in the pool, 1 to 64.
    pub pool: u32,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { schema: "serin_reference".to_owned(), pool: 4 }
    }
}

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    pool: PostgresPool,
    iterates: bool,
    writing: tokio::sync::Mutex<()>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.pool.place).field("pool", &self.pool.figures()).finish()
    }
}

impl PostgresStore {
    /// Opens the database, making schema and tables where there are none.
    ///
    /// # Errors
    /// `Schema` for tables of another version; `Sql` for an address that cannot be used, a database
    /// that cannot be reached or has no pgvector. None holds the password.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let (connect, place) = address::parse(url)?;
        address::check_schema(&options.schema)?;
        if !(1..=POOL_MAX).contains(&options.pool) {
            return Err(address::refused(&format!("the pool has 1 to {POOL_MAX} connections")));
        }
        let ground = {
            let first = tokio::time::timeout(WRITER_WAITS, PgConnection::connect_with(&connect)).await;
            let mut first = first.map_err(|_| silent(&place, WRITER_WAITS))??;
            set(&mut first, None).await?;
            let ground = schema::prepare(&mut first, &options.schema, &place).await?;
            first.close().await?;
            ground
        };
        let pool = PostgresPool::open(connect, place, options.pool, ground.search_path).await?;
        Ok(Self { pool, iterates: ground.iterates, writing: tokio::sync::Mutex::new(()) })
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError> {
        Ok(Box::new(PostgresReader { held: self.pool.acquire(patience).await?, iterates: self.iterates }))
    }

    fn pool(&self) -> PoolFigures {
        self.pool.figures()
    }

    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        // Writers of one server queue here, so that they do not fill its pool while they wait for each other.
        let _alone = self.writing.lock().await;
        let mut held = self.pool.acquire(Patience::Writer).await?;
        writing::replace(&mut held.connection, &new).await
    }

    async fn remove(&self, source: &str) -> Result<bool, StoreError> {
        let _alone = self.writing.lock().await;
        let mut held = self.pool.acquire(Patience::Writer).await?;
        writing::remove(&mut held.connection, source).await
    }

    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError> {
        let _alone = self.writing.lock().await;
        let mut held = self.pool.acquire(Patience::Writer).await?;
        writing::wipe(&mut held.connection, embeddings).await
    }

    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut held = self.pool.acquire(Patience::Writer).await?;
        writing::set_fact(&mut held.connection, key, value).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
