//! `include:`, which files a file brings in: found before anything is checked, so that hash and watch cover them all.
//!
//! A file is read once, however many globs match it, and a circle ends by that. What cannot be read is kept as a
//! finding about the glob and said by the checker at the glob's place; reading goes on with the rest.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::config::read::bytes::{self, FILE_BYTES_MAX, ReadError};
use crate::config::read::diagnostic::{Collector, Text};
use crate::config::read::glob::{self, Nothing};
use crate::config::read::node::NodeValue;
use crate::config::read::tree::{self, Budget};

/// Files of one fleet: a team each, and ten times as many.
const FILES_MAX: usize = 2_000;
/// Files that include files that include files: main, region, team and one more.
pub(in crate::config) const DEPTH_MAX: usize = 4;
/// More globs in one file are a mistake; one of them can match any number of files.
pub(in crate::config) const GLOBS_MAX: usize = 64;

/// A file that another one includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// What relative globs and paths in it start from.
    pub path: PathBuf,
    /// The name that pages and faults show: relative to where the first file is named from.
    pub name: String,
    /// Its bytes; not known to be UTF-8.
    pub bytes: Vec<u8>,
    /// The file that includes it: 0 is the first one, others count from 1.
    pub by: usize,
}

/// What is to be said about a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobFinding {
    /// The file that holds the glob: 0 is the first one.
    pub file: usize,
    /// The glob's number in that file.
    pub nth: usize,
    pub message: String,
    pub mend: String,
    /// Whether the file is good all the same.
    pub warning: bool,
}

/// Globs by the SHA-256 of the file that holds them, so that a file is only taken apart again when it changed.
pub(in crate::config) type Memo = HashMap<String, Vec<String>>;

/// Everything that one `include:` leads to.
#[derive(Debug, Default)]
pub(in crate::config) struct Inclusions {
    /// The files, each behind the one that includes it.
    pub files: Vec<Included>,
    /// What is to be said about globs.
    pub findings: Vec<GlobFinding>,
    /// What each glob stood for.
    pub expansions: Vec<Expansion>,
}

/// A glob, from where it starts, and the files it stood for.
#[derive(Debug)]
pub(in crate::config) struct Expansion {
    pub folder: PathBuf,
    pub glob: String,
    pub files: Vec<PathBuf>,
}

/// Reads every file that the first one includes, at any depth. Blocks.
pub(in crate::config) fn gather(path: &Path, name: &str, bytes: &[u8], memo: &mut Memo) -> Inclusions {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let shown = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    let mut gatherer = Gatherer {
        folder,
        shown,
        memo,
        fresh: Memo::new(),
        seen: HashSet::new(),
        bytes_left: FILE_BYTES_MAX.saturating_sub(bytes.len() as u64),
        found: Inclusions::default(),
    };
    gatherer.seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let globs = gatherer.globs(bytes);
    gatherer.follow(0, path, &globs, 1);
    let Gatherer { fresh, found, .. } = gatherer;
    *memo = fresh;
    found
}

struct Gatherer<'m> {
    /// Where the first file lies.
    folder: PathBuf,
    /// The same as it is shown.
    shown: PathBuf,
    memo: &'m Memo,
    fresh: Memo,
    seen: HashSet<PathBuf>,
    bytes_left: u64,
    found: Inclusions,
}

impl Gatherer<'_> {
    /// Reads what the globs of one file stand for.
    fn follow(&mut self, number: usize, path: &Path, globs: &[String], depth: usize) {
        for (nth, glob) in globs.iter().enumerate().take(GLOBS_MAX) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let said = match glob::expand(folder, glob) {
                Err(Nothing::ValueShape(message, mend)) => Some((message, mend, false)),
                Err(Nothing::NotThere(message, mend)) => Some((message, mend, glob::is_pattern(glob))),
                Ok(_) if depth > DEPTH_MAX => Some((
                    format!("files include one another over more than {DEPTH_MAX} steps"),
                    "name the files in the first one".to_owned(),
                    false,
                )),
                Ok(files) => {
                    let paths = files.clone();
                    self.found.expansions.push(Expansion { folder: folder.to_owned(), glob: glob.clone(), files });
                    self.read_all(number, paths, depth)
                }
            };
            if let Some((message, mend, warning)) = said {
                self.found.findings.push(GlobFinding { file: number, nth, message, mend, warning });
            }
        }
    }

    /// Reads what a glob stands for, and what that includes; answers what went wrong first.
    fn read_all(&mut self, by: usize, paths: Vec<PathBuf>, depth: usize) -> Option<(String, String, bool)> {
        let mut said = None;
        for path in paths {
            if !self.seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                continue;
            }
            if self.found.files.len() == FILES_MAX {
                let message = format!("a fleet of more than {FILES_MAX} files");
                return Some((message, "join small ones".to_owned(), false));
            }
            match bytes::read_bytes(&path, self.bytes_left) {
                Ok(bytes) => {
                    self.bytes_left -= bytes.len() as u64;
                    let (name, globs) = (self.name(&path), self.globs(&bytes));
                    self.found.files.push(Included { path: path.clone(), name, bytes, by });
                    self.follow(self.found.files.len(), &path, &globs, depth + 1);
                }
                Err(ReadError::TooLarge { .. }) => {
                    let message = format!("all files together are larger than {} MiB", FILE_BYTES_MAX / 1024 / 1024);
                    return Some((message, "no fleet needs that: does the glob match other files?".to_owned(), false));
                }
                Err(error @ ReadError::Unreadable { .. }) => {
                    let mend = "a file, readable by the user that Serin runs as".to_owned();
                    said = said.or(Some((error.to_string(), mend, false)));
                }
            }
        }
        said
    }

    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.folder).unwrap_or(path);
        self.shown.join(inside).display().to_string()
    }

    /// The globs of a file, as far as they can be read.
    fn globs(&mut self, bytes: &[u8]) -> Vec<String> {
        let word = b"include";
        if !bytes.windows(word.len()).any(|window| window == word) {
            return Vec::new();
        }
        let key = bytes::hash(bytes);
        let globs = self.memo.get(&key).cloned().unwrap_or_else(|| globs_of(bytes));
        self.fresh.insert(key, globs.clone());
        globs
    }
}

fn globs_of(bytes: &[u8]) -> Vec<String> {
    let text = text(bytes);
    let Some(tree) = tree::parse(Text::first("", &text), &mut Budget::default(), &mut Collector::default()) else {
        return Vec::new();
    };
    let NodeValue::Map(entries) = &tree.root.value else { return Vec::new() };
    let Some(entry) = entries.iter().find(|entry| entry.key == "include") else { return Vec::new() };
    let text = |value: &NodeValue<'_>| match value {
        NodeValue::Scalar { text, .. } => text.to_string(),
        _ => String::new(),
    };
    match &entry.value.value {
        NodeValue::List(items) => items.iter().map(|item| text(&item.value)).collect(),
        value => vec![text(value)],
    }
}

/// A file's bytes as text, without the mark that some editors set at its start.
pub(in crate::config) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_start_matches('\u{feff}')),
        Cow::Owned(text) => Cow::Owned(text.trim_start_matches('\u{feff}').to_owned()),
    }
}
