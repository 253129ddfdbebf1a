//! The files in which lists are kept: written in one step, and put back from elsewhere where one is not where it should be, as
//! after a restore on another machine or under another folder. Without them a start would take what is listed for removed, and
//! end its incidents.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::config::Loaded;
use crate::config::read::bytes::read_bytes;
use crate::config::read::discovered::{LISTS_BYTES_MAX, path};
use crate::store::read::files::last_lists_beside;

/// Writes a file in one step: whoever reads it sees all of it or what was before.
///
/// # Errors
/// What the file system says.
pub(super) fn put(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)?;
    let beside = path.with_extension("yaml.new");
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// The declared sources of which no list was read, by id.
pub(super) fn unread(loaded: &Loaded) -> Vec<String> {
    let sources = loaded.fleet.discovery.sources.iter();
    sources.filter(|source| !loaded.lists.contains(&source.id)).map(|source| source.id.clone()).collect()
}

/// Copies the list of a source, where there is one, from the folder before into the one that is named now.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn moved(folder: &Path, source: &str, (before, now): (&str, &str)) -> io::Result<()> {
    let kept = read_bytes(&path(folder, before, source), LISTS_BYTES_MAX).ok();
    let Some(text) = kept.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(()) };
    put(&path(folder, now, source), &text)
}

/// Puts back, before anything is watched, what the database knows of lists that were not read; whether there was any.
///
/// # Errors
/// Where one cannot be written: a start without it would end incidents that go on.
pub(crate) async fn put_back(file: &Path, loaded: &Loaded) -> anyhow::Result<bool> {
    let (database, unread) = (&loaded.settings.database, unread(loaded));
    if unread.is_empty() || !tokio::fs::try_exists(database).await.unwrap_or(false) {
        return Ok(false);
    }
    let known = last_lists_beside(database, &unread).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "what the database knows of lists cannot be read");
        Vec::new()
    });
    for (source, text) in &known {
        let to = path(file.parent().unwrap_or(Path::new("")), &loaded.fleet.discovery.folder, source);
        put(&to, text).with_context(|| {
            format!(
                "what the source '{source}' lists is not in {} and cannot be put back there, and without it Serin would take \
                 its monitors for removed; `discover: {{ folder: … }}` names another folder",
                to.display()
            )
        })?;
        tracing::warn!(source, file = %to.display(), "the list that was kept is gone; it is put back as the database has it");
    }
    Ok(!known.is_empty())
}
