//! What the server knows when it starts: our own documentation, or a folder.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::index::document::Document;
#[cfg(feature = "documentation")]
use crate::index::documentation;
use crate::index::library::{DOCUMENT_CHARS_MAX, Library, LibraryError};
use crate::store::records::StoreError;
#[cfg(feature = "documentation")]
use crate::store::records::Volatility;

/// Where the first documents come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Corpus {
    /// Serin's own documentation, which is part of the program.
    #[cfg(feature = "documentation")]
    #[cfg_attr(feature = "documentation", default)]
    Documentation,
    /// Every `.md` and `.txt` file below a folder, named by its path within it.
    Folder(PathBuf),
    /// Nothing: documents come through `index_document`.
    #[cfg_attr(not(feature = "documentation"), default)]
    Empty,
}

/// Files read from a folder; a larger collection wants a real indexer.
const FILES_MAX: usize = 10_000;
/// Folders below folders.
const DEPTH_MAX: usize = 16;

/// Why a corpus could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The folder or a file in it cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The library refused.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl Corpus {
    /// What it is, where nobody wrote a name and a summary.
    pub fn subject(&self) -> String {
        match self {
            #[cfg(feature = "documentation")]
            Self::Documentation => "Serin's documentation".to_owned(),
            Self::Folder(folder) => {
                let whole = folder.canonicalize().unwrap_or_default();
                let name = whole.file_name().unwrap_or_default().to_string_lossy();
                name.chars().filter(|c| !c.is_control()).collect()
            }
            Self::Empty => "what was indexed here".to_owned(),
        }
    }
}

/// Indexes the corpus; sources that have not changed are left alone. Gives the number of sources.
///
/// # Errors
/// `CorpusError`; what was indexed before stays.
pub async fn index(corpus: &Corpus, library: &Library, now: DateTime<Utc>) -> Result<usize, CorpusError> {
    match corpus {
        Corpus::Empty => Ok(0),
        #[cfg(feature = "documentation")]
        Corpus::Documentation => {
            for (source, text) in documentation::SOURCES {
                // A laboratory is looked at while it is changed: no answer from it is remembered.
                let document =
                    Document { volatility: Volatility::Live, ..Document::plain(source, "documentation", text) };
                library.put(&document, now).await?;
            }
            Ok(documentation::SOURCES.len())
        }
        Corpus::Folder(folder) => {
            let files = files(folder)?;
            for path in &files {
                let text = std::fs::read(path).map_err(|why| CorpusError::Unreadable { path: path.clone(), why })?;
                let text = String::from_utf8_lossy(&text);
                let source = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
                let letters = text.chars().count();
                if letters > DOCUMENT_CHARS_MAX {
                    tracing::warn!(source, letters, "it is cut after {DOCUMENT_CHARS_MAX} characters: split it");
                }
                let text: String = text.chars().take(DOCUMENT_CHARS_MAX).collect();
                library.put(&Document::plain(&source, "file", &text), now).await?;
            }
            Ok(files.len())
        }
    }
}

/// Text files below a folder, in the order of their paths; links and what is hidden are passed over.
fn files(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        let unreadable = |why| CorpusError::Unreadable { path: path.clone(), why };
        for entry in std::fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(unreadable)?;
            let is_text = entry.path().extension().is_some_and(|ending| ending == "md" || ending == "txt");
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() && is_text {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found.truncate(FILES_MAX);
    Ok(found)
}
