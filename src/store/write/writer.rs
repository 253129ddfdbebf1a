//! The one that writes. It takes what is queued, writes it in one transaction, and answers everybody after the commit.
//!
//! - A record that contradicts what is stored is refused alone: its part of the transaction is
//!   taken back (a savepoint), and the others of the batch are written.
//! - Trouble with the database itself (locked, full, broken) is answered to everybody of the batch,
//!   at once and without a retry: the callers know better than we do what can wait.
//! - Nothing is remembered across batches but what is on disk, so the next batch heals by itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::domain::monitor::MonitorId;
use crate::store::file::held::{DatabaseLock, Held};
use crate::store::file::schema;
use crate::store::packed::packs;
use crate::store::values::change_set::ChangeSet;
use crate::store::values::error::StoreError;
use crate::store::values::error::is_conflict;
use crate::store::write::append::{Names, append};
use crate::store::write::config_history::{self, FleetNote};
use crate::store::write::decide::{action, decide};
use crate::store::write::enqueue;
use crate::store::write::listing;
use crate::store::write::maintenance::{self, Maintenance};
use crate::store::write::outbox::{self, Attempted, Claim, Claiming};
use crate::store::write::probe_memory::keep;
use crate::store::write::seal;
use crate::store::write::transcript;

/// Jobs in one transaction: enough that the commit's two syncs no longer count, few enough to stay below 100 ms.
const BATCH_MAX: usize = 512;
/// Beats that are company enough to go at once.
const COMPANY: usize = 64;
/// Pages that SQLite allows where nobody sets a limit (sqlite.org/limits.html).
const PAGES_MAX: u32 = 4_294_967_294;

/// What the writer can be asked to do.
#[derive(Debug)]
pub(in crate::store) enum Work {
    Record(Box<ChangeSet>),
    Claim { now: DateTime<Utc>, claiming: Claiming },
    Attempted(Box<Attempted>),
    WakeFallbacks { now: DateTime<Utc> },
    ReckonAnew { now: DateTime<Utc> },
    Replay { delivery: String, actor: String, now: DateTime<Utc> },
    Acknowledge { incident: String, actor: String, now: DateTime<Utc> },
    ForgetTranscripts { now: DateTime<Utc>, kept: TimeDelta },
    Loaded(Box<FleetNote>),
    Chore(Box<Maintenance>),
    Touch { now: DateTime<Utc> },
    LimitPages(u32),
    Close,
}

/// What it answers once it is on disk.
#[derive(Debug)]
pub(in crate::store) enum CommitAnswer {
    Done,
    Changed(bool),
    Count(u64),
    Claims(Vec<Claim>),
    FirstSeen(HashMap<MonitorId, DateTime<Utc>>),
}

/// Work and whom to answer.
#[derive(Debug)]
pub(in crate::store) struct WriteJob {
    pub(in crate::store) work: Work,
    pub(in crate::store) done: oneshot::Sender<Result<CommitAnswer, StoreError>>,
}

/// What passes between the writer and those who ask it, beside the queue.
#[derive(Debug)]
pub(in crate::store) struct Signals {
    pub(in crate::store) outbox_changed: Arc<Notify>,
    /// Told of every commit.
    pub(in crate::store) written_at: Arc<Mutex<Instant>>,
    /// Told of everything that cannot wait for company.
    pub(in crate::store) hurry: Arc<Notify>,
    /// How long beats that decided nothing wait for company, in microseconds. A commit costs some 200 µs of CPU and a
    /// sync however small it is, and each of its statements two switches of threads; a beat in a batch costs some 30 µs.
    pub(in crate::store) gather_us: Arc<AtomicU64>,
}

#[derive(Debug)]
pub(in crate::store) struct Writer {
    database: PathBuf,
    /// None after trouble that may have broken it; the next batch opens a new one.
    connection: Option<SqliteConnection>,
    names: Names,
    next_event: i64,
    /// Beats that started before this, in microseconds, are late: their hour is being sealed, or is.
    late_before: i64,
    page_limit: u32,
    signals: Signals,
    place: Arc<DatabaseLock>,
    /// For as long as anybody may write.
    _held: Held,
}

/// How far an open database is.
#[derive(Debug)]
pub(in crate::store) struct WriterStart {
    names: Names,
    next_event: i64,
    late_before: i64,
}

impl WriterStart {
    /// Reads it, and takes back what the Serin before had lent out.
    pub(in crate::store) async fn read(connection: &mut SqliteConnection) -> Result<Self, StoreError> {
        let names = Names::load(connection).await?;
        outbox::take_back(connection).await?;
        let last_event: i64 = sqlx::query("SELECT COALESCE(MAX(seq), 0) FROM incident_events")
            .fetch_one(&mut *connection)
            .await?
            .try_get(0)?;
        let late_before = packs::sealing(connection).await?.begun_until.timestamp_micros();
        Ok(Self { names, next_event: last_event + 1, late_before })
    }
}

