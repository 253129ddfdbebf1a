//! The packs of some monitors, or of all: whose they are, and which of them are the truth.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;

use crate::domain::monitor::MonitorId;
use crate::store::packed::pack::hour::Hour;
use crate::store::packed::packs::{self, from_slot, hour_number, slot};
use crate::store::packed::sealing::Sealing;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::statement::{Statement, assembled, query};
use crate::store::values::error::StoreError;
use crate::store::values::whose::{Whose, is_of};

/// The numbers under which packs of some monitors lie.
pub(in crate::store::read) struct Owners {
    pub(in crate::store::read) ids: HashMap<i64, MonitorId>,
    /// Whether those are all there are.
    is_all: bool,
}

impl Owners {
    pub(in crate::store::read) async fn of(connection: &mut Connection, whose: Whose<'_>) -> Result<Self, StoreError> {
        let rows = concat!("SELECT number, monitor FROM pack_owners WHERE ", is_of!("monitor", "$1"));
        let rows = query(rows).bind(whose.ids()).fetch_all(connection).await?;
        let ids = rows.iter().map(|row| Ok((row.try_get(0)?, MonitorId::new(row.try_get(1)?))));
        let ids = ids.collect::<Result<_, StoreError>>()?;
        Ok(Self { ids, is_all: matches!(whose, Whose::Everybodys) })
    }

    /// Those whose packs of an hour are not the truth yet.
    pub(in crate::store::read) fn unsealed(&self, sealing: &Sealing, hour: DateTime<Utc>) -> HashSet<i64> {
        let unsealed = self.ids.iter().filter(|(_, monitor)| !sealing.has_packs(monitor, hour));
        unsealed.map(|(owner, _)| *owner).collect()
    }

    /// A statement over their packs of these hours, but for some owners'. Those of all lie side by side; of few each is looked up.
    pub(in crate::store::read) fn slots(
        &self,
        select: &'static str,
        hours: Range<i64>,
        but: &HashSet<i64>,
    ) -> Statement {
        if self.is_all {
            let text = format!("{select} slot >= $1 AND slot < $2");
            assembled(text.into()).bind(slot(hours.start, 0)).bind(slot(hours.end, 0))
        } else {
            let owners = || self.ids.keys().filter(|owner| !but.contains(owner));
            let slots: Vec<i64> = hours.flat_map(|hour| owners().map(move |owner| slot(hour, *owner))).collect();
            let text = format!(concat!("{} slot IN ", numbers!("$1")), select);
            assembled(text.into()).bind(serde_json::json!(slots).to_string())
        }
    }

    /// Their packs of an hour by owner, but for some owners'.
    pub(in crate::store::read) async fn packs(
        &self,
        connection: &mut Connection,
        hour: DateTime<Utc>,
        but: &HashSet<i64>,
    ) -> Result<Vec<(i64, Hour)>, StoreError> {
        let number = hour_number(hour);
        let packs = self.slots("SELECT slot, data FROM beat_packs WHERE ", number..number + 1, but);
        let mut rows = packs.fetch(connection);
        let mut packs = Vec::new();
        while let Some(row) = rows.try_next().await? {
            let (_, owner) = from_slot(row.try_get(0)?);
            if !but.contains(&owner) {
                packs.push((owner, packs::read(hour, row.try_get(1)?)?));
            }
        }
        Ok(packs)
    }
}
