//! Silences, as people make and end them: each is a row before it is answered.

use chrono::{DateTime, Utc};

use crate::domain::paging::silence::{SILENCES_MAX, Silence};
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::matchers;
use crate::store::write::actions;

/// See [`crate::store::Store::make_silence`].
pub(in crate::store) async fn make(
    connection: &mut Connection,
    silence: &Silence,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let holding = query("SELECT COUNT(*) FROM silences WHERE ended_at IS NULL AND (until_at IS NULL OR until_at > $1)");
    let holding: i64 = holding.bind(now.timestamp_micros()).fetch_one(&mut *connection).await?.try_get(0)?;
    // One that would end with an incident that is over already would never end.
    let is_over = query("SELECT 1 FROM incidents WHERE id = $1 AND resolved_at IS NULL");
    let is_over = match &silence.until_incident {
        Some(incident) => is_over.bind(incident).fetch_optional(&mut *connection).await?.is_none(),
        None => false,
    };
    if is_over || holding >= SILENCES_MAX as i64 {
        return Ok(false);
    }
    query(
        "INSERT INTO silences (id, matchers, author, comment, from_at, until_at, until_incident) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
    )
    .bind(&silence.id)
    .bind(matchers::written(&silence.matches))
    .bind(&silence.author)
    .bind(&silence.comment)
    .bind(silence.from.timestamp_micros())
    .bind(silence.until.map(|at| at.timestamp_micros()))
    .bind(&silence.until_incident)
    .execute(&mut *connection)
    .await?;
    actions::done(connection, (&silence.author, "silence", &silence.id), now).await?;
    Ok(true)
}

/// See [`crate::store::Store::end_silence`].
pub(in crate::store) async fn end(
    connection: &mut Connection,
    id: &str,
    actor: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let ended = query(
        "UPDATE silences SET ended_at = $2, ended_by = $3 \
         WHERE id = $1 AND ended_at IS NULL AND (until_at IS NULL OR until_at > $2)",
    )
    .bind(id)
    .bind(now.timestamp_micros())
    .bind(actor)
    .execute(&mut *connection)
    .await?;
    if ended == 0 {
        return Ok(false);
    }
    actions::done(connection, (actor, "end_silence", id), now).await?;
    Ok(true)
}
