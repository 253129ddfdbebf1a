//! After a new connection to a server: what it lacks of what was decided here is written again, before anything else is, and
//! what became of a commit that was not answered is found out.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::store::packed::sealing::{self, Begun};
use crate::store::server::decisions;
use crate::store::sql::connection::Connection;
use crate::store::values::beat_rows::RowChanges;
use crate::store::values::error::StoreError;
use crate::store::write::again::Done;
use crate::store::write::journal::{self, Answers, Doubt};
use crate::store::write::writer::Writer;

/// While somebody waits to hear what became of a commit, a new connection is tried this often.
pub(super) const DOUBT_EVERY: Duration = Duration::from_secs(1);

/// How long the end waits for that.
pub(super) const DOUBT_AT_END_MAX: Duration = Duration::from_secs(3);

impl Writer {
    /// The open connection, or a new one on which all stands that was decided here.
    pub(super) async fn connected(&mut self) -> Result<Connection, StoreError> {
        if let Some(mut connection) = self.connection.take() {
            self.late(&mut connection).await?;
            return Ok(connection);
        }
        let mut connection = self.home.connect().await?;
        if connection.is_postgres() {
            let recovered = self.recovered(&mut connection).await;
            self.home.recovered(recovered.as_ref().err());
            recovered?;
            self.signals.reconnects.fetch_add(1, Ordering::Relaxed);
        }
        Ok(connection)
    }

    async fn recovered(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        self.know_anew(connection).await?;
        self.recover(connection).await
    }

    /// What is known of texts and hours, as whichever server took over has it: some of what the one before said may be lost.
    async fn know_anew(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        self.names.forget_all();
        self.begun.join(&Begun::of(&sealing::sealing(connection).await?));
        Ok(())
    }

    async fn recover(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let there = decisions::last(connection, self.home.node()).await?;
        let held = decisions::hold_again(connection, self.home.node(), journal.leases()).await?;
        let missing = journal.missing(there);
        let (mut written, mut refused) = (0_usize, 0_usize);
        for (number, works) in missing {
            let count = works.len();
            let works: Vec<Done> = works.into_iter().filter_map(|done| journal::under(&held, done)).collect();
            let answers = self.do_again(connection, works, Some(number)).await?;
            let done = answers.iter().filter(|answer| answer.is_ok()).count();
            (written, refused) = (written + done, refused + count - done);
        }
        if written + refused > 0 {
            tracing::warn!(written, refused, "the database had lost decisions of this machine: they are there again");
            self.signals.outbox_changed.notify_one();
            self.signals.asked.notify_one();
        }
        match self.journal.as_mut().and_then(|journal| journal.take_doubt()) {
            Some(doubt) => self.settle(connection, doubt, there).await,
            None => Ok(()),
        }
    }

    /// Finds out whether a transaction is there whose commit was not answered; where it is not, it is done now.
    async fn settle(&mut self, connection: &mut Connection, doubt: Doubt, there: i64) -> Result<(), StoreError> {
        let is_there = doubt.number() <= there;
        tracing::info!(is_there, "a commit was not answered, and it is known by now what became of it");
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if is_there {
            journal.was_there(doubt);
        } else {
            // Under the leases of then: whoever asked is to hear where they do not count any more.
            let (works, askers, there) = journal.begin_doubted(doubt);
            match self.written_again(connection, works).await {
                Ok(answers) => journal::tell(askers, answers),
                Err(error) => {
                    if let Some(journal) = &mut self.journal {
                        journal.doubt_again(askers, there);
                    }
                    return Err(error);
                }
            }
        }
        self.signals.outbox_changed.notify_one();
        self.signals.asked.notify_one();
        Ok(())
    }

    /// Tries once more what found nothing to do it to when it was done again.
    async fn late(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let late = self.journal.as_mut().map(|journal| journal.take_late()).unwrap_or_default();
        if !late.is_empty() {
            let same = journal::same(&late);
            if let Err(error) = self.do_again(connection, late, None).await {
                self.journal.iter_mut().for_each(|journal| journal.put_back_late(&same));
                return Err(error);
            }
        }
        Ok(())
    }

    async fn do_again(
        &mut self,
        connection: &mut Connection,
        works: Vec<Done>,
        number: Option<i64>,
    ) -> Result<Answers, StoreError> {
        let same = journal::same(&works);
        if let Some(journal) = &mut self.journal {
            journal.begin_again(number);
        }
        let answers = self.written_again(connection, works).await?;
        if let Some(journal) = &mut self.journal {
            journal.done_again(same, &answers, number.is_some());
        }
        Ok(answers)
    }

    async fn written_again(&mut self, connection: &mut Connection, works: Vec<Done>) -> Result<Answers, StoreError> {
        let outcome = self.write(connection, works).await;
        if outcome.is_err() {
            self.names.forget();
            self.row_changes = RowChanges::default();
        }
        outcome
    }

    /// Whether anybody waits to hear what became of a commit.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.is_in_doubt())
    }

    /// Tries to find out what became of a commit.
    pub(super) async fn look_into_doubt(&mut self) {
        match self.connected().await {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => tracing::debug!(%error, "what became of a commit is not known yet"),
        }
    }
}
