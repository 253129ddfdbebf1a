//! The one that writes. It takes what is queued, writes it in one transaction, and answers everybody after the commit.
//!
//! - A record that contradicts what is stored is refused alone, and the others of the batch are written: where one is
//!   refused, all is taken back, and each is written under a savepoint of its own.
//! - Trouble with the database itself (locked, full, broken) is answered to everybody of the batch,
//!   at once and without a retry: the callers know better than we do what can wait.
//! - Nothing is remembered across batches but what is on disk, so the next batch heals by itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::domain::lease::Lease;
use crate::domain::shard::{Shard, Shards};
use crate::store::packed::sealing::{self, Begun};
use crate::store::server::{decisions, leases};
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::sql::transaction::{self, Durability};
use crate::store::values::beat_rows::{BeatRows, RowChanges};
use crate::store::values::change_set::ChangeSet;
use crate::store::values::error::StoreError;
use crate::store::values::error::is_conflict;
use crate::store::values::known_texts::KnownTexts;
use crate::store::write::again::Done;
use crate::store::write::append::{Names, append};
use crate::store::write::decide::decide;
use crate::store::write::gather::{BATCH_MAX, Signals, gather};
use crate::store::write::home::{ALONE, Home};
use crate::store::write::journal::{self, Answers, Journal};
use crate::store::write::listing;
use crate::store::write::outbox;
use crate::store::write::probe_memory::keep;
use crate::store::write::seal;
use crate::store::write::transcript;
use crate::store::write::work::{self, CommitAnswer, Work, WriteJob};

/// Far more often than what is doomed is dropped (`retain::DOOMED_FOR_US`).
const ASKED_ANEW_EVERY: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub(in crate::store) struct Writer {
    home: Home,
    /// None after trouble that may have broken it; the next batch opens a new one.
    connection: Option<Connection>,
    names: Names,
    /// Where the rows of beats stand, and what the running transaction changes of it.
    rows: Arc<BeatRows>,
    row_changes: RowChanges,
    /// Beats that started before this are late: their shard's hour is being sealed, or is.
    begun: Begun,
    signals: Signals,
    /// When texts of a server were last asked for anew.
    asked_anew: Instant,
    /// What was decided of late; a file loses none of it.
    journal: Option<Box<Journal>>,
}

/// How far an open database is.
#[derive(Debug)]
pub(in crate::store) struct WriterStart {
    names: Names,
    begun: Begun,
}

impl WriterStart {
    /// Reads it, and takes back what the Serin before had lent out: the lock on a file says that it is gone.
    pub(in crate::store) async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let names = Names::new();
        if !connection.is_postgres() {
            outbox::take_back(connection, ALONE).await?;
        }
        Ok(Self { names, begun: Begun::of(&sealing::sealing(connection).await?) })
    }

    /// Which texts are kept, for those who have one to keep.
    pub(in crate::store) fn known_texts(&self) -> Arc<KnownTexts> {
        Arc::clone(&self.names.texts)
    }
}

impl Writer {
    /// A writer over an open connection.
    pub(in crate::store) fn new(
        home: Home,
        connection: Connection,
        (start, rows): (WriterStart, Arc<BeatRows>),
        signals: Signals,
    ) -> Self {
        let WriterStart { names, begun } = start;
        let journal = connection.is_postgres().then(|| Box::new(Journal::new()));
        Self {
            home,
            journal,
            connection: Some(connection),
            names,
            rows,
            row_changes: RowChanges::default(),
            begun,
            signals,
            asked_anew: Instant::now(),
        }
    }

