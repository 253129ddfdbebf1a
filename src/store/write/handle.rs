//! The open database: a handle for everybody who reads or writes.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::domain::database_address::DatabaseAddress;
use crate::domain::lease::{Job, Lease, Leases};
use crate::domain::shard::Shards;
use crate::store::file::held::DatabaseLock;
use crate::store::read::readers::Readers;
use crate::store::read::unsealed;
use crate::store::server::connecting::LockMode;
use crate::store::sql::connection::Connection;
use crate::store::values::beat_rows::BeatRows;
use crate::store::values::change_set::ChangeSet;
use crate::store::values::error::{OpenError, StoreError};
use crate::store::values::known_texts::KnownTexts;
use crate::store::write::gather::Signals;
use crate::store::write::home::Home;
use crate::store::write::work::{CommitAnswer, Patience, Work, WriteJob, patience};
use crate::store::write::writer::{Writer, WriterStart};

/// Jobs that may wait for the writer; a submitter beyond waits for room, which slows whoever is too fast.
const QUEUE_MAX: usize = 1024;
/// How long a beat that decided nothing waits for company where nobody said otherwise: at 100 beats a second this makes
/// ten commits of a hundred.
const GATHER_USUAL: Duration = Duration::from_millis(100);

/// The open database. Cheap to clone; every clone speaks to the one writer.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: mpsc::Sender<WriteJob>,
    reads: Readers,
    outbox_changed: Arc<Notify>,
    asked: Arc<Notify>,
    /// Ends the writer's wait for company.
    hurry: Arc<Notify>,
    /// How long it waits for company, in microseconds.
    gather_us: Arc<AtomicU64>,
    /// Where the file stood; none where it is a server.
    place: Option<Arc<DatabaseLock>>,
    /// Which texts of answers are kept.
    known_texts: Arc<KnownTexts>,
    /// When a write last reached the disk.
    written_at: Arc<Mutex<Instant>>,
    /// How often the connection that writes was made anew.
    reconnects: Arc<AtomicU64>,
    /// Under which leases is written what asks for any; none: whoever asks may.
    under: Option<Arc<Leases>>,
    /// Who we are among those that share it.
    node: Arc<str>,
}

impl Store {
    /// Opens or makes the database, brings its tables to this version and starts the writer.
    ///
    /// # Errors
    /// [`OpenError::InUse`] where another Serin has it open; the others where file or tables cannot be used.
    pub async fn open(address: impl Into<DatabaseAddress>) -> Result<Self, OpenError> {
        let address = address.into();
        let (home, mut connection, readers) = Home::open(&address, LockMode::Shared).await?;
        let begun = match begin(&mut connection).await {
            Ok((begun, rows)) => (begun, Readers { readers, rows: Arc::new(rows) }),
            Err(error) => {
                readers.close().await;
                drop(connection.close().await);
                return Err(OpenError::of(&address.name(), error));
            }
        };
        let ((begun, reads), place, node) = (begun, home.place(), Arc::from(home.node()));
        let outbox_changed = Arc::new(Notify::new());
        let asked = Arc::new(Notify::new());
        let hurry = Arc::new(Notify::new());
        let gather_us = Arc::new(AtomicU64::new(0));
        let written_at = Arc::new(Mutex::new(Instant::now()));
        let reconnects = Arc::new(AtomicU64::new(0));
        let signals = Signals {
            written_at: Arc::clone(&written_at),
            reconnects: Arc::clone(&reconnects),
            outbox_changed: Arc::clone(&outbox_changed),
            asked: Arc::clone(&asked),
            hurry: Arc::clone(&hurry),
            gather_us: Arc::clone(&gather_us),
        };
        let rows = Arc::clone(&reads.rows);
        let known_texts = begun.known_texts();
        let writer = Writer::new(home, connection, (begun, rows), signals);
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(writer.run(queue));
        let under = None;
        let store = Self {
            jobs,
            reads,
            outbox_changed,
            asked,
            hurry,
            gather_us,
            place,
            known_texts,
            written_at,
            reconnects,
            under,
            node,
        };
        store.gather_for(GATHER_USUAL);
        Ok(store)
    }

    /// The same database, where all that only whoever watches some shards may do is done under these leases.
    pub fn under(&self, leases: Arc<Leases>) -> Self {
        Self { under: Some(leases), ..self.clone() }
    }

