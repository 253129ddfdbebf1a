//! Globs of `include:`: `*` and `?` within one name, `**` for folders at any depth; as a shell reads them.
//!
//! Names that start with a dot are matched by no wildcard, so that `..data` of a Kubernetes volume and `.git` stay
//! out. Matches come sorted, and the work is bounded whatever the folders hold.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::read::diagnostic::quoted;
use crate::domain::wildcards::fits_name;

/// Names looked at for one glob; a folder with more is no folder of configuration.
const NAMES_MAX: usize = 20_000;
/// Folders that `**` goes down.
const FOLDERS_DEEP_MAX: usize = 8;

/// Why a glob brings no file; each with its mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum Nothing {
    /// It is no glob, or its work has no bound.
    ValueShape(String, String),
    /// There is no such file.
    NotThere(String, String),
    /// Nobody can say which files there are.
    Unknown(String, String),
}

/// Whether a text holds a wildcard; one without stands for one file.
pub(in crate::config) fn is_pattern(glob: &str) -> bool {
    glob.contains(['*', '?'])
}

/// The files that a glob stands for, sorted by path; `folder` is where it starts.
pub(in crate::config) fn expand(folder: &Path, glob: &str) -> Result<Vec<PathBuf>, Nothing> {
    looked_for(folder, glob).and_then(|search| search.files_of(glob))
}

fn looked_for(folder: &Path, glob: &str) -> Result<GlobSearch, Nothing> {
    let shape =
        |why: &str, mend: &str| Err(Nothing::ValueShape(format!("the glob {} {why}", quoted(glob)), mend.to_owned()));
    if glob.trim().is_empty() {
        return shape("is empty", "such as `teams/*.yaml`");
    }
    if glob.contains(['[', ']', '{', '}', '\\', '!']) {
        return shape("holds a character that is none of ours", "`*` and `?` within a name, `**` for folders");
    }
    let mut names: Vec<&str> = glob.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let start = if glob.starts_with('/') { Path::new("/") } else { folder };
    let Some(last) = names.pop() else { return shape("names no file", "such as `teams/*.yaml`") };
    if last == "**" || names.iter().any(|name| name.contains("**") && *name != "**") || last.contains("**") {
        return shape("has `**` beside other characters, or at its end", "such as `teams/**/*.yaml`");
    }
    let mut search = GlobSearch { left: NAMES_MAX, found: Vec::new(), no_file: Vec::new(), unknown: None };
    search.descend(start, &names, last);
    if search.left == 0 {
        return shape("looks through more names than are good", "name a folder that holds configuration only");
    }
    Ok(search)
}

/// The same for whoever is no part of the file: none where nothing matches a wildcard.
///
/// # Errors
/// Why it stands for nothing, or that something of this name is no file that can be read, in one line.
pub fn files(folder: &Path, glob: &str) -> Result<Vec<PathBuf>, String> {
    let looked = looked_for(folder, glob);
    if let Ok(GlobSearch { no_file, .. }) = &looked
        && let Some(path) = no_file.first()
    {
        return Err(format!("{} is there and is no file that can be read", path.display()));
    }
    match looked.and_then(|search| search.files_of(glob)) {
        Ok(files) => Ok(files),
        Err(Nothing::NotThere(..)) if is_pattern(glob) => Ok(Vec::new()),
        Err(Nothing::NotThere(why, _) | Nothing::ValueShape(why, _) | Nothing::Unknown(why, _)) => Err(why),
    }
}

struct GlobSearch {
    left: usize,
    found: Vec<PathBuf>,
    /// What has a name that fits, and is neither a file nor a folder: a pipe, or a link that leads nowhere.
    no_file: Vec<PathBuf>,
    /// What could not be looked at, as on a disk that is away, and why.
    unknown: Option<(PathBuf, io::Error)>,
}

impl GlobSearch {
    fn files_of(mut self, glob: &str) -> Result<Vec<PathBuf>, Nothing> {
        if let Some((path, error)) = self.unknown {
            let message = format!("the glob {} cannot be followed: {}: {error}", quoted(glob), path.display());
            return Err(Nothing::Unknown(message, "a folder that Serin's user may read".to_owned()));
        }
        self.found.sort();
        self.found.dedup();
        if self.found.is_empty() {
            let (message, mend) = if is_pattern(glob) {
                (
                    format!("the glob {} matches no file", quoted(glob)),
                    "it is looked at again and again while Serin runs",
                )
            } else {
                (
                    format!("there is no file {}", quoted(glob)),
                    "create it, or leave it out; paths start where this file lies",
                )
            };
            return Err(Nothing::NotThere(message, mend.to_owned()));
        }
        Ok(self.found)
    }

    fn take(&mut self, path: PathBuf) {
        match path.metadata() {
            Ok(found) if found.is_file() => self.found.push(path),
            Ok(found) if found.is_dir() => {}
            Ok(_) => self.no_file.push(path),
            Err(error) if is_absent(&error) && path.symlink_metadata().is_ok() => self.no_file.push(path),
            Err(error) => self.unknown_unless_absent(&path, error),
        }
    }

