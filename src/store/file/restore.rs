//! A backup, put in the database's place; and a database, put aside.
//!
//! Nothing is ever overwritten: what stood there is kept under a dated name. Under the database's own
//! name there is at every moment one whole file, the old one or the new one, so we may die anywhere.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use sqlx::Connection;

use crate::store::file::backup::{BackupError, sync_folder};
use crate::store::file::held::Held;
use crate::store::file::integrity::{self, Contents};
use crate::store::file::private;
use crate::store::file::private::beside;
use crate::store::file::schema;
use crate::store::values::error::OpenError;
use crate::store::values::error::StoreError;

/// The copy while it is not yet whole.
const COMING: &str = ".restoring";
/// Files put aside within one second.
const ASIDE_MAX: u32 = 100;

/// A database that was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The version of its tables, and how many monitors and incidents it holds.
    pub contents: Contents,
    /// Where the one before is kept; none where there was none.
    pub aside: Option<PathBuf>,
}

/// Puts a backup in the place of a database that no Serin holds.
///
/// # Errors
/// Where a Serin runs on it, the backup is unsound or of a newer Serin, or the system refuses; the database is then as
/// it was before.
pub async fn restore(backup: &Path, database: &Path, now: DateTime<Utc>) -> Result<Restored, BackupError> {
    let _held_until_the_end = Held::find(database)?;
    if std::fs::metadata(beside(backup, "-wal")).is_ok_and(|log| log.len() > 0) {
        return Err(BackupError::WithLog { path: backup.to_owned() });
    }
    let coming = beside(database, COMING);
    let restored = replace(backup, &coming, database, now).await;
    if restored.is_err() {
        // Overwritten by the next one where it cannot be removed.
        drop(std::fs::remove_file(&coming));
    }
    restored
}

async fn replace(backup: &Path, coming: &Path, database: &Path, now: DateTime<Utc>) -> Result<Restored, BackupError> {
    let writing = |source| BackupError::file("write", coming, source);
    let copying = |source| BackupError::file("copy", backup, source);
    let mut from = File::open(backup).map_err(copying)?;
    let mut to = private::open(coming).map_err(writing)?;
    private::begin_anew(&to).map_err(writing)?;
    let bytes = io::copy(&mut from, &mut to).map_err(copying)?;
    to.sync_all().map_err(writing)?;
    drop(to);
    // The copy and not the backup: it is what will be used.
    let looked = integrity::look_whole(coming).await;
    let contents = looked.map_err(|source| BackupError::Store { path: backup.to_owned(), source })?;
    let aside = match std::fs::metadata(database) {
        Ok(before) => {
            std::fs::set_permissions(coming, before.permissions()).map_err(writing)?;
            Some(keep(database, now).await?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(BackupError::file("read", database, source)),
    };
    std::fs::rename(coming, database).map_err(|source| BackupError::file("replace", database, source))?;
    sync_folder(database)?;
    Ok(Restored { bytes, contents, aside })
}

/// Gives the database a second, dated name, and takes its write-ahead log from beside the first: a log that stays
/// behind would be read into the file that comes next.
async fn keep(database: &Path, now: DateTime<Utc>) -> Result<PathBuf, BackupError> {
    // Folded into the file, there is no log to move and no moment at which the file lacks its newest part.
    match fold(database).await {
        Ok(()) => {}
        Err(StoreError::Locked) => return Err(BackupError::Held { path: database.to_owned() }),
        Err(error) => tracing::warn!(%error, "the old database's log could not be folded in; it is kept beside it"),
    }
    let aside = free_name(database, "replaced", now)
        .ok_or_else(|| BackupError::file("keep a copy of", database, io::Error::from(io::ErrorKind::AlreadyExists)))?;
    let transcript_policy = |source| BackupError::file("keep a copy as", &aside, source);
    if std::fs::hard_link(database, &aside).is_err() {
        // A file system without hard links.
        std::fs::copy(database, &aside).map_err(transcript_policy)?;
    }
    move_log(database, &aside).map_err(transcript_policy)?;
    Ok(aside)
}

/// Leaves one file, by going back to a rollback journal: SQLite does so only while nobody else has the file open. That
/// is what has to be known here, since a shell that is closed later would remove the log of the database that came
/// after (sqlite.org/howtocorrupt.html, 2.4).
async fn fold(database: &Path) -> Result<(), StoreError> {
    let mut connection = schema::writer(database).await?;
    let folded = sqlx::query("PRAGMA journal_mode = DELETE").fetch_one(&mut connection).await;
    connection.close().await?;
    Ok(folded.map(drop)?)
}

/// Takes a damaged database out of the way, so that a new one can begin; answers where it is kept.
///
/// # Errors
/// Where a Serin holds it, or the system refuses.
pub fn set_aside(database: &Path, now: DateTime<Utc>) -> Result<PathBuf, OpenError> {
    let _held_until_the_end = Held::find(database)?;
    let failed = |source: io::Error| OpenError::Database {
        path: database.to_owned(),
        source: StoreError::Io(format!("it cannot be set aside: {source}")),
    };
    let aside = free_name(database, "damaged", now).ok_or_else(|| failed(io::ErrorKind::AlreadyExists.into()))?;
    move_log(database, &aside).map_err(failed)?;
    std::fs::rename(database, &aside).map_err(failed)?;
    Ok(aside)
}

fn move_log(database: &Path, aside: &Path) -> io::Result<()> {
    for (suffix, keep) in [("-wal", true), ("-shm", false)] {
        let from = beside(database, suffix);
        let moved = if keep { std::fs::rename(&from, beside(aside, suffix)) } else { std::fs::remove_file(&from) };
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn free_name(database: &Path, word: &str, now: DateTime<Utc>) -> Option<PathBuf> {
    let dated = format!(".{word}-{}", now.format("%Y%m%dT%H%M%SZ"));
    let names = std::iter::once(dated.clone()).chain((2..ASIDE_MAX).map(|number| format!("{dated}-{number}")));
    names.map(|name| beside(database, &name)).find(|path| !path.exists())
}
