//! Files of a project that may be indexed, and why the others may not.
//!
//! What git ignores, hidden files and links are never looked at: nobody meant them to be found. A file that a caller
//! names is judged by the same walk, gone along its path alone: there is no second set of rules to fall behind.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Folders below folders: deeper ones are made by programs, or by a loop.
const DEPTH_MAX: usize = 32;
/// Files looked at in one walk; a larger project names its folders in `roots`.
pub const FILES_SEEN_MAX: usize = 1_000_000;

/// Bytes looked at to tell text from anything else.
const SNIFFED: usize = 8_192;

/// Which files are looked at.
#[derive(Debug, Clone)]
pub struct Selection {
    root: PathBuf,
    folders: Vec<PathBuf>,
    allow: Gitignore,
    deny: Gitignore,
    file_bytes_max: u64,
    /// Folders and files of the index itself.
    own: Vec<PathBuf>,
}

/// A file that may be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Its path within the project, with `/`: the name of its source.
    pub source: String,
    /// Its size.
    pub bytes: u64,
}

/// A file that is not indexed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path within the project.
    pub source: String,
    /// Why.
    pub why: String,
}

/// What a walk found, in the order of the sources' names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walked {
    /// To be indexed.
    pub files: Vec<File>,
    /// Not to be.
    pub skipped: Vec<Skipped>,
}

impl Selection {
    /// Reads patterns as git does: `docs/**/*.md`, `*.rs`, `!drafts/`.
    ///
    /// # Errors
    /// The pattern that cannot be read, or the folder that leads out of the project.
    pub fn new(
        root: &Path,
        folders: &[String],
        allow: &[String],
        deny: &[String],
        file_bytes_max: u64,
    ) -> Result<Self, String> {
        let root = &root.canonicalize().unwrap_or_else(|_absent| root.to_owned());
        let patterns = |list: &[String]| -> Result<Gitignore, String> {
            let mut builder = GitignoreBuilder::new(root);
            for pattern in list {
                builder.add_line(None, pattern).map_err(|error| format!("the pattern '{pattern}': {error}"))?;
            }
            builder.build().map_err(|error| error.to_string())
        };
        let mut inside = Vec::new();
        for folder in folders {
            let path = Path::new(folder);
            if path.is_absolute() || path.components().any(|part| part == std::path::Component::ParentDir) {
                return Err(format!("the folder '{folder}' leads out of the project: name one within it"));
            }
            inside.push(root.join(path));
        }
        Ok(Self {
            root: root.to_owned(),
            folders: inside,
            allow: patterns(allow)?,
            deny: patterns(deny)?,
            file_bytes_max,
            own: Vec::new(),
        })
    }

    /// Everything below a folder, but for what no walk looks at.
    ///
    /// # Errors
    /// As `new`; there is no pattern here that could be wrong.
    pub fn all(root: &Path) -> Result<Self, String> {
        Self::new(root, &[".".to_owned()], &["*".to_owned()], &[], u64::MAX)
    }

    /// Keeps the index out of itself: these folders and files, and what SQLite keeps beside them.
    pub fn keeping_out(mut self, own: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own = own.into_iter().map(|path| settled(&path)).collect();
        self
    }

    /// The folder that everything is below, without links where it was there from the start.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Walks the folders.
    ///
    /// # Errors
    /// A folder that cannot be listed: half a walk would take away what the other half holds.
    pub fn walk(&self) -> Result<Walked, String> {
        self.walked(None)
    }

    /// A file that is there, by its whole path without links, where the walk takes it.
    ///
    /// # Errors
    /// The rule that keeps it out, and the mend.
    pub fn file(&self, path: &Path) -> Result<File, String> {
        let mut walked = self.walked(Some(path))?;
        match (walked.files.pop(), walked.skipped.pop()) {
            (Some(file), _) => Ok(file),
            (None, Some(Skipped { why, .. })) => {
                Err(format!("{why}: name another file, or mend `index` in the project's configuration"))
            }
            (None, None) => Err(self.unseen(path)),
        }
    }

    /// Walks the folders, or only what leads to one path.
    fn walked(&self, only: Option<&Path>) -> Result<Walked, String> {
        let mut walked = Walked::default();
        for folder in self.folders.iter().filter(|folder| only.is_none_or(|path| path.starts_with(folder))) {
            if !folder.is_dir() {
                return Err(format!("{} is no folder: mend `roots`", folder.display()));
            }
            let mut builder = WalkBuilder::new(folder);
            builder.require_git(false).max_depth(Some(DEPTH_MAX)).sort_by_file_name(std::cmp::Ord::cmp);
            let only = only.map(Path::to_path_buf);
            builder.filter_entry(move |entry| {
                // A `!` of .gitignore tells git to keep a hidden file, and the walk would take it for shown.
                let is_hidden = entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
                !is_hidden && only.as_ref().is_none_or(|path| path.starts_with(entry.path()))
            });
            for entry in builder.build() {
                let entry = entry.map_err(|error| error.to_string())?;
                if entry.file_type().is_some_and(|kind| kind.is_file()) {
                    self.judge(entry.path(), &mut walked);
                }
                if walked.files.len() + walked.skipped.len() > FILES_SEEN_MAX {
                    return Err(format!("more than {FILES_SEEN_MAX} files: name fewer folders in `roots`"));
                }
            }
        }
        walked.files.sort_by(|left, right| left.source.cmp(&right.source));
        walked.files.dedup_by(|left, right| left.source == right.source);
        Ok(walked)
    }

