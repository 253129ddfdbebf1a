//! How large the database is, and by what it is kept.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::store::file::private::beside;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Pool;
use crate::store::sql::statement::query;
use crate::store::values::column::micros;
use crate::store::values::error::StoreError;

/// Days after which a monitor's past takes no more room but in counts of days: packs are kept that long.
const DAYS_FULL: u64 = 35;
/// Name, bytes, free bytes, SQLite and version of a file.
const FILE_SIZE: &str = "SELECT (SELECT file FROM pragma_database_list WHERE name = 'main'), \
     (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size), \
     (SELECT freelist_count FROM pragma_freelist_count) * (SELECT page_size FROM pragma_page_size), \
     sqlite_version(), NULL, (SELECT MAX(version) FROM _sqlx_migrations)";
/// The same of a database on a server, which knows of no free bytes without a walk through them.
const SERVER_SIZE: &str = "SELECT CAST(current_database() AS TEXT), pg_database_size(current_database()), 0, \
     NULL, split_part(current_setting('server_version'), ' ', 1), (SELECT MAX(version) FROM _sqlx_migrations)";

/// How large the database is, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The path of its file, or its name on its server.
    pub name: String,
    /// Its bytes, those to be reused included.
    pub bytes: u64,
    /// Bytes in it that the next rows will take.
    pub free_bytes: u64,
    /// Bytes of the write-ahead log beside it.
    pub log_bytes: u64,
    /// Days that the monitors of the fleet are known, at most 35 each, added up.
    pub monitor_days: f64,
    /// As SQLite writes it, such as `3.50.4`; none on a server.
    pub sqlite: Option<String>,
    /// As PostgreSQL writes it, such as `15.8`; none of a file.
    pub postgresql: Option<String>,
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
        let days = query(
            "SELECT CAST(COALESCE(SUM(CASE WHEN first_seen > $2 THEN 0 WHEN $2 - first_seen > $1 THEN $1 \
             ELSE $2 - first_seen END), 0) AS BIGINT) FROM monitors WHERE removed_at IS NULL",
        );
        let days = days.bind(micros(Duration::from_secs(DAYS_FULL * 86_400))).bind(now.timestamp_micros());
        let monitor_us: i64 = days.fetch_one(&self.readers).await?.try_get(0)?;
        let size = match &self.readers {
            Pool::Sqlite(_) => FILE_SIZE,
            Pool::Postgres(_) => SERVER_SIZE,
        };
        let row = query(size).fetch_one(&self.readers).await?;
        let count = |index: usize| row.try_get::<i64>(index).map(i64::unsigned_abs);
        let path = row.try_get::<String>(0)?;
        let log = match &self.readers {
            Pool::Sqlite(_) => std::fs::metadata(beside(Path::new(&path), "-wal")).ok(),
            Pool::Postgres(_) => None,
        };
        Ok(Figures {
            bytes: count(1)?,
            free_bytes: count(2)?,
            log_bytes: log.map(|log| log.len()).unwrap_or_default(),
            monitor_days: Duration::from_micros(monitor_us.unsigned_abs()).as_secs_f64() / 86_400.0,
            sqlite: row.try_get(3)?,
            postgresql: row.try_get(4)?,
            schema: row.try_get(5)?,
            name: path,
        })
    }
}
