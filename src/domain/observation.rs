//! Everything one probe saw, without judgement.

mod asked;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::Ask;
use crate::domain::fault::Fault;
use crate::domain::monitor::MonitorId;
use crate::domain::protocol::{Era, Transport};
use crate::domain::search::FreshWay;
use crate::domain::sources::SourcesSeen;
use crate::domain::tools::{Drift, KnownCalls, Listing};

/// One probe, from first byte to last.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Id of the monitor probed.
    pub monitor: MonitorId,
    /// Scheduled, suspect, asked for by somebody, or a drill.
    pub kind: BeatKind,
    /// When it should have started.
    pub scheduled_at: DateTime<Utc>,
    /// When it did start, UTC; later than due where permits ran out.
    pub started_at: DateTime<Utc>,
    /// From start to the last byte, closing included.
    pub elapsed: Duration,
    /// The protocol's generation, once known.
    pub era: Option<Era>,
    /// What carried the protocol, once known.
    pub transport: Option<Transport>,
    /// What the server calls itself.
    pub server: Option<ServerIdentity>,
    /// What was done, in order; search and health appear once a call.
    pub steps: Vec<Step>,
    /// tools/list, where it was answered.
    pub tools: Option<ToolsSeen>,
    /// The tools as the other era lists them, where that was compared.
    pub cross_check: Option<CrossCheck>,
    /// One entry for every canary this beat meant to ask.
    pub asks: Vec<Ask>,
    /// One of these canaries, its question altered; none where none was, or where its own brought nothing to compare with.
    pub altered: Option<Box<Ask>>,
    /// A sentence out of an earlier answer, asked back.
    pub harvested: Option<Box<Harvested>>,
    /// One entry for every health address.
    pub health: Vec<HealthSeen>,
    /// The source-listing tool, where it was asked and answered.
    pub sources: Option<SourcesSeen>,
    /// Canaries of which no source is in that list, by id; none where it was not read whole, or not for that.
    pub unlisted: Option<Vec<String>>,
    /// When the server's certificate ends, where it has one and its chain was ever seen.
    pub certificate_until: Option<DateTime<Utc>>,
    /// When the credential that we show ends, where that is known.
    pub credential_until: Option<DateTime<Utc>>,
    /// How a stranger was received, where one asked.
    pub stranger: Option<Stranger>,
    /// Whether the server no longer knew the session that was kept, so that a new one was opened.
    pub session_lost: bool,
    /// What the probe cost the server.
    pub footprint: Footprint,
    /// The W3C trace id that the probe's calls carried, in a header and in their `_meta`; 0 where none was sent.
    pub trace: u128,
    /// How far one got right after a first failure, from the first step on; empty otherwise.
    pub connectivity: Vec<ConnectivityStep>,
    /// What was said over the wire, bounded and without secrets, where the probe failed; the first line is for
    /// programs.
    pub transcript: Option<Arc<str>>,
}

impl Observation {
    /// A probe that has seen nothing yet.
    pub fn blank(monitor: MonitorId, kind: BeatKind, scheduled_at: DateTime<Utc>, started_at: DateTime<Utc>) -> Self {
        Self {
            monitor,
            kind,
            scheduled_at,
            started_at,
            elapsed: Duration::ZERO,
            era: None,
            transport: None,
            server: None,
            steps: Vec::new(),
            tools: None,
            cross_check: None,
            asks: Vec::new(),
            altered: None,
            harvested: None,
            health: Vec::new(),
            sources: None,
            unlisted: None,
            certificate_until: None,
            credential_until: None,
            stranger: None,
            session_lost: false,
            footprint: Footprint::default(),
            trace: 0,
            connectivity: Vec::new(),
            transcript: None,
        }
    }

