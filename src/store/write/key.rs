//! Keys of the API and the audit log, as people make and ask: each is a row before it is answered.

use chrono::{DateTime, Utc};

use crate::domain::api_key::{ApiKey, KEYS_MAX};
use crate::domain::audit::AuditLine;
use crate::store::read::keys::UNANSWERED;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;

/// See [`crate::store::Store::make_key`].
pub(in crate::store) async fn make(
    connection: &mut Connection,
    key: &ApiKey,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let live = query("SELECT COUNT(*) FROM api_keys WHERE ended_at IS NULL AND expires_at > $1");
    let live: i64 = live.bind(now.timestamp_micros()).fetch_one(&mut *connection).await?.try_get(0)?;
    if live >= KEYS_MAX as i64 {
        return Ok(false);
    }
    query(
        "INSERT INTO api_keys (id, name, hash, role, made_by, made_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&key.id)
    .bind(&key.name)
    .bind(key.hash.as_slice())
    .bind(key.role.slug())
    .bind(&key.made_by)
    .bind(key.made_at.timestamp_micros())
    .bind(key.expires_at.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(true)
}

/// See [`crate::store::Store::end_key`].
pub(in crate::store) async fn end(
    connection: &mut Connection,
    id: &str,
    actor: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let ended = query("UPDATE api_keys SET ended_at = $2, ended_by = $3 WHERE id = $1 AND ended_at IS NULL");
    let ended = ended.bind(id).bind(now.timestamp_micros()).bind(actor).execute(connection).await?;
    Ok(ended > 0)
}

/// See [`crate::store::Store::audit`].
pub(in crate::store) async fn audit(connection: &mut Connection, line: &AuditLine) -> Result<(), sqlx::Error> {
    let put = "INSERT INTO audit (id, at, who, source, action, status) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (id) DO UPDATE SET status = excluded.status";
    query(put)
        .bind(&line.id)
        .bind(line.at.timestamp_micros())
        .bind(&line.who)
        .bind(&line.source)
        .bind(&line.action)
        .bind(line.status.map_or(UNANSWERED, i64::from))
        .execute(connection)
        .await?;
    Ok(())
}
