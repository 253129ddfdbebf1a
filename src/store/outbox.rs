//! The promises: who is to hear of what, in which order, and how each try ended.
//!
//! A promise is made in the transaction of the decision it tells of ([`promise`]), so neither is
//! there without the other. It is claimed by a conditional update that lends it out for [`LEASE`];
//! should the trier die, it is anybody's again after that. It is marked done *after* the send:
//! delivery is at least once, and a repeat carries the same id and bytes.
//!
//! Within an order key (incident and receiver) only the first unfinished promise may be claimed.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use crate::domain::paging::delivery::{AttemptEnd, DeliveryState, FALLBACK_AFTER};
use crate::domain::reason::Severity;
use crate::store::column::{moment, moment_from, new_id, word};
use crate::store::record::Outgoing;
use crate::store::writer::{Answer, Work};
use crate::store::{Store, StoreError};

/// How long a claim holds: three times the 10 s an attempt may take, so that it never ends under one.
pub const LEASE: TimeDelta = TimeDelta::seconds(30);
/// Due promises looked at for one claim.
const CANDIDATES_MAX: u32 = 256;
/// Overdue promises whose fallback one turn wakes.
const FALLBACKS_MAX: u32 = 256;
/// Characters kept of why an attempt failed.
const NOTE_CHARS_MAX: usize = 500;

/// What may be claimed in one turn.
#[derive(Debug, Clone, Default)]
pub struct Claiming {
    /// Promises at most.
    pub limit: usize,
    /// Promises of one receiver at most, those in flight included.
    pub per_receiver: usize,
    /// Promises in flight by receiver.
    pub in_flight: HashMap<String, usize>,
    /// Ids of the promises in flight: never claimed twice, even where recording their end takes longer than the lease.
    pub busy: HashSet<String>,
}

impl Claiming {
    fn full_receivers(&self) -> String {
        let full = self.in_flight.iter().filter(|(_, count)| **count >= self.per_receiver);
        serde_json::json!(full.map(|(receiver, _)| receiver).collect::<Vec<_>>()).to_string()
    }

    fn busy_ids(&self) -> String {
        serde_json::json!(self.busy).to_string()
    }
}

/// One promise, lent out to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The delivery's id.
    pub delivery: String,
    /// The notification's id, constant over attempts and receivers.
    pub notification: String,
    /// The frozen bytes.
    pub payload: String,
    /// To whom.
    pub receiver: String,
    /// Who hears of it where this receiver cannot be reached.
    pub fallback: Option<String>,
    /// How loud.
    pub severity: Severity,
    /// The proof of this claim.
    pub lease: String,
    /// Attempts made since it was promised, or replayed.
    pub tries: u32,
    /// When it was promised, or replayed.
    pub promised_at: DateTime<Utc>,
}

/// How a try ended and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempted {
    /// The delivery's id.
    pub delivery: String,
    /// The claim under which it was tried.
    pub lease: String,
    /// When the try began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// How it ended.
    pub end: AttemptEnd,
    /// What follows.
    pub next: Next,
    /// Receivers that hear of it, and of all that follows on its order key, from now on.
    pub stand_ins: Vec<String>,
}

/// What follows a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Done.
    Sent,
    /// Tried again at this moment.
    Retry(DateTime<Utc>),
    /// Given up; a person may replay it.
    Dead,
}

impl Next {
    /// The state that follows.
    pub const fn state(self) -> DeliveryState {
        match self {
            Self::Sent => DeliveryState::Sent,
            Self::Retry(_) => DeliveryState::Pending,
            Self::Dead => DeliveryState::Dead,
        }
    }
}

/// When the outbox wants a hand again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outlook {
    /// The first moment at which something can be claimed.
    pub claim_at: Option<DateTime<Utc>>,
    /// The first moment at which a fallback is to be woken.
    pub fallback_at: Option<DateTime<Utc>>,
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Deliveries still to be brought.
    pub pending: u64,
    /// When the oldest of them was promised.
    pub oldest: Option<DateTime<Utc>>,
    /// Deliveries given up.
    pub dead: u64,
}