    /// Who we are among those that share it.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// How long a beat that decided nothing waits until others share its commit. Decisions never wait.
    pub fn gather_for(&self, wait: Duration) {
        self.gather_us.store(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Has what waits for company written now: somebody waits for a monitor whose beat does.
    pub fn hurry(&self) {
        let (done, _) = oneshot::channel();
        // Where there is no room, the writer is at work.
        drop(self.jobs.try_send(WriteJob { work: Work::Hurry, under: Vec::new(), done }));
        self.hurry.notify_one();
    }

    /// Remembers a turn, whole or not at all; `Ok` means that it has reached the disk.
    ///
    /// Safe to repeat after an error: beats, incidents, notifications and deliveries are known by their keys.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] or [`StoreError::LeaseLost`] where this record alone is refused; any other failure hit the
    /// whole commit.
    pub fn commit(
        &self,
        record: impl Into<Box<ChangeSet>>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + '_ {
        // Boxed before anybody waits: whoever waits holds a kilobyte less.
        let work = Work::Record(record.into());
        async move { self.ask(work).await.map(drop) }
    }

    /// Whether the text of this name is kept, as far as is known without a look; a beat carries what is not.
    pub fn keeps_text(&self, name: &str) -> bool {
        self.known_texts.holds(name)
    }

    /// Told once for every commit that gave the outbox something new; one listener, the delivery worker.
    pub fn outbox_changed(&self) -> Arc<Notify> {
        Arc::clone(&self.outbox_changed)
    }

    /// Told once for every commit by which somebody asked for something; one listener, the loop that hands it on.
    pub fn action_asked(&self) -> Arc<Notify> {
        Arc::clone(&self.asked)
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
        self.written_at.lock().elapsed()
    }

    /// How often the connection that writes to a server broke and was made anew: what was published in the second before may be
    /// lost each time, and what was read of others too.
    pub fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
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
        self.reads.readers.close().await;
        // A writer that is gone already has nothing left to close.
        drop(self.ask(Work::Close).await);
    }

    /// Records and wishes that wait for the writer.
    pub fn waiting(&self) -> u64 {
        (self.jobs.max_capacity() - self.jobs.capacity()) as u64
    }

    pub(in crate::store) async fn ask(&self, work: Work) -> Result<CommitAnswer, StoreError> {
        let under = match &work {
            Work::Record(record) => record.lease.into_iter().collect(),
            _ => Vec::new(),
        };
        self.ask_under(work, under).await
    }

    /// Asks for what only whoever has a job may do.
    pub(in crate::store) async fn ask_as(&self, job: Job, work: Work) -> Result<CommitAnswer, StoreError> {
        self.ask_for(&[job.shard()].into_iter().collect(), work).await
    }

    /// Asks for what only whoever watches these shards may do.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] where somebody else does by now.
    pub(in crate::store) async fn ask_for(&self, shards: &Shards, work: Work) -> Result<CommitAnswer, StoreError> {
        let Some(leases) = &self.under else { return self.ask(work).await };
        let under: Vec<Lease> = leases.among(shards).iter().collect();
        if under.len() < shards.iter().count() && !work.does_what_it_may() || under.is_empty() {
            return Err(StoreError::LeaseLost);
        }
        self.ask_under(work, under).await
    }

    async fn ask_under(&self, work: Work, under: Vec<Lease>) -> Result<CommitAnswer, StoreError> {
        let (done, answer) = oneshot::channel();
        let patience = patience(&work);
        self.jobs.reserve().await.map_err(|_| StoreError::Closed)?.send(WriteJob { work, under, done });
        // Half a queue is company enough: the other half has to last until it is written.
        if patience != Patience::Long || self.jobs.capacity() <= QUEUE_MAX / 2 {
            self.hurry.notify_one();
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

/// Reads of an open database what a start needs.
async fn begin(connection: &mut Connection) -> Result<(WriterStart, BeatRows), StoreError> {
    Ok((WriterStart::read(connection).await?, unsealed::known_rows(connection).await?))
}

/// What is asked of the readers may be asked of the open database.
impl Deref for Store {
    type Target = Readers;

    fn deref(&self) -> &Readers {
        &self.reads
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::domain::monitor::MonitorId;
    use crate::domain::outcome::Verdict;
    use crate::store::values::change_set::{BeatRow, BeatSeen};

    fn beat(number: u32) -> ChangeSet {
        let at = chrono::DateTime::from_timestamp(1_800_000_000 + i64::from(number), 0).unwrap();
        let row = BeatRow::unmade(MonitorId::new("docs"), at, BeatSeen::Missed, String::new());
        ChangeSet { beat: Some(row), ..ChangeSet::default() }
    }

    fn commit(store: &Store, record: ChangeSet) -> tokio::task::JoinHandle<Result<(), StoreError>> {
        let store = store.clone();
        tokio::spawn(async move { store.commit(record).await })
    }

    /// A store whose beats wait for an hour, and a beat that the writer has and that waits.
    async fn waiting(folder: &Path) -> (Store, tokio::task::JoinHandle<Result<(), StoreError>>) {
        let store = Store::open(&folder.join("serin.db")).await.unwrap();
        store.gather_for(Duration::from_secs(3_600));
        let first = commit(&store, beat(0));
        tokio::task::yield_now().await;
        while store.jobs.capacity() < QUEUE_MAX {
            tokio::task::yield_now().await;
        }
        assert!(!first.is_finished());
        (store, first)
    }

    #[tokio::test]
    async fn half_a_queue_of_beats_waits_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (store, first) = waiting(folder.path()).await;
        let _others: Vec<_> = (1..=600).map(|number| commit(&store, beat(number))).collect();
        assert_eq!(first.await.unwrap(), Ok(()), "an hour later it would be told, and is told at once");
    }

    #[tokio::test]
    async fn a_beat_that_waits_is_written_when_somebody_else_cannot() {
        let doubtful = |number| {
            let mut record = beat(number);
            record.beat.iter_mut().for_each(|beat| (beat.seen, beat.verdict) = (BeatSeen::Seen, Verdict::Down));
            record
        };
        let folder = tempfile::tempdir().unwrap();
        let (store, first) = waiting(folder.path()).await;
        store.hurry();
        assert_eq!(first.await.unwrap(), Ok(()), "somebody waits for its monitor");
        let second = commit(&store, beat(1));
        store.touch(chrono::Utc::now()).await.unwrap();
        assert_eq!(second.await.unwrap(), Ok(()), "it goes with what does not wait");
        let third = commit(&store, beat(2));
        assert_eq!(store.commit(doubtful(3)).await, Ok(()), "the server is looked at again in seconds");
        assert_eq!(third.await.unwrap(), Ok(()), "and all that came before is on disk by then");
        let last = commit(&store, beat(4));
        tokio::task::yield_now().await;
        store.close().await;
        assert_eq!(last.await.unwrap(), Ok(()), "a close writes what waits");
    }
}
