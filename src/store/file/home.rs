//! A database file that is ours: opened, and opened again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::file::held::{DatabaseLock, Held};
use crate::store::file::integrity::{self, IntegrityResult};
use crate::store::file::schema::{self, PAGES_MAX, limit_pages};
use crate::store::sql::connection::{Connection, Pool};
use crate::store::sql::statement::query;
use crate::store::values::error::{OpenError, StoreError};

/// A file that no other Serin has for as long as this lives.
#[derive(Debug)]
pub(in crate::store) struct FileHome {
    database: PathBuf,
    page_limit: u32,
    place: Arc<DatabaseLock>,
    _held: Held,
}

impl FileHome {
    /// Opens or makes a file for us alone, looks whether it is sound, and brings its tables to this version.
    ///
    /// # Errors
    /// Where another Serin has it, or it cannot be used; nothing is left open then.
    pub(in crate::store) async fn open(path: &Path) -> Result<(Self, Connection, Pool), OpenError> {
        let failed = |source| OpenError::of(path, source);
        let held = Held::make(path)?;
        let mut connection = schema::writer(path).await.map_err(failed)?;
        let prepared = async {
            if integrity::look(&mut connection).await.map_err(failed)? == IntegrityResult::Partly {
                tracing::info!(
                    "what pages depend on is sound; the rest of the database was not all read: `serin backup` does"
                );
            }
            schema::migrate(path, &mut connection).await?;
            let place = DatabaseLock::of(path, &held);
            let place = Arc::new(place.map_err(|source| OpenError::Lock { path: path.to_owned(), source })?);
            let readers = schema::lasting_readers(path, Arc::clone(&place)).await.map_err(failed)?;
            Ok((place, readers))
        };
        let prepared = prepared.await;
        let connection = Connection::Sqlite(connection);
        match prepared {
            Ok((place, readers)) => {
                let home = Self { database: path.to_owned(), page_limit: PAGES_MAX, place, _held: held };
                Ok((home, connection, readers))
            }
            Err(error) => {
                // Closed before it is let go of, for the next try or another Serin.
                drop(connection.close().await);
                Err(error)
            }
        }
    }

    /// Where the file stands.
    pub(in crate::store) const fn place(&self) -> &Arc<DatabaseLock> {
        &self.place
    }

    /// Another connection, after one that broke.
    ///
    /// # Errors
    /// Where the file is not in its place, or cannot be opened.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        // By its name, which may be another file's by now, before and after.
        self.place.look()?;
        let mut connection = Connection::Sqlite(schema::writer(&self.database).await?);
        self.place.look()?;
        limit_pages(&mut connection, self.page_limit).await?;
        Ok(connection)
    }

    /// Caps the file at so many pages, now and for later connections; 0 lifts the cap.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(in crate::store) async fn limit(&mut self, connection: &mut Connection, pages: u32) -> Result<(), sqlx::Error> {
        self.page_limit = if pages == 0 { PAGES_MAX } else { pages };
        limit_pages(connection, self.page_limit).await
    }

    /// Folds the log into the file, so that what is left behind is one file.
    pub(in crate::store) async fn leave(self, mut connection: Connection) {
        let folded = query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await;
        if let Err(error) = folded.map(drop).and(connection.close().await) {
            tracing::warn!(%error, "the write-ahead log was left beside the database; the next start folds it in");
        }
    }
}
