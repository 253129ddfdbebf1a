//! Vectors in memory follow the file, whoever has written it.

use std::collections::{BTreeMap, HashSet};

use chrono::NaiveDate;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use sqlx::sqlite::SqliteRow;
use sqlx::types::Json;
use sqlx::{Row as _, SqliteConnection};

use crate::store::filter::SourceFacts;
use crate::store::records::StoreError;
use crate::store::rows;
use crate::store::sqlite::blob::from_blob;
use crate::store::sqlite::memory::InMemoryVectors;

/// The vectors in memory, shared by every connection of the pool.
#[derive(Debug, Default)]
pub struct SharedVectors {
    memory: RwLock<InMemoryVectors>,
    /// Held while memory follows the file, so that one connection reads and the others wait for it.
    following: tokio::sync::Mutex<()>,
}

impl SharedVectors {
    /// The vectors, to search.
    pub fn read(&self) -> RwLockReadGuard<'_, InMemoryVectors> {
        self.memory.read()
    }

    /// The vectors, to change.
    pub fn write(&self) -> RwLockWriteGuard<'_, InMemoryVectors> {
        self.memory.write()
    }

    /// Brings memory to where the file is, whoever has written it.
    ///
    /// # Errors
    /// `Sql`.
    pub async fn follow(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let generation = generation(connection).await?;
        if self.read().generation == generation {
            return Ok(());
        }
        let _alone = self.following.lock().await;
        follow(connection, self).await
    }
}

/// The index's count of changes.
///
/// # Errors
/// `Sql`.
pub async fn generation(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(rows::GENERATION).fetch_one(connection).await?)
}

/// What a filter looks at of a source, and the generation it was written in.
type FactsRow = (String, String, String, Json<Vec<String>>, Option<NaiveDate>, i64);

/// Reads into memory what the file has and it has not, within one view of the file.
///
/// # Errors
/// `Sql`.
async fn follow(connection: &mut SqliteConnection, memory: &SharedVectors) -> Result<(), StoreError> {
    let mut view = sqlx::Connection::begin(connection).await?;
    let generation = generation(&mut view).await?;
    let rows: Vec<FactsRow> = sqlx::query_as(
        "SELECT source, source_type, collection, tags, dated, generation FROM sources ORDER BY generation, source",
    )
    .fetch_all(&mut *view)
    .await?;
    let (mut present, all) = (HashSet::new(), rows.len());
    let mut changed: Vec<(SourceFacts, i64)> = Vec::new();
    for (source, source_type, collection, Json(tags), dated, written) in rows {
        present.insert(source.clone());
        if memory.read().generation_of(&source) != Some(written) {
            changed.push((SourceFacts { source, source_type, collection, tags, dated }, written));
        }
    }
    let everything = changed.len() == all;
    let vectors = if everything { all_vectors(&mut view).await? } else { some_vectors(&mut view, &changed).await? };
    let mut memory = memory.write();
    let gone: Vec<String> = memory.names().filter(|name| !present.contains(*name)).map(str::to_owned).collect();
    for name in gone {
        memory.remove(&name);
    }
    for (facts, written) in changed {
        let chunks = vectors.get(&facts.source).map(Vec::as_slice).unwrap_or_default();
        memory.put(facts, written, chunks.iter().map(|(id, ordinal, vector)| (*id, *ordinal, vector.as_slice())));
    }
    memory.generation = generation;
    Ok(())
}

type VectorsBySource = BTreeMap<String, Vec<(i64, i64, Vec<f32>)>>;

async fn all_vectors(view: &mut SqliteConnection) -> Result<VectorsBySource, StoreError> {
    let rows = sqlx::query("SELECT id, source, ordinal, vector FROM chunks WHERE role <> 'section' ORDER BY id");
    candidates(rows.fetch_all(view).await?)
}

async fn some_vectors(
    view: &mut SqliteConnection,
    changed: &[(SourceFacts, i64)],
) -> Result<VectorsBySource, StoreError> {
    let mut vectors = VectorsBySource::new();
    for (facts, _) in changed {
        let rows = sqlx::query(
            "SELECT id, source, ordinal, vector FROM chunks WHERE source = $1 AND role <> 'section' ORDER BY id",
        )
        .bind(&facts.source)
        .fetch_all(&mut *view)
        .await?;
        vectors.extend(candidates(rows)?);
    }
    Ok(vectors)
}

fn candidates(rows: Vec<SqliteRow>) -> Result<VectorsBySource, StoreError> {
    let mut vectors = VectorsBySource::new();
    for row in rows {
        let bytes: &[u8] = row.try_get(3)?;
        let entry = (row.try_get(0)?, row.try_get(2)?, from_blob(bytes));
        vectors.entry(row.try_get(1)?).or_default().push(entry);
    }
    Ok(vectors)
}
