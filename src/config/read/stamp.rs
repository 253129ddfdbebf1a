//! Whether files are those that were read before, without reading them: a large fleet's are megabytes, looked at every
//! other second.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::config::read::glob;
use crate::config::read::include::Expansion;

/// A file that changed so shortly before it was read may change once more and look the same: file systems count in steps
/// of up to two seconds (FAT), others in milliseconds.
const SETTLED_AFTER: Duration = Duration::from_secs(3);
/// Files are read all the same this often: a file server's clock may be behind ours.
const READ_EVERY: Duration = Duration::from_secs(60);

/// By what a file system tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let told = std::fs::metadata(path).ok()?;
        Some(Self {
            device: told.dev(),
            inode: told.ino(),
            bytes: told.size(),
            modified: (told.mtime(), told.mtime_nsec()),
            changed: (told.ctime(), told.ctime_nsec()),
        })
    }

    /// Whether a change after this moment would show.
    fn is_settled(&self, read_at: SystemTime) -> bool {
        let since = read_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let settled = i64::try_from(since.saturating_sub(SETTLED_AFTER).as_secs()).unwrap_or(0);
        self.changed.0 < settled && self.modified.0 < settled
    }
}

/// What was read, as a file system tells it.
#[derive(Debug)]
pub(super) struct ReadFiles {
    files: Vec<(PathBuf, FileStamp)>,
    /// Files that need not be there: none of one that is not.
    locks: Vec<(PathBuf, Option<FileStamp>)>,
    expansions: Vec<Expansion>,
    until: Instant,
}

impl ReadFiles {
    /// Of files whose reading began at `read_at`; none where one of them is not there, or may change unseen. `locks` need
    /// not be there, and may come.
    pub(super) fn settled<'f>(
        files: impl Iterator<Item = &'f Path>,
        locks: impl Iterator<Item = PathBuf>,
        expansions: Vec<Expansion>,
        read_at: SystemTime,
    ) -> Option<Self> {
        let stamped = |path: &Path| {
            let stamp = FileStamp::of(path).filter(|stamp| stamp.is_settled(read_at))?;
            Some((path.to_owned(), stamp))
        };
        let files = files.map(stamped).collect::<Option<Vec<_>>>()?;
        let stamped = |path: PathBuf| {
            let stamp = FileStamp::of(&path);
            (path, stamp)
        };
        let locks: Vec<_> = locks.map(stamped).collect();
        if !locks.iter().all(|(_, stamp)| stamp.is_none_or(|stamp| stamp.is_settled(read_at))) {
            return None;
        }
        Some(Self { files, locks, expansions, until: Instant::now() + READ_EVERY })
    }

    /// Whether both readings found the same files.
    pub(super) fn are_those_of(&self, other: &Self) -> bool {
        self.files == other.files && self.locks == other.locks
    }

    /// Whether reading them again would give the same.
    pub(super) fn are_unchanged(&self) -> bool {
        Instant::now() < self.until
            && self.files.iter().all(|(path, stamp)| FileStamp::of(path) == Some(*stamp))
            && self.locks.iter().all(|(path, stamp)| FileStamp::of(path) == *stamp)
            && self
                .expansions
                .iter()
                .all(|known| glob::expand(&known.folder, &known.glob).is_ok_and(|files| files == known.files))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A change to a file that is watched, and what it is in words.
    type Change = (fn(&Path), &'static str);

    #[test]
    fn whatever_changes_is_read_again() {
        let changes: [Change; 8] = [
            (|folder| fs::write(folder.join("m.yaml"), "version: 2").unwrap(), "another content of the same length"),
            (|folder| fs::write(folder.join("teams/b.yaml"), "").unwrap(), "a file that comes under a glob"),
            (|folder| fs::remove_file(folder.join("teams/a.yaml")).unwrap(), "one that goes"),
            (|folder| fs::write(folder.join("teams/a.yaml"), "").unwrap(), "one that is emptied"),
            (|folder| fs::write(folder.join("monitors.lock"), "").unwrap(), "a lock that comes"),
            (|folder| fs::remove_file(folder.join("teams/monitors.lock")).unwrap(), "one that goes"),
            (
                |folder| {
                    fs::write(folder.join("new"), "version: 1").unwrap();
                    fs::rename(folder.join("new"), folder.join("m.yaml")).unwrap();
                },
                "another file in its place",
            ),
            (
                |folder| {
                    fs::remove_file(folder.join("m.yaml")).unwrap();
                    std::os::unix::fs::symlink(folder.join("teams/a.yaml"), folder.join("m.yaml")).unwrap();
                },
                "a link in its place",
            ),
        ];
        for (change, sentence) in changes {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("teams")).unwrap();
            let files = [folder.path().join("m.yaml"), folder.path().join("teams/a.yaml")];
            files.iter().for_each(|file| fs::write(file, "version: 1").unwrap());
            fs::write(folder.path().join("teams/monitors.lock"), "version: 1").unwrap();
            let read = |read_at| {
                let locks = files.iter().map(|file| file.with_file_name("monitors.lock"));
                let (folder, glob) = (folder.path().to_owned(), "teams/*.yaml".to_owned());
                let expansions = vec![Expansion { folder, glob, files: vec![files[1].clone()] }];
                ReadFiles::settled(files.iter().map(PathBuf::as_path), locks, expansions, read_at)
            };
            let now = SystemTime::now();
            assert!(read(now).is_none(), "written just now, it may change again and look the same");
            let read = read(now + Duration::from_secs(60)).unwrap();
            assert!(read.are_unchanged(), "nothing changed");
            change(folder.path());
            assert!(!read.are_unchanged(), "{sentence}");
        }
    }
}
