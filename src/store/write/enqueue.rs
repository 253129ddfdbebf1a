//! Making promises: to the receivers of a notification, and to those who stand in for them.
//!
//! One receiver gets one notification once, whether as itself or as somebody's fallback; the table
//! holds that, so every function here may be repeated.

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::FALLBACK_AFTER;
use crate::domain::paging::gathering::{Gathered, instead_of};
use crate::domain::paging::notification::Notification;
use crate::domain::reason::Severity;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::change_set::{Addressee, Outgoing};
use crate::store::values::column::id_of;

/// Overdue promises whose fallback one turn wakes.
const FALLBACKS_MAX: u32 = 256;

/// Queues a notification for its receivers, and for every fallback that heard of its incident before.
pub(in crate::store) async fn promise(connection: &mut Connection, outgoing: &Outgoing) -> Result<(), sqlx::Error> {
    let notification = &outgoing.notification;
    let incident = notification.incident.as_ref().map(|incident| incident.id.as_str());
    write_notification(connection, outgoing, incident).await?;
    let mut promise = Promise {
        notification: &notification.id,
        incident,
        receiver: "",
        receiver_hash: "",
        sequence: notification.sequence,
        severity: notification.severity.slug(),
        now: notification.at,
        due: notification.at,
        group_key: "",
        fallback: None,
        fallback_at: None,
        fallback_of: None,
    };
    let wakes_fallback = notification.severity == Severity::Page;
    for addressee in &outgoing.to {
        promise.receiver = &addressee.receiver;
        promise.receiver_hash = &addressee.receiver_hash;
        promise.fallback = addressee.fallback.as_deref();
        promise.due = due(connection, notification, addressee).await?;
        promise.group_key = addressee.gathering.as_ref().map_or("", |gathering| &gathering.key);
        promise.fallback_at =
            addressee.fallback.as_ref().filter(|_| wakes_fallback).map(|_| promise.due + FALLBACK_AFTER);
        write_promise(connection, &promise).await?;
        hold_up_no_longer(connection, &promise).await?;
    }
    let Some(incident) = incident else { return Ok(()) };
    (promise.fallback, promise.fallback_at, promise.due) = (None, None, notification.at);
    for (receiver, hash, of) in stand_ins_of(connection, incident).await? {
        let key = outgoing.to.iter().find(|to| to.receiver == of).and_then(|to| to.gathering.as_ref());
        let group_key = key.map_or_else(String::new, |gathering| instead_of(&gathering.key, &of));
        let group_key = &*group_key;
        let stand_in =
            Promise { receiver: &receiver, receiver_hash: &hash, group_key, fallback_of: Some(&of), ..promise };
        write_promise(connection, &stand_in).await?;
    }
    Ok(())
}

/// When a receiver is to be told: at once, or together with what waits for it under the same key.
async fn due(
    connection: &mut Connection,
    notification: &Notification,
    addressee: &Addressee,
) -> Result<DateTime<Utc>, sqlx::Error> {
    let Some(gathering) = &addressee.gathering else { return Ok(notification.at) };
    let row = query(
        "SELECT (SELECT MIN(next_at) FROM deliveries WHERE receiver = $1 AND group_key = $2 AND state = 'pending' \
         AND group_key <> '' AND batch IS NULL AND next_at >= $3), \
         (SELECT MAX(sent_at) FROM deliveries WHERE receiver = $1 AND group_key = $2 AND group_key <> '')",
    )
    .bind(&addressee.receiver)
    .bind(&gathering.key)
    .bind(notification.at.timestamp_micros())
    .fetch_one(connection)
    .await?;
    let moment = |micros: Option<i64>| micros.and_then(DateTime::from_timestamp_micros);
    let gathered = Gathered { due: moment(row.try_get(0)?), told_at: moment(row.try_get(1)?) };
    Ok(gathering.pace.due(notification.is_loud(), gathered, notification.at))
}

/// What waits of an incident waits no longer than what follows it: a page is not to stand behind its own digest.
async fn hold_up_no_longer(connection: &mut Connection, promise: &Promise<'_>) -> Result<(), sqlx::Error> {
    query(
        "UPDATE deliveries SET next_at = CASE WHEN next_at > $2 THEN $2 ELSE next_at END, \
         promised_at = CASE WHEN promised_at > $2 THEN $2 ELSE promised_at END, \
         fallback_at = CASE WHEN fallback_at > $3 THEN $3 ELSE fallback_at END WHERE order_key = $1 AND state = 'pending' AND sequence < $4 \
         AND next_at > $2 AND batch IS NULL AND attempts = 0",
    )
    .bind(promise.order_key())
    .bind(promise.due.timestamp_micros())
    .bind((promise.due + FALLBACK_AFTER).timestamp_micros())
    .bind(promise.sequence)
    .execute(connection)
    .await?;
    Ok(())
}

/// Wakes the fallbacks of overdue pages; see [`crate::store::Store::wake_fallbacks`].
pub(in crate::store) async fn wake_fallbacks(
    connection: &mut Connection,
    now: DateTime<Utc>,
) -> Result<u64, sqlx::Error> {
    let overdue = query(
        "SELECT id, fallback FROM deliveries \
         WHERE state = 'pending' AND fallback_at <= $1 AND fallback IS NOT NULL ORDER BY fallback_at LIMIT $2",
    )
    .bind(now.timestamp_micros())
    .bind(FALLBACKS_MAX)
    .fetch_all(&mut *connection)
    .await?;
    for row in &overdue {
        wake(connection, row.try_get(0)?, row.try_get(1)?, now).await?;
    }
    Ok(overdue.len() as u64)
}

