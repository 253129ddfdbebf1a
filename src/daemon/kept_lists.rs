//! The files in which lists are kept: written in one step, and put back from elsewhere where one is not where it should be, as
//! after a restore on another machine or under another folder. Without them a start would take what is listed for removed, and
//! end its incidents.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::config::Loaded;
use crate::config::read::bytes::read_bytes;
use crate::config::read::discovered::{LISTS_BYTES_MAX, path};
use crate::store::read::files::last_list_beside;

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

/// Copies the list of a source from the folder before into the one that is named now; whether there was one.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn moved(folder: &Path, source: &str, (before, now): (&str, &str)) -> io::Result<bool> {
    let kept = read_bytes(&path(folder, before, source), LISTS_BYTES_MAX).ok();
    let Some(text) = kept.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(false) };
    put(&path(folder, now, source), &text).map(|()| true)
}

/// Puts back, before anything is watched, what the database knows of lists that were not read; whether there was any.
///
/// # Errors
/// Where one cannot be written: a start without it would end incidents that go on.
pub(crate) async fn put_back(file: &Path, loaded: &Loaded) -> anyhow::Result<bool> {
    let (database, mut is_any) = (&loaded.settings.database, false);
    let is_there = tokio::fs::try_exists(database).await.unwrap_or(false);
    for source in unread(loaded).into_iter().filter(|_| is_there) {
        let text = match last_list_beside(database, &source).await {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(source, %error, "what the database knows of a list cannot be read");
                continue;
            }
        };
        let to = path(file.parent().unwrap_or(Path::new("")), &loaded.fleet.discovery.folder, &source);
        put(&to, &text).with_context(|| {
            format!(
                "what the source '{source}' lists is not in {} and cannot be put back there, and without it Serin would take \
                 its monitors for removed; `discover: {{ folder: … }}` names another folder",
                to.display()
            )
        })?;
        tracing::warn!(source, file = %to.display(), "the list that was kept is gone; it is put back as the database has it");
        is_any = true;
    }
    Ok(is_any)
}
