//! What a database server on this machine used so far: CPU of all its processes (proc(5)), and bytes of a database.

use anyhow::Context as _;
use sqlx::{Connection as _, PgConnection, Row as _};

/// Ticks of a second, in which Linux counts for programs.
const TICKS: f64 = 100.0;

/// A database on a server, as the fleet that is measured sees it.
#[derive(Debug)]
pub(crate) struct ServerUsage {
    connection: PgConnection,
    /// The process whose children are the server's.
    postmaster: u32,
}

impl ServerUsage {
    /// Of a database at this address.
    ///
    /// # Errors
    /// Where it does not answer, or is on another machine.
    pub(crate) async fn of(address: &str) -> anyhow::Result<Self> {
        let mut connection = PgConnection::connect(address).await?;
        let own: i32 = sqlx::query("SELECT pg_backend_pid()").fetch_one(&mut connection).await?.try_get(0)?;
        let postmaster = stat(own.cast_unsigned()).and_then(|stat| stat.parent).context("the server is elsewhere")?;
        Ok(Self { connection, postmaster })
    }

    /// CPU time of all of the server's processes, in seconds.
    pub(crate) fn cpu(&self) -> f64 {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let children = ids.filter_map(stat).filter(|stat| stat.parent == Some(self.postmaster));
        let ended = stat(self.postmaster).map_or(0.0, |stat| stat.seconds + stat.of_ended);
        children.map(|stat| stat.seconds).sum::<f64>() + ended
    }

    /// Bytes that the database takes on disk.
    ///
    /// # Errors
    /// Where it does not answer.
    pub(crate) async fn bytes(&mut self) -> anyhow::Result<i64> {
        let row = sqlx::query("SELECT pg_database_size(current_database())").fetch_one(&mut self.connection).await?;
        Ok(row.try_get(0)?)
    }
}

/// What Linux says of a process (proc(5)).
struct ProcessStat {
    parent: Option<u32>,
    /// Of CPU, user's and system's.
    seconds: f64,
    /// The same of its children that have ended.
    of_ended: f64,
}

fn stat(process: u32) -> Option<ProcessStat> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold blanks and brackets; behind it stands the third field.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or_default();
    Some(ProcessStat {
        parent: fields.get(1)?.parse().ok(),
        seconds: (ticks(14) + ticks(15)) / TICKS,
        of_ended: (ticks(16) + ticks(17)) / TICKS,
    })
}
