//! The promises: who is to hear of what, in which order, and how each try ended.
//!
//! A promise is made (`promise`) in the transaction of the decision it tells of, so neither is
//! there without the other. It is claimed by a conditional update that lends it out for [`LEASE`];
//! should the trier die, it is anybody's again after that, and at once after its new start. It is
//! marked done *after* the send: delivery is at least once, and a repeat carries the same id and bytes.
//!
//! Within an order key (incident and receiver) only the first unfinished promise may be claimed. Claiming, handing back and
//! recording stay in one file, since each leans on what the others leave in a row.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::paging::delivery::{AttemptEnd, FALLBACK_AFTER};
use crate::domain::reason::Severity;
use crate::domain::shard::{Shard, Shards};
use crate::store::read::firing;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::claims::{Attempted, Claim, Claiming, NextAttempt, Together, TriedDelivery};
use crate::store::values::column::{new_id, timestamp, timestamp_from, word};
use crate::store::values::error::StoreError;
use crate::store::write::enqueue::wake;
use crate::store::write::together::{self, Lead, Lending, hold_up};

/// How long a claim holds: three times the 10 s an attempt may take, so that it never ends under one.
pub const LEASE: TimeDelta = TimeDelta::seconds(30);
/// Characters kept of why an attempt failed.
const NOTE_CHARS_MAX: usize = 500;

/// The receivers for whom anything waits, one index look-up each however much waits.
macro_rules! waiting_receivers {
    () => {
        "WITH RECURSIVE waiting (receiver) AS (SELECT MIN(receiver) FROM deliveries WHERE state = 'pending' \
         UNION ALL SELECT (SELECT MIN(receiver) FROM deliveries WHERE state = 'pending' \
         AND receiver > waiting.receiver) FROM waiting WHERE waiting.receiver IS NOT NULL) "
    };
}

/// Pending, and the first unfinished one of its order key.
macro_rules! claimable {
    () => {
        "d.state = 'pending' AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.state = 'pending' \
         AND e.order_key = d.order_key AND (e.sequence, e.notification) < (d.sequence, d.notification))"
    };
}

/// When the outbox wants a hand again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outlook {
    /// The first moment at which something can be claimed.
    pub claim_at: Option<DateTime<Utc>>,
    /// The first moment at which a fallback is to be woken.
    pub fallback_at: Option<DateTime<Utc>>,
}

impl Readers {
    /// When to look again at what receivers are promised that may be told; receivers that are full and deliveries in flight do not
    /// count, for their ends wake us.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn outlook(&self, now: DateTime<Utc>, claiming: &Claiming) -> Result<Outlook, StoreError> {
        let due = query(concat!(
            waiting_receivers!(),
            "SELECT receiver, (SELECT d.next_at FROM deliveries d WHERE d.receiver = waiting.receiver AND ",
            claimable!(),
            concat!(" AND d.lease_until <= $1 AND d.id NOT IN ", texts!("$2"), " ORDER BY d.next_at LIMIT 1) "),
            concat!("FROM waiting WHERE receiver NOT IN ", texts!("$3")),
        ))
        .bind(now.timestamp_micros())
        .bind(claiming.busy_ids())
        .bind(claiming.full_receivers())
        .fetch_all(&self.readers)
        .await?;
        // What a delivery worker that died had claimed.
        let lent = query(concat!(
            "SELECT receiver, MIN(lease_until) FROM deliveries WHERE state = 'pending' AND lease_until > 0 AND lease_until > $1 \
             AND id NOT IN ",
            texts!("$2"),
            " GROUP BY receiver"
        ))
        .bind(now.timestamp_micros())
        .bind(claiming.busy_ids())
        .fetch_all(&self.readers)
        .await?;
        let mut claim_at: Option<i64> = None;
        for row in due.iter().chain(&lent) {
            let receiver: Option<&str> = row.try_get(0)?;
            if receiver.is_some_and(|receiver| claiming.shards.has(Shard::of_receiver(receiver))) {
                claim_at = claim_at.into_iter().chain(row.try_get::<Option<i64>>(1)?).min();
            }
        }
        let fallback_at: Option<i64> =
            query("SELECT MIN(fallback_at) FROM deliveries WHERE state = 'pending' AND fallback_at IS NOT NULL")
                .fetch_one(&self.readers)
                .await?
                .try_get(0)?;
        Ok(Outlook {
            claim_at: claim_at.map(timestamp_from).transpose()?,
            fallback_at: fallback_at.map(timestamp_from).transpose()?,
        })
    }
}