impl Writer {
    /// A writer over an open connection.
    pub(in crate::store) fn new(
        database: PathBuf,
        connection: SqliteConnection,
        begun: WriterStart,
        (held, place): (Held, Arc<DatabaseLock>),
        signals: Signals,
    ) -> Self {
        let WriterStart { names, next_event, late_before } = begun;
        let (connection, page_limit) = (Some(connection), PAGES_MAX);
        Self { database, connection, names, next_event, late_before, page_limit, signals, place, _held: held }
    }

    /// Writes until it is asked to close, or nobody is left who could ask.
    pub(in crate::store) async fn run(mut self, mut queue: mpsc::Receiver<WriteJob>) {
        let mut jobs = Vec::with_capacity(BATCH_MAX);
        while queue.recv_many(&mut jobs, BATCH_MAX).await > 0 {
            gather(&mut queue, &mut jobs, &self.signals).await;
            let closing: Vec<WriteJob> = jobs.extract_if(.., |job| matches!(job.work, Work::Close)).collect();
            self.batch(jobs.drain(..)).await;
            if !closing.is_empty() {
                queue.close();
                while let Ok(job) = queue.try_recv() {
                    self.batch(std::iter::once(job)).await;
                }
                self.end().await;
                for job in closing {
                    drop(job.done.send(Ok(CommitAnswer::Done)));
                }
                return;
            }
        }
        self.end().await;
    }

    /// Folds the log into the file, so that what is left behind is one file.
    async fn end(self) {
        if let Some(mut connection) = self.connection {
            let folded = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await;
            if let Err(error) = folded.and(connection.close().await) {
                tracing::warn!(%error, "the write-ahead log was left beside the database; the next start folds it in");
            }
        }
    }

    async fn batch(&mut self, jobs: impl Iterator<Item = WriteJob>) {
        let (works, dones): (Vec<Work>, Vec<_>) = jobs.map(|job| (job.work, job.done)).unzip();
        if works.is_empty() {
            return;
        }
        let told = works.iter().any(changes_outbox);
        let answers = match self.transact(works).await {
            Ok(answers) => answers,
            Err(error) => {
                self.names.forget();
                if error.wants_new_connection() {
                    self.connection = None;
                }
                dones.iter().map(|_| Err(error.clone())).collect()
            }
        };
        if told {
            self.signals.outbox_changed.notify_one();
        }
        for (done, answer) in dones.into_iter().zip(answers) {
            // Whoever asked may have gone; what was written stays written.
            drop(done.send(answer));
        }
    }

