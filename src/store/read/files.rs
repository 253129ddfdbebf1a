//! The files that were in force, as they stood: for whoever asks by what the past was judged.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use chrono::{DateTime, Utc};
use flate2::read::ZlibDecoder;

use crate::domain::database_address::DatabaseAddress;
use crate::domain::fleet_files::{FleetFile, FleetFileKind, FleetFiles, GoldenPlace};
use crate::store::read::beside;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Pool;
use crate::store::sql::dialect::{number_rows, numbers};
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, word};
use crate::store::values::error::StoreError;

/// Files that were in force that are read, the latest: more were never tried on one month.
pub(crate) const FILES_MAX: u32 = 200;
/// Bytes of one text: as many as a file may have that is read from a disk.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A fleet's files that were in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileInForce {
    /// By which beats name it.
    pub(crate) number: i64,
    /// SHA-256 over the bytes of all files, lowercase hex.
    pub(crate) hash: String,
    /// The git commit, where one was known.
    pub(crate) commit: Option<String>,
    /// When it last came into force, as far as was asked.
    pub(crate) loaded_at: DateTime<Utc>,
    /// All files as one text, of a Serin that kept them so; else empty.
    source: String,
    name: String,
    packed: Vec<PackedFile>,
    golden: Vec<GoldenPlace>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PackedFile {
    name: String,
    kind: FleetFileKind,
    of: Vec<usize>,
    text: Vec<u8>,
}

impl FileInForce {
    /// Whether any text of it is kept.
    pub(crate) const fn is_kept(&self) -> bool {
        !self.packed.is_empty() || !self.source.is_empty()
    }

    /// The files, one by one; of an older Serin all that was read as one.
    ///
    /// # Errors
    /// Where a text cannot be unpacked.
    pub(crate) fn files(&self) -> Result<FleetFiles, StoreError> {
        if self.packed.is_empty() {
            return Ok(FleetFiles::single(&self.name, &self.source));
        }
        let file = |packed: &PackedFile| {
            let (name, kind, of) = (packed.name.clone(), packed.kind, packed.of.clone());
            Ok(FleetFile { name, text: unpacked(&packed.text)?, kind, of })
        };
        let files = self.packed.iter().map(file).collect::<Result<_, StoreError>>()?;
        Ok(FleetFiles { files, golden: self.golden.clone() })
    }
}

fn unpacked(packed: &[u8]) -> Result<String, StoreError> {
    let mut text = String::new();
    let read = ZlibDecoder::new(packed).take(TEXT_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| StoreError::Unreadable(format!("a file of the past cannot be unpacked: {error}")))?;
    Ok(text)
}

/// The texts of lists as they were kept last, by the source; read beside whoever writes. An older database has none.
///
/// # Errors
/// Where the database cannot be read.
pub(crate) async fn kept_lists_beside(database: &DatabaseAddress) -> Result<Vec<(String, String)>, StoreError> {
    let readers = beside::readers(database).await?;
    let lists = kept_lists(&readers).await;
    readers.close().await;
    lists
}

async fn kept_lists(readers: &Pool) -> Result<Vec<(String, String)>, StoreError> {
    if !beside::has_table(&mut readers.acquire().await?, "kept_lists").await? {
        return Ok(Vec::new());
    }
    let rows = query("SELECT source, text FROM kept_lists ORDER BY source").fetch_all(readers).await?;
    let list = |row: &Row| {
        let source: String = row.try_get(0).ok()?;
        let text = row.try_get(1).map_err(StoreError::from).and_then(unpacked);
        // One that is broken says nothing of the others.
        let text =
            text.inspect_err(|error| tracing::error!(source, %error, "the list in the database is broken")).ok()?;
        Some((source, text))
    };
    Ok(rows.iter().filter_map(list).collect())
}

