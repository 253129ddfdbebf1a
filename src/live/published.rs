//! What the machine that watches a monitor publishes of it for the others.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;

use crate::domain::contract::Baseline;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::monitor_state::CanaryScore;
use crate::domain::observation::ToolsSeen;
use crate::domain::protocol::Era;
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::rate_limit::Hold;
use crate::domain::tools::{Instruction, KnownCalls, Listing};
use crate::live::glance::CanariesGlance;
use crate::live::monitor_view::{Look, MonitorView, RollUp, SignalView, ToolsView};

/// What the machine that watches a monitor publishes of it: a row, as lists and open incidents need it. What else its
/// page shows is read from the database where somebody asks.
#[derive(Debug, Clone, PartialEq)]
pub struct SlimStanding {
    /// The id of the file.
    pub id: MonitorId,
    /// The id of the machine that watches it; empty where that is this one.
    pub node: String,
    /// The worst of its signals in one word.
    pub roll_up: RollUp,
    /// When the roll-up last changed, UTC.
    pub since: DateTime<Utc>,
    /// Every signal that is judged on it, in [`Signal::ALL`](crate::domain::signal::Signal::ALL)'s order.
    pub signals: Vec<SignalView>,
    /// How it stands for its replicas; none where it has none, and of a machine that does not say so.
    pub as_original: Option<OriginalStand>,
    /// Whether it is down, and in doubt, for those that depend on it.
    pub as_parent: (bool, bool),
    /// When a beat last showed us anything, UTC; none before the first.
    pub seen_at: Option<DateTime<Utc>>,
    /// Whether any of its last beats found it able to answer.
    pub was_well: bool,
    /// Whether it was ever seen to work.
    pub has_worked: bool,
    /// Since when it is known, UTC.
    pub first_seen: DateTime<Utc>,
    /// How its canaries were answered.
    pub canaries: CanariesGlance,
    /// How many of them are right, as its pages say it; none of a machine that does not say so.
    pub score: Option<CanaryScore>,
    /// What the last beat came to; none before the first.
    pub look: Option<Look>,
    /// Seen ÷ due time over the last 24 h, 0–1; none before the first beat.
    pub coverage: Option<f64>,
    /// P95 of its searches in milliseconds, with its sample count; none below the least.
    pub p95_ms: Option<(f64, u32)>,
    /// Which tools were seen last; none before the first list, and of a machine that does not say so.
    pub tools: Option<SlimTools>,
    /// Why the next beat of the schedule is not made, where it is held back.
    pub hold: Option<Hold>,
    /// Our own trouble that keeps this from being fresh, where there is one.
    pub trouble: Option<String>,
}

impl SlimStanding {
    /// Of a monitor of which nobody has said anything yet.
    pub fn unknown(id: MonitorId, now: DateTime<Utc>) -> Self {
        Self {
            id,
            node: String::new(),
            roll_up: RollUp::Unknown,
            since: now,
            signals: Vec::new(),
            as_original: None,
            as_parent: (false, false),
            seen_at: None,
            was_well: false,
            has_worked: false,
            first_seen: now,
            canaries: CanariesGlance::default(),
            score: None,
            look: None,
            coverage: None,
            p95_ms: None,
            tools: None,
            hold: None,
            trouble: None,
        }
    }
}

/// The tools that were seen last, by the hash of their list, which stands in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct SlimTools {
    /// See [`Listing::hash`].
    pub hash: String,
    /// When the list was last seen, UTC.
    pub seen_at: DateTime<Utc>,
    /// In which era it was asked for.
    pub era: Option<Era>,
    /// Tokens of the whole list's JSON; none where they were not counted.
    pub tokens: Option<u32>,
    /// The tool that searches, where one was named or found.
    pub search_tool: Option<String>,
    /// Why a declared call does not fit the search tool's schema: the first of them.
    pub invalid_call: Option<String>,
    /// Every declared call, held against the schema.
    pub calls: KnownCalls,
    /// See [`Listing::instructions`].
    pub instructions: Vec<Instruction>,
}

impl SlimTools {
    /// What there is to tell of it.
    pub fn of(tools: &ToolsView) -> Self {
        let ToolsSeen { listing, search_tool, invalid_call, calls, .. } = &tools.seen;
        Self {
            hash: listing.hash.clone(),
            seen_at: tools.seen_at,
            era: tools.era,
            tokens: listing.tokens,
            search_tool: search_tool.clone(),
            invalid_call: invalid_call.clone(),
            calls: calls.clone(),
            instructions: listing.instructions.clone(),
        }
    }

    /// What pages show of it, with the list as the database has it, beside the accepted one.
    pub fn view(self, kept: &Listing, accepted: Option<Baseline>) -> ToolsView {
        let Self { hash: _, seen_at, era, tokens, search_tool, invalid_call, calls, instructions } = self;
        let listing = Arc::new(Listing { tokens, instructions, ..kept.clone() });
        let seen = ToolsSeen { listing, search_tool, invalid_call, calls, ..ToolsSeen::default() };
        ToolsView { seen, seen_at, era, accepted }
    }
}

/// A monitor as another machine published of it, by the declaration in force here.
#[derive(Debug, Clone)]
pub struct Followed {
    /// What the file says of it.
    pub monitor: Arc<Monitor>,
    /// What was published last.
    pub published: SlimStanding,
}

/// Reads what the database has of monitors that other machines watch.
pub trait FollowedViews: std::fmt::Debug + Send + Sync {
    /// As their pages show them, in the same order; none where the database does not answer.
    fn views<'a>(&'a self, followed: &'a [Followed]) -> BoxFuture<'a, Option<Vec<MonitorView>>>;
}

/// Where one machine watches everything.
#[derive(Debug)]
pub struct NoneFollowed;

impl FollowedViews for NoneFollowed {
    fn views<'a>(&'a self, _followed: &'a [Followed]) -> BoxFuture<'a, Option<Vec<MonitorView>>> {
        Box::pin(std::future::ready(None))
    }
}
