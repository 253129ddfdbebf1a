//! `include:` and the `file:` of canaries, which files a file brings in: found before anything is checked, so that hash
//! and watch cover them all.
//!
//! A file is read once, however many globs match it, and a circle ends by that. What cannot be read is kept as a
//! finding about the glob and said by the checker at the glob's place; reading goes on with the rest.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::config::read::bytes::{self, FILE_BYTES_MAX, ReadError};
use crate::config::read::diagnostic::{Collector, Text};
use crate::config::read::discovered::{self, DISCOVER, LISTS_BYTES_MAX, UNREAD};
use crate::config::read::glob::{self, Nothing};
use crate::config::read::node::{Node, NodeValue};
use crate::config::read::tree::{self, Budget};
use crate::domain::fleet_files::FleetFileKind;

/// Files of one fleet: a team each, and ten times as many.
const FILES_MAX: usize = 2_000;
/// Files that include files that include files: main, region, team and one more.
pub(in crate::config) const DEPTH_MAX: usize = 4;
/// More globs in one file are a mistake; one of them can match any number of files.
pub(in crate::config) const GLOBS_MAX: usize = 64;

/// How the name of a golden set ends, by which files that name one are known at a glance.
pub(in crate::config) const GOLDEN_ENDING: &str = ".jsonl";
/// Bytes of one golden set: as many canaries as a monitor may have take a fifth of it.
const GOLDEN_BYTES_MAX: u64 = 1024 * 1024;

/// A file that another one includes, or names as a golden set.
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
    /// What it holds. Golden sets, which are no YAML, come behind all others.
    pub kind: FleetFileKind,
}

/// A golden set that a file names for its canaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenName {
    /// The file that names it: 0 is the first one.
    pub by: usize,
    /// As it is written there.
    pub name: String,
    /// Its number among all files that were read; else why it was not, and the mend.
    pub found: Result<usize, (String, String)>,
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

/// What files name by the SHA-256 of the file, so that it is only taken apart again when it changed.
pub(in crate::config) type Memo = HashMap<String, Named>;

/// The files that one file names.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct Named {
    globs: Vec<String>,
    golden: Vec<String>,
    users: Option<String>,
    /// Where the lists of `discover:` are kept, and the ids of its sources.
    discovered: (String, Vec<String>),
}

/// Everything that the first file leads to.
#[derive(Debug, Default)]
pub(in crate::config) struct Inclusions {
    /// The files, each behind the one that includes it, and golden sets last.
    pub files: Vec<Included>,
    /// Every golden set that is named, once for each file that names it.
    pub golden: Vec<GoldenName>,
    /// What is to be said about globs.
    pub findings: Vec<GlobFinding>,
    /// What each glob stood for.
    pub expansions: Vec<Expansion>,
    /// The file of users that the first file names.
    pub users: Option<String>,
}

/// A glob, from where it starts, and the files it stood for.
#[derive(Debug)]
pub(in crate::config) struct Expansion {
    pub folder: PathBuf,
    pub glob: String,
    pub files: Vec<PathBuf>,
}

/// Reads every file that the first one includes, at any depth, and the golden sets that they name. Blocks.
pub(in crate::config) fn gather(path: &Path, name: &str, bytes: &[u8], memo: &mut Memo) -> Inclusions {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let shown = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    let mut gatherer = Gatherer {
        folder,
        shown,
        memo,
        fresh: Memo::new(),
        seen: HashSet::new(),
        golden: Vec::new(),
        bytes_left: FILE_BYTES_MAX.saturating_sub(bytes.len() as u64),
        found: Inclusions::default(),
    };
    gatherer.seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let named = gatherer.named(bytes);
    gatherer.follow(0, path, &named, 1);
    gatherer.found.users.clone_from(&named.users);
    gatherer.read_discovered(&named);
    gatherer.read_golden(path);
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
    /// Golden sets by the number of the file that names them.
    golden: Vec<(usize, String)>,
    bytes_left: u64,
    found: Inclusions,
}

