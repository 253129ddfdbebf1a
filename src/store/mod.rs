//! What Serin remembers. SQL stands here in full, one query a function, and rows become domain values here.
//!
//! One connection writes, fed by a bounded channel, and many beats share a commit; a pool of
//! read-only connections serves pages. What was answered with `Ok` has reached the disk
//! (`synchronous=FULL`); what was not answered is there whole or not at all. We may die anywhere:
//! the lock on the database dies with us, and the next start finds the last commit.
//!
//! Read: `board` (the last state, in memory), `record` (what a turn wants remembered), `held` (who has
//! the file), `schema` (its settings and its tables), `writer` (the one that writes; `append` the beats, `intern` what
//! repeats, `known` what was learnt and spent, `transcript` what was said over the wire, `decide` the incidents, `promise` who is told, `outbox` how that goes, `note` what people
//! and files say), `seal` (an hour's rows become packs; `packs` and `pack` how
//! they stand, `unsealed` the rows), `roll` (days), `retain` (forgetting), `chore` (their steps in the writer; `tidy` asks for them), `column`, `course` and `error` (how values, what an incident remembers, and failures stand in the database), `resume`
//! (what a start needs), `recent` (the fleet's last hours), `read` (what pages ask for), `latency` and `history` (over
//! hours, days and months, cut into `slices`), `export` (the past as a stream); `figures` (how large it is), `integrity`
//! (is the file sound), `backup` and `restore` (a copy, and back).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqlitePool;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::store::held::{Held, Place};
use crate::store::integrity::Looked;
use crate::store::record::BeatRecord;
use crate::store::writer::{Answer, Begun, Job, Signals, Work, Writer, can_wait};

pub mod board;
pub mod pulse;
pub mod record;
pub mod past;
pub mod pack;
pub mod packs;
mod unsealed;
mod chore;
mod tidy;
pub mod seal;
pub mod slices;
pub mod roll;
pub mod retain;
pub mod history;
pub mod latency;
pub mod recent;
pub mod private;
mod held;
mod schema;
mod writer;
mod rows;
mod append;
pub mod known;
pub mod listing;
pub mod transcript;
mod intern;
mod decide;
mod promise;
pub mod outbox;
pub mod note;
mod course;
mod column;
mod error;
mod ask;
pub mod resume;
pub mod read;
pub mod export;
pub mod figures;
pub mod integrity;
pub mod backup;
pub mod restore;

/// Jobs that may wait for the writer; a submitter beyond waits for room, which slows whoever is too fast.
const QUEUE_MAX: usize = 1024;
/// How long a beat that decided nothing waits for company where nobody said otherwise: at 100 beats a second this makes
/// ten commits of a hundred.
const GATHER_USUAL: Duration = Duration::from_millis(100);

/// The open database. Cheap to clone; every clone speaks to the one writer.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: mpsc::Sender<Job>,
    readers: SqlitePool,
    outbox_changed: Arc<Notify>,
    /// Ends the writer's wait for company.
    hurry: Arc<Notify>,
    /// How long it waits for company, in microseconds.
    gather_us: Arc<AtomicU64>,
    /// Where the file stood; none where nobody holds it.
    place: Option<Arc<Place>>,
    /// When a write last reached the disk.
    written_at: Arc<Mutex<Instant>>,
}

