//! The files of each fleet that came into force, each text once, and when each came into force.

use std::io::Write;

use chrono::{DateTime, TimeDelta, Utc};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

use crate::domain::fleet_files::{FleetFileKind, FleetFiles, GoldenPlace};
use crate::store::sql::connection::Connection;
use crate::store::sql::rows::Rows;
use crate::store::sql::statement::{Statement, query};
use crate::store::values::error::StoreError;

static FILES: Rows =
    Rows::new("INSERT INTO config_files (config, place, name, kind, of, hash) VALUES ", 6, " ON CONFLICT DO NOTHING");
static GOLDEN: Rows =
    Rows::new("INSERT INTO config_golden (config, named_by, name, place) VALUES ", 4, " ON CONFLICT DO NOTHING");

/// A list that changes all day is kept this often: it is known as it was within this time.
const LIST_KEPT_EVERY: TimeDelta = TimeDelta::hours(1);

/// Files as they are written down.
#[derive(Debug, Clone)]
pub(in crate::store) struct KeptFiles {
    files: Vec<KeptFile>,
    golden: Vec<GoldenPlace>,
}

#[derive(Debug, Clone)]
struct KeptFile {
    name: String,
    kind: FleetFileKind,
    of: String,
    hash: String,
    text: Vec<u8>,
}

impl KeptFiles {
    /// What the texts take in memory.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.text.len()).sum()
    }

    /// Packs the texts: whoever writes has no time for that.
    pub(in crate::store) fn of(files: &FleetFiles) -> Self {
        let kept = files.files.iter().map(|file| KeptFile {
            name: file.name.clone(),
            kind: file.kind,
            of: serde_json::json!(file.of).to_string(),
            hash: hex::encode(Sha256::digest(&file.text)),
            text: packed(&file.text),
        });
        Self { files: kept.collect(), golden: files.golden.clone() }
    }

    /// Writes down that these are in force from now on; what is known of them already stays as it is.
    pub(in crate::store) async fn write(
        &self,
        connection: &mut Connection,
        config: i64,
        now: i64,
    ) -> Result<(), StoreError> {
        query("INSERT INTO config_loads (loaded_at, config) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(now)
            .bind(config)
            .execute(&mut *connection)
            .await?;
        let mut files: Vec<(i64, &KeptFile, String)> = Vec::with_capacity(self.files.len());
        for (place, file) in (0..).zip(&self.files) {
            let kept = match file.kind {
                FleetFileKind::Discovered => kept_lately(connection, &file.name, now).await?,
                _ => None,
            };
            let Some(hash) = kept else {
                files.push((place, file, file.hash.clone()));
                query("INSERT INTO config_texts (hash, text) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                    .bind(&file.hash)
                    .bind(&file.text)
                    .execute(&mut *connection)
                    .await?;
                continue;
            };
            files.push((place, file, hash));
        }
        let file = |query, (place, file, hash): &(i64, &KeptFile, String)| {
            bound(query, config)
                .bind(*place)
                .bind(file.name.clone())
                .bind(file.kind.slug())
                .bind(file.of.clone())
                .bind(hash.clone())
        };
        FILES.run(connection, &files, file).await?;
        let golden = |query, golden: &GoldenPlace| {
            let [by, place] = [golden.by, golden.place].map(|place| i64::try_from(place).unwrap_or(i64::MAX));
            bound(query, config).bind(by).bind(golden.name.clone()).bind(place)
        };
        GOLDEN.run(connection, &self.golden, golden).await?;
        Ok(())
    }
}

/// The text of a list that stands for it still; none where it is time for another.
async fn kept_lately(connection: &mut Connection, name: &str, now: i64) -> Result<Option<String>, sqlx::Error> {
    let latest = query(
        "SELECT f.hash FROM config_loads l JOIN config_files f ON f.config = l.config \
         WHERE f.name = $1 AND f.kind = 'discovered' AND l.loaded_at < $2 ORDER BY l.loaded_at DESC LIMIT 1",
    )
    .bind(name)
    .bind(now)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(latest) = latest else { return Ok(None) };
    let hash: String = latest.try_get(0)?;
    let since = query(
        "SELECT MIN(l.loaded_at) FROM config_files f JOIN config_loads l ON l.config = f.config WHERE f.hash = $1",
    )
    .bind(&hash)
    .fetch_one(&mut *connection)
    .await?;
    let since: i64 = since.try_get(0)?;
    let every = LIST_KEPT_EVERY.num_microseconds().unwrap_or(i64::MAX);
    Ok((now - since < every).then_some(hash))
}

fn bound(query: Statement, config: i64) -> Statement {
    query.bind(config)
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Into memory, which takes everything.
    let _infallible = packer.write_all(text.as_bytes());
    packer.finish().unwrap_or_default()
}

/// The list of a source as it is kept from now on.
#[derive(Debug, Clone)]
pub(in crate::store) struct KeptList {
    source: String,
    /// None: the source is declared no more.
    text: Option<Vec<u8>>,
    now: i64,
}

impl KeptList {
    /// Whether both are of one source.
    pub(in crate::store) fn is_of_source_of(&self, other: &Self) -> bool {
        self.source == other.source
    }

    /// What the text takes in memory.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, Vec::len)
    }

    /// Packs the text.
    pub(in crate::store) fn of(source: &str, text: Option<&str>, now: DateTime<Utc>) -> Self {
        Self { source: source.to_owned(), text: text.map(packed), now: now.timestamp_micros() }
    }

    /// Writes it in the place of the one before.
    pub(in crate::store) async fn write(&self, connection: &mut Connection) -> Result<(), sqlx::Error> {
        let Some(text) = &self.text else {
            query("DELETE FROM kept_lists WHERE source = $1").bind(&self.source).execute(connection).await?;
            return Ok(());
        };
        query(
            "INSERT INTO kept_lists (source, text, kept_at) VALUES ($1, $2, $3) \
             ON CONFLICT (source) DO UPDATE SET text = excluded.text, kept_at = excluded.kept_at",
        )
        .bind(&self.source)
        .bind(text)
        .bind(self.now)
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// Forgets files that others took the place of before a moment: the one that was in force then is kept.
pub(in crate::store) async fn forget(
    connection: &mut Connection,
    before: i64,
    at_once: u32,
) -> Result<u64, StoreError> {
    let mut gone = 0;
    for statement in [
        "DELETE FROM config_loads WHERE (loaded_at, config) IN (SELECT loaded_at, config FROM config_loads \
         WHERE loaded_at < (SELECT MAX(loaded_at) FROM config_loads WHERE loaded_at < $1) LIMIT $2)",
        "DELETE FROM config_files WHERE (config, place) IN (SELECT config, place FROM config_files \
         WHERE config NOT IN (SELECT config FROM config_loads) AND $1 > 0 LIMIT $2)",
        "DELETE FROM config_golden WHERE (config, named_by, name) IN (SELECT config, named_by, name FROM config_golden \
         WHERE config NOT IN (SELECT config FROM config_loads) AND $1 > 0 LIMIT $2)",
        "UPDATE config_versions SET source = '' WHERE number IN (SELECT number FROM config_versions \
         WHERE source <> '' AND number NOT IN (SELECT config FROM config_loads) AND $1 > 0 LIMIT $2)",
        "DELETE FROM config_texts WHERE hash IN (SELECT hash FROM config_texts t \
         WHERE NOT EXISTS (SELECT 1 FROM config_files f WHERE f.hash = t.hash) AND $1 > 0 LIMIT $2)",
    ] {
        gone += query(statement).bind(before).bind(at_once).execute(&mut *connection).await?;
    }
    Ok(gone)
}
