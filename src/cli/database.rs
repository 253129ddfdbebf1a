//! Which database a command means that works on the file itself.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::database_address::DatabaseAddress;

/// The database, by the configuration that names it or directly.
#[derive(Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// The configuration that names the database.
    #[arg(long, default_value = "monitors.yaml", value_name = "FILE")]
    pub config: PathBuf,
    /// The database itself, where there is no configuration at hand: a file, or `postgres://…`.
    #[arg(long, value_name = "DATABASE")]
    pub database: Option<String>,
}

impl DatabaseArgs {
    /// Where it is.
    ///
    /// # Errors
    /// Where the configuration is needed and cannot be used.
    pub(crate) fn address(&self) -> anyhow::Result<DatabaseAddress> {
        if let Some(address) = &self.database {
            // It may hold a password, so it is read here, where no error repeats it.
            let parsed = DatabaseAddress::parse(address);
            return parsed.map_err(|why| anyhow::anyhow!("the address of `--database` is none: {why}"));
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
        loaded.settings.database.context("the database's address refers to what is not set here; `--database` names it")
    }

    /// The path of its file, for what is done to files alone.
    ///
    /// # Errors
    /// As [`Self::address`], and where it is on a server.
    pub(crate) fn file(&self) -> anyhow::Result<PathBuf> {
        match self.address()? {
            DatabaseAddress::File(path) => Ok(path),
            server @ DatabaseAddress::Server(_) => anyhow::bail!(
                "{server} is no file: `pg_dump --format=custom` backs it up and `pg_restore` puts it back, as docs/databases/postgresql.md says"
            ),
        }
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
