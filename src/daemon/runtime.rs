//! One monitor's place in the daemon: what is declared, how it stands, and what its beats showed.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::daemon::beat_history::BeatHistory;
use crate::daemon::connectivity::ConnectivityTask;
use crate::daemon::day_bytes::DayBytes;
use crate::daemon::kept_probe::KeptProbe;
use crate::daemon::spending::Spending;
use crate::daemon::transcript_policy::TranscriptPolicy;
use crate::domain::context::Spread;
use crate::domain::lease::{Lease, Leases};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{CanaryRound, MonitorState};
use crate::domain::observation::{ConnectivityStep, Observation, Stage, Step, ToolsSeen};
use crate::domain::outcome::Outcome;
use crate::domain::protocol::Era;
use crate::domain::quality::harvest::Harvest;
use crate::domain::rate_limit::Quiet;
use crate::domain::schedule::{self, BeatAsks};
use crate::domain::server_profile::{RecentAction, ServerProfile};
use crate::domain::shard::Shard;
use crate::domain::signal::Signal;
use crate::domain::sources::source_pages;
use crate::live::monitor_view::RollUp;
use crate::probe::assignment::Harvesting;
use crate::probe::decode::sources;
use crate::store::write::probe_memory::address_hash;
use crate::tool_lists::known::KnownLists;

/// One monitor in the daemon. Owned by whoever works on it: the scheduler, or the one beat in flight.
#[derive(Debug)]
pub(crate) struct MonitorRuntime {
    pub monitor: Arc<Monitor>,
    /// Under which it is watched, since before anything of it was read.
    pub lease: Lease,
    /// How it stands; replaced only after the beat that changed it was remembered. Shared with what pages are drawn of.
    pub state: Arc<MonitorState>,
    pub profile: ServerProfile,
    pub round: CanaryRound,
    pub history: BeatHistory,
    pub spending: Spending,
    pub listings: SeenListings,
    pub doubt: FailureInDoubt,
    /// What pages show of the last beat.
    pub last: Option<Arc<KeptProbe>>,
    /// When the source-listing tool was last asked.
    pub sources_asked_at: Option<DateTime<Utc>>,
    /// Tokens of answers since Serin started.
    pub answer_tokens: Spread,
    /// Which transcripts were kept lately.
    pub transcript_policy: TranscriptPolicy,
    /// Texts of answers that were kept today.
    pub texts_today: DayBytes,
    /// Sentences of its answers, where such are asked back.
    harvest: Option<Arc<Mutex<Harvest>>>,
    /// Our own trouble with it.
    pub trouble: Option<Box<str>>,
    /// Whether the file changed it while nobody ran, so that what is open is weighed anew.
    pub edited_unseen: bool,
    /// The roll-up shown last, and since when.
    pub(super) rolled_up: (RollUp, DateTime<Utc>),
}

/// The lists of tools that beats saw.
#[derive(Debug, Default)]
pub(crate) struct SeenListings {
    /// The tools seen last, which an outage since does not take away.
    pub last: Option<LastListing>,
    /// The list last written down: its hash, whether its tokens were known, and when.
    pub noted: Option<(String, bool, DateTime<Utc>)>,
}

/// What is found out about a failure while nobody was told of it yet.
#[derive(Debug, Default)]
pub(crate) struct FailureInDoubt {
    /// What the connectivity diagnosis showed.
    pub connectivity: Vec<ConnectivityStep>,
    /// The connectivity diagnosis under way.
    pub diagnosing: Option<ConnectivityTask>,
    /// What Serin itself did just before.
    pub recent_action: Option<RecentAction>,
}

/// A list of tools as a beat saw it.
#[derive(Debug, Clone)]
pub(crate) struct LastListing {
    /// The list, held against what was accepted then; shared with what pages are drawn of.
    pub tools: Arc<ToolsSeen>,
    /// In which era it was asked for.
    pub era: Option<Era>,
    pub at: DateTime<Utc>,
}

impl SeenListings {
    /// Takes note of the tools a beat saw, where it saw any.
    fn see(&mut self, seen: &Observation, now: DateTime<Utc>) {
        if let Some(tools) = &seen.tools {
            let known = self.last.take().map(|last| last.tools).filter(|known| **known == *tools);
            let tools = known.unwrap_or_else(|| Arc::new(tools.clone()));
            self.last = Some(LastListing { tools, era: seen.era, at: now });
        }
    }

    /// The tools seen last are written down.
    pub(crate) fn note(&mut self, now: DateTime<Utc>) {
        self.noted = self.last.as_ref().map(|last| (last.tools.hash.clone(), last.tools.tokens.is_some(), now));
    }
}

impl MonitorRuntime {
    /// A place for a monitor nobody has looked at yet, as on a machine that is alone.
    pub(crate) fn new(monitor: Arc<Monitor>, now: DateTime<Utc>) -> Self {
        let mut state = MonitorState::new(now);
        state.take_lock(&monitor, None, now);
        Self {
            harvest: monitor.search.harvest.then(Arc::default),
            round: CanaryRound::begin(&monitor),
            lease: Lease { shard: Shard::of(monitor.id.as_str()), epoch: 0 },
            monitor,
            state: Arc::new(state),
            profile: ServerProfile::default(),
            history: BeatHistory::new(now),
            spending: Spending::new(now),
            listings: SeenListings::default(),
            doubt: FailureInDoubt::default(),
            last: None,
            sources_asked_at: None,
            answer_tokens: Spread::default(),
            transcript_policy: TranscriptPolicy::default(),
            texts_today: DayBytes::default(),
            trouble: None,
            edited_unseen: false,
            rolled_up: (RollUp::Unknown, now),
        }
    }