/// Promises to a stand-in what a delivery, and all unsent ones behind it on its order key, had promised.
pub(in crate::store) async fn wake(
    connection: &mut Connection,
    delivery: &str,
    stand_in: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let behind = query(
        // Apart, so that each finds its rows by an index.
        "SELECT id, notification, incident, sequence, severity, receiver, group_key FROM deliveries WHERE id = $1 \
         UNION ALL \
         SELECT later.id, later.notification, later.incident, later.sequence, later.severity, later.receiver, \
         later.group_key \
         FROM deliveries d JOIN deliveries later ON later.order_key = d.order_key AND later.sequence > d.sequence \
         AND later.state <> 'sent' WHERE d.id = $1 ORDER BY 4, 1",
    )
    .bind(delivery)
    .fetch_all(&mut *connection)
    .await?;
    for row in behind {
        let group_key = instead_of(row.try_get(6)?, row.try_get(5)?);
        let promise = Promise {
            notification: row.try_get(1)?,
            incident: row.try_get(2)?,
            receiver: stand_in,
            receiver_hash: "",
            sequence: row.try_get(3)?,
            severity: row.try_get(4)?,
            now,
            due: now,
            group_key: &group_key,
            fallback: None,
            fallback_at: None,
            fallback_of: Some(row.try_get(5)?),
        };
        write_promise(connection, &promise).await?;
        query("UPDATE deliveries SET fallback_at = NULL WHERE id = $1")
            .bind(row.try_get::<&str>(0)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// One row of `deliveries`, as it comes to be.
struct Promise<'a> {
    notification: &'a str,
    incident: Option<&'a str>,
    receiver: &'a str,
    receiver_hash: &'a str,
    sequence: u32,
    severity: &'a str,
    now: DateTime<Utc>,
    /// When it is to be brought: now, or together with others.
    due: DateTime<Utc>,
    /// Under which key it waits for them; empty: it goes alone.
    group_key: &'a str,
    fallback: Option<&'a str>,
    fallback_at: Option<DateTime<Utc>>,
    fallback_of: Option<&'a str>,
}

impl Promise<'_> {
    fn order_key(&self) -> String {
        format!("{}/{}", self.incident.unwrap_or(self.notification), self.receiver)
    }
}

async fn write_notification(
    connection: &mut Connection,
    outgoing: &Outgoing,
    incident: Option<&str>,
) -> Result<(), sqlx::Error> {
    let notification = &outgoing.notification;
    // The first bytes stay: a record that is committed twice must not change what was frozen.
    query(
        "INSERT INTO notifications (id, incident, sequence, event, at, monitor, severity, reason, summary, payload) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING",
    )
    .bind(&notification.id)
    .bind(incident)
    .bind(notification.sequence)
    .bind(notification.event.slug())
    .bind(notification.at.timestamp_micros())
    .bind(&notification.monitor.id)
    .bind(notification.severity.slug())
    .bind(notification.reason.map(|reason| reason.slug()))
    .bind(&notification.summary)
    .bind(&outgoing.payload)
    .execute(&mut *connection)
    .await?;
    let Some(incident) = incident else { return Ok(()) };
    query("INSERT INTO notification_incidents (notification, incident) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(&notification.id)
        .bind(incident)
        .execute(connection)
        .await?;
    Ok(())
}

/// Fallbacks that were woken for an incident: receiver, its hash, and whom it stands in for.
async fn stand_ins_of(
    connection: &mut Connection,
    incident: &str,
) -> Result<Vec<(String, String, String)>, sqlx::Error> {
    let rows = query(
        "SELECT receiver, MAX(receiver_hash), MAX(fallback_of) FROM deliveries \
         WHERE incident = $1 AND fallback_of IS NOT NULL GROUP BY receiver",
    )
    .bind(incident)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

async fn write_promise(connection: &mut Connection, promise: &Promise<'_>) -> Result<(), sqlx::Error> {
    let now = promise.now.timestamp_micros();
    query(
        "INSERT INTO deliveries (id, notification, incident, receiver, receiver_hash, order_key, sequence, severity, \
         state, created_at, promised_at, next_at, fallback, fallback_at, fallback_of, group_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $13, $13, $10, $11, $12, $14) \
         ON CONFLICT (notification, receiver) DO NOTHING",
    )
    // The same where it is written again after a failover: tries are recorded by it.
    .bind(id_of(promise.now, &[promise.notification, promise.receiver]))
    .bind(promise.notification)
    .bind(promise.incident)
    .bind(promise.receiver)
    .bind(promise.receiver_hash)
    .bind(promise.order_key())
    .bind(promise.sequence)
    .bind(promise.severity)
    .bind(now)
    .bind(promise.fallback)
    .bind(promise.fallback_at.map(|at| at.timestamp_micros()))
    .bind(promise.fallback_of)
    .bind(promise.due.timestamp_micros())
    .bind(promise.group_key)
    .execute(connection)
    .await?;
    Ok(())
}
