//! Sources into both, and out of both, in an order that a kill at any moment does not harm: see `ledger`.

use chrono::Utc;
use sqlx::SqliteConnection;

use crate::chunk::Chunk;
use crate::store::chroma::client::Chroma;
use crate::store::chroma::{ledger, places};
use crate::store::records::{NewSource, Replaced, StoreError};
use crate::store::sqlite::following::SharedVectors;
use crate::store::sqlite::writing;

/// Old vectors that are taken away after one change.
const SWEPT_MAX: usize = 5_000;
/// How often a source is brought anew whose vectors somebody took for abandoned.
const TRIES: usize = 3;

/// Both halves of a store, for one writer.
#[derive(Debug)]
pub struct ChromaWriter<'a> {
    /// The file.
    pub connection: &'a mut SqliteConnection,
    /// What of it is in memory.
    pub memory: &'a SharedVectors,
    /// The vectors.
    pub chroma: &'a Chroma,
}

impl ChromaWriter<'_> {
    /// Replaces a source.
    ///
    /// # Errors
    /// `Full`, `Width`, `Vectors`, `Sql`; nothing has changed then.
    pub async fn replace(&mut self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        let replaced = if writing::is_same(self.connection, &new).await? == Some(true) {
            Replaced::Unchanged
        } else {
            self.fit_width(new.chunks).await?;
            self.bring(new).await?
        };
        self.sweep().await;
        Ok(replaced)
    }

    /// Takes a source away; whether it was there.
    ///
    /// # Errors
    /// `Sql`. Where Chroma does not answer, its vectors go with the next change.
    pub async fn remove(&mut self, source: &str) -> Result<bool, StoreError> {
        let was_there = writing::remove(self.connection, self.memory, source).await?;
        self.sweep().await;
        Ok(was_there)
    }

    /// Takes everything away, the collection too: the next vectors may be of another width.
    ///
    /// # Errors
    /// `Sql`, `Vectors`; nothing is found any more even then.
    pub async fn wipe(&mut self, embeddings: bool) -> Result<(), StoreError> {
        writing::wipe(self.connection, self.memory, embeddings).await?;
        self.chroma.unmake().await?;
        ledger::all_gone(self.connection).await
    }

    /// Writes a fact, or forgets it. A run of the indexer does so at its end, even where nothing has changed.
    ///
    /// # Errors
    /// `Sql`.
    pub async fn set_fact(&mut self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        writing::set_fact(self.connection, key, value).await?;
        self.sweep().await;
        Ok(())
    }

    async fn bring(&mut self, new: NewSource<'_>) -> Result<Replaced, StoreError> {
        // In the file a vector's length stands for it.
        let length = |vector: &Option<Vec<f32>>| vector.as_deref().map(places::length);
        let marked: Vec<(Chunk, Option<Vec<f32>>)> =
            new.chunks.iter().map(|(chunk, vector)| (chunk.clone(), length(vector))).collect();
        let (chunks, mut tries) = (new.chunks, 1);
        let marked = NewSource { chunks: &marked, ..new };
        loop {
            let first = ledger::reserve(self.connection, chunks.len(), Utc::now()).await?;
            let brought = self.bring_as(first, chunks, &marked).await;
            if matches!(brought, Ok(Replaced::Added | Replaced::Changed)) {
                return brought;
            }
            ledger::withdraw(self.connection, first, chunks.len()).await?;
            match brought {
                Err(error) if ledger::is_withdrawn(&error) && tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    /// Vectors first: whoever is killed before the file has their chunks leaves the old source.
    async fn bring_as(
        &mut self,
        first: i64,
        chunks: &[(Chunk, Option<Vec<f32>>)],
        marked: &NewSource<'_>,
    ) -> Result<Replaced, StoreError> {
        let vectors = (first..).zip(chunks).filter_map(|(id, (_, vector))| Some((id, vector.as_deref()?)));
        let vectors: Vec<(i64, &[f32])> = vectors.filter(|(_, vector)| !vector.is_empty()).collect();
        if !vectors.is_empty() {
            self.memory.follow(self.connection).await?;
            // Where vectors should be, a collection that is missing is a loss that must show, and not begin anew.
            if self.memory.read().reachable() == 0 {
                self.chroma.make().await?;
            }
            self.chroma.keep(&vectors).await?;
        }
        writing::replace(self.connection, self.memory, marked, Some(first)).await
    }

    /// Whether the vectors are as wide as those that are there. Where there are none, the next may be of another width.
    async fn fit_width(&mut self, chunks: &[(Chunk, Option<Vec<f32>>)]) -> Result<(), StoreError> {
        let mut widths =
            chunks.iter().filter_map(|(_, vector)| Some(vector.as_ref()?.len())).filter(|width| *width > 0);
        let Some(wanted) = widths.next() else { return Ok(()) };
        if let Some(other) = widths.find(|width| *width != wanted) {
            return Err(StoreError::Width { found: wanted, wanted: other });
        }
        let found = ledger::width(self.connection).await?;
        if found == wanted {
            return Ok(());
        }
        self.memory.follow(self.connection).await?;
        if self.memory.read().reachable() > 0 {
            return Err(StoreError::Width { found, wanted });
        }
        if found > 0 {
            self.chroma.unmake().await?;
            ledger::all_gone(self.connection).await?;
        }
        ledger::set_width(self.connection, wanted).await
    }

    /// Takes away vectors that are nobody's any more. Nobody finds them, so where it fails the next change does it.
    async fn sweep(&mut self) {
        if let Err(error) = self.try_sweep().await {
            tracing::warn!(%error, "old vectors stay until the next change");
        }
    }

    async fn try_sweep(&mut self) -> Result<(), StoreError> {
        let ids = ledger::going(self.connection, SWEPT_MAX, Utc::now()).await?;
        if ids.is_empty() {
            return Ok(());
        }
        self.chroma.forget(&ids).await?;
        ledger::gone(self.connection, &ids).await
    }
}
