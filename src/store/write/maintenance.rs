//! The janitor's work in the writer: each a short transaction of its own among those of the beats.

use chrono::{DateTime, Utc};

use crate::domain::shard::Shards;
use crate::store::packed::roll;
use crate::store::packed::roll::DayRow;
use crate::store::sql::connection::Connection;
use crate::store::values::beat_rows::{BeatRows, RowChanges};
use crate::store::values::error::StoreError;
use crate::store::write::append::Names;
use crate::store::write::retain;
use crate::store::write::seal;
use crate::store::write::seal::Owned;

#[derive(Debug)]
pub(in crate::store) enum Maintenance {
    /// Beats of these shards from before this moment are late from now on.
    Begin { shards: Shards, until: DateTime<Utc> },
    /// The packs of some monitors' hour.
    Seal { hour: DateTime<Utc>, owned: Vec<Owned> },
    /// Packs are the truth of these shards before this moment.
    Sealed { shards: Shards, until: DateTime<Utc> },
    /// Rows that packs have taken over are deleted.
    Sweep,
    /// Late beats of these shards join their packs.
    JoinLate { shards: Shards, now: DateTime<Utc> },
    /// Rows of a day.
    Roll { rows: Vec<DayRow> },
    /// Every day before this moment has its rows.
    Rolled { until: DateTime<Utc> },
    /// Something is kept long enough.
    Forget { what: retain::Retained, before: DateTime<Utc> },
    /// Lists or sources that nothing names any more.
    Drop(retain::Doom),
    /// Free pages go back to the disk.
    Shrink { pages: u32 },
}

/// Does it; whether there may be more to do.
pub(in crate::store) async fn run(
    connection: &mut Connection,
    names: &mut Names,
    (rows, changes): (&BeatRows, &mut RowChanges),
    maintenance: Maintenance,
) -> Result<bool, StoreError> {
    match maintenance {
        Maintenance::Begin { shards, until } => seal::begin(connection, &shards, until).await.map(|()| false),
        Maintenance::Seal { hour, owned } => seal::seal(connection, names, hour, &owned).await.map(|()| false),
        Maintenance::Sealed { shards, until } => {
            seal::sealed(connection, changes, &shards, until).await.map(|()| false)
        }
        Maintenance::Sweep => seal::sweep(connection).await,
        Maintenance::JoinLate { shards, now } => {
            seal::join_late(connection, names, (rows, changes), (&shards, now)).await
        }
        Maintenance::Roll { rows } => roll::keep(connection, &rows).await.map(|()| false),
        Maintenance::Rolled { until } => roll::rolled(connection, until).await.map(|()| false),
        Maintenance::Forget { what, before } => retain::forget(connection, what, before).await,
        Maintenance::Drop(doom) => retain::drop_doomed(connection, names, &doom).await,
        Maintenance::Shrink { pages } => retain::shrink(connection, pages).await,
    }
}
