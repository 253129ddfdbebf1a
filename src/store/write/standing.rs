//! What the machine that watches some monitors publishes of them.

use std::collections::{HashMap, HashSet};

use crate::domain::shard::{Shard, Shards};
use crate::live::published::SlimStanding;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::{numbers, texts};
use crate::store::sql::rows::Rows;
use crate::store::sql::statement::query;
use crate::store::values::standing_text::written;

static STANDINGS: Rows = Rows::new(
    "INSERT INTO standings (monitor, shard, version, node, standing) VALUES ",
    5,
    " ON CONFLICT (monitor) DO UPDATE SET version = excluded.version, node = excluded.node, standing = excluded.standing",
);

/// Writes how some monitors stand, each under the next version of its shard: nobody else gives one out until the transaction is
/// over. One that has left the file meanwhile is left out, and so is one of other shards.
pub(in crate::store) async fn publish(
    connection: &mut Connection,
    node: &str,
    (standings, shards): (&[SlimStanding], &Shards),
) -> Result<(), sqlx::Error> {
    let of = |standing: &SlimStanding| Shard::of(standing.id.as_str());
    let declared = declared(connection, standings).await?;
    let standings = standings.iter().filter(|it| declared.contains(it.id.as_str()) && shards.has(of(it)));
    let standings: Vec<_> = standings.collect();
    let versions = next_versions(connection, &standings.iter().map(|standing| of(standing)).collect()).await?;
    let versioned = |standing| versions.get(&of(standing).number()).map(|version| (standing, of(standing), *version));
    let rows: Option<Vec<_>> = standings.into_iter().map(versioned).collect();
    let rows = rows.ok_or(sqlx::Error::RowNotFound)?;
    STANDINGS
        .run(connection, &rows, |query, (standing, shard, version)| {
            let (id, text) = (standing.id.as_str().to_owned(), written(standing));
            query.bind(id).bind(shard.number()).bind(*version).bind(node.to_owned()).bind(text)
        })
        .await
}

/// The ids among them that a file in force has.
async fn declared(connection: &mut Connection, standings: &[SlimStanding]) -> Result<HashSet<String>, sqlx::Error> {
    let ids: Vec<&str> = standings.iter().map(|standing| standing.id.as_str()).collect();
    let rows = query(concat!("SELECT id FROM monitors WHERE removed_at IS NULL AND id IN ", texts!("$1")));
    let rows = rows.bind(serde_json::json!(ids).to_string()).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// By the number of the shard.
async fn next_versions(connection: &mut Connection, shards: &Shards) -> Result<HashMap<u8, i64>, sqlx::Error> {
    let numbers: Vec<u8> = shards.iter().map(Shard::number).collect();
    let rows = query(concat!(
        "UPDATE standing_versions SET version = version + 1 WHERE shard IN ",
        numbers!("$1"),
        " RETURNING shard, version"
    ));
    let rows = rows.bind(serde_json::json!(numbers).to_string()).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}
