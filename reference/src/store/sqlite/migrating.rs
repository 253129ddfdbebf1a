//! The way from an older version of the tables to this one.

use std::path::{Path, PathBuf};

use sqlx::{Connection as _, SqliteConnection};

use crate::store::contract::SCHEMA_VERSION;
use crate::store::records::StoreError;
use crate::store::sqlite::open::options;
use crate::store::sqlite::schema::{ANSWERS, NEW_IN_2, TablesVersion, WORDS, look, refused, stamp};
use crate::store::sqlite::writing::insert_words;
use crate::text::names;

/// What version 1 lacked. Its sources have no text and no parser, so the next run of the indexer
/// reads them again; until then they are searched as they are.
const FROM_1: &str = "
ALTER TABLE sources ADD COLUMN collection TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sources ADD COLUMN dated TEXT;
ALTER TABLE sources ADD COLUMN volatility TEXT NOT NULL DEFAULT 'normal';
ALTER TABLE sources ADD COLUMN origin TEXT NOT NULL DEFAULT 'caller';
ALTER TABLE sources ADD COLUMN parser TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chunks ADD COLUMN role TEXT NOT NULL DEFAULT 'passage';
ALTER TABLE chunks ADD COLUMN parent INTEGER;
";

/// Version 2 kept the words of chunks apart from them, and answers by their meaning.
const FROM_2: &str = "
ALTER TABLE chunks ADD COLUMN names TEXT NOT NULL DEFAULT '';
DROP TABLE words;
DROP TABLE IF EXISTS answer_sources;
DROP TABLE IF EXISTS answers;
";

/// Chunks that are read at once.
const PAGE: i64 = 1_000;

/// Brings an older file to this version. Gives the version it had.
///
/// # Errors
/// `Schema` where that is not known, `File` where there is no such file, `Sql`.
pub async fn migrate(path: &Path) -> Result<u32, StoreError> {
    std::fs::metadata(path).map_err(|why| StoreError::File { path: PathBuf::from(path), why })?;
    let mut connection = SqliteConnection::connect_with(&options(path)).await?;
    let from = bring(&mut connection, &path.display().to_string()).await?;
    connection.close().await?;
    Ok(from)
}

/// In one transaction: what fails has changed nothing.
async fn bring(connection: &mut SqliteConnection, place: &str) -> Result<u32, StoreError> {
    let mut work = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await?;
    let version = match look(&mut work).await? {
        TablesVersion::Current => SCHEMA_VERSION,
        TablesVersion::Older(version) => {
            if version < 2 {
                sqlx::raw_sql(FROM_1).execute(&mut *work).await?;
                sqlx::raw_sql(NEW_IN_2).execute(&mut *work).await?;
            }
            sqlx::raw_sql(FROM_2).execute(&mut *work).await?;
            sqlx::raw_sql(WORDS).execute(&mut *work).await?;
            sqlx::raw_sql(ANSWERS).execute(&mut *work).await?;
            name_all(&mut work).await?;
            stamp(&mut work).await?;
            version
        }
        TablesVersion::Nothing | TablesVersion::Unknown => return Err(refused(place, "unknown")),
    };
    work.commit().await?;
    Ok(version)
}

/// Writes what each chunk is found by.
async fn name_all(work: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut after = i64::MIN;
    loop {
        let page: Vec<(i64, String, String, String)> = sqlx::query_as(
            "SELECT id, source, section, content FROM chunks WHERE id > $1 AND role <> 'section' ORDER BY id LIMIT $2",
        )
        .bind(after)
        .bind(PAGE)
        .fetch_all(&mut *work)
        .await?;
        let Some((last, ..)) = page.last() else { return Ok(()) };
        after = *last;
        for (id, source, section, content) in page {
            let names = names::of(&source, &section, &content);
            sqlx::query("UPDATE chunks SET names = $2 WHERE id = $1").bind(id).bind(&names).execute(&mut *work).await?;
            insert_words(work, id, &names, &content).await?;
        }
    }
}
