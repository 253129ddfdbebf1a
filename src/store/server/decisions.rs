//! How many transactions of each machine decided something, on whichever server takes writes: by this a machine knows after a
//! failover what the new one lacks, and after a connection that broke at a commit whether that took place.

use chrono::TimeDelta;

use crate::domain::lease::Leases;
use crate::store::server::leases;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::number_rows;
use crate::store::sql::statement::query;
use crate::store::values::change_set::LOCAL;

/// The count of a machine that decided nothing for so long is forgotten: it remembers nothing either that it would write again.
const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(24);

/// Counts the running transaction. It has the row until it is over.
pub(in crate::store) async fn count(connection: &mut Connection, node: &str, number: i64) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO decisions (node, number, decided_at) \
         VALUES ($1, $2, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)) \
         ON CONFLICT (node) DO UPDATE SET number = excluded.number, decided_at = excluded.decided_at",
    )
    .bind(node)
    .bind(number)
    .execute(connection)
    .await?;
    Ok(())
}

/// The number of the last one that is there; 0: none is. One that a broken connection left in the middle is waited for: it may
/// yet be committed.
pub(in crate::store) async fn last(connection: &mut Connection, node: &str) -> Result<i64, sqlx::Error> {
    let row = query("INSERT INTO decisions (node, number, decided_at) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING");
    row.bind(node).execute(&mut *connection).await?;
    let row = query("SELECT number FROM decisions WHERE node = $1 FOR UPDATE").bind(node).fetch_one(connection).await?;
    row.try_get(0)
}

/// Takes once more what is a machine's under numbers that a server has not heard of, and gives what it has there. What is
/// taken has a number that the machine does not know either, so that it reads it once more: another one may have decided
/// something of it there meanwhile.
pub(in crate::store) async fn hold_again(
    connection: &mut Connection,
    node: &str,
    held: &Leases,
) -> Result<Leases, sqlx::Error> {
    let (shards, epochs): (Vec<u8>, Vec<i64>) = held.iter().map(|lease| (lease.shard.number(), lease.epoch)).unzip();
    query(concat!(
        "UPDATE leases SET node = $2, epoch = held.epoch + 1 FROM (SELECT s.value AS shard, e.value AS epoch FROM ",
        number_rows!("$3"),
        " s JOIN ",
        number_rows!("$4"),
        " e ON e.key = s.key ORDER BY 1) AS held \
         WHERE role = 'decide' AND location = $1 AND leases.shard = held.shard AND leases.epoch < held.epoch"
    ))
    .bind(LOCAL)
    .bind(node)
    .bind(serde_json::json!(shards).to_string())
    .bind(serde_json::json!(epochs).to_string())
    .execute(&mut *connection)
    .await?;
    leases::held(connection, node).await
}

/// Forgets a machine that leaves, and those that are long gone.
pub(in crate::store) async fn forget(connection: &mut Connection, node: &str) -> Result<(), sqlx::Error> {
    query(
        "DELETE FROM decisions WHERE node = $1 OR decided_at < \
         CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) - $2 AND NOT EXISTS (SELECT 1 FROM nodes WHERE id = node)",
    )
    .bind(node)
    .bind(FORGOTTEN_AFTER.num_microseconds().unwrap_or_default())
    .execute(connection)
    .await?;
    Ok(())
}
