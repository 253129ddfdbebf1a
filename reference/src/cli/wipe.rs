//! `serin reference wipe`: the end of a project's index, also of one that nobody can read any more.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::cli::lifecycle::{counted, here, running_server};
use crate::index::lock::WriterLock;
use crate::project::config::StoreChoice;
use crate::project::opened::{Project, ProjectError};
use crate::store::contract::{Patience, Store};
use crate::store::records::{Figures, StoreError};

/// What SQLite keeps beside a file, and the file itself last: a wipe that is broken off can be done again.
const FILE_ENDS: [&str; 4] = ["-journal", "-wal", "-shm", ""];

/// Arguments of `wipe`.
#[derive(Debug, Args)]
pub struct WipeArgs {
    /// Yes, delete it
    #[arg(long)]
    yes: bool,
    /// Wait for a writer to end, instead of giving up
    #[arg(long)]
    wait: bool,
}

/// Deletes the project's index; the file of one that cannot be read.
///
/// # Errors
/// Without `--yes`, or while somebody writes, or serves what cannot be read.
pub async fn wipe(args: WipeArgs) -> anyhow::Result<()> {
    let project = here()?;
    let _alone = WriterLock::take(&project.place.lock(), "wipe", args.wait, chrono::Utc::now())?;
    let file = match project.config.store(&project.place).map_err(anyhow::Error::msg)? {
        StoreChoice::Sqlite(path) | StoreChoice::Chroma(path, _) => Some(path),
        StoreChoice::Postgres(_) => None,
    };
    let (store, held) = match (look(&project).await, &file) {
        (Ok((store, figures)), _) => (Some(store), shown(&figures)),
        (Err(ProjectError::Store(error)), Some(path)) if is_unreadable(&error) => {
            (None, format!("{}, which cannot be read ({error})", path.display()))
        }
        (Err(error), _) => return Err(error.into()),
    };
    if !args.yes {
        bail!("this deletes {held}, also what callers of index_document brought: say --yes");
    }
    let is_emptied = match store {
        Some(store) => emptied(store.as_ref(), file.is_some()).await?,
        None => false,
    };
    if let Some(path) = file.filter(|_| !is_emptied) {
        if running_server(&project.place).await.is_some() {
            bail!("{} cannot be read, and a server has it open: stop the server, then wipe again", path.display());
        }
        remove(&path)?;
    }
    anstream::println!("deleted {held}");
    Ok(())
}

/// The store and what is in it.
async fn look(project: &Project) -> Result<(Arc<dyn Store>, Figures), ProjectError> {
    let store = project.store().await?;
    let counting = async { store.connect(Patience::Writer).await?.figures().await };
    let figures: Result<Figures, StoreError> = counting.await;
    if figures.is_err() {
        store.close().await;
    }
    Ok((store, figures?))
}

/// Whether a store could be emptied; `false` where it has a file that turned out not to be readable.
async fn emptied(store: &dyn Store, has_file: bool) -> Result<bool, StoreError> {
    let wiped = store.wipe(true).await;
    store.close().await;
    match wiped {
        Err(error) if has_file && is_unreadable(&error) => Ok(false),
        wiped => wiped.map(|()| true),
    }
}

/// Whether an index was reached and is none that this program reads. One that is busy or forbidden may be well.
fn is_unreadable(error: &StoreError) -> bool {
    match error {
        StoreError::Schema { .. } => true,
        StoreError::Sql(sqlx::Error::Database(error)) => {
            let code = error.code().and_then(|code| code.parse::<u32>().ok());
            // The lowest byte is SQLite's kind of failure: a damaged file (11), no database (26). Other tables than ours
            // are another program's, and no mistake in a path may cost somebody those.
            code.is_some_and(|code| matches!(code & 0xff, 11 | 26))
        }
        StoreError::Sql(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => true,
        _ => false,
    }
}

fn shown(figures: &Figures) -> String {
    let (sources, chunks) = (counted(figures.sources, "source", "sources"), counted(figures.chunks, "chunk", "chunks"));
    format!("{sources} with {chunks}")
}

/// Removes an index's files.
fn remove(path: &Path) -> anyhow::Result<()> {
    for end in FILE_ENDS {
        let mut name = OsString::from(path);
        name.push(end);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be deleted", Path::new(&name).display()));
            }
            _gone => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;
    use crate::store::sqlite::open::SqliteStore;

    async fn is_deleted(path: &Path) -> bool {
        match SqliteStore::open(path).await {
            Ok(_readable) => false,
            Err(error) => is_unreadable(&error),
        }
    }

    /// A file with these tables.
    async fn made(path: &Path, tables: &'static str) {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(tables).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    #[tokio::test]
    async fn only_what_was_reached_and_cannot_be_read_is_deleted_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("noise"), "This is no database. ".repeat(1_000)).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        made(
            &path("newer"),
            "CREATE TABLE meta (key, value); CREATE TABLE chunks (x); CREATE TABLE sources (y); \
             INSERT INTO meta VALUES ('schema', '99');",
        )
        .await;
        made(&path("other"), "CREATE TABLE meta (x); CREATE TABLE chunks (x); CREATE TABLE sources (y);").await;
        for (says, name, expected) in [
            ("what is no database", "noise", true),
            ("an index of a newer program", "newer", true),
            ("the database of another program", "other", false),
            ("a folder is never deleted", "folder", false),
            ("a new index is readable", "none", false),
        ] {
            assert_eq!(is_deleted(&path(name)).await, expected, "{says}");
        }
    }

    #[test]
    fn what_stands_beside_the_file_goes_with_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["index.db", "index.db-wal", "index.db-shm", "index.lock"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        remove(&folder.path().join("index.db")).unwrap();
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["index.lock"]);
        remove(&folder.path().join("index.db")).unwrap();
    }
}
