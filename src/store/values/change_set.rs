//! What one turn of a loop wants remembered, as one transaction.

use chrono::{DateTime, Utc};

use crate::domain::answer::{CacheWord, KeptText, Turn, Variant};
use crate::domain::incident::Incident;
use crate::domain::lease::Lease;
use crate::domain::monitor::MonitorId;
use crate::domain::observation::{BeatKind, Stage, ToolsSeen};
use crate::domain::outcome::{Judged, Verdict};
use crate::domain::paging::gathering::Gathering;
use crate::domain::paging::hold::TellingHold;
use crate::domain::paging::notification::Notification;
use crate::domain::protocol::{Era, Transport};
use crate::domain::rate_limit::Spent;
use crate::domain::reason::FailureReason;
use crate::domain::server_profile::ServerProfile;
use crate::domain::shard::Shard;
use crate::domain::signal::{Signal, SignalState};
use crate::domain::tools::{Drift, Listing};
use std::sync::Arc;
use std::time::Duration;

/// Version of the states that the built-in detectors keep; a state of another version is not read.
pub(in crate::store) const DETECTOR_VERSION: i64 = 1;

/// The only location so far; it is a key of beats, histograms and signal state, not of incidents.
pub const LOCAL: &str = "local";

/// Everything one beat changes. Committed whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct ChangeSet {
    /// Under which lease it was decided; none: whoever asks may.
    pub lease: Option<Lease>,
    /// Another machine has had the lease since, and what that one wrote stays: this adds what the server lacks, and the other
    /// reads it once more.
    pub handed_over: bool,
    /// The beat itself; none for a change without one (reload, acknowledge).
    pub beat: Option<BeatRow>,
    /// One row for each canary of the beat.
    pub asks: Vec<AskRow>,
    /// Texts that `asks` name as sources and that are not kept yet, as far as is known; a beat that waits for its commit
    /// holds them.
    pub texts: Vec<KeptText>,
    /// Signal states that changed; a quiet one with nothing to remember is deleted.
    pub signals: Vec<SignalRow>,
    /// Incidents that opened, changed or ended, whole.
    pub incidents: Vec<Incident>,
    /// Incidents that got worse than what somebody took, so that nobody has them any more: id, and when that one took it.
    pub lapsed: Vec<(String, DateTime<Utc>)>,
    /// What holds incidents, as far as that changed. What held an incident that ends here ends with it.
    pub holds: Vec<TellingHold>,
    /// Lines for incidents' timelines.
    pub timeline: Vec<TimelineRow>,
    /// Notifications and their deliveries.
    pub outbox: Vec<Outgoing>,
    /// A new accepted baseline of the tools.
    pub tools: Option<ToolsRow>,
    /// A list of tools that was seen, where that is worth writing down.
    pub listing: Option<ListingRow>,
    /// Id of what a person asked for and is done by this, and when; none for a beat.
    pub applied: Option<(String, DateTime<Utc>)>,
    /// Marks by which a restart is recognised, where they changed.
    pub marks: Option<MarksRow>,
    /// What was learnt of the server, where that changed.
    pub profile: Option<ServerProfileRow>,
    /// Days of footprints to be written, whole.
    pub spent: Vec<(MonitorId, Spent)>,
    /// What was said over the wire, where it is kept.
    pub transcripts: Vec<TranscriptRow>,
}

impl ChangeSet {
    /// Nothing yet, decided by whoever has this lease.
    pub fn under(lease: Lease) -> Self {
        Self { lease: Some(lease), ..Self::default() }
    }

    /// Nothing, but that what a person asked for is done by it: there was nothing to do.
    pub fn applied(lease: Lease, action: &str, now: DateTime<Utc>) -> Self {
        Self { applied: Some((action.to_owned(), now)), ..Self::under(lease) }
    }

    /// The same, where another machine has the lease by now, which writes itself what it learns of a server.
    pub(in crate::store) fn handed_over(mut self) -> Self {
        (self.handed_over, self.marks, self.profile) = (true, None, None);
        self.spent.clear();
        self
    }

    /// The shard that is handed over, where this adds to it.
    pub(in crate::store) fn adds_to(&self) -> Option<Shard> {
        self.lease.filter(|_| self.handed_over).map(|lease| lease.shard)
    }
}

