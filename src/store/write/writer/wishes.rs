//! What else than records the writer is asked for, a wish at a time.

use crate::domain::shard::Shards;
use crate::store::packed::sealing::{self, Begun};
use crate::store::sql::connection::Connection;
use crate::store::values::error::StoreError;
use crate::store::write::actions;
use crate::store::write::config_history;
use crate::store::write::drill;
use crate::store::write::enqueue;
use crate::store::write::key;
use crate::store::write::maintenance::{self, Maintenance};
use crate::store::write::outbox;
use crate::store::write::silence;
use crate::store::write::standing;
use crate::store::write::transcript;
use crate::store::write::work::{CommitAnswer, Work};
use crate::store::write::writer::Writer;

impl Writer {
    /// Does it within the running transaction; `shards`: for whose receivers and monitors it may.
    pub(super) async fn other(
        &mut self,
        connection: &mut Connection,
        work: Work,
        shards: &Shards,
    ) -> Result<Result<CommitAnswer, StoreError>, StoreError> {
        let answer = match work {
            Work::Claim { now, claiming } => {
                CommitAnswer::Claims(outbox::claim(connection, self.home.node(), now, (&claiming, shards)).await?)
            }
            Work::Attempted(attempted) => CommitAnswer::Changed(outbox::attempted(connection, &attempted).await?),
            Work::HandBack { deliveries, lease } => {
                outbox::hand_back(connection, &deliveries, &lease).await?;
                CommitAnswer::Done
            }
            Work::WakeFallbacks { now } => CommitAnswer::Count(enqueue::wake_fallbacks(connection, now).await?),
            Work::ReckonAnew { now } => CommitAnswer::Count(outbox::reckon_anew(connection, now).await?),
            Work::Replay { deliveries, actor, now } => {
                let mut replayed = 0;
                for delivery in &deliveries {
                    if outbox::replay(connection, delivery, now).await? {
                        actions::done(connection, (&actor, "replay", delivery), now).await?;
                        replayed += 1;
                    }
                }
                CommitAnswer::Count(replayed)
            }
            Work::GiveUp { delivery, now } => CommitAnswer::Changed(outbox::give_up(connection, &delivery, now).await?),
            Work::Acknowledge { incident, actor, now } => {
                let changed = config_history::acknowledge(connection, &incident, &actor, now).await?;
                CommitAnswer::Changed(changed)
            }
            Work::GiveBack { incident, actor, now } => {
                let given = config_history::give_back(connection, &incident, &actor, now).await?;
                CommitAnswer::Changed(given)
            }
            Work::AskAction(action) => CommitAnswer::Changed(actions::ask(connection, &action).await?),
            Work::Applied { action, now } => {
                actions::applied(connection, &action, now).await?;
                CommitAnswer::Done
            }
            Work::LinkKey => CommitAnswer::Key(config_history::link_key(connection).await?),
            Work::MakeSilence { silence, now } => {
                CommitAnswer::Changed(silence::make(connection, &silence, now).await?)
            }
            Work::EndSilence { id, actor, now } => {
                CommitAnswer::Changed(silence::end(connection, &id, &actor, now).await?)
            }
            Work::MakeKey { key, now } => CommitAnswer::Changed(key::make(connection, &key, now).await?),
            Work::EndKey { id, actor, now } => CommitAnswer::Changed(key::end(connection, &id, &actor, now).await?),
            Work::Audit(line) => {
                key::audit(connection, &line).await?;
                CommitAnswer::Done
            }
            Work::KnowDrills { ids, now } => {
                drill::know(connection, &ids, now).await?;
                CommitAnswer::Done
            }
            Work::BeginDrill(run) => CommitAnswer::Changed(drill::begin(connection, &run).await?),
            Work::EndDrill(end) => CommitAnswer::DrillEnded(drill::end(connection, &end).await?),
            Work::ForgetTranscripts { now, kept } => {
                CommitAnswer::Count(transcript::forget(connection, now, kept).await?)
            }
            Work::Chore(maintenance) => {
                if let Maintenance::Begin { shards, until } = &*maintenance {
                    // Too early is harmless where this is taken back: a late beat joins its pack all the same.
                    self.begun.begin(shards, *until);
                }
                let rows = (&*self.rows, &mut self.row_changes);
                CommitAnswer::Changed(maintenance::run(connection, &mut self.names, rows, *maintenance).await?)
            }
            Work::Publish(standings) => {
                standing::publish(connection, self.home.node(), (&standings, shards)).await?;
                CommitAnswer::Done
            }
            Work::LeaseTurn(note) => {
                let turn = self.home.lease_turn(connection, &note).await?;
                if turn.leases.iter().any(|lease| !note.held.have(lease)) {
                    // Whoever watched them may have begun to seal an hour.
                    self.begun.join(&Begun::of(&sealing::sealing(connection).await?));
                }
                CommitAnswer::Leases(Box::new(turn))
            }
            Work::Loaded(fleet) => {
                CommitAnswer::Changed(config_history::loaded(connection, &mut self.names, &fleet).await?)
            }
            Work::KeepList(list) => list.write(connection).await.map(|()| CommitAnswer::Done)?,
            Work::Touch { now } => {
                config_history::touch(connection, now).await?;
                CommitAnswer::Done
            }
            Work::LimitPages(pages) => {
                self.home.limit(connection, pages).await?;
                CommitAnswer::Done
            }
            Work::Record(_) | Work::Hurry | Work::Close => CommitAnswer::Done,
        };
        Ok(Ok(answer))
    }
}
