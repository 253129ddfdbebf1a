//! The file of users that `serin.users` names: read with all others, so that a change of it is seen as theirs is.

use std::path::{Path, PathBuf};

use crate::config::read::bytes::read_bytes;

/// Bytes of the file: a thousand users take a fifth of it.
const USERS_BYTES_MAX: u64 = 1024 * 1024;

/// The file of users as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsersFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The name that faults show.
    pub name: String,
    /// Its bytes, not known to be UTF-8; none where they could not be read.
    pub bytes: Vec<u8>,
    /// Why it could not be read.
    pub trouble: Option<String>,
}

/// Reads the file that the one at `first` (shown as `shown`) names so. Blocks.
pub(in crate::config) fn read(first: &Path, shown: &str, named: &str) -> UsersFile {
    let beside = |file: &Path| file.parent().unwrap_or(Path::new("")).join(named);
    let (path, name) = (beside(first), beside(Path::new(shown)).display().to_string());
    match read_bytes(&path, USERS_BYTES_MAX) {
        Ok(bytes) => UsersFile { path, name, bytes, trouble: None },
        Err(error) => UsersFile { path, name, bytes: Vec::new(), trouble: Some(error.to_string()) },
    }
}
