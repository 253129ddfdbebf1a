//! Files of a project that may be indexed, and why the others may not.
//!
//! What git ignores, hidden files and links are never looked at: nobody meant them to be found.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Folders below folders: deeper ones are made by programs, or by a loop.
const DEPTH_MAX: usize = 32;
/// Files looked at in one walk; a larger project names its folders in `roots`.
pub const FILES_SEEN_MAX: usize = 1_000_000;

/// Which files are looked at.
#[derive(Debug, Clone)]
pub struct Selection {
    root: PathBuf,
    folders: Vec<PathBuf>,
    allow: Gitignore,
    deny: Gitignore,
    file_bytes_max: u64,
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
        })
    }

    /// Walks the folders.
    ///
    /// # Errors
    /// A folder that cannot be listed: half a walk would take away what the other half holds.
    pub fn walk(&self) -> Result<Walked, String> {
        let mut walked = Walked::default();
        for folder in &self.folders {
            if !folder.is_dir() {
                return Err(format!("{} is no folder: mend `roots`", folder.display()));
            }
            let walk = WalkBuilder::new(folder)
                .require_git(false)
                .max_depth(Some(DEPTH_MAX))
                .sort_by_file_name(std::cmp::Ord::cmp)
                .build();
            for entry in walk {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(allow: &[&str], deny: &[&str]) -> Walked {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a.md", "a"),
            ("sub/b.md", "b"),
            ("sub/c.rs", "c"),
            ("sub/big.md", "0123456789abcdef"),
            ("target/d.md", "d"),
            (".env", "SECRET=1"),
            (".gitignore", "ignored.md\n"),
            ("ignored.md", "i"),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        Selection::new(folder.path(), &owned(&["."]), &owned(allow), &owned(deny), 10).unwrap().walk().unwrap()
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
        assert_eq!(why("ignored.md"), None, "what git ignores is not even mentioned");
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