    /// Every fault: of the steps, then of the searches.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        let of_asks = self.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().err());
        self.steps.iter().filter_map(|step| step.fault.as_ref()).chain(of_asks)
    }

    /// The first fault of a stage, in the order met.
    pub fn fault(&self, stage: Stage) -> Option<&Fault> {
        self.steps.iter().filter(|step| step.stage == stage).find_map(|step| step.fault.as_ref())
    }

    /// The first fault before any search: the reason the server could not be asked at all.
    pub fn fault_before_search(&self) -> Option<(Stage, &Fault)> {
        self.steps
            .iter()
            .filter(|step| matches!(step.stage, Stage::Connect | Stage::Handshake | Stage::Tools))
            .find_map(|step| step.fault.as_ref().map(|fault| (step.stage, fault)))
    }
}

/// What came of a sentence that was asked back; neither the question nor the list is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Harvested {
    /// The call, and of what it brought its cost and what it says of a cache.
    pub ask: Ask,
    /// The rank at which its source came, from 1; none where it did not.
    pub rank: Option<u32>,
}

/// Why a beat took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BeatKind {
    /// By the schedule: the only kind that counts for percentiles and coverage.
    Scheduled,
    /// Soon after a failure, to tell a blip from an outage.
    Suspect,
    /// Asked for by a person.
    Recheck,
    /// Several in a row, to measure.
    Burst,
    /// Part of a rehearsal: nothing is wrong, and the message says so.
    Drill,
}

impl BeatKind {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Suspect => "suspect",
            Self::Recheck => "recheck",
            Self::Burst => "burst",
            Self::Drill => "drill",
        }
    }

    /// The kind a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Scheduled, Self::Suspect, Self::Recheck, Self::Burst, Self::Drill]
            .into_iter()
            .find(|kind| kind.slug() == slug)
    }

    /// Whether durations of this beat belong into percentiles (DESIGN §4: suspect beats, re-asks and bursts stay out).
    pub const fn counts_for_percentiles(self) -> bool {
        matches!(self, Self::Scheduled)
    }
}

/// One step of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Name, TCP and TLS.
    Connect,
    /// `initialize` or `server/discover`.
    Handshake,
    /// `tools/list`.
    Tools,
    /// `tools/call` of a search or source-listing tool.
    Search,
    /// The server's health addresses.
    Health,
}

impl Stage {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Handshake => "handshake",
            Self::Tools => "tools",
            Self::Search => "search",
            Self::Health => "health",
        }
    }

    /// The stage a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Connect, Self::Handshake, Self::Tools, Self::Search, Self::Health]
            .into_iter()
            .find(|stage| stage.slug() == slug)
    }
}

/// What a server says it is; bounded and free of control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerIdentity {
    /// `serverInfo.name`.
    pub name: String,
    /// `serverInfo.version`.
    pub version: String,
    /// The protocol version agreed on.
    pub protocol: String,
    /// Its `instructions` for models, bounded; empty where it gives none, and none where it was not asked. Kept with the
    /// list of tools, which they are held against what was accepted with.
    pub instructions: Option<Box<str>>,
}

/// One request or connection of a probe: how long it took, and what broke.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The stage whose fault this step's would be.
    pub stage: Stage,
    /// What exactly: a method, a canary's id, a health address.
    pub label: String,
    /// From the step's own start to its end.
    pub elapsed: Duration,
    /// How far each part of an exchange had come, and when.
    pub phases: Phases,
    /// Whether the step opened its own connection.
    pub fresh_connection: bool,
    /// What broke, if anything did.
    pub fault: Option<Fault>,
    /// Oddities that are legal: a followed redirect, an id echoed as a string.
    pub notes: Vec<String>,
}

/// Time within one step, each from the step's start; none where the phase was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// The name was resolved.
    pub name: Option<Duration>,
    /// TCP stood.
    pub connect: Option<Duration>,
    /// TLS stood.
    pub tls: Option<Duration>,
    /// The first byte of the answer.
    pub headers: Option<Duration>,
    /// The matching message was read.
    pub answer: Option<Duration>,
    /// The body ended.
    pub end: Option<Duration>,
}