    /// The same on a machine that has these leases.
    pub(crate) fn under(leases: &Leases, monitor: Arc<Monitor>, now: DateTime<Utc>) -> Self {
        let alone = Self::new(monitor, now);
        Self { lease: leases.of(alone.lease.shard).unwrap_or(alone.lease), ..alone }
    }

    /// How it stands, to be put right; what pages are drawn of stays as it was.
    pub(crate) fn state_mut(&mut self) -> &mut MonitorState {
        Arc::make_mut(&mut self.state)
    }

    /// Whether a declaration says anything else, or the lock beside it holds other tools.
    pub(crate) fn is_changed_by(&self, monitor: &Monitor) -> bool {
        monitor.definition_hash != self.monitor.definition_hash || self.state.is_behind_lock(monitor)
    }

    /// Takes another declaration over; what was learnt of another address is forgotten.
    pub(crate) fn declare(&mut self, monitor: Arc<Monitor>) {
        if address_hash(&monitor) != address_hash(&self.monitor) {
            self.profile = ServerProfile::default();
            self.listings.last = None;
            self.spending.quiet = Quiet::default();
            self.harvest = None;
        }
        if monitor.search != self.monitor.search || self.harvest.is_none() {
            self.harvest = monitor.search.harvest.then(Arc::default);
        }
        self.round.order = schedule::round(&monitor);
        self.monitor = monitor;
    }

    /// Judged and written down: what is left of a beat is what pages show.
    pub(crate) fn keep(&mut self, seen: Observation, outcome: Outcome) {
        self.last = Some(Arc::new(KeptProbe::new(seen, outcome, self.last.as_deref())));
    }

    /// Takes note of what a beat saw and asked, whether or not it comes to be remembered.
    pub(crate) fn see(&mut self, seen: &Observation, now: DateTime<Utc>) {
        self.round.see(seen);
        // One that answered nothing readable was asked all the same: once an hour is what the file promises.
        let asked_sources =
            |step: &Step| step.stage == Stage::Search && sources::TOOL_NAMES.contains(&step.label.as_str());
        if seen.steps.iter().any(asked_sources) {
            self.sources_asked_at = Some(now);
        }
        self.listings.see(seen, now);
        self.weigh(seen);
    }

    /// Counts in what the answers of a beat cost a model's context.
    fn weigh(&mut self, seen: &Observation) {
        let answers = seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok()?.tokens);
        answers.for_each(|tokens| self.answer_tokens.push(tokens));
    }

    /// The lists that the next probe holds what it sees against.
    pub(crate) fn lists(&self) -> KnownLists {
        let accepted = self.state.tools.baseline.as_ref().map(|baseline| Arc::clone(&baseline.listing));
        KnownLists { accepted, latest: self.listings.last.as_ref().map(|listed| Arc::clone(&listed.tools.listing)) }
    }

    /// What the next beat asks.
    pub(crate) fn asks(&self, now: DateTime<Utc>) -> BeatAsks {
        let knows_way = self.listings.last.as_ref().is_some_and(|last| last.tools.fresh.is_some());
        self.state.asks(&self.monitor, &self.round, knows_way, &|| self.spending.spare_calls(&self.monitor, now))
    }

    /// What sentences of its answers are kept in, and whether answers to them are waited for.
    pub(crate) fn harvesting(&self, now: DateTime<Utc>) -> Option<Harvesting> {
        // What the day cannot spare is not asked, and nothing is gathered for it.
        let pool = self.harvest.as_ref().filter(|_| self.spending.spare_calls(&self.monitor, now) > 0)?;
        let pool = Arc::clone(pool);
        Some(Harvesting { pool, is_wanted: self.state.track_record().waits_for_harvested() })
    }

    /// How many pages of the source-listing tool the next beat may ask for; 0: it is not due.
    pub(crate) fn source_pages(&self, now: DateTime<Utc>) -> usize {
        let state = self.state.signal(Signal::Freshness);
        let spare = || self.spending.spare_calls(&self.monitor, now);
        source_pages(&self.monitor, state, self.state.sources_known_at(self.sources_asked_at), spare, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::observation::{BeatKind, Footprint};
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn sentences_are_asked_back_as_long_as_the_day_can_spare_the_call() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let mut monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.caps.requests_per_day = Some(20_000);
        let without = MonitorRuntime::new(Arc::new(monitor.clone()), now);
        assert!(without.harvesting(now).is_none(), "nobody asked for it");
        monitor.search.harvest = true;
        let mut runtime = MonitorRuntime::new(Arc::new(monitor), now);
        assert!(runtime.harvesting(now).is_some_and(|harvesting| harvesting.is_wanted), "nothing is known yet");
        let mut seen = Observation::blank(runtime.monitor.id.clone(), BeatKind::Scheduled, now, now);
        seen.footprint = Footprint { requests: 20_000, ..Footprint::default() };
        runtime.spending.spend(&seen, runtime.monitor.every);
        assert!(runtime.harvesting(now).is_none(), "the day's calls are spent");
    }
}
