//! Drills: the row of a run and what it promises, and what came of it at each receiver.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::DeliveryState;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::{text_rows, texts};
use crate::store::sql::statement::query;
use crate::store::values::change_set::Outgoing;
use crate::store::values::column::micros;
use crate::store::values::drill_rows::{DrillEnd, DrillOutcome, DrillRun};
use crate::store::write::enqueue::promise;

/// See [`crate::store::Store::know_drills`].
pub(in crate::store) async fn know(
    connection: &mut Connection,
    ids: &[String],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let json = serde_json::json!(ids).to_string();
    query(concat!("DELETE FROM drills WHERE drill NOT IN ", texts!("$1")))
        .bind(&json)
        .execute(&mut *connection)
        .await?;
    // One that came to be known by a clock ahead of this one would wait until then.
    query(
        concat!(
            "INSERT INTO drills (drill, since) SELECT value, $2 FROM ",
            text_rows!("$1"),
            " AS names WHERE true ON CONFLICT (drill) DO UPDATE SET since = excluded.since WHERE drills.since > excluded.since",
        ),
    )
    .bind(&json)
    .bind(now.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(())
}

/// See [`crate::store::Store::begin_drill`].
pub(in crate::store) async fn begin(connection: &mut Connection, run: &DrillRun) -> Result<bool, sqlx::Error> {
    let begun_at = run.begun_at.timestamp_micros();
    // What was told by a clock ahead of this one was told by now: else it would stay the last until then.
    for ahead in [
        "UPDATE drill_receipts SET begun_at = $1, ended_at = CASE WHEN ended_at > $1 THEN $1 ELSE ended_at END WHERE begun_at > $1",
        "UPDATE drill_runs SET begun_at = $1 WHERE begun_at > $1",
    ] {
        query(ahead).bind(begun_at).execute(&mut *connection).await?;
    }
    let made = query(
        "INSERT INTO drill_runs (id, drill, due_at, begun_at, place) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
    )
    .bind(&run.id)
    .bind(&run.drill)
    .bind(run.due_at.timestamp_micros())
    .bind(begun_at)
    .bind(&run.place)
    .execute(&mut *connection)
    .await?;
    if made == 0 {
        return Ok(false);
    }
    for call in &run.calls {
        let Some(addressee) = call.to.first() else { continue };
        promise(connection, call).await?;
        query(
            "INSERT INTO drill_receipts (run, receiver, notification, begun_at, timeout_us) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&run.id)
        .bind(&addressee.receiver)
        .bind(&call.notification.id)
        .bind(begun_at)
        .bind(micros(run.timeout))
        .execute(&mut *connection)
        .await?;
    }
    Ok(true)
}

/// See [`crate::store::Store::end_drill`].
pub(in crate::store) async fn end(
    connection: &mut Connection,
    end: &DrillEnd,
) -> Result<Option<DrillOutcome>, sqlx::Error> {
    let Brought { state, took_us, answer } = brought(connection, end).await?;
    if state == Some(DeliveryState::Pending) && !end.is_late {
        return Ok(None);
    }
    let took_us = took_us.filter(|_| state == Some(DeliveryState::Sent));
    let answer = if took_us.is_some() { String::new() } else { answer };
    let ended = query(
        "UPDATE drill_receipts SET ended_at = $3, took_us = $4, answer = $5 \
         WHERE run = $1 AND receiver = $2 AND ended_at IS NULL",
    )
    .bind(&end.run)
    .bind(&end.receiver)
    .bind(end.now.timestamp_micros())
    .bind(took_us)
    .bind(&answer)
    .execute(&mut *connection)
    .await?;
    if ended == 0 {
        return Ok(None);
    }
    // Also what a fallback was still to hear: nobody is to be told tomorrow that nothing was wrong.
    query(
        "UPDATE deliveries SET state = 'dead', next_at = $2, lease = NULL, lease_until = 0, fallback_at = NULL \
         WHERE notification = $1 AND state = 'pending'",
    )
    .bind(&end.notification)
    .bind(end.now.timestamp_micros())
    .execute(&mut *connection)
    .await?;
    tell_of_end(connection, end).await?;
    Ok(Some(DrillOutcome { took: took_us.map(|us| Duration::from_micros(us.unsigned_abs())), answer }))
}

/// How a message of a drill was brought.
struct Brought {
    /// None where it was forgotten.
    state: Option<DeliveryState>,
    /// From the promise to the yes.
    took_us: Option<i64>,
    /// What the last try was answered; empty where none was made.
    answer: String,
}

async fn brought(connection: &mut Connection, end: &DrillEnd) -> Result<Brought, sqlx::Error> {
    let row = query(
        "SELECT state, CASE WHEN sent_at < promised_at THEN 0 ELSE sent_at - promised_at END, \
         COALESCE((SELECT a.note FROM attempts a WHERE a.delivery = d.id ORDER BY a.number DESC LIMIT 1), '') \
         FROM deliveries d WHERE notification = $1 AND receiver = $2",
    )
    .bind(&end.notification)
    .bind(&end.receiver)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(Brought { state: None, took_us: None, answer: String::new() }) };
    Ok(Brought { state: DeliveryState::from_slug(row.try_get(0)?), took_us: row.try_get(1)?, answer: row.try_get(2)? })
}

/// Promises the end to those who were told of the drill, be it instead of another.
async fn tell_of_end(connection: &mut Connection, end: &DrillEnd) -> Result<(), sqlx::Error> {
    let rows = query("SELECT receiver FROM deliveries WHERE notification = $1")
        .bind(&end.notification)
        .fetch_all(&mut *connection)
        .await?;
    let told: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let to: Vec<_> = end.end.to.iter().filter(|one| told.contains(&one.receiver)).cloned().collect();
    if to.is_empty() {
        return Ok(());
    }
    promise(connection, &Outgoing { to, ..end.end.clone() }).await
}