    async fn transact(&mut self, works: Vec<Work>) -> Result<Vec<Result<CommitAnswer, StoreError>>, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                // By its name, which may be another file's by now, before and after.
                self.place.look()?;
                let mut connection = schema::writer(&self.database).await?;
                self.place.look()?;
                limit_pages(&mut connection, self.page_limit).await?;
                connection
            }
        };
        let outcome = self.write(&mut connection, works).await;
        if outcome.is_err() {
            // Where the database has taken everything back itself, there is nothing left to take back.
            drop(sqlx::query("ROLLBACK").execute(&mut connection).await);
        }
        self.connection = Some(connection);
        outcome
    }

    async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        works: Vec<Work>,
    ) -> Result<Vec<Result<CommitAnswer, StoreError>>, StoreError> {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
        let mut answers = Vec::with_capacity(works.len());
        let mut records: Vec<Box<ChangeSet>> = Vec::with_capacity(works.len());
        for work in works {
            match work {
                Work::Record(record) => records.push(record),
                other => {
                    answers.extend(self.records(connection, &std::mem::take(&mut records)).await?);
                    answers.push(self.other(connection, other).await?);
                }
            }
        }
        answers.extend(self.records(connection, &records).await?);
        sqlx::query("COMMIT").execute(&mut *connection).await?;
        *self.signals.written_at.lock() = Instant::now();
        self.names.keep();
        Ok(answers)
    }

    /// Writes records together; where one of them is refused, each by itself.
    async fn records(
        &mut self,
        connection: &mut SqliteConnection,
        records: &[Box<ChangeSet>],
    ) -> Result<Vec<Result<CommitAnswer, StoreError>>, StoreError> {
        let all: Vec<&ChangeSet> = records.iter().map(Box::as_ref).collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let together = self.guarded(connection, &all).await?;
        if together.is_ok() || all.len() == 1 {
            return Ok(all.iter().map(|_| together.clone().map(|()| CommitAnswer::Done)).collect());
        }
        let mut answers = Vec::with_capacity(all.len());
        for record in all {
            answers.push(self.guarded(connection, &[record]).await?.map(|()| CommitAnswer::Done));
        }
        Ok(answers)
    }

    /// Writes records under a savepoint. The inner failure is the records' own, the outer one the database's.
    async fn guarded(
        &mut self,
        connection: &mut SqliteConnection,
        records: &[&ChangeSet],
    ) -> Result<Result<(), StoreError>, StoreError> {
        sqlx::query("SAVEPOINT records").execute(&mut *connection).await?;
        let written = match append(connection, &mut self.names, records).await {
            Ok(()) => seal::note_late(connection, self.late_before, records).await,
            Err(error) => Err(error),
        };
        let written = match written {
            Ok(()) => decide(connection, records, &mut self.next_event).await,
            Err(error) => Err(error),
        };
        let written = match written {
            Ok(()) => keep(connection, records).await,
            Err(error) => Err(error),
        };
        let written = match written {
            Ok(()) => listing::note(connection, records).await,
            Err(error) => Err(error),
        };
        let written = match written {
            Ok(()) => transcript::keep(connection, records).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => {
                sqlx::query("RELEASE records").execute(&mut *connection).await?;
                Ok(Ok(()))
            }
            Err(error) if is_conflict(&error) => {
                self.names.forget();
                sqlx::query("ROLLBACK TO records").execute(&mut *connection).await?;
                sqlx::query("RELEASE records").execute(&mut *connection).await?;
                Ok(Err(error.into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn other(
        &mut self,
        connection: &mut SqliteConnection,
        work: Work,
    ) -> Result<Result<CommitAnswer, StoreError>, StoreError> {
        let answer = match work {
            Work::Claim { now, claiming } => CommitAnswer::Claims(outbox::claim(connection, now, &claiming).await?),
            Work::Attempted(attempted) => {
                outbox::attempted(connection, &attempted).await?;
                CommitAnswer::Done
            }
            Work::WakeFallbacks { now } => CommitAnswer::Count(enqueue::wake_fallbacks(connection, now).await?),
            Work::ReckonAnew { now } => CommitAnswer::Count(outbox::reckon_anew(connection, now).await?),
            Work::Replay { delivery, actor, now } => {
                let changed = outbox::replay(connection, &delivery, now).await?;
                if changed {
                    action(connection, &actor, "replay", &delivery, now).await?;
                }
                CommitAnswer::Changed(changed)
            }
            Work::Acknowledge { incident, actor, now } => {
                let changed =
                    config_history::acknowledge(connection, &incident, &actor, now, &mut self.next_event).await?;
                CommitAnswer::Changed(changed)
            }
            Work::ForgetTranscripts { now, kept } => {
                CommitAnswer::Count(transcript::forget(connection, now, kept).await?)
            }
            Work::Chore(maintenance) => {
                if let Maintenance::Begin { until } = &*maintenance {
                    // Too early is harmless where this is taken back: a late beat joins its pack all the same.
                    self.late_before = self.late_before.max(until.timestamp_micros());
                }
                CommitAnswer::Changed(maintenance::run(connection, &mut self.names, *maintenance).await?)
            }
            Work::Loaded(fleet) => {
                CommitAnswer::FirstSeen(config_history::loaded(connection, &mut self.names, &fleet).await?)
            }
            Work::Touch { now } => {
                config_history::touch(connection, now).await?;
                CommitAnswer::Done
            }
            Work::LimitPages(pages) => {
                self.page_limit = if pages == 0 { PAGES_MAX } else { pages };
                limit_pages(connection, self.page_limit).await?;
                CommitAnswer::Done
            }
            Work::Record(_) | Work::Close => CommitAnswer::Done,
        };
        Ok(Ok(answer))
    }
}

/// Lets beats that decided nothing wait for others; ends as soon as anything comes that cannot wait.
/// It is not woken by each beat that joins: at some 100 a second the waking would cost more than the writing.
async fn gather(queue: &mut mpsc::Receiver<WriteJob>, jobs: &mut Vec<WriteJob>, signals: &Signals) {
    if jobs.len() >= COMPANY || !jobs.iter().all(|job| can_wait(&job.work)) {
        return;
    }
    tokio::select! {
        () = tokio::time::sleep(Duration::from_micros(signals.gather_us.load(Ordering::Relaxed))) => {}
        () = signals.hurry.notified() => {}
    }
    while jobs.len() < BATCH_MAX
        && let Ok(job) = queue.try_recv()
    {
        jobs.push(job);
    }
}

/// Whether it is a beat and nothing else: nobody is told anything by it.
pub(in crate::store) fn can_wait(work: &Work) -> bool {
    matches!(work, Work::Record(record) if record.beat.is_some() && record.incidents.is_empty()
        && record.outbox.is_empty() && record.timeline.is_empty() && record.tools.is_none())
}

async fn limit_pages(connection: &mut SqliteConnection, pages: u32) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))).execute(connection).await?;
    Ok(())
}

fn changes_outbox(work: &Work) -> bool {
    match work {
        Work::Record(record) => !record.outbox.is_empty(),
        Work::Replay { .. } | Work::WakeFallbacks { .. } => true,
        _ => false,
    }
}
