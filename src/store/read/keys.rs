//! Keys of the API, and the audit log.

use chrono::{DateTime, Utc};

use crate::domain::api_key::{ApiKey, KEYS_MAX, Role};
use crate::domain::audit::AuditLine;
use crate::store::read::readers::Readers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, timestamp_or_none, word};
use crate::store::values::error::StoreError;

/// The status of what is not answered, or never was.
pub(in crate::store) const UNANSWERED: i64 = 0;
/// Lines of the audit log in one answer.
pub(crate) const AUDIT_PAGE: u32 = 200;

impl Readers {
    /// The keys that open something, the first made first; at most [`KEYS_MAX`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn live_keys(&self, now: DateTime<Utc>) -> Result<Vec<ApiKey>, StoreError> {
        let rows = query(
            "SELECT id, name, hash, role, made_by, made_at, expires_at, ended_at, ended_by FROM api_keys \
             WHERE ended_at IS NULL AND expires_at > $1 ORDER BY id LIMIT $2",
        );
        let rows = rows.bind(now.timestamp_micros()).bind(KEYS_MAX as i64).fetch_all(&self.readers).await?;
        rows.iter().map(key).collect()
    }

    /// The audit log, the latest first; `before`: only what is older than the line of this id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn audit_log(&self, before: Option<&str>) -> Result<Vec<AuditLine>, StoreError> {
        let rows = query(
            "SELECT id, at, who, source, action, status FROM audit WHERE CAST($1 AS TEXT) IS NULL OR id < $1 ORDER BY id DESC LIMIT $2",
        );
        let rows = rows.bind(before).bind(AUDIT_PAGE).fetch_all(&self.readers).await?;
        rows.iter().map(line).collect()
    }
}

fn key(row: &Row) -> Result<ApiKey, StoreError> {
    let hash: Vec<u8> = row.try_get(2)?;
    let ended_by: Option<String> = row.try_get(8)?;
    Ok(ApiKey {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        hash: hash.try_into().map_err(|_| StoreError::Unreadable("the hash of a key is not of 32 bytes".to_owned()))?,
        role: word(row.try_get(3)?, "role", Role::of_key)?,
        made_by: row.try_get(4)?,
        made_at: timestamp(row, 5)?,
        expires_at: timestamp(row, 6)?,
        ended: timestamp_or_none(row, 7)?.zip(ended_by),
    })
}

fn line(row: &Row) -> Result<AuditLine, StoreError> {
    Ok(AuditLine {
        id: row.try_get(0)?,
        at: timestamp(row, 1)?,
        who: row.try_get(2)?,
        source: row.try_get(3)?,
        action: row.try_get(4)?,
        status: u16::try_from(row.try_get::<i64>(5)?).ok().filter(|status| i64::from(*status) != UNANSWERED),
    })
}
