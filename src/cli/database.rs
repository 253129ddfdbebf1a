//! Which database a command means that works on the file itself.

use std::path::PathBuf;

use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;

/// The database, by the configuration that names it or directly.
#[derive(Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// The configuration that names the database.
    #[arg(long, default_value = "monitors.yaml", value_name = "FILE")]
    pub config: PathBuf,
    /// The database itself, where there is no configuration at hand.
    #[arg(long, value_name = "DATABASE")]
    pub database: Option<PathBuf>,
}

impl DatabaseArgs {
    /// Its path.
    ///
    /// # Errors
    /// Where the configuration is needed and cannot be used.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.database {
            return Ok(path.clone());
        }
        let source = source::read(&self.config)?;
        let env = |name: &str| std::env::var(name).ok();
        let loaded = config::load(&source, &env, Unset::Warn).map_err(|faults| {
            anyhow::anyhow!(
                "{} cannot be used; where only the database is wanted, `--database FILE` names it without the \
                 configuration:\n{faults}",
                source.name
            )
        })?;
        Ok(loaded.settings.database)
    }
}

/// A size as people read it, such as `31.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut figure = bytes as f64 / 1e3;
    let mut unit = 0;
    while figure >= 999.95 && unit + 1 < UNITS.len() {
        figure /= 1e3;
        unit += 1;
    }
    format!("{figure:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_size_is_read_at_a_glance() {
        let rows = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (1_000_000, "1.0 MB"),
            (31_400_000_000, "31.4 GB"),
        ];
        for (bytes, text) in rows {
            assert_eq!(super::size(bytes), text, "{bytes}");
        }
    }
}
