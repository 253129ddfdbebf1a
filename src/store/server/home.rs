//! A database on a server that we share: opened, and opened again on whichever takes writes by then.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::domain::database_address::{DatabaseAddress, ServerAddress};
use crate::store::server::connecting::{LockMode, Servers, goodbye, within};
use crate::store::server::decisions;
use crate::store::server::leases::{self, SessionMark};
use crate::store::server::schema;
use crate::store::sql::connection::{Connection, Pool, ServerPool};
use crate::store::sql::statement::query;
use crate::store::values::error::{OpenError, StoreError};
use crate::store::values::lease_turn::{LeaseTurn, NodeNote};

/// Servers, one of which knows us for as long as the connection lasts.
#[derive(Debug)]
pub(in crate::store) struct ServerHome {
    servers: Servers,
    readers: ServerPool,
    mode: LockMode,
    /// Our id among those that share it: another one with each start.
    node: String,
    session: SessionMark,
    /// When the connection that writes was made anew; none: it is the first.
    connected_again: Mutex<Option<Instant>>,
    /// What a new connection was refused for, and when: nobody hammers at a server.
    refused: Mutex<Option<(Instant, StoreError)>>,
}

/// How long giving back what is ours may take at the end.
const LEAVE_MAX: Duration = Duration::from_secs(3);
/// Between two tries to get a connection.
const PAUSE: Duration = Duration::from_secs(1);
/// After a connection broke others are given so long to be back, before anybody takes over what is theirs.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

impl ServerHome {
    /// Opens a database, and brings its tables to this version.
    ///
    /// # Errors
    /// Where another Serin has it as we want it, no server takes writes, or the tables are a newer Serin's.
    pub(in crate::store) async fn open(
        address: &ServerAddress,
        mode: LockMode,
    ) -> Result<(Self, Connection, Pool), OpenError> {
        let name = DatabaseAddress::Server(address.clone()).name();
        let failed = |source| OpenError::of(&name, source);
        let servers = Servers::of(address).map_err(failed)?;
        let mut connection = Connection::Postgres(servers.writer(mode).await.map_err(failed)?);
        let refused = |message| OpenError::Migrate { path: name.clone(), message };
        let migrated = schema::migrate(&mut connection, failed, refused).await;
        let begun = async {
            migrated?;
            limit(&mut connection).await.map_err(failed)?;
            let session = SessionMark::new();
            session.put(&mut connection).await.map_err(failed)?;
            Ok(session)
        };
        match begun.await {
            Ok(session) => {
                let others = servers.clone();
                let readers = ServerPool::new(move || others.readers());
                let home = Self {
                    servers,
                    readers: readers.clone(),
                    mode,
                    node: Uuid::now_v7().to_string(),
                    session,
                    connected_again: Mutex::default(),
                    refused: Mutex::default(),
                };
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
    /// Where none does, or another Serin has the lock alone.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        let refused = self.refused.lock().clone();
        if let Some((_, error)) = refused.filter(|(at, _)| at.elapsed() < PAUSE) {
            return Err(error);
        }
        let connected = self.connect_now().await;
        *self.refused.lock() = connected.as_ref().err().map(|error| (Instant::now(), error.clone()));
        connected
    }

    async fn connect_now(&self) -> Result<Connection, StoreError> {
        let mut connection = Connection::Postgres(self.servers.writer(self.mode).await?);
        limit(&mut connection).await?;
        self.session.put(&mut connection).await?;
        *self.connected_again.lock() = Some(Instant::now());
        Ok(connection)
    }

    /// What was decided here stands on the server of the new connection, or could not be written again yet. Reads go there
    /// only then: whoever reads before would decide by what it lacks.
    pub(in crate::store) fn recovered(&self, error: Option<&StoreError>) {
        match error {
            // What reads may hang on a server that is gone, or read what another one wrote later.
            None => self.readers.renew(),
            Some(error) => *self.refused.lock() = Some((Instant::now(), error.clone())),
        }
    }

    /// Our id among those that share it.
    pub(in crate::store) fn node(&self) -> &str {
        &self.node
    }

    /// Says that we live, and moves shards.
    ///
    /// # Errors
    /// Where the server does not answer.
    pub(in crate::store) async fn lease_turn(
        &self,
        connection: &mut Connection,
        note: &NodeNote,
    ) -> Result<LeaseTurn, StoreError> {
        let is_settled = self.connected_again.lock().is_none_or(|at| at.elapsed() > SETTLED_AFTER);
        leases::turn(connection, (&self.node, self.session, is_settled), note).await
    }

    /// Says goodbye: what was ours is free at once.
    pub(in crate::store) async fn leave(self, mut connection: Connection) {
        let left = async {
            leases::leave(&mut connection, &self.node).await?;
            Ok(decisions::forget(&mut connection, &self.node).await?)
        };
        let left = within(LEAVE_MAX, left);
        if let Err(error) = left.await {
            tracing::debug!(%error, "what was watched here is free in some seconds");
        }
        goodbye(connection).await;
    }
}

/// What is given up here after a while does not go on there.
async fn limit(connection: &mut Connection) -> Result<(), StoreError> {
    query("SET statement_timeout = '20s'").execute(connection).await?;
    Ok(())
}
