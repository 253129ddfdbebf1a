//! The file as it was read, with all that it includes: bytes, the names pages show them under, and the commit they
//! stand at.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::config::read::bytes::{FILE_BYTES_MAX, ReadError, hash, read_bytes, read_stream};
use crate::config::read::include::{self, Expansion, GlobFinding, GoldenName, Included, Memo};
use crate::config::read::lock_files::{self, LockFile, lock_of};
use crate::config::read::stamp::ReadFiles;
use crate::config::read::users_file::{self, UsersFile};
use crate::domain::fleet_files::FleetFileKind;

/// Names the commit where the file does not lie in a git checkout, such as in a container image.
pub const COMMIT_VARIABLE: &str = "SERIN_COMMIT";

/// One monitors.yaml, the files it includes and the locks beside them, each read once; everything after works on these bytes, so that hash,
/// commit and content agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSource {
    /// As given; its folder is where globs and relative paths in the file start.
    pub path: PathBuf,
    /// The name that pages and faults show: the path as given, or the bare file name of an absolute path.
    pub name: String,
    /// The bytes; not known to be UTF-8.
    pub bytes: Vec<u8>,
    /// The files that it includes, each behind the one that names it, and golden sets last.
    pub included: Vec<Included>,
    /// The golden sets that they name.
    pub golden: Vec<GoldenName>,
    /// What is to be said about its globs.
    pub findings: Vec<GlobFinding>,
    /// The locks beside all these.
    pub locks: Vec<LockFile>,
    /// The file of users that the first file names. It is no part of the commit, nor of what is kept in the database.
    pub users: Option<UsersFile>,
    /// SHA-256 over the bytes, lowercase hex; where there are more files, over the names and hashes of all.
    pub hash: String,
    /// The same without the lists that Serin keeps itself.
    pub declared: String,
    /// The git commit, with `-dirty` behind it where these bytes are not what it holds; none outside git.
    pub commit: Option<String>,
}

/// Reads a file with all that it includes and finds the commit it stands at. Blocks: it reads a disk and asks `git`.
pub fn read(path: &Path) -> Result<ConfigSource, ReadError> {
    let mut source = SourceReader::new(path).read()?;
    source.find_commit();
    Ok(source)
}

/// Reads one file again and again, as long as somebody watches it.
#[derive(Debug)]
pub struct SourceReader {
    path: PathBuf,
    memo: Memo,
    /// What the last reading read, by its hash, where a change would show without another one.
    read: Option<(String, ReadFiles)>,
    /// Whether the reading before read the same from the same files. One alone may have read a file and then looked at
    /// another in its place.
    is_confirmed: bool,
}

impl SourceReader {
    /// A reader of the file at this path.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), memo: Memo::new(), read: None, is_confirmed: false }
    }

    /// Takes nothing for known: the next look reads whatever the file system says.
    pub fn forget(&mut self) {
        self.read = None;
    }

    /// Whether reading now would give this hash, as the last reading did; false where only reading can tell. Blocks, shortly.
    pub fn still_gives(&self, hash: &str) -> bool {
        self.is_confirmed && self.read.as_ref().is_some_and(|(given, files)| given == hash && files.are_unchanged())
    }

    /// Reads the file with all that it includes now; its commit is not looked for. Blocks.
    pub fn read(&mut self) -> Result<ConfigSource, ReadError> {
        self.read_at(SystemTime::now())
    }

    fn read_at(&mut self, read_at: SystemTime) -> Result<ConfigSource, ReadError> {
        let before = self.read.take();
        let bytes = read_stream(&self.path, FILE_BYTES_MAX)?;
        let (source, expansions) = ConfigSource::with(&self.path, bytes, &mut self.memo);
        let has_trouble = source.users.as_ref().is_some_and(|users| users.trouble.is_some());
        if source.findings.is_empty() && !has_trouble && source.golden.iter().all(|golden| golden.found.is_ok()) {
            let files = std::iter::once(&source.path).chain(source.included.iter().map(|file| &file.path));
            let files = files.chain(source.users.iter().map(|users| &users.path));
            let declaring =
                source.included.iter().filter(|file| file.kind == FleetFileKind::Yaml).map(|file| &file.path);
            let declaring = std::iter::once(&source.path).chain(declaring);
            let locks: BTreeSet<PathBuf> = declaring.map(|path| lock_of(path)).collect();
            let settled = ReadFiles::settled(files.map(PathBuf::as_path), locks.into_iter(), expansions, read_at);
            self.read = settled.map(|files| (source.hash.clone(), files));
        }
        self.is_confirmed = matches!(
            (&before, &self.read),
            (Some((hash, files)), Some((again, same))) if hash == again && files.are_those_of(same)
        );
        Ok(source)
    }
}