/// Whether a due beat showed us anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BeatSeen {
    /// It ran, and saw the server or its absence.
    Seen,
    /// It was due and did not take place.
    Missed,
    /// Our own trouble kept it from seeing anything.
    Internal,
    /// Our own network was gone.
    Uplink,
    /// It was due and was not made: the server asked for quiet, or a cap of the file is used up.
    Held,
}

impl BeatSeen {
    /// The word that stands in the database for it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Missed => "missed",
            Self::Internal => "internal",
            Self::Uplink => "uplink",
            Self::Held => "held",
        }
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Seen, Self::Missed, Self::Internal, Self::Uplink, Self::Held]
            .into_iter()
            .find(|seen| seen.slug() == slug)
    }
}

/// A row of `beats`: when, why, how long, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// When it was due, UTC.
    pub scheduled_at: DateTime<Utc>,
    /// When the probe started, UTC.
    pub started_at: DateTime<Utc>,
    /// By the schedule, in doubt, or because somebody asked.
    pub kind: BeatKind,
    /// The protocol's era, where known.
    pub era: Option<Era>,
    /// What carried the protocol, where known.
    pub transport: Option<Transport>,
    /// Whether it showed us anything.
    pub seen: BeatSeen,
    /// Good, degraded, down, or unknown.
    pub verdict: Verdict,
    /// The first finding's reason; none where nothing was found.
    pub reason: Option<FailureReason>,
    /// The stage of the probe in which it showed.
    pub stage: Option<Stage>,
    /// Duration of the whole probe.
    pub elapsed: Duration,
    /// Duration of each stage that was answered.
    pub stages: StageTimes,
    /// Whether tools/list had a connection of its own.
    pub fresh_connection: bool,
    /// Hash of the file in force at its start.
    pub config_hash: String,
    /// Hash of what was pinned of the monitor then; none where nothing was.
    pub lock_hash: Option<Box<str>>,
    /// What it says of each signal, in [`Signal::ALL`]'s order.
    pub judged: [Judged; 8],
    /// The list of sources, where it was looked at.
    pub sources: Option<SourcesLook>,
    /// Whether it fell into a maintenance window that keeps availability quiet.
    pub in_maintenance: bool,
}

impl BeatRow {
    /// A beat that was due and showed nothing.
    pub fn unmade(monitor: MonitorId, scheduled_at: DateTime<Utc>, seen: BeatSeen, config_hash: String) -> Self {
        Self {
            monitor,
            scheduled_at,
            started_at: scheduled_at,
            kind: BeatKind::Scheduled,
            era: None,
            transport: None,
            seen,
            verdict: Verdict::Unknown,
            reason: None,
            stage: None,
            elapsed: Duration::ZERO,
            stages: StageTimes::default(),
            fresh_connection: false,
            config_hash,
            lock_hash: None,
            judged: [Judged::UNKNOWN; 8],
            sources: None,
            in_maintenance: false,
        }
    }
}

/// What a look at the list of sources showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcesLook {
    /// How many were read.
    pub count: u32,
    /// When the newest of them was indexed, UTC; to the minute from a pack; none where no date was seen.
    pub newest: Option<DateTime<Utc>>,
    /// Whether that is the newest of all there are.
    pub knows_newest: bool,
}

/// Durations by stage; none where the stage was not reached or did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes {
    /// Name, TCP and TLS of the first connection.
    pub connect: Option<Duration>,
    /// `initialize` or `server/discover`.
    pub handshake: Option<Duration>,
    /// `tools/list`.
    pub tools: Option<Duration>,
    /// The slowest of the health addresses.
    pub health: Option<Duration>,
}

