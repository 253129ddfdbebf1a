//! The monitors of a file, for commands that go to their servers.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use crate::cli::known_ids::instead;
use crate::config;
use crate::config::Loaded;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::monitor::Monitor;

/// What a file declares, with its variables.
///
/// # Errors
/// Where it cannot be read, or has faults.
pub(crate) fn loaded(path: &Path) -> anyhow::Result<Loaded> {
    let source = source::read(path)?;
    Ok(config::load(&source, &|name| std::env::var(name).ok(), Unset::Refuse)?)
}

/// The monitor with this id.
///
/// # Errors
/// Where the file declares none: which was probably meant.
pub(crate) fn monitor<'l>(loaded: &'l Loaded, id: &str) -> anyhow::Result<&'l Arc<Monitor>> {
    let monitors = &loaded.fleet.monitors;
    monitors.iter().find(|monitor| monitor.id.as_str() == id).with_context(|| {
        let ids: Vec<&str> = monitors.iter().map(|monitor| monitor.id.as_str()).collect();
        let (file, instead) = (&loaded.fleet.provenance.file, instead(id, &ids, ids.len()));
        format!("{file} declares no monitor '{id}'; {instead}")
    })
}