impl ConfigSource {
    /// A source from bytes that somebody already has. What they include is read from where `path` lies, so it blocks.
    pub fn new(path: &Path, bytes: Vec<u8>, commit: Option<String>) -> Self {
        Self { commit, ..Self::with(path, bytes, &mut Memo::new()).0 }
    }

    fn with(path: &Path, bytes: Vec<u8>, memo: &mut Memo) -> (Self, Vec<Expansion>) {
        let bare = path.file_name().filter(|_| path.is_absolute());
        let name = bare.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let mut source = Self {
            path: path.to_owned(),
            name,
            hash: String::new(),
            declared: String::new(),
            bytes,
            included: Vec::new(),
            golden: Vec::new(),
            findings: Vec::new(),
            locks: Vec::new(),
            users: None,
            commit: None,
        };
        let gathered = include::gather(&source.path, &source.name, &source.bytes, memo);
        (source.included, source.golden, source.findings) = (gathered.files, gathered.golden, gathered.findings);
        let included = source
            .included
            .iter()
            .filter(|file| file.kind == FleetFileKind::Yaml)
            .map(|file| (&*file.path, &*file.name));
        source.locks = lock_files::gather(std::iter::once((&*source.path, &*source.name)).chain(included));
        source.users = gathered.users.map(|named| users_file::read(&source.path, &source.name, &named));
        source.count_hashes();
        (source, gathered.expansions)
    }

    /// The same without its locks, as if nothing had ever been pinned.
    #[must_use]
    pub fn without_locks(mut self) -> Self {
        self.locks.clear();
        self.count_hashes();
        self
    }

    fn count_hashes(&mut self) {
        self.hash = self.hash_of(|_| true);
        self.declared = self.hash_of(|kind| kind != FleetFileKind::Discovered);
    }

    /// Over all files of these kinds.
    fn hash_of(&self, is_in: impl Fn(FleetFileKind) -> bool) -> String {
        let mut all = hash(&self.bytes);
        let mut included = self.included.iter().filter(|file| is_in(file.kind)).peekable();
        if included.peek().is_none() && self.locks.is_empty() && self.users.is_none() {
            return all;
        }
        included.for_each(|file| all += &format!("\n{} {}", hash(&file.bytes), file.name));
        for LockFile { name, bytes, trouble, .. } in &self.locks {
            all += &format!("\n{} {name} {}", hash(bytes), trouble.as_deref().unwrap_or_default());
        }
        if let Some(UsersFile { name, bytes, trouble, .. }) = &self.users {
            all += &format!("\n{} {name} {}", hash(bytes), trouble.as_deref().unwrap_or_default());
        }
        hash(all.as_bytes())
    }

    /// Every file beside the first that people write, with what was read of it.
    fn further(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let written = self.included.iter().filter(|file| file.kind != FleetFileKind::Discovered);
        let included = written.map(|file| (&*file.path, &*file.bytes));
        included.chain(self.locks.iter().map(|lock| (&*lock.path, &*lock.bytes)))
    }

    /// Everything that was read as one text, in which lines are numbered as places are.
    pub fn text(&self) -> String {
        let first = std::iter::once(&self.bytes).chain(self.included.iter().map(|file| &file.bytes));
        first.map(|bytes| include::text(bytes)).collect::<Vec<_>>().join("\n")
    }

    /// Looks up the commit of what was read. Blocks: it asks `git`.
    pub fn find_commit(&mut self) {
        self.commit = git_commit(self).or_else(|| commit_from_environment(std::env::var(COMMIT_VARIABLE).ok()));
    }
}