/// One canary of a beat.
#[derive(Debug, Clone, PartialEq)]
pub struct AskRow {
    /// Id of the canary.
    pub canary: String,
    /// The plain question, or one of its variants.
    pub variant: Variant,
    /// Why it was asked, or that it was not.
    pub turn: Turn,
    /// From the call's start to the last byte.
    pub elapsed: Duration,
    /// Whether the call opened its own connection.
    pub fresh_connection: bool,
    /// [`crate::domain::outcome::AskVerdict::slug`].
    pub verdict: &'static str,
    /// Why, where it is not right.
    pub reason: Option<FailureReason>,
    /// Rank of the expected source, from 1.
    pub rank: Option<u32>,
    /// Sources in the order given.
    pub sources: Vec<String>,
    /// Score of each place; none where the server gives none.
    pub scores: Vec<Option<f64>>,
    /// Characters of their texts.
    pub lengths: Vec<u32>,
    /// Length of the JSON-RPC result in bytes.
    pub bytes: u64,
    /// Tokens of the answer, where they were counted.
    pub tokens: Option<u32>,
    /// What the answer says of a cache.
    pub cache: CacheWord,
    /// What the answer admits of itself.
    pub self_reported: Vec<String>,
}

/// A row of `signal_state`: a signal, or one canary of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// The signal that is judged.
    pub signal: Signal,
    /// Which part; empty where it has no parts. A canary's own streak is kept under `quality`, `canary:ID`,
    /// its way to a leak under `access`, `leak:ID`, all canaries' track record under `quality`, `track`.
    pub subject: String,
    /// Its phase, and for how long and how often it was seen.
    pub state: SignalState,
    /// Hash of the rule it was judged by.
    pub rule_hash: String,
    /// What a detector with a memory of its own keeps, in its own layout.
    pub detector: Option<Vec<u8>>,
}

/// One line of an incident's timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// Id of the incident, a UUIDv7.
    pub incident: String,
    /// When it happened, UTC.
    pub at: DateTime<Utc>,
    /// `opened`, `updated`, `acknowledged`, `resolved`, `held`, `let_go`, `told` and the like.
    pub kind: String,
    /// Who did it: `serin` or a person.
    pub actor: String,
    /// What the timeline shows, one line without markup.
    pub text: String,
}

/// A notification, frozen, and whom it goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// What to say; its parts that queries need.
    pub notification: Notification,
    /// The exact bytes that every receiver gets on every attempt.
    pub payload: String,
    /// Receivers, without repeats.
    pub to: Vec<Addressee>,
}

/// One receiver of a notification, as the route in force named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressee {
    /// Name of the receiver.
    pub receiver: String,
    /// Its definition then; empty where it is no longer in the file.
    pub receiver_hash: String,
    /// Name of the receiver that hears of it where this one cannot be reached.
    pub fallback: Option<String>,
    /// With what it waits to be told; none: it goes at once, alone.
    pub gathering: Option<Gathering>,
}

/// A list of tools that becomes the accepted one.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// In which era they were listed.
    pub era: Option<Era>,
    /// The tools as they were seen when they were accepted.
    pub tools: ToolsSeen,
    /// From when on it is the baseline.
    pub from: DateTime<Utc>,
    /// `first-stable`, or the name of the person who accepted it.
    pub accepted_by: String,
}

/// A transcript that is kept; several rows may share one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// Of which beat: when that started.
    pub started_at: DateTime<Utc>,
    /// Of which incident; empty while there is none.
    pub incident: String,
    /// The leading reason of the beat it belongs to.
    pub reason: FailureReason,
    /// Bounded, and without secrets.
    pub text: Arc<str>,
    /// What the monitor kept without an incident since then led to this one.
    pub leads_since: Option<DateTime<Utc>>,
}

/// What probes learnt of the server behind one address; of another it is worth nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProfileRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// What stands for the address it was learnt of.
    pub address: String,
    /// What the probe found out.
    pub profile: ServerProfile,
}

/// A list of tools, as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct ListingRow {
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// In which era it was listed.
    pub era: Option<Era>,
    /// The tools as they were listed.
    pub listing: Arc<Listing>,
    /// When the beat saw it, UTC.
    pub at: DateTime<Utc>,
    /// How it differs from what is accepted.
    pub drift: Drift,
    /// The hash of the one before it, and when that was last seen.
    pub before: Option<(String, DateTime<Utc>)>,
}

/// Marks by which a restart is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarksRow {
    /// Id of the monitor it belongs to.
    pub monitor: String,
    /// The instance id it reported.
    pub instance: Option<String>,
    /// The version it reported.
    pub version: Option<String>,
    /// When its process started, as it said.
    pub process_started_at: Option<DateTime<Utc>>,
    /// When we last saw a restart.
    pub restarted_at: Option<DateTime<Utc>>,
}
