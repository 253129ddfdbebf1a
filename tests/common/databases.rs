//! Databases on a server, where the run has one: `tests/postgres/with_server.sh` starts it.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

static MADE: AtomicU32 = AtomicU32::new(0);

/// The address of the server, to be followed by the name of a database; none where everything is in files.
pub(crate) fn server() -> Option<String> {
    std::env::var("SERIN_TEST_POSTGRES").ok()
}

/// How many machines share the fleet of each journey, where it is kept on a server.
pub(crate) fn machines() -> usize {
    let said = std::env::var("SERIN_TEST_MACHINES").ok().and_then(|said| said.parse().ok());
    said.filter(|_| server().is_some()).unwrap_or(1)
}

/// A name that no other database of the server has.
pub(crate) fn new_name() -> String {
    format!("serin_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// Makes an empty database, as the words behind its name say, and gives its address.
pub(crate) async fn make(server: &str, name: &str, how: &str) -> String {
    let mut connection = PgConnection::connect(&format!("{server}/postgres")).await.expect("the server answers");
    let make = AssertSqlSafe(format!("CREATE DATABASE {name} {how}"));
    sqlx::query(make).execute(&mut connection).await.expect("a database");
    format!("{server}/{name}")
}
