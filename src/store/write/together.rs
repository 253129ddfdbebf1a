//! What of a receiver's goes out in one message: taken together when the first of it is due, and for good, so that every try
//! of it brings the same; and what has to wait where a receiver wants no more messages than so many.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::domain::paging::delivery::FALLBACK_AFTER;
use crate::domain::paging::gathering::TOO_MANY;
use crate::domain::reason::Severity;
use crate::domain::receiver::AtMost;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::claims::Companion;
use crate::store::values::column::{id_of, word};
use crate::store::values::error::StoreError;

/// Promises in one message; the rest of a group goes in the next.
const TOGETHER_MAX: u32 = 500;
/// Where places are taken by tries in flight: their ends are near.
const SOON: TimeDelta = TimeDelta::seconds(1);

/// Under what promises are lent out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lending<'a> {
    /// The proof of the claim.
    pub lease: &'a str,
    /// The node that claims.
    pub by: &'a str,
    pub until: DateTime<Utc>,
}

/// The promise that was claimed first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead<'a> {
    pub delivery: &'a str,
    pub receiver: &'a str,
    pub group_key: &'a str,
    /// The message it went in before, where it was tried.
    pub batch: Option<&'a str>,
}

/// Lends out with a promise what goes in the same message; the message's id, and the others by notification.
pub(super) async fn gather(
    connection: &mut Connection,
    lead: Lead<'_>,
    lending: Lending<'_>,
    (busy, now): (&str, DateTime<Utc>),
) -> Result<(String, Vec<Companion>), StoreError> {
    let batch = match lead.batch {
        Some(batch) => batch.to_owned(),
        None => begin(connection, lead, busy, now).await?,
    };
    let rows = query(
        concat!("UPDATE deliveries SET lease = $2, lease_until = $3, lease_by = $7 WHERE batch = $1 AND state = 'pending' AND id <> $4 \
         AND lease_until <= $5 AND id NOT IN ", texts!("$6"), " \
         RETURNING id, notification, (SELECT payload FROM notifications n WHERE n.id = deliveries.notification), severity, fallback"),
    )
    .bind(&batch)
    .bind(lending.lease)
    .bind(lending.until.timestamp_micros())
    .bind(lead.delivery)
    .bind(now.timestamp_micros())
    .bind(busy)
    .bind(lending.by)
    .fetch_all(connection)
    .await?;
    let mut companions = rows.iter().map(companion).collect::<Result<Vec<_>, _>>()?;
    companions.sort_by(|one, other| one.notification.cmp(&other.notification));
    Ok((batch, companions))
}

/// Takes together what waits under a key; an incident's messages in their order, so none behind one that is left out.
async fn begin(
    connection: &mut Connection,
    lead: Lead<'_>,
    busy: &str,
    now: DateTime<Utc>,
) -> Result<String, sqlx::Error> {
    let taken = query(concat!(
        "UPDATE deliveries SET batch = $1 WHERE id = $1 OR id IN (SELECT d.id FROM deliveries d \
         WHERE d.receiver = $2 AND d.group_key = $3 AND d.group_key <> '' AND d.state = 'pending' AND d.batch IS NULL \
         AND d.lease_until <= $4 AND d.id NOT IN ",
        texts!("$6"),
        " AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.state = 'pending' \
         AND e.order_key = d.order_key AND (e.sequence, e.notification) < (d.sequence, d.notification) AND e.id <> $1 \
         AND NOT (e.group_key = $3 AND e.batch IS NULL AND e.lease_until <= $4 \
         AND e.id NOT IN ",
        texts!("$6"),
        ")) \
         ORDER BY d.sequence, d.notification LIMIT $5) RETURNING id"
    ))
    .bind(lead.delivery)
    .bind(lead.receiver)
    .bind(lead.group_key)
    .bind(now.timestamp_micros())
    .bind(TOGETHER_MAX)
    .bind(busy)
    .fetch_all(&mut *connection)
    .await?;
    let mut taken = taken.iter().map(|row| row.try_get(0)).collect::<Result<Vec<&str>, _>>()?;
    taken.sort_unstable();
    // The same where the same is taken together again after a failover, and another where it is not.
    let batch = id_of(made_at(taken.first().copied().unwrap_or_default()), &taken);
    let renamed = query("UPDATE deliveries SET batch = $1 WHERE batch = $2").bind(&batch).bind(lead.delivery);
    renamed.execute(connection).await?;
    Ok(batch)
}