impl Store {
    /// Lends out what is due, the longest due first.
    ///
    /// # Errors
    /// Where the database does not answer; nothing is lent out then.
    pub async fn claim(&self, now: DateTime<Utc>, claiming: Claiming) -> Result<Vec<Claim>, StoreError> {
        match self.ask(Work::Claim { now, claiming }).await? {
            Answer::Claims(claims) => Ok(claims),
            _ => Ok(Vec::new()),
        }
    }

    /// Records how a try ended, with what follows from it, in one transaction.
    ///
    /// # Errors
    /// Where the database does not answer; the try is then repeated after its lease.
    pub async fn attempted(&self, attempted: Attempted) -> Result<(), StoreError> {
        self.ask(Work::Attempted(Box::new(attempted))).await.map(drop)
    }

    /// Wakes the fallback of every page that nobody took in time; answers how many were woken.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn wake_fallbacks(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        match self.ask(Work::WakeFallbacks { now }).await? {
            Answer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// Promises a finished delivery anew, same id and bytes; false where there is none, or it is pending anyway.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn replay(&self, delivery: &str, actor: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::Replay { delivery: delivery.to_owned(), actor: actor.to_owned(), now };
        Ok(matches!(self.ask(work).await?, Answer::Changed(true)))
    }

    /// When to look again; receivers that are full and deliveries in flight do not count, for their ends wake us.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn outlook(&self, claiming: &Claiming) -> Result<Outlook, StoreError> {
        let claim_at: Option<i64> = sqlx::query(
            "SELECT MIN(MAX(d.next_at, d.lease_until)) FROM deliveries d WHERE d.state = 'pending' \
             AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.state = 'pending' AND e.order_key = d.order_key \
             AND (e.sequence, e.notification) < (d.sequence, d.notification)) \
             AND d.receiver NOT IN (SELECT value FROM json_each($1)) AND d.id NOT IN (SELECT value FROM json_each($2))",
        )
        .bind(claiming.full_receivers())
        .bind(claiming.busy_ids())
        .fetch_one(&self.readers)
        .await?
        .try_get(0)?;
        let fallback_at: Option<i64> =
            sqlx::query("SELECT MIN(fallback_at) FROM deliveries WHERE state = 'pending' AND fallback_at IS NOT NULL")
                .fetch_one(&self.readers)
                .await?
                .try_get(0)?;
        Ok(Outlook {
            claim_at: claim_at.map(moment_from).transpose()?,
            fallback_at: fallback_at.map(moment_from).transpose()?,
        })
    }

    /// How much waits, and since when.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let waiting = sqlx::query("SELECT COUNT(*), MIN(promised_at) FROM deliveries WHERE state = 'pending'")
            .fetch_one(&self.readers)
            .await?;
        let dead: i64 = sqlx::query("SELECT COUNT(*) FROM deliveries WHERE state = 'dead'")
            .fetch_one(&self.readers)
            .await?
            .try_get(0)?;
        Ok(Backlog {
            pending: waiting.try_get::<i64, _>(0)?.unsigned_abs(),
            oldest: waiting.try_get::<Option<i64>, _>(1)?.map(moment_from).transpose()?,
            dead: dead.unsigned_abs(),
        })
    }
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
    fallback: Option<&'a str>,
    fallback_at: Option<DateTime<Utc>>,
    fallback_of: Option<&'a str>,
}

/// Queues a notification for its receivers, and for every fallback that heard of its incident before.
pub(in crate::store) async fn promise(
    connection: &mut SqliteConnection,
    outgoing: &Outgoing,
) -> Result<(), sqlx::Error> {
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
        fallback: None,
        fallback_at: None,
        fallback_of: None,
    };
    let wakes_fallback = notification.severity == Severity::Page;
    for addressee in &outgoing.to {
        promise.receiver = &addressee.receiver;
        promise.receiver_hash = &addressee.receiver_hash;
        promise.fallback = addressee.fallback.as_deref();
        promise.fallback_at =
            addressee.fallback.as_ref().filter(|_| wakes_fallback).map(|_| notification.at + FALLBACK_AFTER);
        write_promise(connection, &promise).await?;
    }
    let Some(incident) = incident else { return Ok(()) };
    (promise.fallback, promise.fallback_at) = (None, None);
    for (receiver, hash, of) in stand_ins_of(connection, incident).await? {
        let stand_in = Promise { receiver: &receiver, receiver_hash: &hash, fallback_of: Some(&of), ..promise };
        write_promise(connection, &stand_in).await?;
    }
    Ok(())
}

