//! What people ask for, as rows: written before it is done, and done once.

use chrono::{DateTime, Utc};

use crate::domain::action::{Action, WAITING_MAX};
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::column::new_id;

/// Writes down what somebody asks for; false where too much waits already. What is asked of a list waits once.
pub(in crate::store) async fn ask(connection: &mut Connection, action: &Action) -> Result<bool, sqlx::Error> {
    if action.asked.is_of_list() && is_asked(connection, action).await? {
        return Ok(true);
    }
    let waiting = query(
        "SELECT COUNT(*) FROM actions WHERE applied_at IS NULL AND action IN ('recheck', 'accept', 'read_list', 'let_go')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let waiting: i64 = waiting.try_get(0)?;
    if usize::try_from(waiting).is_ok_and(|waiting| waiting >= WAITING_MAX) {
        return Ok(false);
    }
    write(connection, action).await?;
    Ok(true)
}

/// Whether the same waits already.
async fn is_asked(connection: &mut Connection, action: &Action) -> Result<bool, sqlx::Error> {
    let (word, subject) = action.asked.written();
    let same = query("SELECT 1 FROM actions WHERE applied_at IS NULL AND action = $1 AND subject = $2 LIMIT 1");
    Ok(same.bind(word).bind(subject).fetch_optional(connection).await?.is_some())
}

/// Writes down what somebody asked for, which waits from now on.
pub(in crate::store) async fn write(connection: &mut Connection, action: &Action) -> Result<(), sqlx::Error> {
    let (word, subject) = action.asked.written();
    query(
        "INSERT INTO actions (id, at, actor, action, subject, monitor) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(&action.id)
    .bind(action.at.timestamp_micros())
    .bind(&action.actor)
    .bind(word)
    .bind(subject)
    .bind(action.monitor.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes what a person did that nobody has to do something about any more.
pub(in crate::store) async fn done(
    connection: &mut Connection,
    (actor, word, subject): (&str, &str, &str),
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let insert = "INSERT INTO actions (id, at, actor, action, subject, applied_at) VALUES ($1, $2, $3, $4, $5, $2)";
    let query = query(insert).bind(new_id(now)).bind(now.timestamp_micros());
    query.bind(actor).bind(word).bind(subject).execute(connection).await?;
    Ok(())
}

/// Notes that something was done, or that there is nothing to do; a look that somebody wanted leaves no row.
pub(in crate::store) async fn applied(
    connection: &mut Connection,
    id: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM actions WHERE id = $1 AND action IN ('recheck', 'read_list') AND $2 > 0",
        "UPDATE actions SET applied_at = $2 WHERE id = $1 AND applied_at IS NULL",
    ] {
        query(statement).bind(id).bind(now.timestamp_micros()).execute(&mut *connection).await?;
    }
    Ok(())
}
