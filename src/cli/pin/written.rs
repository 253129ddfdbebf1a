//! An entry put into its lock: read back before anything is written, and written in one step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::init::append::replace;
use crate::config;
use crate::config::check::checker::Unset;
use crate::config::describe::lock::{entry, with_entry};
use crate::config::read::lock_files::{LockFile, lock_of};
use crate::config::read::source::ConfigSource;
use crate::domain::fleet::Provenance;
use crate::domain::monitor::Monitor;
use crate::domain::pinned::Pinned;

/// A secret that is shorter is found in any text.
const SECRET_CHARS_MIN: usize = 6;

/// The lock in which a monitor is pinned: where it lies, and its name as pages show it.
pub(super) fn lock_path(source: &ConfigSource, provenance: &Provenance, monitor: &Monitor) -> PathBuf {
    let nth = provenance.included.iter().take_while(|file| file.first_line <= monitor.line).count();
    let file = nth.checked_sub(1).and_then(|nth| source.included.get(nth));
    lock_of(file.map_or(&source.path, |file| &file.path))
}

/// Puts what is pinned of a monitor into its lock.
///
/// # Errors
/// Where the lock is not in the shape that is written, could not be read back, would hold a secret, or cannot be written.
pub(super) fn write(source: &ConfigSource, path: &Path, monitor: &Monitor, pinned: &Pinned) -> anyhow::Result<()> {
    let block = entry(monitor, pinned);
    anyhow::ensure!(
        !holds_secret(monitor, &block),
        "what the server says repeats a secret that this monitor shows it, which must not get into git; change the secret, \
         and let the server not repeat it"
    );
    let before = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => anyhow::bail!("{} cannot be read: {error}", path.display()),
    };
    let text = with_entry(&before, monitor.id.as_str(), &block)
        .map_err(|mend| anyhow::anyhow!("{} cannot be added to: {mend}", path.display()))?;
    let read = read_back(source, path, &text, monitor)?;
    let tools = |pinned: &Pinned| pinned.tools.as_ref().map(|listing| listing.hash.clone());
    let is_same = read.is_some_and(|read| {
        (&read.canaries, &read.relations, read.scale) == (&pinned.canaries, &pinned.relations, pinned.scale)
            && tools(&read) == tools(pinned)
    });
    anyhow::ensure!(
        is_same,
        "the entry of '{}' would not be read back as it was seen, so it is not written",
        monitor.id
    );
    replace(path, &text).map_err(|error| anyhow::anyhow!("{} cannot be written: {error}", path.display()))
}

/// The entry as it would be read; a variable that is not set keeps nobody.
fn read_back(source: &ConfigSource, path: &Path, text: &str, monitor: &Monitor) -> anyhow::Result<Option<Arc<Pinned>>> {
    let mut source = source.clone();
    let bytes = text.as_bytes().to_vec();
    match source.locks.iter_mut().find(|lock| lock.path == path) {
        Some(lock) => lock.bytes = bytes,
        None => {
            let files = std::iter::once(&source.path).chain(source.included.iter().map(|file| &file.path));
            let beside = files.enumerate().filter(|(_, file)| lock_of(file) == path).map(|(nth, _)| nth).collect();
            let name = path.display().to_string();
            source.locks.push(LockFile { path: path.to_owned(), name, bytes, beside, trouble: None });
        }
    }
    let loaded = config::load(&source, &|name| std::env::var(name).ok(), Unset::Warn)?;
    let read = loaded.fleet.monitors.into_iter().find(|read| read.id == monitor.id);
    Ok(read.and_then(|read| read.pinned.clone()))
}

/// Whether a text repeats what the monitor shows its server to be let in.
fn holds_secret(monitor: &Monitor, text: &str) -> bool {
    let auth = &monitor.auth;
    let headers = auth.headers.iter().map(|(_, secret)| secret);
    let environment = monitor.reach.program.iter().flat_map(|program| program.env.iter().map(|(_, secret)| secret));
    let client = auth.oauth.iter().map(|oauth| &oauth.client_secret);
    let secrets = auth.bearer.iter().chain(headers).chain(environment).chain(client).map(|secret| secret.expose());
    secrets.filter(|secret| secret.chars().count() >= SECRET_CHARS_MIN).any(|secret| text.contains(secret))
}
