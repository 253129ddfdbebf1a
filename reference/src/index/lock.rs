//! One writer at a time: a file that the operating system locks for as long as its holder lives.
//!
//! The lock goes with the process, however it dies; what is left in the file then names a holder
//! that is gone, and the next one says so and takes over.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::store::records::StoreError;

/// Letters of a holder's note that are read.
const NOTE_BYTES_MAX: u64 = 4_096;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct WriterLock {
    file: File,
    /// Who held it last and died with it.
    pub recovered: Option<Holder>,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// What it does.
    pub doing: String,
    /// Since when.
    pub since: DateTime<Utc>,
}

impl WriterLock {
    /// Takes the lock of a file, where there is one, and keeps the runtime free while it waits.
    ///
    /// # Errors
    /// As `take`.
    pub async fn taken(path: Option<PathBuf>, doing: &str, waits: bool) -> Result<Option<Self>, StoreError> {
        let Some(path) = path else { return Ok(None) };
        if !waits {
            return Self::take(&path, doing, waits, Utc::now()).map(Some);
        }
        let doing = doing.to_owned();
        let waiting = tokio::task::spawn_blocking(move || Self::take(&path, &doing, waits, Utc::now()));
        waiting.await.map_err(|error| StoreError::Sql(sqlx::Error::Protocol(error.to_string())))?.map(Some)
    }

    /// Takes the lock, or waits for it.
    ///
    /// # Errors
    /// `Locked` with its holder where nobody wants to wait, `File` where it cannot be made.
    pub fn take(path: &Path, doing: &str, waits: bool, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let failed = |why| StoreError::File { path: PathBuf::from(path), why };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if waits => file.lock().map_err(failed)?,
            Err(TryLockError::WouldBlock) => {
                let holder = read(&mut file).map_or_else(|| "another process".to_owned(), |holder| holder.shown());
                return Err(StoreError::Locked { holder });
            }
            Err(TryLockError::Error(why)) => return Err(failed(why)),
        }
        let recovered = read(&mut file);
        let note = Holder { pid: std::process::id(), doing: doing.to_owned(), since: now };
        write(&mut file, &serde_json::to_string(&note).unwrap_or_default()).map_err(failed)?;
        Ok(Self { file, recovered })
    }

    /// Who holds the lock now; `None` where it is free.
    ///
    /// # Errors
    /// `File` where it cannot be looked at.
    pub fn holder(path: &Path) -> Result<Option<Holder>, StoreError> {
        let failed = |why| StoreError::File { path: PathBuf::from(path), why };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(failed(why)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(read(&mut file)),
            Err(TryLockError::Error(why)) => Err(failed(why)),
        }
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // An empty file is one that was given back; what a dead holder leaves is not.
        let _kept = write(&mut self.file, "");
    }
}

impl Holder {
    /// The holder in words.
    pub fn shown(&self) -> String {
        let since = self.since.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        format!("process {} ({}, since {since})", self.pid, self.doing)
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut note = String::new();
    file.rewind().ok()?;
    file.take(NOTE_BYTES_MAX).read_to_string(&mut note).ok()?;
    serde_json::from_str(&note).ok()
}

fn write(file: &mut File, note: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(note.as_bytes())?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_is_told_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.lock");
        let now = "2026-11-21T03:00:00Z".parse().unwrap();
        assert_eq!(WriterLock::holder(&path).unwrap(), None, "no file is free");
        let held = WriterLock::take(&path, "index", false, now).unwrap();
        assert_eq!(held.recovered, None);
        let refused = WriterLock::take(&path, "index", false, now).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("process {} (index, since 2026-11-21T03:00:00Z)", std::process::id())),
            "{refused}"
        );
        assert_eq!(WriterLock::holder(&path).unwrap().map(|holder| holder.doing), Some("index".to_owned()));
        drop(held);
        assert_eq!(WriterLock::holder(&path).unwrap(), None);
        assert_eq!(WriterLock::take(&path, "index", false, now).unwrap().recovered, None, "given back, not left");
    }

    #[test]
    fn a_dead_holders_lock_is_taken_over_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.lock");
        let dead = r#"{"pid": 4242, "doing": "index", "since": "2026-11-20T03:00:00Z"}"#;
        std::fs::write(&path, dead).unwrap();
        assert_eq!(WriterLock::holder(&path).unwrap(), None, "nobody holds what only stands there");
        let held = WriterLock::take(&path, "index", false, Utc::now()).unwrap();
        assert_eq!(held.recovered.as_ref().map(|holder| holder.pid), Some(4242));
    }

    #[test]
    fn who_waits_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.lock");
        let held = WriterLock::take(&path, "first", false, Utc::now()).unwrap();
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || WriterLock::take(&path, "second", true, Utc::now()).is_ok())
        };
        drop(held);
        assert!(waiting.join().unwrap());
    }
}
