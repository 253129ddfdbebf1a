//! A database that is read beside a Serin that may be running on it.

use std::sync::Arc;

use crate::domain::database_address::DatabaseAddress;
use crate::store::read::readers::Readers;
use crate::store::read::unsealed;
use crate::store::server::connecting::{Servers, goodbye};
use crate::store::sql::connection::{Connection, Pool, ServerPool};
use crate::store::sql::statement::query;
use crate::store::values::error::StoreError;
use crate::store::{file, server};

/// Connections that only read.
///
/// # Errors
/// Where there is no database, or it does not answer.
pub(in crate::store) async fn readers(address: &DatabaseAddress) -> Result<Pool, StoreError> {
    match address {
        DatabaseAddress::File(path) => file::schema::readers(path).await,
        DatabaseAddress::Server(named) => {
            let servers = Servers::of(named)?;
            // Whichever takes writes is asked: the others may be behind.
            goodbye(Connection::Postgres(servers.primary().await?)).await;
            Ok(Pool::Postgres(ServerPool::new(move || servers.readers())))
        }
    }
}

impl Readers {
    /// Opens a database, in use or not, for reading alone. Beats that come later are read once their hour is sealed.
    ///
    /// # Errors
    /// Where there is none, it cannot be read, or its tables are not of this version.
    pub async fn beside(address: impl Into<DatabaseAddress>) -> Result<Self, StoreError> {
        let readers = readers(&address.into()).await?;
        let mut connection = readers.acquire().await?;
        let (version, newest) = match connection.is_postgres() {
            true => (server::schema::version(&mut connection).await?, server::schema::newest()),
            false => (file::schema::version(&mut connection).await?, file::schema::newest()),
        };
        let is_ours = match connection.is_postgres() {
            true => server::schema::is_ours(&mut connection).await?,
            false => version == newest,
        };
        if !is_ours {
            let what = format!("its tables are of version {version}, and `serin run` brings them to {newest}");
            return Err(StoreError::Unreadable(what));
        }
        let rows = Arc::new(unsealed::known_rows(&mut connection).await?);
        drop(connection);
        Ok(Self { readers, rows })
    }
}

/// Whether a table is there: an older Serin may have made the others.
///
/// # Errors
/// Where the database does not answer.
pub(in crate::store::read) async fn has_table(connection: &mut Connection, name: &str) -> Result<bool, StoreError> {
    let known = match connection.is_postgres() {
        true => query("SELECT 1 FROM pg_tables WHERE schemaname = ANY (current_schemas(false)) AND tablename = $1"),
        false => query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = $1"),
    };
    Ok(known.bind(name).fetch_optional(connection).await?.is_some())
}
