//! `monitors.lock`, which may stand beside each file that declares monitors: found and read with those files, so that
//! hash, commit and watch cover it too. What cannot be read is kept as trouble and said by the checker.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::config::read::bytes::{FILE_BYTES_MAX, ReadError, read_bytes};

/// The name of the file, beside each file that declares monitors.
pub const LOCK_FILE: &str = "monitors.lock";
/// Bytes of all locks of a fleet together: a monitor with 24 canaries and a usual list of tools has some 30 kB.
const LOCKS_BYTES_MAX: u64 = FILE_BYTES_MAX;

/// One lock file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The name that pages and faults show.
    pub name: String,
    /// Its bytes, not known to be UTF-8; none where they could not be read.
    pub bytes: Vec<u8>,
    /// The files that it stands beside: 0 is the first one, others count from 1.
    pub beside: Vec<usize>,
    /// Why it could not be read.
    pub trouble: Option<String>,
}

/// Where the lock of the monitors in a file stands.
pub fn lock_of(file: &Path) -> PathBuf {
    file.with_file_name(LOCK_FILE)
}

/// The locks beside these files (each with its path and its name), in their order. Blocks.
pub(in crate::config) fn gather<'f>(files: impl Iterator<Item = (&'f Path, &'f str)>) -> Vec<LockFile> {
    let mut found: Vec<LockFile> = Vec::new();
    let mut left = LOCKS_BYTES_MAX;
    for (number, (path, name)) in files.enumerate() {
        let path = lock_of(path);
        if let Some(known) = found.iter_mut().find(|lock| lock.path == path) {
            known.beside.push(number);
            continue;
        }
        let name = lock_of(Path::new(name)).display().to_string();
        let lock = |bytes, trouble| LockFile { path: path.clone(), name, bytes, beside: vec![number], trouble };
        match read_bytes(&path, left) {
            Ok(bytes) => {
                left -= bytes.len() as u64;
                found.push(lock(bytes, None));
            }
            Err(ReadError::Unreadable { why, .. }) if why.kind() == ErrorKind::NotFound => {}
            Err(error) => found.push(lock(Vec::new(), Some(error.to_string()))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_once_for_all_the_files_that_it_stands_beside() {
        let folder = tempfile::tempdir().unwrap();
        let team = folder.path().join("team");
        std::fs::create_dir(&team).unwrap();
        std::fs::write(folder.path().join(LOCK_FILE), "version: 1").unwrap();
        std::fs::create_dir(team.join(LOCK_FILE)).unwrap();
        let (main, other, of_team) = (folder.path().join("m.yaml"), folder.path().join("n.yaml"), team.join("t.yaml"));
        let files = [(&*main, "m.yaml"), (&*other, "n.yaml"), (&*of_team, "team/t.yaml")];
        let found = gather(files.into_iter());
        let [lock, unreadable] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*lock.name, &*lock.bytes, &*lock.beside), ("monitors.lock", &b"version: 1"[..], &[0, 1][..]));
        assert_eq!((&*unreadable.name, &*unreadable.beside), ("team/monitors.lock", &[2][..]));
        assert!(unreadable.trouble.is_some(), "a folder is no file");
        std::fs::remove_dir(team.join(LOCK_FILE)).unwrap();
        assert_eq!(gather([(&*of_team, "team/t.yaml")].into_iter()), [], "nobody has to have one");
    }
}