    fn judge(&self, path: &Path, walked: &mut Walked) {
        let within = path.strip_prefix(&self.root).unwrap_or(path);
        let source = within.to_string_lossy().replace('\\', "/");
        let skip = |why: &str| Skipped { source: source.clone(), why: why.to_owned() };
        if self.own.iter().any(|own| belongs(path, own)) {
            return walked.skipped.push(skip("the index's own"));
        }
        if !self.allow.matched_path_or_any_parents(within, false).is_ignore() {
            return walked.skipped.push(skip("not in the allow list"));
        }
        if self.deny.matched_path_or_any_parents(within, false).is_ignore() {
            return walked.skipped.push(skip("in the deny list"));
        }
        match std::fs::metadata(path) {
            Err(error) => walked.skipped.push(skip(&format!("cannot be read: {error}"))),
            Ok(facts) if facts.len() > self.file_bytes_max => {
                walked.skipped.push(skip(&format!("larger than {} bytes", self.file_bytes_max)));
            }
            Ok(facts) => walked.files.push(File { path: path.to_owned(), source, bytes: facts.len() }),
        }
    }

    /// Why the walk does not come by a file that is there, and the mend.
    fn unseen(&self, path: &Path) -> String {
        let Some(folder) = self.folders.iter().find(|folder| path.starts_with(folder)) else {
            return "not below the folders of `index.roots`: name another file, or add its folder there".to_owned();
        };
        let within = path.strip_prefix(folder).unwrap_or(path);
        if within.iter().any(|name| name.as_encoded_bytes().starts_with(b".")) {
            return "hidden, as is all whose name begins with a dot: rename what is meant to be found".to_owned();
        }
        format!("ignored by git, or more than {DEPTH_MAX} folders deep: mend .gitignore, or name another file")
    }
}

/// Whether bytes are a text's: databases and programs have zeros in them, and no text has.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().take(SNIFFED).any(|byte| *byte == 0)
}

/// Whether a path is of the index: in its folder, its file, or one that SQLite keeps beside it, as `index.db-wal`.
fn belongs(path: &Path, own: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_beside = || path.parent() == own.parent();
    path.starts_with(own)
        || is_beside() && name(path).strip_prefix(&name(own)).is_some_and(|rest| rest.starts_with('-'))
}

/// A path without links and dots on its way; what it names need not be there yet.
fn settled(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_odd| path.to_owned());
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => whole.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        ("a.md", "a"),
        ("sub/b.md", "b"),
        ("sub/c.rs", "c"),
        ("sub/big.md", "0123456789abcdef"),
        ("target/d.md", "d"),
        (".env", "SECRET=1"),
        (".github/e.md", "e"),
        (".gitignore", "ignored.md\nout/\n!.env\n"),
        ("ignored.md", "i"),
        ("sub/ignored.md", "i"),
        ("out/f.md", "f"),
        ("own/index.md", "o"),
        ("own/index.md-wal.md", "o"),
    ];

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in FILES {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn selection(root: &Path, folders: &[&str], allow: &[&str], deny: &[&str]) -> Selection {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        let all = Selection::new(root, &owned(folders), &owned(allow), &owned(deny), 10).unwrap();
        all.keeping_out([root.join("sub/../own/index.md")])
    }

    fn walk(allow: &[&str], deny: &[&str]) -> Walked {
        let folder = folder();
        selection(folder.path(), &["."], allow, deny).walk().unwrap()
    }

    fn check(says: &str, allow: &[&str], deny: &[&str], expected: &[&str]) {
        let sources: Vec<String> = walk(allow, deny).files.into_iter().map(|file| file.source).collect();
        assert_eq!(sources, expected, "{says}");
    }

    #[test]
    fn files_are_chosen() {
        check("by their ending", &["*.md"], &[], &["a.md", "sub/b.md", "target/d.md"]);
        check("all but a folder", &["*"], &["target/"], &["a.md", "sub/b.md", "sub/c.rs"]);
        check("in a folder", &["sub/**"], &["*.rs"], &["sub/b.md"]);
        check("nothing allowed is nothing", &[], &[], &[]);
        check("hidden files are never looked at", &[".env", "*.md"], &["target/"], &["a.md", "sub/b.md"]);
    }

    #[test]
    fn the_others_are_named_with_the_reason() {
        let skipped = walk(&["*.md"], &["target/"]).skipped;
        let why = |source: &str| skipped.iter().find(|file| file.source == source).map(|file| file.why.as_str());
        assert_eq!(why("sub/c.rs"), Some("not in the allow list"));
        assert_eq!(why("target/d.md"), Some("in the deny list"));
        assert_eq!(why("sub/big.md"), Some("larger than 10 bytes"));
        assert_eq!(why("own/index.md"), Some("the index's own"));
        assert_eq!(why("own/index.md-wal.md"), Some("the index's own"), "and what lies beside it");
        assert_eq!(why("ignored.md"), None, "what git ignores is not even mentioned");
    }

    #[test]
    fn a_named_file_is_judged_as_the_walk_judges_it() {
        let folder = folder();
        let root = folder.path().canonicalize().unwrap();
        for folders in [&["."][..], &["sub", "target"], &["sub", "."], &[".github"]] {
            let selection = selection(&root, folders, &["*.md"], &["target/"]);
            let walked = selection.walk().unwrap();
            for (name, _) in FILES {
                let by_walk = walked.files.iter().find(|file| file.source == *name);
                let by_name = selection.file(&root.join(name)).ok();
                assert_eq!(by_name.as_ref().map(|file| &file.source), by_walk.map(|file| &file.source), "{folders:?}");
            }
        }
    }

    #[test]
    fn bad_selections_are_refused() {
        let new = |folder: &str, pattern: &str| {
            Selection::new(Path::new("/p"), &[folder.to_owned()], &[pattern.to_owned()], &[], 1).is_ok()
        };
        assert!(new("docs", "*.md"));
        assert!(!new("../other", "*.md") && !new("/etc", "*.md"));
    }
}