/// The checkout's commit, and whether it holds these very bytes under these names.
///
/// The bytes are hashed as git would store them, instead of asking for the file's status, so that
/// an edit between our reading and git's cannot lie. A file git does not track is dirty.
fn git_commit(source: &ConfigSource) -> Option<String> {
    let path = source.path.canonicalize().ok()?;
    let folder = path.parent()?;
    let name = path.file_name()?.to_str()?;
    let commit = object(&git(folder, &["rev-parse", "--verify", "HEAD"], None)?)?;
    let held = git(folder, &["rev-parse", "--verify", &format!("HEAD:./{name}")], None);
    let read = git(folder, &["hash-object", "--stdin", "--path", name], Some(&source.bytes));
    let clean = held.is_some() && held == read && holds_further(folder, source);
    Some(if clean { commit } else { format!("{commit}-dirty") })
}

/// A file's text as the last commit of its checkout holds it; none where there is no such commit, or it holds no such file.
pub fn committed(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    git(path.parent()?, &["show", &format!("HEAD:./{}", path.file_name()?.to_str()?)], None)
}

/// Whether the checkout's commit holds the included files and the locks. Two questions for all of them, so they are hashed
/// from the disk; what is there no longer as it was read counts as another content.
fn holds_further(folder: &Path, source: &ConfigSource) -> bool {
    if source.further().next().is_none() {
        return true;
    }
    let (mut paths, mut names) = (String::new(), String::new());
    for (path, _) in source.further() {
        let Ok(path) = path.canonicalize() else { return false };
        let inside = path.strip_prefix(folder).ok().and_then(Path::to_str).filter(|name| !name.contains('\n'));
        let Some(name) = inside else { return false };
        paths += &format!("{name}\n");
        names += &format!("HEAD:./{name}\n");
    }
    let read = git(folder, &["hash-object", "--stdin-paths"], Some(paths.as_bytes()));
    let held = git(folder, &["cat-file", "--batch-check=%(objectname)"], Some(names.as_bytes()));
    let unmoved = |(path, bytes): (&Path, &[u8])| read_bytes(path, FILE_BYTES_MAX).is_ok_and(|now| now == bytes);
    read.is_some() && read == held && source.further().all(unmoved)
}

/// What git answers, without the line break at its end; none where git is absent or says no.
fn git(folder: &Path, arguments: &[&str], input: Option<&[u8]>) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    // Set inside a git hook, where they name the repository of the hook and not the file's.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let pipe = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // Beside reading: a long list fills both pipes. A git that ends early closes its own; its exit status says the rest.
        scope.spawn(move || pipe.zip(input).map(|(mut pipe, input)| pipe.write_all(input)));
        child.wait_with_output()
    });
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The name of an object, and nothing else.
fn object(line: &str) -> Option<String> {
    let shaped = (40..=64).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    shaped.then(|| line.to_owned())
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
    fn only_what_was_judged_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.yaml");
        std::fs::write(&path, "version: 1").unwrap();
        let mut reader = SourceReader::new(&path);
        let hash = reader.read().unwrap().hash;
        reader.read().unwrap();
        assert!(!reader.still_gives(&hash), "written just now, it may change again and look the same");
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        reader.read_at(later).unwrap();
        assert!(!reader.still_gives(&hash), "another file may have come in its place between reading and looking");
        reader.read_at(later).unwrap();
        assert!(reader.still_gives(&hash));
        assert!(!reader.still_gives("of what is in force"), "what could not be put in force is read and tried again");
        reader.forget();
        assert!(!reader.still_gives(&hash), "whoever says that there is something new is believed");
    }

    #[test]
    fn a_relative_path_is_its_own_name_and_an_absolute_one_is_cut() {
        assert_eq!(ConfigSource::new(Path::new("conf/m.yaml"), Vec::new(), None).name, "conf/m.yaml");
        assert_eq!(ConfigSource::new(Path::new("/srv/m.yaml"), Vec::new(), None).name, "m.yaml");
    }
}