    /// Whether it is a folder, through links.
    fn is_folder(&mut self, path: &Path) -> bool {
        match path.metadata() {
            Ok(found) => found.is_dir(),
            Err(error) => {
                self.unknown_unless_absent(path, error);
                false
            }
        }
    }

    fn unknown_unless_absent(&mut self, path: &Path, error: io::Error) {
        if !is_absent(&error) {
            self.unknown = Some((path.to_owned(), error));
        }
    }

    fn descend(&mut self, folder: &Path, names: &[&str], last: &str) {
        match names.split_first() {
            None => self.files(folder, last),
            Some((&"**", rest)) => self.at_any_depth(folder, rest, last, FOLDERS_DEEP_MAX),
            Some((name, rest)) if is_pattern(name) => {
                for found in self.matching(folder, name) {
                    let path = folder.join(found);
                    if self.is_folder(&path) {
                        self.descend(&path, rest, last);
                    }
                }
            }
            Some((name, rest)) => self.descend(&folder.join(name), rest, last),
        }
    }

    /// Links to folders are not followed here, for they may lead in circles.
    fn at_any_depth(&mut self, folder: &Path, rest: &[&str], last: &str, deep: usize) {
        self.descend(folder, rest, last);
        if deep == 0 {
            return;
        }
        for name in self.matching(folder, "*") {
            let path = folder.join(name);
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => self.at_any_depth(&path, rest, last, deep - 1),
                Ok(_) => {}
                Err(error) => self.unknown_unless_absent(&path, error),
            }
        }
    }

    /// A link that leads nowhere is a file that is on its way out, as in a volume that is being swapped.
    fn files(&mut self, folder: &Path, last: &str) {
        if !is_pattern(last) {
            return self.take(folder.join(last));
        }
        for name in self.matching(folder, last) {
            self.take(folder.join(name));
        }
    }

    fn matching(&mut self, folder: &Path, pattern: &str) -> Vec<String> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut found = Vec::new();
        let entries = std::fs::read_dir(folder).map_err(|error| self.unknown_unless_absent(folder, error));
        for entry in entries.into_iter().flatten() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unknown = Some((folder.to_owned(), error));
                    break;
                }
            };
            let Ok(name) = entry.file_name().into_string() else { continue };
            if fits(pattern, &name) {
                found.push(name);
            }
        }
        found
    }
}

/// Whether there is nothing of the name, which is another thing than not to know it.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a name fits.
fn fits(pattern: &str, name: &str) -> bool {
    (pattern.starts_with('.') || !name.starts_with('.')) && fits_name(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_cannot_be_read_is_not_taken_for_gone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), "[]").unwrap();
        std::fs::create_dir(folder.path().join("c.json")).unwrap();
        let found = files(folder.path(), "*.json").unwrap();
        assert_eq!(found, [folder.path().join("a.json")], "a folder is no list");
        std::os::unix::fs::symlink("/nonexistent", folder.path().join("b.json")).unwrap();
        for glob in ["*.json", "b.json"] {
            let why = files(folder.path(), glob).unwrap_err();
            assert!(why.contains("b.json is there and is no file that can be read"), "{why}");
        }
        assert_eq!(expand(folder.path(), "*.json"), Ok(found), "what is included may be on its way out");
        // What cannot be looked at is no absence to anybody; a link in a circle stands for a disk that is away.
        std::os::unix::fs::symlink("d", folder.path().join("d")).unwrap();
        for glob in ["d/*.json", "d/a.json", "*/a.json", "?"] {
            assert!(matches!(expand(folder.path(), glob), Err(Nothing::Unknown(..))), "{glob}");
            assert!(files(folder.path(), glob).unwrap_err().contains("cannot be followed"), "{glob}");
        }
    }

    #[test]
    fn a_name_fits_as_in_a_shell() {
        let rows = [
            ("*.yaml", "docs.yaml", true, "anything before the end"),
            ("*.yaml", "docs.yml", false, "another end"),
            ("*.yaml", ".hidden.yaml", false, "no wildcard matches a dot at the start"),
            (".*.yaml", ".hidden.yaml", true, "a dot that is written does"),
            ("..data", "..data", true, "nor is one needed"),
            ("team-?.yaml", "team-a.yaml", true, "one character"),
            ("team-?.yaml", "team-.yaml", false, "not none"),
            ("*a*b*", "xxaxxbxx", true, "several stars"),
            ("*a*b", "ba", false, "in order"),
            ("*", "x", true, "everything"),
            ("docs", "docs", true, "a name itself"),
        ];
        for (pattern, name, expected, sentence) in rows {
            assert_eq!(fits(pattern, name), expected, "{sentence}");
        }
        let hostile = "a".repeat(200);
        assert!(!fits(&"*a".repeat(60), &format!("{hostile}b")), "and ends, whatever is written");
    }
}
