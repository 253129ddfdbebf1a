//! How large the database is, and by what it is kept.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Row;

use crate::store::file::private::beside;
use crate::store::file::readers::Readers;
use crate::store::values::column::micros;
use crate::store::values::error::StoreError;

/// Days after which a monitor's past takes no more room but in counts of days: packs are kept that long.
const DAYS_FULL: u64 = 35;

/// How large the database is, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub path: PathBuf,
    /// Its bytes, those to be reused included.
    pub bytes: u64,
    /// Bytes in it that the next rows will take.
    pub free_bytes: u64,
    /// Bytes of the write-ahead log beside it.
    pub log_bytes: u64,
    /// Days that the monitors of the fleet are known, at most 35 each, added up.
    pub monitor_days: f64,
    /// As SQLite writes it, such as `3.50.4`.
    pub sqlite: String,
    /// The version of the tables.
    pub schema: i64,
}

impl Figures {
    /// Bytes a monitor and day; none where the database is too young for its empty tables not to count.
    pub fn bytes_per_monitor_day(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a size is below 2^52")]
        (self.monitor_days >= 1.0).then(|| self.bytes as f64 / self.monitor_days)
    }
}

impl Readers {
    /// The database in figures. Cheap: no table is read but the monitors'.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn figures(&self, now: DateTime<Utc>) -> Result<Figures, StoreError> {
        let row = sqlx::query(
            "SELECT (SELECT file FROM pragma_database_list WHERE name = 'main'), \
             (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size), \
             (SELECT freelist_count FROM pragma_freelist_count), sqlite_version(), \
             (SELECT MAX(version) FROM _sqlx_migrations), \
             (SELECT COALESCE(SUM(CASE WHEN first_seen > $2 THEN 0 WHEN $2 - first_seen > $1 THEN $1 \
             ELSE $2 - first_seen END), 0) FROM monitors WHERE removed_at IS NULL)",
        )
        .bind(micros(Duration::from_secs(DAYS_FULL * 86_400)))
        .bind(now.timestamp_micros())
        .fetch_one(&self.readers)
        .await?;
        let path = PathBuf::from(row.try_get::<String, _>(0)?);
        let count = |index: usize| row.try_get::<i64, _>(index).map(i64::unsigned_abs);
        let (pages, page_bytes, free_pages) = (count(1)?, count(2)?, count(3)?);
        let log = std::fs::metadata(beside(&path, "-wal"));
        Ok(Figures {
            bytes: pages * page_bytes,
            free_bytes: free_pages * page_bytes,
            log_bytes: log.map(|log| log.len()).unwrap_or_default(),
            monitor_days: Duration::from_micros(count(6)?).as_secs_f64() / 86_400.0,
            sqlite: row.try_get(4)?,
            schema: row.try_get(5)?,
            path,
        })
    }
}
