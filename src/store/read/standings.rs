//! What machines that share a database know of each other: how the monitors stand that they watch, and which file is in force.

use crate::live::published::SlimStanding;
use crate::store::read::readers::Readers;
use crate::store::server::leases;
use crate::store::sql::dialect::number_rows;
use crate::store::sql::statement::query;
use crate::store::values::error::StoreError;
use crate::store::values::standing_text;

/// How far somebody has read of each shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenVersions([i64; 256]);

impl Default for SeenVersions {
    /// Nothing was read.
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Readers {
    /// What stands for the file in force; none where one machine has the database alone.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn file_in_force(&self) -> Result<Option<String>, StoreError> {
        leases::file_in_force(&mut self.readers.acquire().await?).await
    }

    /// What was published since, and how far that goes; what cannot be read is passed over, and said in the log.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn standings_since(
        &self,
        mut seen: SeenVersions,
    ) -> Result<(Vec<SlimStanding>, SeenVersions), StoreError> {
        // The place of a version in the list is the number of its shard.
        let rows = query(concat!(
            "SELECT s.shard, s.version, s.monitor, s.standing, s.node FROM ",
            number_rows!("$1"),
            " AS seen CROSS JOIN standings s WHERE s.shard = seen.key AND s.version > seen.value",
        ));
        let rows = rows.bind(serde_json::json!(seen.0.as_slice()).to_string()).fetch_all(&self.readers).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let (shard, version): (u8, i64) = (row.try_get(0)?, row.try_get(1)?);
            let known = &mut seen.0[usize::from(shard)];
            *known = version.max(*known);
            match standing_text::read((row.try_get(2)?, row.try_get(4)?), row.try_get(3)?) {
                Ok(standing) => found.push(standing),
                Err(error) => tracing::warn!(%error, "what another machine published is passed over"),
            }
        }
        Ok((found, seen))
    }
}
