//! A copy of the database while it is in use.
//!
//! `VACUUM INTO` on a read-only connection of its own: one snapshot, which no write waits for (in WAL
//! mode readers and the writer do not block each other; the log grows until the copy is made). It
//! goes to `FILE.partial`, is looked at whole, synced and only then renamed, so a file under the name
//! that was asked for is a whole, sound backup. We may die anywhere: what is left is a `.partial`,
//! which the next backup to that name overwrites.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::{ConnectOptions, Connection};

use crate::store::file::integrity::{self, Contents};
use crate::store::file::private;
use crate::store::file::private::beside;
use crate::store::file::schema;
use crate::store::values::error::OpenError;
use crate::store::values::error::StoreError;

/// How long the copy waits where the database is being recovered or closed by its Serin.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// What is not whole yet.
const PARTIAL: &str = ".partial";

/// A backup that was written, synced and looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The version of its tables, and how many monitors and incidents it holds.
    pub contents: Contents,
}

/// Writes a backup of `database` to `to`; an older file of that name is replaced where `force` says so.
///
/// # Errors
/// Where there is no database, something is there already, the disk is full, or the copy is found unsound; nothing
/// stands under the name `to` then that did not before.
pub async fn write(database: &Path, to: &Path, force: bool) -> Result<Backup, BackupError> {
    std::fs::metadata(database).map_err(|source| BackupError::file("read", database, source))?;
    refuse_place(database, to, force)?;
    let partial = beside(to, PARTIAL);
    let held = claim(&partial)?;
    let written = copy(database, &partial, &held).await;
    let written = written.and_then(|backup| {
        refuse_place(database, to, force)?;
        std::fs::rename(&partial, to).map_err(|source| BackupError::file("rename to", to, source))?;
        sync_folder(to)?;
        Ok(backup)
    });
    if written.is_err() {
        // It is never taken for a backup; where it cannot be removed, the next one overwrites it.
        drop(std::fs::remove_file(&partial));
    }
    written
}

async fn copy(database: &Path, partial: &Path, held: &File) -> Result<Backup, BackupError> {
    let failed = |source| BackupError::Store { path: database.to_owned(), source };
    let options = schema::connecting(database).read_only(true).busy_timeout(BUSY_TIMEOUT);
    let connecting = options.disable_statement_logging().connect().await;
    let mut connection = connecting.map_err(|error| failed(error.into()))?;
    let copied = sqlx::query("VACUUM INTO $1").bind(partial.to_string_lossy()).execute(&mut connection).await;
    let closed = connection.close().await;
    copied.map(drop).and(closed).map_err(|error| failed(error.into()))?;
    let there = |source| BackupError::file("write", partial, source);
    held.sync_all().map_err(there)?;
    let contents = integrity::look_whole(partial)
        .await
        .map_err(|source| BackupError::Store { path: partial.to_owned(), source })?;
    Ok(Backup { bytes: held.metadata().map_err(there)?.len(), contents })
}

/// Opens the partial file for ourselves alone, empty: `VACUUM INTO` takes no other.
fn claim(partial: &Path) -> Result<File, BackupError> {
    let refused = |source| BackupError::file("write", partial, source);
    let file = private::open(partial).map_err(refused)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(BackupError::UnderWay { path: partial.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(refused(source)),
    }
    // An older one may lie there, as open as it was.
    private::begin_anew(&file).map_err(refused)?;
    Ok(file)
}

fn refuse_place(database: &Path, to: &Path, force: bool) -> Result<(), BackupError> {
    let whole = |path: &Path| path.canonicalize().ok();
    let ours = ["", "-wal", "-shm", ".lock"].iter().filter_map(|suffix| whole(&beside(database, suffix)));
    if whole(to).is_some_and(|to| ours.into_iter().any(|own| own == to)) {
        return Err(BackupError::Itself { path: to.to_owned() });
    }
    match std::fs::symlink_metadata(to) {
        Ok(there) if there.is_dir() => Err(BackupError::Folder { path: to.to_owned() }),
        Ok(_) if !force => Err(BackupError::Exists { path: to.to_owned() }),
        _ => Ok(()),
    }
}

/// Makes a rename in the folder of this file outlive a loss of power.
pub(in crate::store) fn sync_folder(of: &Path) -> Result<(), BackupError> {
    let folder = match of.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| BackupError::file("sync", folder, source))
}

/// Why a backup was not written, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Somebody's file is in the way.
    #[error("{} is there already; name another file, or replace it with --force", .path.display())]
    Exists {
        /// The file in question.
        path: PathBuf,
    },
    /// A folder is in the way.
    #[error("{} is a folder; name a file in it", .path.display())]
    Folder {
        /// The folder in question.
        path: PathBuf,
    },
    /// The backup would overwrite what it is a backup of.
    #[error("{} belongs to the database itself; name another file, best on another disk", .path.display())]
    Itself {
        /// The file in question.
        path: PathBuf,
    },
    /// Two backups to one name at once.
    #[error("another backup is being written to {}; wait for it, or name another file", .path.display())]
    UnderWay {
        /// The half-written copy.
        path: PathBuf,
    },
    /// A file that was copied by hand, without its newest part.
    #[error(
        "{} has a write-ahead log beside it, so it is a copy made by hand, or a database in use; make a backup of it \
         first: `serin backup --database {} FILE`",
        .path.display(), .path.display()
    )]
    WithLog {
        /// The file in question.
        path: PathBuf,
    },
    /// Another program has the database open.
    #[error("another process has {} open; end it first (an open sqlite3 shell, a backup, an export)", .path.display())]
    Held {
        /// The database that is open elsewhere.
        path: PathBuf,
    },
    /// The operating system refuses to read, write or rename it.
    #[error("cannot {doing} {}: {source}", .path.display())]
    File {
        /// What was tried, such as `write`.
        doing: &'static str,
        /// The file in question.
        path: PathBuf,
        /// What refused it, in its own words.
        source: io::Error,
    },
    /// The database, or the copy, cannot be used.
    #[error("{}: {source}", .path.display())]
    Store {
        /// The database, or its copy.
        path: PathBuf,
        /// What refused it, in its own words.
        source: StoreError,
    },
    /// The database cannot be had for ourselves alone.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl BackupError {
    pub(in crate::store) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}
