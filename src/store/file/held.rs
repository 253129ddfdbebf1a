//! Who has a database: a lock on the file itself, and one on its name.
//!
//! - The file's is an `flock` on a descriptor of the database, so it holds by whatever link or path a second Serin comes.
//! - The name's is one on an empty file beside it. Where the database is taken away under a Serin, the next one would find
//!   no file that is locked, and begin a new one beside the first.
//!
//! Both die with the process. The descriptor is opened before SQLite opens the file and closed after SQLite has closed
//! it: closing any descriptor of a file drops every lock that SQLite has on it in this process
//! (sqlite.org/howtocorrupt.html, 2.2). So nothing else in this process may open the database but SQLite.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::store::file::private;
use crate::store::file::private::beside;
use crate::store::values::error::OpenError;
use crate::store::values::error::StoreError;

/// Where another file takes the database's place while we lock it (`serin restore`), that one is locked next; nobody
/// restores more often than this.
const TRIES_MAX: usize = 8;

/// Both locks, for as long as the value lives.
#[derive(Debug)]
pub(in crate::store) struct Held {
    /// None where there is no database.
    file: Option<File>,
    _name: File,
}

impl Held {
    /// Takes both locks; where there is no database one is made, empty and private, so that there is a file to lock.
    /// A second Serin on one database would page twice.
    ///
    /// # Errors
    /// [`OpenError::InUse`] where another process has one of them, [`OpenError::Lock`] where the system refuses.
    pub(in crate::store) fn make(database: &Path) -> Result<Self, OpenError> {
        Self::take(database, true)
    }

    /// Takes both locks of what is there, and makes nothing.
    ///
    /// # Errors
    /// As [`Held::make`].
    pub(in crate::store) fn find(database: &Path) -> Result<Self, OpenError> {
        Self::take(database, false)
    }

    fn take(database: &Path, make: bool) -> Result<Self, OpenError> {
        let beside = beside(database, ".lock");
        let name = private::open(&beside).map_err(|error| refused(&beside, error))?;
        lock(&name, &beside, database)?;
        for _ in 0..TRIES_MAX {
            let opened = if make { private::open(database) } else { OpenOptions::new().write(true).open(database) };
            let file = match opened {
                Ok(file) => file,
                Err(error) if !make && error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { file: None, _name: name });
                }
                Err(error) => return Err(refused(database, error)),
            };
            lock(&file, database, database)?;
            if Inode::of(&file).ok() == Inode::at(database).ok() {
                return Ok(Self { file: Some(file), _name: name });
            }
        }
        Err(in_use(database))
    }
}

/// Whether a Serin has this database; none where none ever had, or the system does not say. The locks are not taken but
/// for a moment: shared, so that two who ask see no Serin in each other.
pub fn is_held(database: &Path) -> Option<bool> {
    let asked = [database.to_owned(), beside(database, ".lock")].map(|path| {
        let file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    });
    asked.into_iter().flatten().reduce(|one, other| one || other)
}

fn lock(file: &File, path: &Path, database: &Path) -> Result<(), OpenError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => in_use(database),
        TryLockError::Error(source) => refused(path, source),
    })
}

fn refused(path: &Path, source: io::Error) -> OpenError {
    OpenError::Lock { path: path.to_owned(), source }
}

fn in_use(database: &Path) -> OpenError {
    OpenError::InUse { path: database.to_owned() }
}

/// Where the database that is open stood when it was opened.
#[derive(Debug)]
pub(in crate::store) struct DatabaseLock {
    path: PathBuf,
    inode: Inode,
}

impl DatabaseLock {
    /// The place of a database that is held.
    ///
    /// # Errors
    /// Where there is none, or the system does not say.
    pub(in crate::store) fn of(path: &Path, held: &Held) -> io::Result<Self> {
        let file = held.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { path: path.to_owned(), inode: Inode::of(file)? })
    }

    /// Whether the same file still stands there. SQLite opens by name: without this look a new connection would read
    /// and write whatever has the name by now, or make logs of its own beside it.
    ///
    /// # Errors
    /// [`StoreError::Moved`] where none does, or another; nothing where the system does not say.
    pub(in crate::store) fn look(&self) -> Result<(), StoreError> {
        let name = || self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned();
        match Inode::at(&self.path) {
            Ok(there) if there != self.inode => Err(StoreError::Moved(format!("{} is another file by now", name()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Moved(format!("{} is gone", name())))
            }
            _ => Ok(()),
        }
    }
}

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|found| Self { device: found.dev(), number: found.ino() })
    }

    fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|found| Self { device: found.dev(), number: found.ino() })
    }
}