/// tools/list, as one beat saw it. What belongs to the list alone is read through it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolsSeen {
    /// The list; shared with whoever else remembers the same one.
    pub listing: Arc<Listing>,
    /// The tool that searches, where one was named or found.
    pub search_tool: Option<String>,
    /// How its calls get past caches; none where it knows no way, or none is to be taken.
    pub fresh: Option<FreshWay>,
    /// Why a declared call does not fit the search tool's schema: the first of them.
    pub invalid_call: Option<String>,
    /// Every declared call, held against the schema.
    pub calls: KnownCalls,
    /// Its text, where it is too long to be kept, only until the probe has counted its tokens.
    pub oversize: Option<Box<str>>,
    /// How the list differs from the accepted one; none where it does not, or where none was accepted yet.
    pub drift: Option<Arc<Drift>>,
}

impl Deref for ToolsSeen {
    type Target = Listing;

    fn deref(&self) -> &Listing {
        &self.listing
    }
}

/// The tools of one era against those of the other, on one server. Lists of names are bounded by the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossCheck {
    /// The era of the beat.
    pub own: Era,
    /// Tools that only this era lists.
    pub own_only: Vec<String>,
    /// Tools that only the other one lists.
    pub other_only: Vec<String>,
    /// Tools that both list, and differently.
    pub changed: Vec<String>,
}

impl CrossCheck {
    /// Whether both eras list the very same tools.
    pub const fn agrees(&self) -> bool {
        self.own_only.is_empty() && self.other_only.is_empty() && self.changed.is_empty()
    }
}

/// One health address, as it answered.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthSeen {
    /// The address as it may be shown.
    pub address: String,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// Whether it says that all is well.
    pub ok: bool,
    /// The reason it names, as it wrote it; bounded.
    pub reason: Option<String>,
    /// `cache_warm`, where it says so.
    pub cache_warm: Option<bool>,
    /// An id that changes with each start of the process.
    pub instance: Option<String>,
    /// When the process says it started, or its uptime counted back.
    pub process_started_at: Option<DateTime<Utc>>,
    /// The version it reports.
    pub version: Option<String>,
    /// The wire fault, where there was one.
    pub fault: Option<Fault>,
}

/// How a server receives a caller without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stranger {
    /// It is let in; what it got, in one bounded line.
    Admitted(String),
    /// It is refused, as it should be where credentials are declared.
    Refused,
}

/// One step of the connectivity diagnosis: name, TCP, TLS, HTTP without credentials, tools/list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectivityStep {
    /// What was tried, such as `uplink`, `name`, `tcp` or `tls`; the words stand in the evidence key `ladder`.
    pub name: &'static str,
    /// Whether one gets past it.
    pub holds: bool,
    /// What it showed; one bounded line.
    pub said: String,
    /// Zero where it was looked at for everybody, as the uplink is.
    pub elapsed: Duration,
}

/// What a probe cost the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// HTTP requests sent, closing included.
    pub requests: u32,
    /// Bytes sent over the wire, TLS included.
    pub bytes_out: u64,
    /// Bytes received over the wire, TLS included.
    pub bytes_in: u64,
    /// Connections opened.
    pub connections: u32,
    /// Sessions opened.
    pub sessions_opened: u32,
    /// Sessions closed.
    pub sessions_closed: u32,
    /// Tokens of the answers, where they are counted.
    pub tokens: u64,
}

impl Footprint {
    /// The sum of two, which stops at the largest number.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes_out: self.bytes_out.saturating_add(other.bytes_out),
            bytes_in: self.bytes_in.saturating_add(other.bytes_in),
            connections: self.connections.saturating_add(other.connections),
            sessions_opened: self.sessions_opened.saturating_add(other.sessions_opened),
            sessions_closed: self.sessions_closed.saturating_add(other.sessions_closed),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}
