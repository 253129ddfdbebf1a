//! The closed list of what can be wrong with Serin itself, and what to say of each.

use crate::domain::reason::FailureReason;

/// Everything that can be wrong with Serin itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InternalAlert {
    /// No room to write.
    DiskFull,
    /// Something else holds the database.
    DatabaseLocked,
    /// The database cannot be read or written for another reason.
    DatabaseBroken,
    /// The database's file is gone from its place, or another stands there.
    DatabaseMoved,
    /// The database was damaged at start, and a new one was begun.
    HistoryLost,
    /// Beats start late, or are skipped.
    LoopLate,
    /// A loop ended that should never end.
    LoopStopped,
    /// This process did not run for a while.
    StoodStill,
    /// No file is left to open or to connect with.
    OutOfFiles,
    /// Our own network is gone.
    UplinkLost,
    /// A declared proxy or a certificate file of ours keeps us from a server.
    WayBlocked,
    /// Deliveries were given up.
    DeliveryDead,
    /// A receiver has taken nothing for a while of what it was to be told.
    ReceiverFailing,
    /// A receiver did not accept a drill of the file in time.
    DrillFailed,
    /// monitors.yaml on disk cannot be used; the last good one still runs.
    ConfigRejected,
    /// Whoever watches Serin from outside cannot be reached.
    HeartbeatFailed,
    /// A list of servers lost many at once; they are watched until somebody lets them go.
    ListHeld,
    /// A list of servers cannot be read.
    ListUnread,
    /// What is watched because of a list cannot be kept on disk.
    ListUnkept,
    /// A list names servers that nobody watches.
    ListUnwatched,
    /// What a list names for a day has never worked; nobody was told of it otherwise.
    NeverWorked,
}

impl InternalAlert {
    /// All of them, so that a test can go over each.
    pub const ALL: [Self; 21] = [
        Self::DiskFull,
        Self::DatabaseLocked,
        Self::DatabaseBroken,
        Self::DatabaseMoved,
        Self::HistoryLost,
        Self::LoopLate,
        Self::LoopStopped,
        Self::StoodStill,
        Self::OutOfFiles,
        Self::UplinkLost,
        Self::WayBlocked,
        Self::DeliveryDead,
        Self::ReceiverFailing,
        Self::DrillFailed,
        Self::ConfigRejected,
        Self::HeartbeatFailed,
        Self::ListHeld,
        Self::ListUnread,
        Self::ListUnkept,
        Self::ListUnwatched,
        Self::NeverWorked,
    ];

    /// What keeps Serin from writing; a write that succeeds ends them all.
    pub const OF_WRITING: [Self; 3] = [Self::DiskFull, Self::DatabaseLocked, Self::DatabaseBroken];

    /// Whether what Serin sees now may be lost: it cannot be written, or not where the next start looks for it.
    pub fn forgets(self) -> bool {
        self == Self::DatabaseMoved || Self::OF_WRITING.contains(&self)
    }

    /// Whether it is the trouble of one machine, where several share a fleet. All else is told by whichever looks after it, and
    /// by another one once that has ended.
    pub const fn is_of_machine(self) -> bool {
        !matches!(
            self,
            Self::DeliveryDead
                | Self::ReceiverFailing
                | Self::DrillFailed
                | Self::ListHeld
                | Self::ListUnread
                | Self::ListUnwatched
                | Self::NeverWorked
        )
    }