/// The moment that an id sorts by.
fn made_at(id: &str) -> DateTime<Utc> {
    let made = Uuid::parse_str(id).ok().and_then(|id| id.get_timestamp());
    let made = made.and_then(|made| DateTime::from_timestamp(i64::try_from(made.to_unix().0).ok()?, made.to_unix().1));
    made.unwrap_or_default()
}

fn companion(row: &Row) -> Result<Companion, StoreError> {
    Ok(Companion {
        delivery: row.try_get(0)?,
        notification: row.try_get(1)?,
        payload: row.try_get(2)?,
        severity: word(row.try_get(3)?, "severity", Severity::from_slug)?,
        fallback: row.try_get(4)?,
    })
}

/// How many more messages a receiver wants just now. Where it wants none, what is due waits until it does: for people in one
/// message, but for what wakes them for the first time, escalations of a page, ends, and what goes before these; for a
/// program one by one, in order. A drill does not wait.
pub(super) async fn hold_up(
    connection: &mut Connection,
    (receiver, is_for_people): (&str, bool),
    (at_most, in_flight): (AtMost, usize),
    now: DateTime<Utc>,
) -> Result<usize, sqlx::Error> {
    let per = TimeDelta::from_std(at_most.per).unwrap_or_default();
    let sent = query(
        "SELECT MAX(sent_at) FROM deliveries WHERE receiver = $1 AND sent_at IS NOT NULL AND sent_at > $2 \
         AND sent_at <= $3 GROUP BY COALESCE(batch, id) ORDER BY 1 DESC LIMIT $4",
    )
    .bind(receiver)
    .bind((now - per).timestamp_micros())
    .bind(now.timestamp_micros())
    .bind(at_most.messages)
    .fetch_all(&mut *connection)
    .await?;
    let wanted = at_most.messages as usize;
    let free = wanted.saturating_sub(sent.len() + in_flight);
    if free > 0 {
        return Ok(free);
    }
    let oldest = sent.last().filter(|_| sent.len() >= wanted).map(|row| row.try_get::<i64>(0)).transpose()?;
    let free_at = oldest.and_then(DateTime::from_timestamp_micros).map_or(now + SOON, |oldest| oldest + per);
    query(
        // What was tried, or is brought once more, keeps its message.
        "UPDATE deliveries SET next_at = $3, promised_at = CASE WHEN promised_at < $3 THEN $3 ELSE promised_at END, \
         group_key = CASE WHEN $4 <> 0 AND group_key = '' THEN $5 ELSE group_key END, \
         fallback_at = CASE WHEN $4 <> 0 AND fallback_at < $6 THEN $6 ELSE fallback_at END \
         WHERE receiver = $1 AND state = 'pending' AND next_at <= $2 AND lease_until <= $2 AND batch IS NULL \
         AND attempts = 0 AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.id = deliveries.notification \
         AND n.event IN ('drill', 'drill.over')) \
         AND NOT ($4 <> 0 AND EXISTS (SELECT 1 FROM deliveries l JOIN notifications n ON n.id = l.notification \
         WHERE l.state = 'pending' AND l.order_key = deliveries.order_key AND l.sequence >= deliveries.sequence \
         AND (n.event = 'incident.resolved' OR n.severity = 'page' AND (n.event = 'incident.escalated' \
         OR NOT EXISTS (SELECT 1 FROM deliveries b WHERE b.incident = l.incident AND b.receiver = l.receiver \
         AND b.sequence < l.sequence AND b.severity = 'page')))))",
    )
    .bind(receiver)
    .bind(now.timestamp_micros())
    .bind(free_at.timestamp_micros())
    .bind(is_for_people)
    .bind(TOO_MANY)
    .bind((free_at + TimeDelta::from_std(FALLBACK_AFTER).unwrap_or_default()).timestamp_micros())
    .execute(connection)
    .await?;
    // What may not wait goes on: nothing else of it is due any more.
    Ok(1)
}
