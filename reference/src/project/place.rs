//! Where a project keeps its index: a folder at its root, found from any folder below.

use std::path::{Path, PathBuf};

/// The folder at a project's root.
pub const FOLDER: &str = ".serin-reference";
/// The configuration within it.
pub const CONFIG: &str = "config.yaml";
/// Folders above that are looked into.
const ABOVE_MAX: usize = 64;

/// A project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolder {
    /// The folder that holds the project.
    pub root: PathBuf,
}

/// Why there is no project.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// None was set up here or above.
    #[error(
        "PROJECT_NOT_INITIALIZED: neither {0} nor a folder above it has {FOLDER}/{CONFIG}: run `serin reference setup`"
    )]
    Missing(PathBuf),
    /// One is here already.
    #[error("{0} is there already: edit it, or set up again with --force")]
    Present(PathBuf),
    /// It cannot be written or read.
    #[error("{path} cannot be used: {why}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        why: std::io::Error,
    },
}

impl ProjectFolder {
    /// The project that a folder belongs to: its own, or that of the nearest folder above.
    ///
    /// # Errors
    /// `Missing`.
    pub fn find(from: &Path) -> Result<Self, PlaceError> {
        let found = from.ancestors().take(ABOVE_MAX).find(|folder| folder.join(FOLDER).join(CONFIG).is_file());
        found.map(|root| Self { root: root.to_owned() }).ok_or_else(|| PlaceError::Missing(from.to_owned()))
    }

    /// Sets a project up: writes its configuration, and keeps the index out of git.
    ///
    /// # Errors
    /// `Present` where one is there and `force` is not given; `File`.
    pub fn set_up(root: &Path, config: &str, force: bool) -> Result<Self, PlaceError> {
        let place = Self { root: root.to_owned() };
        let path = place.config();
        if path.exists() && !force {
            return Err(PlaceError::Present(path));
        }
        let file = |path: &Path, why| PlaceError::File { path: path.to_owned(), why };
        let folder = root.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(|why| file(&folder, why))?;
        std::fs::write(&path, config).map_err(|why| file(&path, why))?;
        let ignored = folder.join(".gitignore");
        std::fs::write(&ignored, "*\n!.gitignore\n!config.yaml\n").map_err(|why| file(&ignored, why))?;
        Ok(place)
    }

    /// The configuration.
    pub fn config(&self) -> PathBuf {
        self.root.join(FOLDER).join(CONFIG)
    }

    /// The file that writers lock.
    pub fn lock(&self) -> PathBuf {
        self.root.join(FOLDER).join("index.lock")
    }

    /// Where a server that runs says how to reach it.
    pub fn server_note(&self) -> PathBuf {
        self.root.join(FOLDER).join("server.json")
    }

    /// A path of the configuration: relative ones are within the index's folder.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.root.join(FOLDER).join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_found_from_below_and_only_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        let missing = ProjectFolder::find(&deep).unwrap_err().to_string();
        assert!(
            missing.starts_with("PROJECT_NOT_INITIALIZED") && missing.contains("serin reference setup"),
            "{missing}"
        );
        let made = ProjectFolder::set_up(&folder.path().join("a"), "version: 1\n", false).unwrap();
        assert_eq!(ProjectFolder::find(&deep).unwrap(), made);
        assert!(ProjectFolder::find(folder.path()).is_err(), "not from above");
        assert!(matches!(ProjectFolder::set_up(&made.root, "x", false), Err(PlaceError::Present(_))));
        assert_eq!(std::fs::read_to_string(made.config()).unwrap(), "version: 1\n", "what is there stays");
        ProjectFolder::set_up(&made.root, "version: 1 # again\n", true).unwrap();
        assert!(std::fs::read_to_string(made.config()).unwrap().contains("again"));
    }
}