/// Lends out to a node what is due; see `Store::claim`.
pub(in crate::store) async fn claim(
    connection: &mut Connection,
    by: &str,
    now: DateTime<Utc>,
    (claiming, shards): (&Claiming, &Shards),
) -> Result<Vec<Claim>, StoreError> {
    let receivers = query(concat!(waiting_receivers!(), "SELECT receiver FROM waiting WHERE receiver IS NOT NULL"))
        .fetch_all(&mut *connection)
        .await?;
    let mut due: Vec<(i64, String)> = Vec::new();
    for row in receivers {
        let receiver: &str = row.try_get(0)?;
        if !shards.has(Shard::of_receiver(receiver)) {
            continue;
        }
        let mut room = claiming.room(receiver);
        if let Some(at_most) = claiming.at_most.get(receiver).filter(|_| room > 0) {
            let in_flight = claiming.in_flight.get(receiver).copied().unwrap_or_default();
            let people = (receiver, claiming.people.contains(receiver));
            room = room.min(hold_up(connection, people, (*at_most, in_flight), now).await?);
        }
        due.extend(due_for(connection, now, claiming, (receiver, room)).await?);
    }
    // The longest due first, so that many receivers that hang do not starve the last of the alphabet.
    due.sort();
    let lending = Lending { lease: &new_id(now), by, until: now + LEASE };
    let mut claims = Vec::new();
    for (_, id) in due.into_iter().take(claiming.limit) {
        claims.extend(lend(connection, (&id, lending), claiming, now).await?);
    }
    Ok(claims)
}