    /// Writes until it is asked to close, or nobody is left who could ask.
    pub(in crate::store) async fn run(mut self, mut queue: mpsc::Receiver<WriteJob>) {
        let mut jobs = Vec::with_capacity(BATCH_MAX);
        loop {
            tokio::select! {
                received = queue.recv_many(&mut jobs, BATCH_MAX) => if received == 0 { break },
                () = tokio::time::sleep(recovery::DOUBT_EVERY), if self.is_in_doubt() => {
                    self.look_into_doubt().await;
                    continue;
                }
            }
            gather(&mut queue, &mut jobs, &self.signals).await;
            jobs.retain(|job| !matches!(job.work, Work::Hurry));
            let closing: Vec<WriteJob> = jobs.extract_if(.., |job| matches!(job.work, Work::Close)).collect();
            self.batch(jobs.drain(..)).await;
            if !closing.is_empty() {
                queue.close();
                let rest: Vec<WriteJob> = std::iter::from_fn(|| queue.try_recv().ok()).collect();
                self.batch(rest.into_iter()).await;
                if self.is_in_doubt() {
                    // A page that was sent is sent once more by the next start where that is not known.
                    drop(tokio::time::timeout(recovery::DOUBT_AT_END_MAX, self.look_into_doubt()).await);
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

    async fn end(self) {
        if let Some(connection) = self.connection {
            self.home.leave(connection).await;
        }
    }

    async fn batch(&mut self, jobs: impl Iterator<Item = WriteJob>) {
        let (works, dones): (Vec<Done>, Vec<_>) = jobs.map(|job| ((job.work, job.under), job.done)).unzip();
        if works.is_empty() {
            return;
        }
        let told = works.iter().any(|(work, _)| work.changes_outbox());
        let asked = works.iter().any(|(work, _)| work.asks_somebody());
        let (dones, answers) = match self.transact(works).await {
            Ok(answers) => (dones, answers),
            Err(error) => {
                self.names.forget();
                self.row_changes = RowChanges::default();
                if error.wants_new_connection() {
                    self.connection = None;
                }
                let dones = match &mut self.journal {
                    Some(journal) => journal.failed(dones),
                    None => dones,
                };
                let answers = dones.iter().map(|_| Err(error.clone())).collect();
                (dones, answers)
            }
        };
        if told {
            self.signals.outbox_changed.notify_one();
        }
        if asked {
            self.signals.asked.notify_one();
        }
        journal::tell(dones, answers);
    }

    async fn transact(&mut self, works: Vec<Done>) -> Result<Answers, StoreError> {
        let mut connection = self.connected().await?;
        let is_server = connection.is_postgres();
        if is_server && self.asked_anew.elapsed() > ASKED_ANEW_EVERY {
            // Another machine may have doomed some of what is remembered here: to be asked for takes the doom away.
            self.asked_anew = Instant::now();
            self.names.forget_all();
        }
        if let Some(journal) = &mut self.journal {
            journal.begin(&works);
        }
        let outcome = self.write(&mut connection, works).await;
        if let Err(error) = &outcome {
            if is_server && error.wants_new_connection() {
                // It may be in the middle of an answer. With it ends whatever it had begun.
                return outcome;
            }
            // Where the database has taken everything back itself, there is nothing left to take back.
            let taken_back = query("ROLLBACK").execute(&mut connection).await;
            if is_server && taken_back.is_err() {
                return outcome;
            }
        }
        self.connection = Some(connection);
        outcome
    }

    async fn write(&mut self, connection: &mut Connection, works: Vec<Done>) -> Result<Answers, StoreError> {
        if let Some(answers) = self.together(connection, &works).await? {
            return Ok(answers);
        }
        let durability = Self::begin(connection, &works).await?;
        let still = Self::fence(&self.home, connection, &works).await?;
        let mut answers = Vec::with_capacity(works.len());
        let mut records: Vec<Box<ChangeSet>> = Vec::with_capacity(works.len());
        for (work, under) in works {
            let may = under.iter().all(|lease| still.contains(lease));
            match work {
                Work::Record(record) if may => records.push(record),
                other => {
                    answers.extend(self.records(connection, &std::mem::take(&mut records)).await?);
                    let shards = match under.is_empty() {
                        true => Shards::ALL,
                        false => under.iter().filter(|lease| still.contains(lease)).map(|lease| lease.shard).collect(),
                    };
                    answers.push(match may || other.does_what_it_may() {
                        true => self.other(connection, other, &shards).await?,
                        false => Err(StoreError::LeaseLost),
                    });
                }
            }
        }
        answers.extend(self.records(connection, &records).await?);
        self.commit(connection, durability, answers).await
    }

    /// Begins their transaction. One of them that has to be on disk when it is answered has all of them be.
    async fn begin(connection: &mut Connection, works: &[(Work, Vec<Lease>)]) -> Result<Durability, sqlx::Error> {
        let is_sure = |(work, _): &(Work, Vec<Lease>)| work::durability(work) == Durability::OnDisk;
        let may_be_lost = connection.is_postgres() && !works.iter().any(is_sure);
        let durability = if may_be_lost { Durability::Soon } else { Durability::OnDisk };
        transaction::begin(connection, durability).await?;
        Ok(durability)
    }

    /// Which leases still count that these works name, and do until the transaction is over.
    async fn fence(home: &Home, connection: &mut Connection, works: &[Done]) -> Result<HashSet<Lease>, sqlx::Error> {
        let added_to = works.iter().filter_map(|(work, _)| match work {
            Work::Record(record) => record.adds_to().map(Shard::number),
            _ => None,
        });
        let added_to: Vec<u8> = added_to.collect();
        if !added_to.is_empty() {
            leases::renumber(connection, &added_to).await?;
        }
        home.fence(connection, works.iter().flat_map(|(_, under)| under).copied().collect()).await
    }

    /// Writes what is records and nothing else, as most batches are, in as few statements as that takes; none where it is
    /// not, or where one of them contradicts what is stored: then nothing was written.
    async fn together(&mut self, connection: &mut Connection, works: &[Done]) -> Result<Option<Answers>, StoreError> {
        if works.iter().any(|(work, _)| !matches!(work, Work::Record(_))) {
            return Ok(None);
        }
        let durability = Self::begin(connection, works).await?;
        let still = Self::fence(&self.home, connection, works).await?;
        let may = |under: &[Lease]| under.iter().all(|lease| still.contains(lease));
        let records = works.iter().filter(|(_, under)| may(under));
        let records: Vec<&ChangeSet> = records
            .filter_map(|(work, _)| if let Work::Record(record) = work { Some(&**record) } else { None })
            .collect();
        match self.put(connection, &records).await {
            Ok(()) => {
                let answer =
                    |(_, under): &Done| if may(under) { Ok(CommitAnswer::Done) } else { Err(StoreError::LeaseLost) };
                let answers = works.iter().map(answer).collect();
                self.commit(connection, durability, answers).await.map(Some)
            }
            Err(error) if is_conflict(&error) => {
                self.names.forget();
                query("ROLLBACK").execute(connection).await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Commits, and gives the answers that are true from then on.
    async fn commit(
        &mut self,
        connection: &mut Connection,
        durability: Durability,
        answers: Answers,
    ) -> Result<Answers, StoreError> {
        if connection.is_postgres() {
            // It answers COMMIT with yes where a statement failed, and takes everything back: that is heard here.
            match self.journal.as_ref().and_then(|journal| journal.running()) {
                Some(number) => decisions::count(connection, self.home.node(), number).await?,
                None => drop(query("SELECT 1").fetch_one(&mut *connection).await?),
            }
        }
        if let Err(error) = query("COMMIT").execute(&mut *connection).await {
            let error = StoreError::from(error);
            if let Some(journal) = self.journal.as_mut().filter(|_| error.wants_new_connection()) {
                journal.unanswered(answers);
            }
            return Err(error);
        }
        if let Some(journal) = &mut self.journal {
            journal.committed(&answers);
        }
        if durability == Durability::OnDisk {
            *self.signals.written_at.lock() = Instant::now();
        }
        self.names.keep();
        let changes = std::mem::take(&mut self.row_changes);
        if !connection.is_postgres() {
            self.rows.apply(&changes);
        }
        Ok(answers)
    }

    /// Writes records together; where one of them is refused, each by itself.
    async fn records(
        &mut self,
        connection: &mut Connection,
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
        connection: &mut Connection,
        records: &[&ChangeSet],
    ) -> Result<Result<(), StoreError>, StoreError> {
        query("SAVEPOINT records").execute(&mut *connection).await?;
        match self.put(connection, records).await {
            Ok(()) => {
                query("RELEASE records").execute(&mut *connection).await?;
                Ok(Ok(()))
            }
            Err(error) if is_conflict(&error) => {
                self.names.forget();
                query("ROLLBACK TO records").execute(&mut *connection).await?;
                query("RELEASE records").execute(&mut *connection).await?;
                Ok(Err(error.into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// All that records bring.
    async fn put(&mut self, connection: &mut Connection, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
        append(connection, &mut self.names, records).await?;
        seal::note_late(connection, &self.begun, records).await?;
        decide(connection, records).await?;
        keep(connection, records).await?;
        listing::note(connection, records).await?;
        transcript::keep(connection, records).await?;
        let beats = records.iter().filter_map(|record| record.beat.as_ref());
        let added = beats.map(|beat| {
            let is_late = self.begun.is_late(&beat.monitor, beat.started_at);
            (beat.monitor.clone(), beat.started_at, is_late)
        });
        self.row_changes.added.extend(added);
        Ok(())
    }
}

mod recovery;
mod wishes;
