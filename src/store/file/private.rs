//! Files that Serin writes for its own user alone: questions, answers and addresses are nobody else's.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Read and written by the owner, and by nobody else.
const MODE: u32 = 0o600;

/// Opens a file for writing. One that is new is private from its first moment on, whatever the umask; one that is there
/// keeps its permissions, for whoever let a group read it meant to.
///
/// # Errors
/// Where the system refuses.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(MODE).open(path)
}

/// Empties a file, which is as private as a new one then: what is written next is not what others were let read.
///
/// # Errors
/// Where the system refuses.
pub(crate) fn begin_anew(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.set_len(0)
}

/// A file that belongs to the database, or is put next to it.
pub(in crate::store) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
