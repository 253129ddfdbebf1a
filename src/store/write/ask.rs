//! What loops and people ask of the writer, each one commit.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::action::Action;
use crate::domain::api_key::ApiKey;
use crate::domain::audit::AuditLine;
use crate::domain::fleet::Fleet;
use crate::domain::fleet_files::FileWord;
use crate::domain::fleet_files::FleetFiles;
use crate::domain::lease::{Job, Leases};
use crate::domain::paging::silence::Silence;
use crate::domain::shard::Shards;
use crate::live::published::SlimStanding;
use crate::store::values::claims::{Attempted, Claim, Claiming};
use crate::store::values::drill_rows::{DrillEnd, DrillOutcome, DrillRun};
use crate::store::values::error::StoreError;
use crate::store::values::lease_turn::{LeaseTurn, NodeNote};
use crate::store::write::config_files::KeptList;
use crate::store::write::config_history::FleetNote;
use crate::store::write::handle::Store;
use crate::store::write::work::{CommitAnswer, Work};

impl Store {
    /// Puts a file in force: notes it, its monitors and canaries, and which are no longer in it. `files` are kept as they stood,
    /// secrets unresolved. False where other machines have a newer one in force.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn config_loaded(
        &self,
        fleet: &Fleet,
        files: (&FleetFiles, FileWord),
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let note = FleetNote::of(fleet, files, now);
        Ok(matches!(self.ask(Work::Loaded(Box::new(note))).await?, CommitAnswer::Changed(true)))
    }

    /// Keeps the text of the list of a source, which a start takes for it; none: the source is declared no more. Packs it here,
    /// which takes a while where it is long.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn keep_list(&self, source: &str, text: Option<Arc<str>>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let source = source.to_owned();
        let list = tokio::task::spawn_blocking(move || KeptList::of(&source, text.as_deref(), now)).await;
        let list = list.map_err(|error| StoreError::Unreadable(format!("packing a list broke down: {error}")))?;
        self.ask_as(Job::Discovery, Work::KeepList(Box::new(list))).await.map(drop)
    }

    /// Notes who took an open incident, with a line in its timeline; false where it has ended, is taken or is unknown.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn acknowledge(&self, incident: &str, actor: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::Acknowledge { incident: incident.to_owned(), actor: actor.to_owned(), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Writes down what somebody asks for; false where too much waits already.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn ask_action(&self, action: Action) -> Result<bool, StoreError> {
        Ok(matches!(self.ask(Work::AskAction(Box::new(action))).await?, CommitAnswer::Changed(true)))
    }

    /// Notes that what somebody asked for is done, or that there is nothing to do.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn applied(&self, action: &str, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.ask(Work::Applied { action: action.to_owned(), now }).await.map(drop)
    }

    /// The key under which links in messages are signed; made where there is none yet.
    ///
    /// # Errors
    /// Where the database does not answer, or holds something else in its place.
    pub async fn link_key(&self) -> Result<[u8; 32], StoreError> {
        let key = match self.ask(Work::LinkKey).await? {
            CommitAnswer::Key(key) => key.try_into().ok(),
            _ => None,
        };
        key.ok_or_else(|| StoreError::Unreadable("the key of links is not of 32 bytes".to_owned()))
    }

    /// Notes that nobody has an open incident any more, with a line in its timeline; false where it has ended, or nobody had it.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn give_back(&self, incident: &str, actor: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::GiveBack { incident: incident.to_owned(), actor: actor.to_owned(), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Says that this machine lives, and moves shards: gives up what others are to have, takes what is nobody's. A file is ours
    /// whole. `file` stands for what it has in force, and `held` is what it has so far.
    ///
    /// # Errors
    /// Where the database does not answer: nothing has changed hands by us then.
    pub async fn lease_turn(
        &self,
        (name, file, started_at): (&str, &str, DateTime<Utc>),
        held: &Leases,
    ) -> Result<LeaseTurn, StoreError> {
        let note = NodeNote { name: name.to_owned(), file: file.to_owned(), started_at, held: held.clone() };
        match self.ask(Work::LeaseTurn(Box::new(note))).await? {
            CommitAnswer::Leases(turn) => Ok(*turn),
            _ => Err(StoreError::Closed),
        }
    }

    /// Publishes how monitors stand, for other machines.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn publish_standings(&self, standings: Vec<SlimStanding>) -> Result<(), StoreError> {
        self.ask_for(&Shards::ALL, Work::Publish(standings)).await.map(drop)
    }

    /// Remembers a silence; false where too many hold already, or the incident it is to end with is over.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn make_silence(&self, silence: Silence, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::MakeSilence { silence: Box::new(silence), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Ends a silence before its time; false where it is over, or there is none of this id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn end_silence(&self, id: &str, actor: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::EndSilence { id: id.to_owned(), actor: actor.to_owned(), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Remembers a key of the API; false where too many are live already.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn make_key(&self, key: ApiKey, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::MakeKey { key: Box::new(key), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Ends a key before its time; false where it was ended already, or there is none of this id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn end_key(&self, id: &str, actor: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::EndKey { id: id.to_owned(), actor: actor.to_owned(), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Notes what somebody asked for.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn audit(&self, line: AuditLine) -> Result<(), StoreError> {
        self.ask(Work::Audit(Box::new(line))).await.map(drop)
    }

    /// Lends out what is due, the longest due first.
    ///
    /// # Errors
    /// Where the database does not answer; nothing is lent out then.
    pub async fn claim(&self, now: DateTime<Utc>, claiming: Claiming) -> Result<Vec<Claim>, StoreError> {
        match self.ask_for(&Shards::ALL, Work::Claim { now, claiming: Box::new(claiming) }).await? {
            CommitAnswer::Claims(claims) => Ok(claims),
            _ => Ok(Vec::new()),
        }
    }

    /// Records how a try ended, with what follows from it, in one transaction.
    ///
    /// # Errors
    /// Where the database does not answer; the try is then repeated after its lease.
    pub async fn attempted(&self, attempted: Attempted) -> Result<(), StoreError> {
        self.ask(Work::Attempted(Box::new(attempted))).await.map(drop)
    }

    /// Gives back a claim under which nothing was written: it is due again at once, and counts as no try.
    ///
    /// # Errors
    /// Where the database does not answer; it is then due again after its lease.
    pub async fn hand_back(&self, deliveries: Vec<String>, lease: &str) -> Result<(), StoreError> {
        let work = Work::HandBack { deliveries, lease: lease.to_owned() };
        self.ask(work).await.map(drop)
    }

    /// Wakes the fallback of every page that nobody took in time; answers how many were woken.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn wake_fallbacks(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        match self.ask(Work::WakeFallbacks { now }).await? {
            CommitAnswer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// Makes due what was put off, or promised, by a clock that was ahead of this one; answers how much.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn reckon_anew(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        match self.ask(Work::ReckonAnew { now }).await? {
            CommitAnswer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// Promises finished deliveries anew, all at once, same ids and bytes; how many. One that is pending anyway, or that
    /// there is not, is none.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn replay(&self, deliveries: Vec<String>, actor: &str, now: DateTime<Utc>) -> Result<u64, StoreError> {
        match self.ask(Work::Replay { deliveries, actor: actor.to_owned(), now }).await? {
            CommitAnswer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// Gives up a delivery that is still pending, such as a test that nobody took; whether it was.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn give_up(&self, delivery: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let work = Work::GiveUp { delivery: delivery.to_owned(), now };
        Ok(matches!(self.ask(work).await?, CommitAnswer::Changed(true)))
    }

    /// Takes note of the drills that the file has, by their ids: what was due before one is known is not told, and one that
    /// is gone is known no longer.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn know_drills(&self, ids: Vec<String>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.ask_as(Job::Drills, Work::KnowDrills { ids, now }).await.map(drop)
    }

    /// Writes down that a drill is told, with its messages and whom they go to, whole or not at all; false where it was told
    /// for that moment already.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn begin_drill(&self, run: DrillRun) -> Result<bool, StoreError> {
        Ok(matches!(self.ask_as(Job::Drills, Work::BeginDrill(Box::new(run))).await?, CommitAnswer::Changed(true)))
    }

    /// Writes down what came of a drill at a receiver, gives up what nobody took and promises the end to those where it
    /// would stay open. None where its receipt is still awaited, or not any more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn end_drill(&self, end: DrillEnd) -> Result<Option<DrillOutcome>, StoreError> {
        match self.ask_as(Job::Drills, Work::EndDrill(Box::new(end))).await? {
            CommitAnswer::DrillEnded(outcome) => Ok(outcome),
            _ => Ok(None),
        }
    }

    /// Writes the moment, for nothing but the proof that a write reaches the disk.
    ///
    /// # Errors
    /// Where it does not.
    pub async fn touch(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.ask(Work::Touch { now }).await.map(drop)
    }

    /// Forgets some transcripts that are over; 0 once none is left.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn forget_transcripts(&self, now: DateTime<Utc>, kept: TimeDelta) -> Result<u64, StoreError> {
        match self.ask_as(Job::Forgetting, Work::ForgetTranscripts { now, kept }).await? {
            CommitAnswer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }
}
