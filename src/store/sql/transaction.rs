//! How what is written together begins.

use crate::store::sql::connection::Connection;
use crate::store::sql::statement::{in_time, query};

/// Begins what need not wait for a disk, in one round trip.
const SOON_ON_DISK: &str = "BEGIN; SET LOCAL synchronous_commit = off";

/// What a commit waits for before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Durability {
    /// The disk, and on a server whatever else that is set to wait for, such as a standby.
    OnDisk,
    /// On a server, nothing: it is on the disk within a second, and lost where the server crashes before. What is committed
    /// later is never on the disk without it. A file knows no such thing.
    Soon,
}

/// Begins it.
///
/// # Errors
/// Where the database does not answer.
pub(in crate::store) async fn begin(connection: &mut Connection, durability: Durability) -> Result<(), sqlx::Error> {
    match (connection, durability) {
        (Connection::Postgres(to), Durability::Soon) => in_time(sqlx::raw_sql(SOON_ON_DISK).execute(to)).await?,
        (connection, _) => return query(connection.begin()).execute(connection).await.map(drop),
    };
    Ok(())
}
