//! Where what is written goes: a file, or a server.

use std::collections::HashSet;
use std::sync::Arc;

use crate::domain::database_address::DatabaseAddress;
use crate::domain::lease::{Lease, Leases};
use crate::live::nodes::NodesView;
use crate::store::file::held::DatabaseLock;
use crate::store::file::home::FileHome;
use crate::store::server::connecting::LockMode;
use crate::store::server::home::ServerHome;
use crate::store::server::leases;
use crate::store::sql::connection::{Connection, Pool};
use crate::store::values::error::{OpenError, StoreError};
use crate::store::values::lease_turn::{LeaseTurn, NodeNote};

/// The name of whoever has a file.
pub(in crate::store) const ALONE: &str = "local";

/// Whose database it is for as long as this lives.
#[derive(Debug)]
pub(in crate::store) enum Home {
    File(FileHome),
    Server(ServerHome),
}

impl Home {
    /// Opens a database: the connection that writes, and those that read. A file is always ours alone.
    ///
    /// # Errors
    /// Where another Serin has it, or it cannot be used; nothing is left open then.
    pub(in crate::store) async fn open(
        address: &DatabaseAddress,
        mode: LockMode,
    ) -> Result<(Self, Connection, Pool), OpenError> {
        match address {
            DatabaseAddress::File(path) => {
                FileHome::open(path).await.map(|(home, writer, readers)| (Self::File(home), writer, readers))
            }
            DatabaseAddress::Server(server) => {
                let opened = ServerHome::open(server, mode).await;
                opened.map(|(home, writer, readers)| (Self::Server(home), writer, readers))
            }
        }
    }

    /// Where the file stands; none where it is a server.
    pub(in crate::store) fn place(&self) -> Option<Arc<DatabaseLock>> {
        match self {
            Self::File(home) => Some(Arc::clone(home.place())),
            Self::Server(_) => None,
        }
    }

    /// Who we are among those that share it.
    pub(in crate::store) fn node(&self) -> &str {
        match self {
            Self::File(_) => ALONE,
            Self::Server(home) => home.node(),
        }
    }

    /// Which of these leases still count, kept for the rest of the transaction.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(in crate::store) async fn fence(
        &self,
        connection: &mut Connection,
        leases: HashSet<Lease>,
    ) -> Result<HashSet<Lease>, sqlx::Error> {
        match self {
            Self::Server(home) if !leases.is_empty() => leases::fence(connection, home.node(), &leases).await,
            _ => Ok(leases),
        }
    }

    /// Says that we live, and moves shards; a file is ours.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(in crate::store) async fn lease_turn(
        &self,
        connection: &mut Connection,
        note: &NodeNote,
    ) -> Result<LeaseTurn, StoreError> {
        match self {
            Self::File(_) => Ok(LeaseTurn { leases: Leases::whole(), nodes: NodesView::default() }),
            Self::Server(home) => home.lease_turn(connection, note).await,
        }
    }

    /// Another connection, after one that broke.
    ///
    /// # Errors
    /// Where the database is not in its place, or does not let us write.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        match self {
            Self::File(home) => home.connect().await,
            Self::Server(home) => home.connect().await,
        }
    }

    /// All stands there by now that was decided here, or does not for this reason: nobody reads of another server before.
    pub(in crate::store) fn recovered(&self, error: Option<&StoreError>) {
        if let Self::Server(home) = self {
            home.recovered(error);
        }
    }

    /// Caps a file at so many pages; 0 lifts the cap. A server's disk is its own business.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(in crate::store) async fn limit(&mut self, connection: &mut Connection, pages: u32) -> Result<(), sqlx::Error> {
        match self {
            Self::File(home) => home.limit(connection, pages).await,
            Self::Server(_) => Ok(()),
        }
    }

    /// Closes it in order.
    pub(in crate::store) async fn leave(self, connection: Connection) {
        match self {
            Self::File(home) => home.leave(connection).await,
            Self::Server(home) => home.leave(connection).await,
        }
    }
}
