//! The file as it was read: its bytes, the name pages show it under, and the commit it stands at.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

/// 50,000 monitors written out in full are 40 MB; a larger file is a mistake, such as a log.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Names the commit where the file does not lie in a git checkout, such as in a container image.
pub const COMMIT_VARIABLE: &str = "SERIN_COMMIT";

/// One monitors.yaml, read once; everything after works on these bytes, so that hash, commit and content agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it was read.
    pub path: PathBuf,
    /// The name that pages and faults show: the path as given, or the bare file name of an absolute path.
    pub name: String,
    /// The bytes; not known to be UTF-8.
    pub bytes: Vec<u8>,
    /// SHA-256 over the bytes, lowercase hex.
    pub hash: String,
    /// The git commit, with `-dirty` behind it where these bytes are not what it holds; none outside git.
    pub commit: Option<String>,
}

/// Why there is no file to look at.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// Past [`FILE_BYTES_MAX`].
    #[error("{path} is larger than {} MiB, which no fleet needs: is it the right file?", FILE_BYTES_MAX / 1024 / 1024)]
    TooLarge {
        /// The path as given.
        path: String,
    },
}

/// Reads a file and finds the commit it stands at. Blocks: it reads a disk and asks `git`.
pub fn read(path: &Path) -> Result<Source, ReadError> {
    let shown = path.display().to_string();
    let unreadable = |why| ReadError::Unreadable { path: shown.clone(), why };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge { path: shown });
    }
    let commit = git_commit(path, &bytes).or_else(|| commit_from_environment(std::env::var(COMMIT_VARIABLE).ok()));
    Ok(Source::new(path, bytes, commit))
}

impl Source {
    /// A source from bytes that somebody already has.
    pub fn new(path: &Path, bytes: Vec<u8>, commit: Option<String>) -> Self {
        let bare = path.file_name().filter(|_| path.is_absolute());
        let name = bare.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let hash = hex(&Sha256::digest(&bytes));
        Self { path: path.to_owned(), name, bytes, hash, commit }
    }
}

/// Bytes as lowercase hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checkout's commit, and whether it holds these very bytes under this name.
///
/// The bytes are hashed as git would store them, instead of asking for the file's status, so that
/// an edit between our reading and git's cannot lie. A file git does not track is dirty.
fn git_commit(path: &Path, bytes: &[u8]) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let folder = path.parent()?;
    let name = path.file_name()?.to_str()?;
    let commit = git(folder, &["rev-parse", "--verify", "HEAD"], None)?;
    let held = git(folder, &["rev-parse", "--verify", &format!("HEAD:./{name}")], None);
    let read = git(folder, &["hash-object", "--stdin", "--path", name], Some(bytes));
    let clean = held.is_some() && held == read;
    Some(if clean { commit } else { format!("{commit}-dirty") })
}

/// One line of git's answer; none where git is absent or says no.
fn git(folder: &Path, arguments: &[&str], input: Option<&[u8]>) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    // Set inside a git hook, where they name the repository of the hook and not the file's.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A git that ends early closes the pipe; its exit status says the rest.
        let _ended_early = pipe.write_all(input);
    }
    let output = child.wait_with_output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    let is_object_name = (40..=64).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    (output.status.success() && is_object_name).then_some(line)
}

/// A commit somebody wrote into the environment: bounded, and no text that could break a page.
fn commit_from_environment(value: Option<String>) -> Option<String> {
    const COMMIT_CHARS_MAX: usize = 80;
    let value: String = value?.chars().filter(|c| c.is_ascii_graphic()).take(COMMIT_CHARS_MAX).collect();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_from_the_environment_is_bounded_text() {
        let rows = [
            (None, None, "nothing given"),
            (Some(""), None, "an empty variable is none"),
            (Some("3f2c\n<b>"), Some("3f2c<b>"), "no line breaks"),
        ];
        for (value, expected, sentence) in rows {
            let found = commit_from_environment(value.map(str::to_owned));
            assert_eq!(found.as_deref(), expected, "{sentence}");
        }
        assert_eq!(commit_from_environment(Some("a".repeat(500))).map(|commit| commit.len()), Some(80));
    }

    #[test]
    fn a_relative_path_is_its_own_name_and_an_absolute_one_is_cut() {
        assert_eq!(Source::new(Path::new("conf/m.yaml"), Vec::new(), None).name, "conf/m.yaml");
        assert_eq!(Source::new(Path::new("/srv/m.yaml"), Vec::new(), None).name, "m.yaml");
    }
}