/// What of one receiver's is due, as far as it has room: moment and id.
async fn due_for(
    connection: &mut Connection,
    now: DateTime<Utc>,
    claiming: &Claiming,
    (receiver, room): (&str, usize),
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    if room == 0 {
        return Ok(Vec::new());
    }
    let rows = query(concat!(
        "SELECT d.next_at, d.id FROM deliveries d WHERE d.receiver = $1 AND d.next_at <= $2 AND ",
        claimable!(),
        concat!(" AND d.lease_until <= $2 AND d.id NOT IN ", texts!("$3"), " ORDER BY d.next_at, d.id LIMIT $4"),
    ))
    .bind(receiver)
    .bind(now.timestamp_micros())
    .bind(claiming.busy_ids())
    .bind(i64::try_from(room).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Takes back what a node that starts had lent out when it died. What others have is free when their time is over.
pub(in crate::store) async fn take_back(connection: &mut Connection, by: &str) -> Result<(), sqlx::Error> {
    query(
        "UPDATE deliveries SET lease = NULL, lease_until = 0 WHERE state = 'pending' AND lease_until > 0 AND lease_by = $1",
    )
    .bind(by)
    .execute(connection)
    .await?;
    Ok(())
}

/// Made, or replayed, by a clock ahead of this one. What waits for others, or for a time, was made by now all the same.
macro_rules! from_the_future {
    () => {
        "(created_at > $1 OR promised_at > $1 AND attempts > 0 AND tries = 0)"
    };
}

/// Makes due what a clock ahead of this one put off; see `Store::reckon_anew`. It is known by what it was reckoned from,
/// a try or the promise itself, which lies in the future.
pub(in crate::store) async fn reckon_anew(connection: &mut Connection, now: DateTime<Utc>) -> Result<u64, sqlx::Error> {
    let due = query(concat!(
        "UPDATE deliveries SET next_at = $1 WHERE state = 'pending' AND next_at > $1 AND (",
        from_the_future!(),
        " OR EXISTS (SELECT 1 FROM attempts a WHERE a.delivery = deliveries.id AND a.ended_at > $1))",
    ))
    .bind(now.timestamp_micros())
    .execute(&mut *connection)
    .await?;
    // Its age counts from now on, by which fallbacks are woken and a dead receiver is given up.
    query(concat!(
        "UPDATE deliveries SET promised_at = $1, fallback_at = CASE WHEN fallback_at > $2 THEN $2 ELSE fallback_at END \
         WHERE state = 'pending' AND promised_at > $1 AND ",
        from_the_future!(),
    ))
    .bind(now.timestamp_micros())
    .bind((now + FALLBACK_AFTER).timestamp_micros())
    .execute(connection)
    .await?;
    Ok(due)
}

async fn lend(
    connection: &mut Connection,
    (id, lending): (&str, Lending<'_>),
    claiming: &Claiming,
    now: DateTime<Utc>,
) -> Result<Option<Claim>, StoreError> {
    let row = query(
        "UPDATE deliveries SET lease = $2, lease_until = $3, lease_by = $5 WHERE id = $1 AND state = 'pending' AND lease_until <= $4 \
         RETURNING id, notification, (SELECT payload FROM notifications n WHERE n.id = deliveries.notification), \
         receiver, fallback, severity, lease, tries, promised_at, attempts > tries, group_key, batch",
    )
    .bind(id)
    .bind(lending.lease)
    .bind(lending.until.timestamp_micros())
    .bind(now.timestamp_micros())
    .bind(lending.by)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let mut claim = claim_from(&row)?;
    let (group_key, batch): (&str, Option<&str>) = (row.try_get(10)?, row.try_get(11)?);
    if !group_key.is_empty() && claiming.people.contains(&claim.receiver) {
        let lead = Lead { delivery: id, receiver: &claim.receiver, group_key, batch };
        let (id, others) = together::gather(connection, lead, lending, (&claiming.busy_ids(), now)).await?;
        claim.together = Some(Together { id, key: group_key.to_owned(), others });
    }
    for delivery in claim.deliveries() {
        claim.external_ref = firing::external_ref(connection, &delivery).await?;
        if claim.external_ref.is_some() {
            break;
        }
    }
    claim.over_at = firing::over_at(connection, id).await?;
    Ok(Some(claim))
}

fn claim_from(row: &Row) -> Result<Claim, StoreError> {
    Ok(Claim {
        delivery: row.try_get(0)?,
        notification: row.try_get(1)?,
        payload: row.try_get(2)?,
        receiver: row.try_get(3)?,
        fallback: row.try_get(4)?,
        severity: word(row.try_get(5)?, "severity", Severity::from_slug)?,
        lease: row.try_get(6)?,
        tries: row.try_get(7)?,
        promised_at: timestamp(row, 8)?,
        external_ref: None,
        over_at: None,
        // Only a replay counts tries anew.
        replayed: row.try_get(9)?,
        together: None,
    })
}

/// Hands back a claim that came to nothing; see `Store::hand_back`. Only its holder can.
pub(in crate::store) async fn hand_back(
    connection: &mut Connection,
    deliveries: &[String],
    lease: &str,
) -> Result<(), sqlx::Error> {
    for delivery in deliveries {
        query("UPDATE deliveries SET lease = NULL, lease_until = 0 WHERE id = $1 AND lease = $2 AND state = 'pending'")
            .bind(delivery)
            .bind(lease)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Records a try, of all that was in its message; see `Store::attempted`. False where it was recorded before, or there is
/// nothing that it could be of.
pub(in crate::store) async fn attempted(
    connection: &mut Connection,
    attempted: &Attempted,
) -> Result<bool, sqlx::Error> {
    let mut is_new = false;
    for delivery in &attempted.deliveries {
        is_new |= tried(connection, delivery, attempted).await?;
    }
    Ok(is_new)
}

async fn tried(
    connection: &mut Connection,
    TriedDelivery { id: delivery, stand_ins }: &TriedDelivery,
    attempted: &Attempted,
) -> Result<bool, sqlx::Error> {
    let (ended, note) = match &attempted.end {
        AttemptEnd::Accepted => ("accepted", ""),
        AttemptEnd::Failed { why, .. } => ("failed", why.as_str()),
        AttemptEnd::Refused { why } => ("refused", why.as_str()),
    };
    // Who does not know whether it was recorded says it once more.
    let noted = query(
        "INSERT INTO attempts (delivery, number, started_at, ended_at, ended, note) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5 FROM attempts WHERE delivery = $1 \
         HAVING COUNT(*) FILTER (WHERE started_at = $2 AND ended_at = $3) = 0 \
         AND EXISTS (SELECT 1 FROM deliveries WHERE id = $1)",
    )
    .bind(delivery)
    .bind(attempted.started_at.timestamp_micros())
    .bind(attempted.ended_at.timestamp_micros())
    .bind(ended)
    .bind(note.chars().take(NOTE_CHARS_MAX).collect::<String>())
    .execute(&mut *connection)
    .await?;
    if noted == 0 {
        return Ok(false);
    }
    let ended_at = attempted.ended_at.timestamp_micros();
    let (next_at, sent_at) = match attempted.next {
        NextAttempt::Sent => (ended_at, Some(ended_at)),
        NextAttempt::Retry(at) => (at.timestamp_micros(), None),
        NextAttempt::Dead => (ended_at, None),
    };
    // A yes is a yes, even where the lease has passed to somebody else meanwhile; a no counts only for its holder.
    query(
        "UPDATE deliveries SET attempts = attempts + 1, tries = tries + 1, state = $3, next_at = $4, \
         sent_at = COALESCE($5, sent_at), external_ref = COALESCE($6, external_ref), lease = NULL, lease_until = 0 WHERE id = $1 AND (lease = $2 OR $3 = 'sent' OR ($7 = 1 AND lease IS NULL AND state = 'pending'))",
    )
    .bind(delivery)
    .bind(&attempted.lease)
    .bind(attempted.next.state().slug())
    .bind(next_at)
    .bind(sent_at)
    .bind(&attempted.external_ref)
    .bind(attempted.is_again)
    .execute(&mut *connection)
    .await?;
    for stand_in in stand_ins {
        wake(connection, delivery, stand_in, attempted.ended_at).await?;
    }
    Ok(true)
}

/// Promises a finished delivery anew; see `Store::replay`.
pub(in crate::store) async fn replay(
    connection: &mut Connection,
    delivery: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let changed = query(
        // Alone: what it was told with is not told once more.
        "UPDATE deliveries SET state = 'pending', promised_at = $2, next_at = $2, tries = 0, lease = NULL, \
         lease_until = 0, fallback_at = NULL, group_key = '', batch = NULL WHERE id = $1 AND state IN ('dead', 'sent')",
    )
    .bind(delivery)
    .bind(now.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(changed > 0)
}

/// Gives up a pending delivery; see `Store::give_up`. A try that is under way loses its claim: its yes counts, its no
/// brings nothing back.
pub(in crate::store) async fn give_up(
    connection: &mut Connection,
    delivery: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let changed = query(
        "UPDATE deliveries SET state = 'dead', next_at = $2, lease = NULL, lease_until = 0, fallback_at = NULL \
         WHERE id = $1 AND state = 'pending'",
    )
    .bind(delivery)
    .bind(now.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(changed > 0)
}
