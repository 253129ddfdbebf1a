//! Who is connected to the pages: how many at once, how many of one peer, for how long, and who makes room.
//!
//! Files are what a monitor lives on, and a connection that does nothing costs one. So pages get a share of the files
//! and no more, and whoever comes when it is used up is served: one that waits for nothing is closed for it. An answer
//! under way is never given up for somebody else; it ends by limits of its own. A peer that holds too many connections
//! makes room among its own.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use ipnet::IpNet;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::web::source::{self, Peer};

/// The head of a request is here within this, counted from its first byte, or from the connection's first moment.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Between two requests: a browser comes back within a minute, or opens another connection in a millisecond.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Whoever takes not one byte of an answer for so long is gone.
const WRITE_STALL_MAX: Duration = Duration::from_secs(30);
/// Whoever takes nothing for so long is no longer waited for when places run out.
const STUCK_AFTER: Duration = Duration::from_secs(5);
/// Connections of one peer: ten browsers behind one address, at six each.
const PER_PEER_MAX: usize = 64;
/// One in so many of a peer's connections may be an event stream, so that the rest carries its pages.
const PER_PEER_STREAM_PART: usize = 2;
/// Connections where nobody counted the files: those of a few tests.
const CONNECTIONS_ASSUMED: usize = 256;

/// What a connection may do, and how many there may be.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time for a request's head.
    pub head: Duration,
    /// Time between two requests.
    pub idle: Duration,
    /// Time in which some of an answer has to be taken.
    pub write_stall: Duration,
    /// Connections at once, event streams among them.
    pub connections: usize,
    /// Event streams at once, all peers together; each is a connection, too.
    pub streams: usize,
    /// Connections at once of one peer, by its address.
    pub per_peer: usize,
    /// Peers that speak for many people, and whose word counts on whom they speak for.
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: HEAD_WITHIN,
            idle: IDLE_MAX,
            write_stall: WRITE_STALL_MAX,
            connections: CONNECTIONS_ASSUMED,
            streams: CONNECTIONS_ASSUMED / 2,
            per_peer: PER_PEER_MAX,
            trusted_proxies: Vec::new(),
        }
    }
}

/// What a connection is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionActivity {
    /// A request's head is awaited or half read.
    Head,
    /// A request is being answered.
    Answering,
    /// The same, and its answer is an event stream.
    Streaming,
    Idle,
}

#[derive(Debug, Clone, Copy)]
struct SendProgress {
    doing: ConnectionActivity,
    since: Instant,
    /// When something was read or written last.
    moved_at: Instant,
    /// Since when the peer takes nothing of what is written.
    stalled_since: Option<Instant>,
}

/// One connection, as its own task and the registry see it.
#[derive(Debug)]
pub struct ConnectionLine {
    peer: Peer,
    is_trusted: bool,
    progress: Mutex<SendProgress>,
    /// Ends it from outside.
    pub(in crate::web) closed: CancellationToken,
    all: Arc<Connections>,
}

impl SendProgress {
    /// Whether somebody waits for an answer, or for the rest of one that stands written already.
    fn answers(&self) -> bool {
        self.doing == ConnectionActivity::Answering || self.stalled_since.is_some()
    }
}

impl ConnectionLine {
    /// Whom a request on it is from.
    pub(in crate::web) fn source(&self, address: IpAddr, headers: &HeaderMap) -> IpAddr {
        source::of(address, headers, &self.all.limits.trusted_proxies)
    }

    pub(in crate::web) fn has_read(&self) {
        let mut progress = self.progress();
        let now = Instant::now();
        progress.moved_at = now;
        if progress.doing == ConnectionActivity::Idle {
            (progress.doing, progress.since) = (ConnectionActivity::Head, now);
        }
    }

    /// Bytes were taken by the peer, or it takes none now.
    pub(in crate::web) fn has_written(&self, some: bool) {
        let (mut progress, now) = (self.progress(), Instant::now());
        if some {
            (progress.moved_at, progress.stalled_since) = (now, None);
        } else {
            progress.stalled_since.get_or_insert(now);
        }
    }

    /// A request is here, until the value is dropped.
    pub(in crate::web) fn answers(self: &Arc<Self>) -> Answering {
        self.turns_to(ConnectionActivity::Answering);
        Answering(Arc::clone(self))
    }

    /// The answer is an event stream; false where this peer has its share of them.
    pub(in crate::web) fn becomes_stream(&self) -> bool {
        let lines = self.all.lines();
        let streams = || lines.values().filter(|line| line.peer == self.peer && line.streams());
        if !self.is_trusted && streams().count() >= self.all.limits.per_peer / PER_PEER_STREAM_PART {
            return false;
        }
        self.progress().doing = ConnectionActivity::Streaming;
        drop(lines);
        self.all.changed.notify_one();
        true
    }

    /// When it is over if nothing happens until then.
    pub(in crate::web) fn deadline(&self) -> Option<Instant> {
        let (progress, limits) = (*self.progress(), &self.all.limits);
        let stalled = progress.stalled_since.map(|since| since + limits.write_stall);
        let waits = match progress.doing {
            ConnectionActivity::Head => Some(progress.since + limits.head),
            ConnectionActivity::Idle => Some(progress.since + limits.idle),
            // The router limits how long an answer takes.
            ConnectionActivity::Answering | ConnectionActivity::Streaming => None,
        };
        waits.into_iter().chain(stalled).min()
    }