impl Store {
    /// Opens or makes the database at `path`, brings its tables to this version and starts the writer.
    ///
    /// # Errors
    /// [`OpenError::InUse`] where another Serin has it open; the others where file or tables cannot be used.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let held = Held::make(path)?;
        let mut connection = schema::writer(path).await.map_err(|source| OpenError::of(path, source))?;
        let (begun, readers, place) = match begin(path, &held, &mut connection).await {
            Ok(begun) => begun,
            Err(error) => {
                // Closed before it is let go of, for the next try or another Serin.
                drop(connection.close().await);
                return Err(error);
            }
        };
        let outbox_changed = Arc::new(Notify::new());
        let hurry = Arc::new(Notify::new());
        let gather_us = Arc::new(AtomicU64::new(0));
        let written_at = Arc::new(Mutex::new(Instant::now()));
        let signals = Signals {
            written_at: Arc::clone(&written_at),
            outbox_changed: Arc::clone(&outbox_changed),
            hurry: Arc::clone(&hurry),
            gather_us: Arc::clone(&gather_us),
        };
        let writer = Writer::new(path.to_owned(), connection, begun, (held, Arc::clone(&place)), signals);
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(writer.run(queue));
        let store = Self { jobs, readers, outbox_changed, hurry, gather_us, place: Some(place), written_at };
        store.gather_for(GATHER_USUAL);
        Ok(store)
    }

    /// How long a beat that decided nothing waits until others share its commit. Decisions never wait.
    pub fn gather_for(&self, wait: Duration) {
        self.gather_us.store(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Remembers a turn, whole or not at all; `Ok` means that it has reached the disk.
    ///
    /// Safe to repeat after an error: beats, incidents, notifications and deliveries are known by their keys.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where this record alone is refused; any other failure hit the whole commit.
    pub async fn commit(&self, record: BeatRecord) -> Result<(), StoreError> {
        self.ask(Work::Record(Box::new(record))).await.map(drop)
    }

    /// Told once for every commit that gave the outbox something new; one listener, the courier.
    pub fn outbox_changed(&self) -> Arc<Notify> {
        Arc::clone(&self.outbox_changed)
    }

    /// Whether the file that is open is still the one in its place.
    ///
    /// # Errors
    /// [`StoreError::Moved`] where it was taken away or replaced; Serin goes on in the open one, which is lost at its end.
    pub fn in_place(&self) -> Result<(), StoreError> {
        self.place.as_ref().map_or(Ok(()), |place| place.look())
    }

    /// How long ago a write last reached the disk, or the database was opened.
    pub fn written_ago(&self) -> Duration {
        self.written_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Caps the file at so many pages of 4 kB, so that a shared disk is not filled by us; 0 lifts the cap.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.ask(Work::LimitPages(pages)).await.map(drop)
    }

    /// Writes what is queued, folds the write-ahead log into the file and lets go of the lock.
    /// Everything asked for later is [`StoreError::Closed`].
    pub async fn close(&self) {
        self.readers.close().await;
        // A writer that is gone already has nothing left to close.
        drop(self.ask(Work::Close).await);
    }

    async fn ask(&self, work: Work) -> Result<Answer, StoreError> {
        let (done, answer) = oneshot::channel();
        let patient = can_wait(&work);
        self.jobs.send(Job { work, done }).await.map_err(|_| StoreError::Closed)?;
        // Half a queue is company enough: the other half has to last until it is written.
        if !patient || self.jobs.capacity() <= QUEUE_MAX / 2 {
            self.hurry.notify_one();
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

/// Looks whether an open database is sound, brings its tables to this version and reads what a start needs of it.
async fn begin(
    path: &Path,
    held: &Held,
    connection: &mut SqliteConnection,
) -> Result<(Begun, SqlitePool, Arc<Place>), OpenError> {
    let failed = |source| OpenError::of(path, source);
    if integrity::look(connection).await.map_err(failed)? == Looked::Partly {
        tracing::info!("what pages depend on is sound; the rest of the database was not all read: `serin backup` does");
    }
    schema::migrate(path, connection).await?;
    let begun = Begun::read(connection).await.map_err(failed)?;
    let place = Place::of(path, held).map_err(|source| OpenError::Lock { path: path.to_owned(), source })?;
    let place = Arc::new(place);
    let readers = schema::lasting_readers(path, Arc::clone(&place)).await.map_err(failed)?;
    Ok((begun, readers, place))
}

/// Whether a Serin has this database open; none where none ever had, or the system does not say.
pub fn is_held(database: &Path) -> Option<bool> {
    held::is_held(database)
}

/// Why a read or a write did not happen. One failure answers everybody who shared the commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The writer has stopped: Serin is shutting down.
    #[error("the database is closed")]
    Closed,
    /// Another process holds the database for longer than we wait.
    #[error("the database is locked by another process; end that process (a backup, an open sqlite3 shell)")]
    Locked,
    /// No space is left, on the disk or below the database's own limit.
    #[error("the disk is full; free space on the disk that holds the database")]
    Full,
    /// The file is no longer in its place; what is open goes on, and nothing new is opened.
    #[error("{0}; put the file that was there back, as it is in use")]
    Moved(String),
    /// The file cannot be read or written.
    #[error("the database file cannot be read or written ({0}); look at its disk, its permissions and its size limits")]
    Io(String),
    /// The file is no sound database.
    #[error("the database is damaged ({0}); restore it from a backup")]
    Damaged(String),
    /// This one record contradicts what is stored; the others of its commit are safe.
    #[error("the record contradicts what is stored ({0})")]
    Conflict(String),
    /// A stored word that this version does not know.
    #[error("the database holds something this version cannot read ({0}); was it written by a newer Serin?")]
    Unreadable(String),
    /// All reading connections are busy.
    #[error("the database has too many readers at once; try again")]
    ReadersBusy,
    /// Anything else the database says.
    #[error("the database failed ({0})")]
    Other(String),
}

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another Serin runs on this database.
    #[error("{} is in use by another serin; stop that one, or give this one a `database:` of its own", .path.display())]
    InUse {
        /// The database.
        path: PathBuf,
    },
    /// The database, or the lock file beside it, cannot be opened or made.
    #[error("cannot lock {}: {source}; the folder must exist and be writable", .path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The tables cannot be brought to this version.
    #[error("cannot bring {} up to this version ({message}); was it written by a newer Serin?", .path.display())]
    Migrate {
        /// The database.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file is no sound database. What is said is the way out, since nobody can be paged while it lasts.
    #[error(
        "{} is damaged ({what})\n  `serin restore BACKUP` puts a backup in its place and keeps this file beside it;\n  \
         `serin run --set-aside-damaged` keeps it beside too, and starts anew without any history",
        .path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The database itself.
    #[error("cannot open {}: {source}", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

impl StoreError {
    /// Whether it may end without anybody touching the database or the configuration: another process lets go of it,
    /// somebody makes room on its disk.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Locked | Self::Full | Self::Io(_) | Self::ReadersBusy)
    }
}

impl OpenError {
    /// What keeps the database from being opened, where that may pass ([`StoreError::may_pass`]).
    pub fn passing(&self) -> Option<StoreError> {
        match self {
            Self::Database { source, .. } => Some(source.clone()).filter(StoreError::may_pass),
            Self::Lock { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(StoreError::Full),
                // A path or a permission that somebody got wrong.
                io::ErrorKind::NotFound
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::InvalidInput => None,
                _ => Some(StoreError::Io(source.to_string())),
            },
            Self::InUse { .. } | Self::Migrate { .. } | Self::Damaged { .. } => None,
        }
    }

    /// The same trouble, met while opening.
    pub fn of(path: &Path, source: StoreError) -> Self {
        let path = path.to_owned();
        match source {
            StoreError::Damaged(what) => Self::Damaged { path, what },
            source => Self::Database { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fleet::MonitorId;
    use crate::domain::observation::BeatKind;
    use crate::domain::outcome::Verdict;
    use crate::store::record::{BeatRow, Seen};

    fn beat(number: u32) -> BeatRecord {
        let at = chrono::DateTime::from_timestamp(1_800_000_000 + i64::from(number), 0).unwrap();
        let row = BeatRow {
            monitor: MonitorId::new("docs"),
            scheduled_at: at,
            started_at: at,
            kind: BeatKind::Scheduled,
            era: None,
            transport: None,
            seen: Seen::Missed,
            verdict: Verdict::Unknown,
            reason: None,
            stage: None,
            elapsed: Duration::ZERO,
            stages: crate::store::record::StageTimes::default(),
            fresh_connection: false,
            config_hash: String::new(),
        };
        BeatRecord { beat: Some(row), ..BeatRecord::default() }
    }

    #[tokio::test]
    async fn half_a_queue_of_beats_waits_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("serin.db")).await.unwrap();
        store.gather_for(Duration::from_secs(3_600));
        let commit = |number| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(beat(number)).await })
        };
        let first = commit(0);
        tokio::task::yield_now().await;
        // The writer has it, and waits for company.
        while store.jobs.capacity() < QUEUE_MAX {
            tokio::task::yield_now().await;
        }
        assert!(!first.is_finished());
        let _others: Vec<_> = (1..=600).map(commit).collect();
        assert_eq!(first.await.unwrap(), Ok(()), "an hour later it would be told, and is told at once");
    }
}