impl Readers {
    /// The texts of lists as they were kept last, by the source.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn kept_lists(&self) -> Result<Vec<(String, String)>, StoreError> {
        kept_lists(&self.readers).await
    }

    /// When each list was kept last, by the source, in microseconds.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn lists_kept_at(&self) -> Result<BTreeMap<String, i64>, StoreError> {
        let rows = query("SELECT source, kept_at FROM kept_lists").fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// The number of the file that was in force at each of these moments; a moment before the first of them is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn numbers_at(
        &self,
        moments: &[DateTime<Utc>],
    ) -> Result<HashMap<DateTime<Utc>, i64>, StoreError> {
        let micros: Vec<i64> = moments.iter().map(DateTime::timestamp_micros).collect();
        let rows = query(concat!(
            "SELECT m.value, (SELECT config FROM config_loads WHERE loaded_at <= m.value \
                 ORDER BY loaded_at DESC, config DESC LIMIT 1) FROM ",
            number_rows!("$1"),
            " AS m"
        ));
        let rows = rows.bind(serde_json::json!(micros).to_string()).fetch_all(&self.readers).await?;
        let mut found = HashMap::new();
        for row in &rows {
            if let Some(number) = row.try_get(1)? {
                found.insert(timestamp(row, 0)?, number);
            }
        }
        Ok(found)
    }

    /// The files that came into force until a moment, the latest first, at most `most` and [`FILES_MAX`], and those of these
    /// numbers.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn files_in_force(
        &self,
        until: DateTime<Utc>,
        most: u32,
        also: &[i64],
    ) -> Result<Vec<FileInForce>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let rows = query(concat!(
            "WITH latest AS (SELECT config, MAX(loaded_at) AS at FROM config_loads WHERE loaded_at <= $1 GROUP BY config), \
             wanted AS (SELECT config FROM (SELECT config FROM latest ORDER BY at DESC, config DESC LIMIT $2) AS last \
             UNION SELECT value FROM ",
            number_rows!("$3"),
            " AS also) \
             SELECT v.number, v.hash, v.\"commit\", l.at, v.source, v.file FROM wanted w \
             JOIN config_versions v ON v.number = w.config JOIN latest l ON l.config = w.config \
             ORDER BY l.at DESC, v.number DESC"
        ));
        let also = serde_json::json!(also).to_string();
        let rows = rows.bind(until.timestamp_micros()).bind(most.min(FILES_MAX)).bind(also).fetch_all(&mut reading);
        let rows = rows.await?;
        let mut found: Vec<FileInForce> = rows.iter().map(in_force).collect::<Result<_, StoreError>>()?;
        let places: BTreeMap<i64, usize> = found.iter().map(|file| file.number).zip(0..).collect();
        let numbers = serde_json::json!(places.keys().collect::<Vec<_>>()).to_string();
        let rows = query(concat!(
            "SELECT f.config, f.name, f.kind, f.of, t.text FROM config_files f JOIN config_texts t ON t.hash = f.hash \
             WHERE f.config IN ",
            numbers!("$1"),
            " ORDER BY f.config, f.place"
        ));
        for row in rows.bind(&numbers).fetch_all(&mut reading).await? {
            found[places[&row.try_get(0)?]].packed.push(packed(&row)?);
        }
        let rows = query(concat!(
            "SELECT config, named_by, name, place FROM config_golden WHERE config IN ",
            numbers!("$1"),
            " ORDER BY config, named_by, name"
        ));
        for row in rows.bind(&numbers).fetch_all(&mut reading).await? {
            found[places[&row.try_get(0)?]].golden.push(golden(&row)?);
        }
        Ok(found)
    }
}

fn in_force(row: &Row) -> Result<FileInForce, StoreError> {
    Ok(FileInForce {
        number: row.try_get(0)?,
        hash: row.try_get(1)?,
        commit: row.try_get(2)?,
        loaded_at: timestamp(row, 3)?,
        source: row.try_get(4)?,
        name: row.try_get(5)?,
        packed: Vec::new(),
        golden: Vec::new(),
    })
}

fn packed(row: &Row) -> Result<PackedFile, StoreError> {
    let of: &str = row.try_get(3)?;
    Ok(PackedFile {
        name: row.try_get(1)?,
        kind: word(row.try_get(2)?, "kind of file", FleetFileKind::from_slug)?,
        of: serde_json::from_str(of).map_err(|error| StoreError::Unreadable(format!("config_files.of: {error}")))?,
        text: row.try_get(4)?,
    })
}

fn golden(row: &Row) -> Result<GoldenPlace, StoreError> {
    let place = |index| row.try_get::<i64>(index).map(|place| usize::try_from(place).unwrap_or_default());
    Ok(GoldenPlace { by: place(1)?, name: row.try_get(2)?, place: place(3)? })
}
