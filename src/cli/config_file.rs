//! The file that a command is about, as people type it: behind the command, by `--config`, or the usual one.

use std::path::PathBuf;

use crate::config::check::checker::Unset;
use crate::config::read::source::ConfigSource;
use crate::config::{self, Loaded};

/// What a file declares, for a command that contacts nobody: variables that are not set are none of its business.
///
/// # Errors
/// What keeps it from coming into force.
pub(crate) fn declared(source: &ConfigSource) -> anyhow::Result<Loaded> {
    config::load(source, &|name| std::env::var(name).ok(), Unset::Warn)
        .map_err(|faults| anyhow::anyhow!("{} cannot come into force:\n{faults}", source.name))
}

/// The name a fleet's file usually has.
const USUAL: &str = "monitors.yaml";

/// The file that declares the fleet.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConfigFile {
    /// The file; monitors.yaml in this folder where none is named.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The same, for scripts that say what each word is.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub config: Option<PathBuf>,
}

impl ConfigFile {
    /// Its path.
    ///
    /// # Errors
    /// Where none was named and the usual one is not here: what writes one.
    pub fn path(&self) -> anyhow::Result<PathBuf> {
        let named = self.file.as_ref().or(self.config.as_ref());
        let path = named.cloned().unwrap_or_else(|| PathBuf::from(USUAL));
        anyhow::ensure!(
            named.is_some() || path.exists(),
            "there is no {USUAL} in this folder: `serin init URL --append {USUAL}` writes one for a server of yours, and \
             a file elsewhere is named behind the command"
        );
        Ok(path)
    }
}