impl Gatherer<'_> {
    /// Reads what the globs of one file stand for, and notes its golden sets.
    fn follow(&mut self, number: usize, path: &Path, named: &Named, depth: usize) {
        self.golden.extend(named.golden.iter().map(|name| (number, name.clone())));
        for (nth, glob) in named.globs.iter().enumerate().take(GLOBS_MAX) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let said = match glob::expand(folder, glob) {
                Err(Nothing::ValueShape(message, mend) | Nothing::Unknown(message, mend)) => {
                    Some((message, mend, false))
                }
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
                return Some((message, JOIN.to_owned(), false));
            }
            match bytes::read_bytes(&path, self.bytes_left) {
                Ok(bytes) => {
                    self.bytes_left -= bytes.len() as u64;
                    let (name, named) = (self.name(&path), self.named(&bytes));
                    self.found.files.push(Included { path: path.clone(), name, bytes, by, kind: FleetFileKind::Yaml });
                    self.follow(self.found.files.len(), &path, &named, depth + 1);
                }
                Err(ReadError::TooLarge { .. }) => {
                    return Some((
                        all_too_large(),
                        "no fleet needs that: does the glob match other files?".to_owned(),
                        false,
                    ));
                }
                Err(error @ ReadError::Unreadable { .. }) => {
                    let mend = "a file, readable by the user that Serin runs as".to_owned();
                    said = said.or(Some((error.to_string(), mend, false)));
                }
            }
        }
        said
    }

    /// Reads what sources of the first file listed when they were last asked; one that was never asked has no file. Of one that
    /// cannot be read it stands in the place of its content why: what it names is not gone.
    fn read_discovered(&mut self, named: &Named) {
        let (kept_in, sources) = &named.discovered;
        let mut bytes_left = LISTS_BYTES_MAX;
        for source in sources {
            let path = discovered::path(&self.folder, kept_in, source);
            let bytes = match bytes::read_bytes(&path, bytes_left) {
                Ok(bytes) => bytes,
                Err(ReadError::Unreadable { why, .. }) if why.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => format!("{UNREAD}{}\n", error.to_string().replace('\n', " ")).into_bytes(),
            };
            bytes_left = bytes_left.saturating_sub(bytes.len() as u64);
            let name = self.name(&path);
            self.found.files.push(Included { path, name, bytes, by: 0, kind: FleetFileKind::Discovered });
        }
    }

    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.folder).unwrap_or(path);
        self.shown.join(inside).display().to_string()
    }

    /// Reads the golden sets that were named, each once; `first` is the path of the first file.
    fn read_golden(&mut self, first: &Path) {
        let mut read: HashMap<PathBuf, Result<usize, (String, String)>> = HashMap::new();
        for (by, name) in std::mem::take(&mut self.golden) {
            let declaring = by.checked_sub(1).map_or(first, |nth| &self.found.files[nth].path);
            let path = declaring.parent().unwrap_or(Path::new("")).join(&name);
            let key = path.canonicalize().unwrap_or_else(|_| path.clone());
            let found = match read.get(&key) {
                Some(found) => found.clone(),
                None if self.seen.contains(&key) => {
                    let message = format!("{} is read as YAML already", path.display());
                    Err((message, "take it out of 'include': it holds canaries, one a line".to_owned()))
                }
                None => self.read_one_golden(path, by),
            };
            read.insert(key, found.clone());
            self.found.golden.push(GoldenName { by, name, found });
        }
    }

    fn read_one_golden(&mut self, path: PathBuf, by: usize) -> Result<usize, (String, String)> {
        if self.found.files.len() == FILES_MAX {
            return Err((format!("a fleet of more than {FILES_MAX} files"), JOIN.to_owned()));
        }
        let bytes = bytes::read_bytes(&path, self.bytes_left.min(GOLDEN_BYTES_MAX)).map_err(|error| match error {
            ReadError::TooLarge { .. } if self.bytes_left < GOLDEN_BYTES_MAX => {
                (all_too_large(), "no fleet needs that".to_owned())
            }
            ReadError::TooLarge { path } => {
                let message = format!("{path} is larger than {} MiB", GOLDEN_BYTES_MAX / 1024 / 1024);
                (message, "24 canaries are a good set, 500 the most a monitor may have".to_owned())
            }
            ReadError::Unreadable { .. } => {
                let mend = "a file beside this one, readable by the user that Serin runs as; its path starts here";
                (error.to_string(), mend.to_owned())
            }
        })?;
        self.bytes_left -= bytes.len() as u64;
        let name = self.name(&path);
        self.found.files.push(Included { path, name, bytes, by, kind: FleetFileKind::Golden });
        Ok(self.found.files.len())
    }

    /// What a file names, as far as it can be read.
    fn named(&mut self, bytes: &[u8]) -> Named {
        let holds = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
        let words = [&b"include"[..], b"users", DISCOVER.as_bytes(), GOLDEN_ENDING.as_bytes()];
        if !words.into_iter().any(holds) {
            return Named::default();
        }
        let key = bytes::hash(bytes);
        let named = self.memo.get(&key).cloned().unwrap_or_else(|| named_by(bytes));
        self.fresh.insert(key, named.clone());
        named
    }
}

const JOIN: &str = "join small ones";

fn all_too_large() -> String {
    format!("all files together are larger than {} MiB", FILE_BYTES_MAX / 1024 / 1024)
}

fn named_by(bytes: &[u8]) -> Named {
    let text = text(bytes);
    let Some(tree) = tree::parse(Text::first("", &text), &mut Budget::default(), &mut Collector::default()) else {
        return Named::default();
    };
    let text = |node: &Node<'_>| match &node.value {
        NodeValue::Scalar { text, .. } => text.to_string(),
        _ => String::new(),
    };
    let globs = match tree.root.get("include") {
        None => Vec::new(),
        Some(node) => node.items().map(text).collect(),
    };
    let monitors = tree.root.get("monitors").into_iter().flat_map(Node::items);
    let canaries = monitors.filter_map(|monitor| monitor.get("canaries")).flat_map(Node::items);
    let golden: BTreeSet<String> = canaries.filter_map(|item| item.get("file")).map(text).collect();
    let users = tree.root.get("serin").and_then(|serin| serin.get("users")?.get("file")).map(text);
    let golden = golden.into_iter().filter(|name| name.ends_with(GOLDEN_ENDING)).collect();
    Named { globs, golden, users, discovered: discovered::named(&tree.root) }
}

/// A file's bytes as text, without the mark that some editors set at its start.
pub(in crate::config) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_start_matches('\u{feff}')),
        Cow::Owned(text) => Cow::Owned(text.trim_start_matches('\u{feff}').to_owned()),
    }
}
