//! A database on a server that is ours: opened, and opened again on whichever takes writes by then.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::domain::database_address::{DatabaseAddress, ServerAddress};
use crate::store::server::connecting::{Servers, goodbye};
use crate::store::server::schema;
use crate::store::sql::connection::{Connection, Pool, ServerPool};
use crate::store::sql::statement::query;
use crate::store::values::error::{OpenError, StoreError};

/// Servers, one of which has our lock for as long as the connection lasts.
#[derive(Debug)]
pub(in crate::store) struct ServerHome {
    servers: Servers,
    readers: ServerPool,
    /// Our mark on it, which the next Serin that works on it writes over.
    turn: String,
    /// What a new connection was refused for, and when: nobody hammers at a server.
    refused: Mutex<Option<(Instant, StoreError)>>,
}

/// Takes the next turn on a database, which ends that of whoever had it.
const TAKE_TURN: &str =
    "INSERT INTO meta (key, value) VALUES ('turn', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
/// Between two tries to get a connection.
const PAUSE: Duration = Duration::from_secs(1);

impl ServerHome {
    /// Opens a database for us alone, and brings its tables to this version.
    ///
    /// # Errors
    /// Where another Serin has it, no server takes writes, or the tables are a newer Serin's.
    pub(in crate::store) async fn open(address: &ServerAddress) -> Result<(Self, Connection, Pool), OpenError> {
        let name = DatabaseAddress::Server(address.clone()).name();
        let failed = |source| OpenError::of(&name, source);
        let servers = Servers::of(address).map_err(failed)?;
        let mut connection = Connection::Postgres(servers.writer().await.map_err(failed)?);
        let refused = |message| OpenError::Migrate { path: name.clone(), message };
        let migrated = schema::migrate(&mut connection, failed, refused).await;
        let begun = async {
            migrated?;
            let turn = Uuid::now_v7().to_string();
            limit(&mut connection).await.map_err(failed)?;
            query(TAKE_TURN).bind(&turn).execute(&mut connection).await.map_err(|error| failed(error.into()))?;
            Ok(turn)
        };
        match begun.await {
            Ok(turn) => {
                let others = servers.clone();
                let readers = ServerPool::new(move || others.readers());
                let home = Self { servers, readers: readers.clone(), turn, refused: Mutex::default() };
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
        let refused = self.refused.lock().clone();
        if let Some((at, error)) = refused
            && (error == StoreError::Superseded || at.elapsed() < PAUSE)
        {
            return Err(error);
        }
        let connected = self.connect_now().await;
        *self.refused.lock() = connected.as_ref().err().map(|error| (Instant::now(), error.clone()));
        connected
    }

    async fn connect_now(&self) -> Result<Connection, StoreError> {
        let mut connection = Connection::Postgres(self.servers.writer().await?);
        limit(&mut connection).await?;
        let row = query("SELECT value FROM meta WHERE key = 'turn'").fetch_optional(&mut connection).await?;
        let turn = row.map(|row| row.try_get::<String>(0)).transpose()?;
        if turn.as_ref() != Some(&self.turn) {
            goodbye(connection).await;
            return Err(StoreError::Superseded);
        }
        // What reads may hang on a server that is gone, or read what another one wrote later.
        self.readers.renew();
        Ok(connection)
    }

    /// Says goodbye, which gives the lock back at once.
    pub(in crate::store) async fn leave(self, connection: Connection) {
        goodbye(connection).await;
    }
}

/// What is given up here after a while does not go on there.
async fn limit(connection: &mut Connection) -> Result<(), StoreError> {
    query("SET statement_timeout = '20s'").execute(connection).await?;
    Ok(())
}
