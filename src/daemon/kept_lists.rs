//! The files in which lists are kept: written in one step, and put back from elsewhere where one is not where it should be, as
//! after a restore on another machine or under another folder. Without them a start would take what is listed for removed, and
//! end its incidents.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::config::Loaded;
use crate::config::read::bytes::read_bytes;
use crate::config::read::discovered::{LISTS_BYTES_MAX, path};
use crate::daemon::startup::Waiting;
use crate::store::OpenError;
use crate::store::read::files::kept_lists_beside;

/// Writes a file in one step: whoever reads it sees all of it or what was before.
///
/// # Errors
/// What the file system says.
pub(super) fn put(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)?;
    let beside = path.with_extension("yaml.new");
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::File::create_new(&beside)?;
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

/// Has, before anything is watched, each list on disk as the database says that it was kept last; whether any was another. What
/// was done to one while nobody watched is no word of whoever lists. None where Serin was told to stop meanwhile.
///
/// # Errors
/// Where one cannot be written: a start without it, or with another one, would end incidents that go on.
pub(crate) async fn put_back(file: &Path, loaded: &Loaded, waiting: Waiting<'_>) -> anyhow::Result<Option<bool>> {
    let sources = &loaded.fleet.discovery.sources;
    let Some(database) = loaded.settings.database.as_ref().filter(|_| !sources.is_empty()) else {
        return Ok(Some(false));
    };
    if let Some(path) = database.file()
        && matches!(tokio::fs::try_exists(path).await, Ok(false))
    {
        return Ok(Some(false));
    }
    let known = async || kept_lists_beside(database).await.map_err(|source| OpenError::of(&database.name(), source));
    let known = match waiting.until_done(known).await {
        Ok(Some(known)) => known,
        Ok(None) => return Ok(None),
        // Whoever opens it says what is to be done.
        Err(OpenError::Damaged { .. }) => Vec::new(),
        Err(error) => return Err(error).context("what was watched because of lists cannot be read"),
    };
    let (mut any, unread) = (false, unread(loaded));
    for (source, text) in known.iter().filter(|(id, _)| sources.iter().any(|source| source.id == *id)) {
        let to = path(file.parent().unwrap_or(Path::new("")), &loaded.fleet.discovery.folder, source);
        if read_bytes(&to, LISTS_BYTES_MAX).is_ok_and(|bytes| bytes == text.as_bytes()) {
            // It could not be read a moment ago.
            any |= unread.contains(source);
            continue;
        }
        put(&to, text).with_context(|| {
            format!(
                "what the source '{source}' lists is not in {} as it was kept last, and cannot be put back there; without it \
                 Serin would take its monitors for removed. `discover: {{ folder: … }}` names another folder",
                to.display()
            )
        })?;
        any = true;
        tracing::warn!(
            source,
            file = %to.display(),
            "the kept list is gone, or another than the database has; it is put back as it has it, and its source is asked at once"
        );
    }
    Ok(Some(any))
}
