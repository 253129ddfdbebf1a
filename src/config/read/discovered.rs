//! The files in which Serin keeps what a source of `discover:` lists: read with the others, so that what they declare is hashed,
//! watched, kept and shown as everything is. They lie in a folder beside the file, and are Serin's own.

use std::path::{Path, PathBuf};

use crate::config::read::node::{Node, NodeValue};

/// The section.
pub(in crate::config) const DISCOVER: &str = "discover";
/// Where they lie where the file says nothing: in this folder beside the database, where Serin may write.
const FOLDER_DEFAULT: &str = "discovered";
/// What stands in the place of one that cannot be read, before why.
pub(in crate::config) const UNREAD: &str = "# cannot be read: ";
/// Bytes of all of them, besides those that people write.
pub const LISTS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Sources of one fleet.
pub(in crate::config) const SOURCES_MAX: usize = 100;

/// Where the list of a source is kept; `folder` is the file's own.
pub fn path(folder: &Path, kept_in: &str, source: &str) -> PathBuf {
    folder.join(kept_in).join(format!("{source}.yaml"))
}

/// The folder that a file names, relative to its own, and the ids of its sources, as far as they can be read.
pub(in crate::config) fn named(root: &Node<'_>) -> (String, Vec<String>) {
    let text = |node: &Node<'_>| match &node.value {
        NodeValue::Scalar { text, .. } if !node.is_null() => Some(text.to_string()),
        _ => None,
    };
    let Some(section) = root.get(DISCOVER) else { return (String::new(), Vec::new()) };
    let folder = section.get("folder").and_then(text).unwrap_or_else(|| {
        // One that is only known where it is resolved may be another tomorrow.
        let database = root.get("serin").and_then(|serin| text(serin.get("database")?));
        let database = database.filter(|path| !path.contains('$') && !path.contains("://")).unwrap_or_default();
        Path::new(&database).with_file_name(FOLDER_DEFAULT).display().to_string()
    });
    let sources = section.get("from").into_iter().flat_map(Node::items).filter_map(|source| text(source.get("id")?));
    // An id becomes a file's name: what could lead elsewhere is none, which the checker says.
    let is_plain = |id: &String| {
        !id.starts_with('.') && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    (folder, sources.filter(is_plain).take(SOURCES_MAX).collect())
}
