//! Bytes of files, and what stands for them.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::net::files;

/// 50,000 monitors written out in full are 40 MB, in one file or in many; more is a mistake, such as a log.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Why there is no file to look at.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not there, not readable, or no file at all.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// As the file is named on the command line or by `include`.
        path: String,
        /// Shown behind the path; a reload tells by it whether the process is out of files.
        why: std::io::Error,
    },
    /// Past [`FILE_BYTES_MAX`]; of included files, past what is left of it.
    #[error("{path} is larger than {} MiB, which no fleet needs: is it the right file?", FILE_BYTES_MAX / 1024 / 1024)]
    TooLarge {
        /// As the file is named on the command line or by `include`.
        path: String,
    },
}

impl ReadError {
    /// Whether no file could be opened at all, which says nothing about this one.
    pub fn is_out_of_files(&self) -> bool {
        matches!(self, Self::Unreadable { why, .. } if files::is_out(why))
    }
}

/// A file's bytes, unless there are more than `bytes_max`. What is no file, such as a pipe that nobody writes to, is not opened:
/// whoever looks at files again and again would wait for it for ever.
pub(crate) fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
    let is_of_another_kind = |found: std::fs::Metadata| !found.is_file() && !found.is_dir();
    if std::fs::metadata(path).is_ok_and(is_of_another_kind) {
        let why = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file");
        return Err(ReadError::Unreadable { path: path.display().to_string(), why });
    }
    read_stream(path, bytes_max)
}

/// The same of whatever is named: a command's file may be a pipe.
pub(crate) fn read_stream(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
    let shown = path.display().to_string();
    let unreadable = |why| ReadError::Unreadable { path: shown.clone(), why };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > bytes_max {
        return Err(ReadError::TooLarge { path: shown });
    }
    Ok(bytes)
}

/// SHA-256 as 64 lowercase hex digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let error = read_bytes(Path::new("/dev/zero"), 8).unwrap_err().to_string();
        assert_eq!(error, "cannot read /dev/zero: it is no regular file");
        assert!(matches!(read_stream(Path::new("/dev/zero"), 8), Err(ReadError::TooLarge { .. })), "asked for by name");
    }
}