    /// The word in message and log.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::DatabaseLocked => "database_locked",
            Self::DatabaseBroken => "database_broken",
            Self::DatabaseMoved => "database_moved",
            Self::HistoryLost => "history_lost",
            Self::LoopLate => "loop_late",
            Self::LoopStopped => "loop_stopped",
            Self::StoodStill => "stood_still",
            Self::OutOfFiles => "out_of_files",
            Self::UplinkLost => "uplink_lost",
            Self::WayBlocked => "way_blocked",
            Self::DeliveryDead => "delivery_dead",
            Self::ReceiverFailing => "receiver_failing",
            Self::DrillFailed => "drill_failed",
            Self::ConfigRejected => "config_rejected",
            Self::HeartbeatFailed => "heartbeat_failed",
            Self::ListHeld => "list_held",
            Self::ListUnread => "list_unread",
            Self::ListUnkept => "list_unkept",
            Self::ListUnwatched => "list_unwatched",
            Self::NeverWorked => "never_worked",
        }
    }

    /// What it means for whoever relies on Serin.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::DiskFull => "the disk is full: nothing is remembered and nothing new is paged until there is room",
            Self::DatabaseLocked => "another process holds the database: nothing is remembered until it lets go",
            Self::DatabaseBroken => "the database cannot be written: nothing is remembered and nothing new is paged",
            Self::DatabaseMoved => {
                "the database's file is not where it was: the next start finds nothing of what is remembered now"
            }
            Self::HistoryLost => {
                "the database was damaged: Serin runs on a new one, without history and open incidents"
            }
            Self::LoopLate => "beats start late or are skipped: what happens now is seen late",
            Self::LoopStopped => "a part of Serin stopped and was started again",
            Self::StoodStill => {
                "Serin did not run for a while: what it asked meanwhile is unknown, and pages may be late"
            }
            Self::OutOfFiles => "out of open files: what needs one more fails, be it a probe, a page or a delivery",
            Self::UplinkLost => "Serin's own network is gone: no monitor is judged until it is back",
            Self::WayBlocked => "a proxy or a certificate file of Serin's own fails: monitors behind it are not judged",
            Self::ReceiverFailing => "a receiver accepts nothing: its messages go to its fallback, or to nobody",
            Self::DeliveryDead => "messages were given up after 24 h: a receiver is dead",
            Self::DrillFailed => "a drill was not accepted: a page to that receiver would not arrive in time",
            Self::ConfigRejected => "monitors.yaml has faults: the last good one is still in force",
            Self::HeartbeatFailed => "the heartbeat does not get through: whoever watches Serin will believe it dead",
            Self::ListHeld => "a list of servers lost many at once: they are watched on until somebody lets them go",
            Self::ListUnread => {
                "a list of servers cannot be read: what was known of it is watched on, and new servers are not"
            }
            Self::ListUnkept => {
                "what a list of servers names cannot be kept on disk: new servers are not watched, and a start may know none"
            }
            Self::ListUnwatched => "servers that a list names are not watched, and nobody is told when they fail",
            Self::NeverWorked => {
                "what a list names for a day has never worked, and is in quarantine: nobody is told of it"
            }
        }
    }

    /// The sentence of message and page that says what would end it.
    pub const fn resolves_when(self) -> &'static str {
        match self {
            Self::DiskFull => "a write succeeds again; free room on the volume that holds the database",
            Self::DatabaseLocked => "a write succeeds again; end the process that holds the database",
            Self::DatabaseBroken => "a write succeeds again; see Serin's log for SQLite's own words",
            Self::DatabaseMoved => {
                "the same file is back in its place, with the -wal and -shm files that were beside it"
            }
            Self::HistoryLost => "Serin is started again, best after `serin restore` of a backup",
            Self::LoopLate => "beats start in time again; give Serin more CPU, or probe fewer monitors",
            Self::LoopStopped => "the part runs for a while without stopping",
            Self::StoodStill => {
                "probes run through for two minutes; look at what stops its machine: steal time, memory, snapshots, sleep"
            }
            Self::OutOfFiles => "files are free again; raise LimitNOFILE (`ulimit -n`), or end what else holds files",
            Self::UplinkLost => "Serin reaches the network again",
            Self::WayBlocked => "a probe gets through again; mend the proxy, or put the file back",
            Self::ReceiverFailing => {
                "it takes a message again; `serin receiver test` says what it answers, and /deliveries each try"
            }
            Self::DeliveryDead => "the receiver takes messages again; replay what was given up from /deliveries",
            Self::DrillFailed => {
                "it accepts a drill: mend what it answers, then `serin receiver test` it, or wait for the next one"
            }
            Self::ConfigRejected => "the file is valid again; `serin check` names the faults",
            Self::HeartbeatFailed => "a heartbeat is answered with 2xx again; see `heartbeat` in the file",
            Self::ListHeld => {
                "the list names them again, or `serin discover accept SOURCE` lets them go, if they are meant to be gone"
            }
            Self::ListUnread => "the list is read again; `serin discover list` says what is wrong with it",
            Self::ListUnkept => {
                "it can be written; the folder is that of the database, or `discover: { folder: … }` names another"
            }
            Self::ListUnwatched => {
                "the source takes them (`hosts`, `allow_private`), or `relabel` drops them; `serin discover list` names all"
            }
            Self::NeverWorked => "it works, or is off the list; `serin probe ID` says what is wrong with it",
        }
    }

    /// The reason whose runbook it links to.
    pub const fn reason(self) -> FailureReason {
        match self {
            Self::UplinkLost => FailureReason::MonitorUplink,
            _ => FailureReason::MonitorInternal,
        }
    }
}