    fn turns_to(&self, doing: ConnectionActivity) {
        let (mut progress, now) = (self.progress(), Instant::now());
        (progress.doing, progress.since, progress.moved_at) = (doing, now, now);
    }

    fn streams(&self) -> bool {
        self.progress().doing == ConnectionActivity::Streaming
    }

    fn progress(&self) -> MutexGuard<'_, SendProgress> {
        self.progress.lock()
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(in crate::web) struct Answering(Arc<ConnectionLine>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.turns_to(ConnectionActivity::Idle);
        self.0.all.changed.notify_one();
    }
}

/// Who is connected, by peer, so that one peer cannot take every place.
#[derive(Debug)]
pub struct Connections {
    limits: Limits,
    lines: Mutex<ConnectionLines>,
    /// One ended, or has nothing to answer any more.
    changed: Notify,
}

type ConnectionLines = HashMap<u64, Arc<ConnectionLine>>;

/// A connection's place among all; it is free again when this is dropped.
#[derive(Debug)]
pub(in crate::web) struct ConnectionPlace {
    number: u64,
    pub(in crate::web) line: Arc<ConnectionLine>,
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.line.all.lines().remove(&self.number);
        self.line.all.changed.notify_one();
    }
}

impl Connections {
    /// No connection yet; `limits` hold for its whole life.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, lines: Mutex::default(), changed: Notify::new() })
    }

    /// A place for a connection that was accepted, as soon as there is one: somebody is closed for it if need be.
    pub(in crate::web) async fn place(self: &Arc<Self>, number: u64, address: IpAddr) -> ConnectionPlace {
        let peer = Peer::of(address);
        let is_trusted = source::is_among(&self.limits.trusted_proxies, address);
        while let Some(full) = self.full(peer, is_trusted) {
            if let Some(line) = full {
                tracing::debug!(peer = %line.peer, "a connection is closed to make room for another");
                line.closed.cancel();
            }
            // Also without news: whoever takes nothing of its answer is stuck after a while.
            let _late = tokio::time::timeout(STUCK_AFTER, self.changed.notified()).await;
        }
        let now = Instant::now();
        let progress = SendProgress { doing: ConnectionActivity::Head, since: now, moved_at: now, stalled_since: None };
        let (progress, closed) = (Mutex::new(progress), CancellationToken::new());
        let line = Arc::new(ConnectionLine { peer, is_trusted, progress, closed, all: Arc::clone(self) });
        self.lines().insert(number, Arc::clone(&line));
        ConnectionPlace { number, line }
    }

    /// Whether there is no place for one more of a peer, and who is to be closed for it, if anybody.
    fn full(&self, peer: Peer, is_trusted: bool) -> Option<Option<Arc<ConnectionLine>>> {
        let lines = self.lines();
        let own = || lines.values().filter(|line| line.peer == peer);
        let full_of_own = !is_trusted && own().count() >= self.limits.per_peer;
        let pages = || lines.values().filter(|line| !line.streams());
        let pages_max = self.limits.connections.saturating_sub(self.limits.streams).max(1);
        if !full_of_own && pages().count() < pages_max {
            return None;
        }
        // Somebody is leaving already.
        if lines.values().any(|line| line.closed.is_cancelled()) {
            return Some(None);
        }
        let victim = if full_of_own { longest_idle_of(own()) } else { least_missed_of(pages()) };
        Some(victim.cloned())
    }

    fn lines(&self) -> MutexGuard<'_, ConnectionLines> {
        self.lines.lock()
    }
}

/// Of one peer's connections that which has answered everything for longest; where none has, that on which nothing has
/// moved for longest. Event streams come last: a peer has a share of them.
fn longest_idle_of<'l>(own: impl Iterator<Item = &'l Arc<ConnectionLine>>) -> Option<&'l Arc<ConnectionLine>> {
    own.min_by_key(|line| {
        let progress = line.progress();
        let since = if progress.answers() { progress.moved_at } else { progress.since };
        (progress.doing == ConnectionActivity::Streaming, progress.answers(), since)
    })
}

/// Of all connections without a request to answer the longest idle one of whoever has most of them, where a proxy
/// counts as one: many addresses with a few each push nobody out who has one. Where everybody is being answered,
/// whoever takes nothing of it; else none.
fn least_missed_of<'l>(pages: impl Iterator<Item = &'l Arc<ConnectionLine>>) -> Option<&'l Arc<ConnectionLine>> {
    let (answering, idle): (Vec<_>, Vec<_>) = pages.partition(|line| line.progress().answers());
    let mut held: HashMap<Peer, usize> = HashMap::new();
    for line in idle.iter().filter(|line| !line.is_trusted) {
        *held.entry(line.peer).or_default() += 1;
    }
    let most = |line: &Arc<ConnectionLine>| std::cmp::Reverse(held.get(&line.peer).copied().unwrap_or_default());
    let stuck =
        |line: &Arc<ConnectionLine>| line.progress().stalled_since.filter(|since| since.elapsed() >= STUCK_AFTER);
    let longest_stuck =
        || answering.into_iter().filter_map(|line| Some((stuck(line)?, line))).min_by_key(|(at, _)| *at);
    let longest_idle = idle.into_iter().min_by_key(|line| (most(line), line.progress().since));
    longest_idle.or_else(|| longest_stuck().map(|(_, line)| line))
}