async fn write_notification(
    connection: &mut SqliteConnection,
    outgoing: &Outgoing,
    incident: Option<&str>,
) -> Result<(), sqlx::Error> {
    let notification = &outgoing.notification;
    // The first bytes stay: a record that is committed twice must not change what was frozen.
    sqlx::query(
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
    sqlx::query("INSERT INTO notification_incidents (notification, incident) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(&notification.id)
        .bind(incident)
        .execute(connection)
        .await?;
    Ok(())
}

/// Fallbacks that were woken for an incident: receiver, its hash, and whom it stands in for.
async fn stand_ins_of(
    connection: &mut SqliteConnection,
    incident: &str,
) -> Result<Vec<(String, String, String)>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT receiver, MAX(receiver_hash), MAX(fallback_of) FROM deliveries \
         WHERE incident = $1 AND fallback_of IS NOT NULL GROUP BY receiver",
    )
    .bind(incident)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

async fn write_promise(connection: &mut SqliteConnection, promise: &Promise<'_>) -> Result<(), sqlx::Error> {
    let order_key = format!("{}/{}", promise.incident.unwrap_or(promise.notification), promise.receiver);
    let now = promise.now.timestamp_micros();
    sqlx::query(
        "INSERT INTO deliveries (id, notification, incident, receiver, receiver_hash, order_key, sequence, severity, \
         state, created_at, promised_at, next_at, fallback, fallback_at, fallback_of) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $9, $9, $10, $11, $12) \
         ON CONFLICT (notification, receiver) DO NOTHING",
    )
    .bind(new_id(promise.now))
    .bind(promise.notification)
    .bind(promise.incident)
    .bind(promise.receiver)
    .bind(promise.receiver_hash)
    .bind(order_key)
    .bind(promise.sequence)
    .bind(promise.severity)
    .bind(now)
    .bind(promise.fallback)
    .bind(promise.fallback_at.map(|at| at.timestamp_micros()))
    .bind(promise.fallback_of)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lends out what is due; see [`Store::claim`].
pub(in crate::store) async fn claim(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
    mut claiming: Claiming,
) -> Result<Vec<Claim>, StoreError> {
    let due = sqlx::query(
        "SELECT d.id, d.receiver FROM deliveries d \
         WHERE d.state = 'pending' AND d.next_at <= $1 AND d.lease_until <= $1 \
         AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.state = 'pending' AND e.order_key = d.order_key \
         AND (e.sequence, e.notification) < (d.sequence, d.notification)) \
         AND d.receiver NOT IN (SELECT value FROM json_each($2)) AND d.id NOT IN (SELECT value FROM json_each($3)) \
         ORDER BY d.next_at, d.id LIMIT $4",
    )
    .bind(now.timestamp_micros())
    .bind(claiming.full_receivers())
    .bind(claiming.busy_ids())
    .bind(CANDIDATES_MAX)
    .fetch_all(&mut *connection)
    .await?;
    let lease = new_id(now);
    let mut claims = Vec::new();
    for row in due {
        let (id, receiver): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let in_flight = claiming.in_flight.entry(receiver).or_default();
        if claims.len() >= claiming.limit || *in_flight >= claiming.per_receiver {
            continue;
        }
        if let Some(claim) = lend(connection, &id, &lease, now).await? {
            *in_flight += 1;
            claims.push(claim);
        }
    }
    Ok(claims)
}

async fn lend(
    connection: &mut SqliteConnection,
    id: &str,
    lease: &str,
    now: DateTime<Utc>,
) -> Result<Option<Claim>, StoreError> {
    let row = sqlx::query(
        "UPDATE deliveries SET lease = $2, lease_until = $3 WHERE id = $1 AND state = 'pending' AND lease_until <= $4 \
         RETURNING id, notification, (SELECT payload FROM notifications n WHERE n.id = deliveries.notification), \
         receiver, fallback, severity, lease, tries, promised_at",
    )
    .bind(id)
    .bind(lease)
    .bind((now + LEASE).timestamp_micros())
    .bind(now.timestamp_micros())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(claim_from).transpose()
}

fn claim_from(row: &SqliteRow) -> Result<Claim, StoreError> {
    Ok(Claim {
        delivery: row.try_get(0)?,
        notification: row.try_get(1)?,
        payload: row.try_get(2)?,
        receiver: row.try_get(3)?,
        fallback: row.try_get(4)?,
        severity: word(row.try_get(5)?, "severity", Severity::from_slug)?,
        lease: row.try_get(6)?,
        tries: row.try_get(7)?,
        promised_at: moment(row, 8)?,
    })
}

/// Records a try; see [`Store::attempted`].
pub(in crate::store) async fn attempted(
    connection: &mut SqliteConnection,
    attempted: &Attempted,
) -> Result<(), sqlx::Error> {
    let (ended, note) = match &attempted.end {
        AttemptEnd::Accepted => ("accepted", ""),
        AttemptEnd::Failed { why, .. } => ("failed", why.as_str()),
        AttemptEnd::Refused { why } => ("refused", why.as_str()),
    };
    sqlx::query(
        "INSERT INTO attempts (delivery, number, started_at, ended_at, ended, note) \
         VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE delivery = $1), $2, $3, $4, $5)",
    )
    .bind(&attempted.delivery)
    .bind(attempted.started_at.timestamp_micros())
    .bind(attempted.ended_at.timestamp_micros())
    .bind(ended)
    .bind(note.chars().take(NOTE_CHARS_MAX).collect::<String>())
    .execute(&mut *connection)
    .await?;
    let ended_at = attempted.ended_at.timestamp_micros();
    let (next_at, sent_at) = match attempted.next {
        Next::Sent => (ended_at, Some(ended_at)),
        Next::Retry(at) => (at.timestamp_micros(), None),
        Next::Dead => (ended_at, None),
    };
    // A yes is a yes, even where the lease has passed to somebody else meanwhile; a no counts only for its holder.
    sqlx::query(
        "UPDATE deliveries SET attempts = attempts + 1, tries = tries + 1, state = $3, next_at = $4, \
         sent_at = COALESCE($5, sent_at), lease = NULL, lease_until = 0 WHERE id = $1 AND (lease = $2 OR $3 = 'sent')",
    )
    .bind(&attempted.delivery)
    .bind(&attempted.lease)
    .bind(attempted.next.state().slug())
    .bind(next_at)
    .bind(sent_at)
    .execute(&mut *connection)
    .await?;
    for stand_in in &attempted.stand_ins {
        wake(connection, &attempted.delivery, stand_in, attempted.ended_at).await?;
    }
    Ok(())
}

/// Wakes the fallbacks of overdue pages; see [`Store::wake_fallbacks`].
pub(in crate::store) async fn wake_fallbacks(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
) -> Result<u64, sqlx::Error> {
    let overdue = sqlx::query(
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
async fn wake(
    connection: &mut SqliteConnection,
    delivery: &str,
    stand_in: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let owed = sqlx::query(
        "SELECT later.id, later.notification, later.incident, later.sequence, later.severity, later.receiver \
         FROM deliveries d JOIN deliveries later ON later.order_key = d.order_key \
         WHERE d.id = $1 AND (later.id = d.id OR (later.sequence > d.sequence AND later.state <> 'sent'))",
    )
    .bind(delivery)
    .fetch_all(&mut *connection)
    .await?;
    for row in owed {
        let promise = Promise {
            notification: row.try_get(1)?,
            incident: row.try_get(2)?,
            receiver: stand_in,
            receiver_hash: "",
            sequence: row.try_get(3)?,
            severity: row.try_get(4)?,
            now,
            fallback: None,
            fallback_at: None,
            fallback_of: Some(row.try_get(5)?),
        };
        write_promise(connection, &promise).await?;
        sqlx::query("UPDATE deliveries SET fallback_at = NULL WHERE id = $1")
            .bind(row.try_get::<&str, _>(0)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Promises a finished delivery anew; see [`Store::replay`].
pub(in crate::store) async fn replay(
    connection: &mut SqliteConnection,
    delivery: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let changed = sqlx::query(
        "UPDATE deliveries SET state = 'pending', promised_at = $2, next_at = $2, tries = 0, lease = NULL, \
         lease_until = 0, fallback_at = NULL WHERE id = $1 AND state IN ('dead', 'sent')",
    )
    .bind(delivery)
    .bind(now.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(changed.rows_affected() > 0)
}
