//! The index file of a server.

use std::path::{Path, PathBuf};

/// The index file, taken away with the server where it is a temporary one.
#[derive(Debug)]
pub struct Database {
    /// Where it is.
    pub path: PathBuf,
    is_temporary: bool,
}

impl Database {
    /// The file at a path; without one, a temporary file.
    pub fn at(path: Option<PathBuf>) -> Self {
        let is_temporary = path.is_none();
        let name = || std::env::temp_dir().join(format!("serin-reference-{}.db", uuid::Uuid::now_v7()));
        Self { path: path.unwrap_or_else(name), is_temporary }
    }

    /// Takes it away where it is a temporary one.
    pub fn remove(&self) {
        if !self.is_temporary {
            return;
        }
        for ending in ["", "-wal", "-shm"] {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            // SQLite takes its side files away itself when it can.
            let _absent = std::fs::remove_file(Path::new(&path));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}
