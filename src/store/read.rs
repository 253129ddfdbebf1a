//! What pages and the API ask for. Every query is bounded and takes the read pool, never the writer.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::fleet::MonitorId;
use crate::domain::incident::Incident;
use crate::domain::signal::Signal;
use crate::store::{Store, StoreError};

/// Rows one page of a list holds.
pub const PAGE_ROWS: u32 = 50;

/// Which incidents a list wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncidentFilter {
    /// Only of this monitor.
    pub monitor: Option<MonitorId>,
    /// Only of this signal.
    pub signal: Option<Signal>,
    /// Only open ones (true) or only ended ones (false).
    pub open: Option<bool>,
    /// Only those opened before this moment: the next page.
    pub before: Option<DateTime<Utc>>,
}

/// One line of an incident's timeline, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineLine {
    /// When.
    pub at: DateTime<Utc>,
    /// `opened`, `updated`, `acknowledged`, `resolved`, `held` and the like.
    pub kind: String,
    /// Who did it.
    pub actor: String,
    /// One line.
    pub text: String,
}

/// One delivery of the ledger, with its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLine {
    /// Its id.
    pub id: String,
    /// The notification.
    pub notification: String,
    /// Its incident, where it has one.
    pub incident: Option<String>,
    /// The event's word.
    pub event: String,
    /// Its place in the incident.
    pub sequence: u32,
    /// The receiver.
    pub receiver: String,
    /// The receiver it stands in for, where it is a fallback.
    pub fallback_of: Option<String>,
    /// The state's word.
    pub state: String,
    /// When it came to be.
    pub created_at: DateTime<Utc>,
    /// When it is tried next, where it is pending.
    pub next_at: Option<DateTime<Utc>>,
    /// Attempts made.
    pub attempts: u32,
    /// When the last attempt ended.
    pub last_at: Option<DateTime<Utc>>,
    /// How it ended: `ok`, or why not, in one line.
    pub last: Option<String>,
}

/// Percentiles of search calls in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySlice {
    /// The slice's start.
    pub at: DateTime<Utc>,
    /// Samples in it.
    pub n: u32,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile in milliseconds; none below 59 samples in the slice is the page's business, not ours.
    pub p95_ms: f64,
    /// The slowest in milliseconds.
    pub max_ms: f64,
    /// Calls that ran into the timeout.
    pub censored: u32,
}

/// One beat of a monitor's recent past.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatLine {
    /// When it started.
    pub at: DateTime<Utc>,
    /// The kind's word.
    pub kind: String,
    /// The verdict's word.
    pub verdict: String,
    /// `seen`, `missed`, `internal`, `uplink`.
    pub seen: String,
    /// The leading cause's word.
    pub reason: Option<String>,
    /// Duration of the whole probe in milliseconds.
    pub elapsed_ms: f64,
}

impl Store {
    /// Incidents, the newest first, at most [`PAGE_ROWS`].
    pub async fn incidents(&self, _filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One incident.
    pub async fn incident(&self, _id: &str) -> Result<Option<Incident>, StoreError> {
        Err(StoreError::Closed)
    }

    /// An incident's timeline, the oldest first.
    pub async fn timeline(&self, _incident: &str) -> Result<Vec<TimelineLine>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Deliveries, the newest first, at most [`PAGE_ROWS`]; of one incident, or of all.
    pub async fn deliveries(&self, _incident: Option<&str>) -> Result<Vec<DeliveryLine>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Incidents of a monitor that were open at some time between two moments, the oldest first.
    pub async fn incidents_between(
        &self,
        _monitor: &MonitorId,
        _from: DateTime<Utc>,
        _to: DateTime<Utc>,
    ) -> Result<Vec<Incident>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Percentiles of scheduled search calls (tools/list where a monitor has none), a value a slice; empty slices are left out.
    pub async fn latency(
        &self,
        _monitor: &MonitorId,
        _from: DateTime<Utc>,
        _to: DateTime<Utc>,
        _slice: Duration,
    ) -> Result<Vec<LatencySlice>, StoreError> {
        Err(StoreError::Closed)
    }

    /// A monitor's latest beats, the newest first, at most `limit` (1,000 at most).
    pub async fn beats(&self, _monitor: &MonitorId, _limit: u32) -> Result<Vec<BeatLine>, StoreError> {
        Err(StoreError::Closed)
    }
}
