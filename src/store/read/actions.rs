//! What people asked for and nobody has done yet.

use crate::domain::action::{Action, Asked};
use crate::domain::monitor::MonitorId;
use crate::store::read::readers::Readers;
use crate::store::sql::statement::query;
use crate::store::values::column::timestamp;
use crate::store::values::error::StoreError;

impl Readers {
    /// What waits, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn waiting_actions(&self) -> Result<Vec<Action>, StoreError> {
        let rows =
            query("SELECT id, at, actor, action, subject, monitor FROM actions WHERE applied_at IS NULL ORDER BY id");
        let mut waiting = Vec::new();
        for row in &rows.fetch_all(&self.readers).await? {
            let Some(asked) = Asked::of(row.try_get(3)?, row.try_get(4)?) else { continue };
            let monitor = MonitorId::new(row.try_get(5)?);
            waiting.push(Action {
                id: row.try_get(0)?,
                at: timestamp(row, 1)?,
                actor: row.try_get(2)?,
                asked,
                monitor,
            });
        }
        Ok(waiting)
    }
}
