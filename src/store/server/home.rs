//! A database on a server that is ours: opened, and opened again on whichever takes writes by then.

use std::time::Duration;

use crate::domain::database_address::{DatabaseAddress, ServerAddress};
use crate::store::server::connecting::Servers;
use crate::store::server::schema;
use crate::store::sql::connection::{Connection, Pool, ServerPool};
use crate::store::sql::statement::query;
use crate::store::values::error::{OpenError, StoreError};

/// Servers, one of which has our lock for as long as the connection lasts.
#[derive(Debug)]
pub(in crate::store) struct ServerHome {
    servers: Servers,
    readers: ServerPool,
    /// Which of all Serins that ever worked on it we are.
    turn: i64,
}

/// Takes the next turn on a database, which ends that of whoever had it.
const NEXT_TURN: &str = "INSERT INTO meta (key, value) VALUES ('turn', '1') \
     ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT) RETURNING CAST(value AS BIGINT)";
/// How long a server may take to be told goodbye.
const GOODBYE_MAX: Duration = Duration::from_secs(5);

impl ServerHome {
    /// Opens a database for us alone, and brings its tables to this version.
    ///
    /// # Errors
    /// Where another Serin has it, no server takes writes, or the tables are a newer Serin's.
    pub(in crate::store) async fn open(address: &ServerAddress) -> Result<(Self, Connection, Pool), OpenError> {
        let name = DatabaseAddress::Server(address.clone()).name();
        let failed = |source| OpenError::of(&name, source);
        let servers = Servers::of(address).map_err(failed)?;
        let mut connection = servers.writer().await.map_err(failed)?;
        let refused = |message| OpenError::Migrate { path: name.clone(), message };
        let migrated = schema::migrate(&mut connection, failed, refused).await;
        let mut connection = Connection::Postgres(connection);
        let begun = async {
            migrated?;
            let row = query(NEXT_TURN).fetch_one(&mut connection).await.map_err(|error| failed(error.into()))?;
            row.try_get(0).map_err(|error| failed(error.into()))
        };
        match begun.await {
            Ok(turn) => {
                let readers = ServerPool::new(servers.readers());
                let home = Self { servers, readers: readers.clone(), turn };
                Ok((home, connection, Pool::Postgres(readers)))
            }
            Err(error) => {
                goodbye(connection).await;
                Err(error)
            }
        }
    }

    /// Another connection, after one that broke, and to whichever server takes writes by now.
    ///
    /// # Errors
    /// Where none does, another Serin has the lock, or one had it since: what we remember is not what stands there then.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        let mut connection = Connection::Postgres(self.servers.writer().await?);
        let row = query("SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'turn'").fetch_one(&mut connection).await?;
        if row.try_get::<i64>(0)? != self.turn {
            goodbye(connection).await;
            return Err(StoreError::Superseded);
        }
        // What reads may hang on a server that is gone, or read what another one wrote later.
        self.readers.renew(self.servers.readers());
        Ok(connection)
    }

    /// Says goodbye, which gives the lock back at once.
    pub(in crate::store) async fn leave(self, connection: Connection) {
        goodbye(connection).await;
    }
}

async fn goodbye(connection: Connection) {
    // The server lets go by itself, only later.
    drop(tokio::time::timeout(GOODBYE_MAX, connection.close()).await);
}
