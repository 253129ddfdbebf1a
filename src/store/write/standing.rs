//! What the machine that watches some monitors publishes of them.

use std::collections::HashMap;

use sqlx::{Row, SqliteConnection};

use crate::domain::shard::{Shard, Shards};
use crate::live::published::SlimStanding;
use crate::store::values::rows::Rows;
use crate::store::values::standing_text::written;

static STANDINGS: Rows = Rows::new(
    "INSERT INTO standings (monitor, shard, version, node, standing) VALUES ",
    5,
    " ON CONFLICT (monitor) DO UPDATE SET version = excluded.version, node = excluded.node, standing = excluded.standing",
);

/// Writes how some monitors stand, each under the next version of its shard: last in its transaction, since nobody else gives
/// out a version until that is over. `whole`: they are all that there are of these shards, and whatever else is published of
/// them is left over.
pub(in crate::store) async fn publish(
    connection: &mut SqliteConnection,
    node: &str,
    (standings, whole): (&[SlimStanding], Option<&Shards>),
) -> Result<(), sqlx::Error> {
    let of = |standing: &SlimStanding| Shard::of(standing.id.as_str());
    let touched: Shards = standings.iter().map(of).chain(whole.iter().flat_map(|shards| shards.iter())).collect();
    let versions = next_versions(connection, &touched).await?;
    let version = |shard: Shard| versions.get(&shard.number()).copied().unwrap_or_default();
    STANDINGS
        .run(connection, standings, |query, standing| {
            let shard = of(standing);
            query
                .bind(standing.id.as_str().to_owned())
                .bind(shard.number())
                .bind(version(shard))
                .bind(node.to_owned())
                .bind(written(standing))
        })
        .await?;
    for shard in whole.iter().flat_map(|shards| shards.iter()) {
        let left_over = sqlx::query("DELETE FROM standings WHERE shard = $1 AND version < $2");
        left_over.bind(shard.number()).bind(version(shard)).execute(&mut *connection).await?;
    }
    Ok(())
}

/// By the number of the shard.
async fn next_versions(connection: &mut SqliteConnection, shards: &Shards) -> Result<HashMap<u8, i64>, sqlx::Error> {
    let numbers: Vec<u8> = shards.iter().map(Shard::number).collect();
    let rows = sqlx::query(
        "UPDATE standing_versions SET version = version + 1 WHERE shard IN (SELECT value FROM json_each($1)) \
         RETURNING shard, version",
    );
    let rows = rows.bind(serde_json::json!(numbers).to_string()).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}
