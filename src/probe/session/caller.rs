//! Whoever speaks MCP to one server for the length of one probe: what it has, and what it may show.

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderValue, Uri};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

use crate::domain::monitor::Monitor;
use crate::domain::protocol::{Transport, legacy_version};
use crate::net::connect::Connector;
use crate::net::target::Target;
use crate::probe::session::declared::{Declared, OwnHeaders, Way};
use crate::probe::session::message::{PROTOCOL, SESSION, new_trace};
use crate::probe::session::unclosed_sessions::UnclosedSessions;
use crate::probe::wire::channel::Channel;
use crate::probe::wire::connection::Wire;
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::program::Process;
use crate::probe::wire::reply::ReadLimits;
use crate::untrusted_text::Scrub;

/// What carries the calls. One conversation, whatever is beneath it.
#[derive(Debug)]
pub(crate) enum Carrier<'a> {
    /// Each call a POST with its answer; both eras.
    Http,
    /// Calls are posted and answered on a stream (HTTP+SSE of 2024-11-05).
    Sse(Box<Channel<'a>>),
    /// A program, one message a line.
    Stdio(Box<Process>),
}

/// What every caller of one prober works with, whatever server it asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProbeContext<'a> {
    pub(crate) connector: &'a Connector,
    /// What earlier probes could not close.
    pub(crate) unclosed_sessions: &'a UnclosedSessions,
    /// Whether the texts of results are kept, for whoever holds canaries against them.
    pub(crate) keeps_passages: bool,
}

/// Where a caller calls, and how long it may.
#[derive(Debug)]
pub(crate) struct Destination<'a> {
    pub(crate) way: &'a Way,
    /// The way's, with the certificates of this probe.
    pub(crate) target: Target,
    /// No call lasts longer than this.
    pub(crate) until: Instant,
}

/// Speaks MCP to one server for the length of one probe.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(super) means: ProbeContext<'a>,
    pub(super) monitor: &'a Monitor,
    pub(crate) scrub: &'a Scrub,
    pub(crate) wire: Wire<'a>,
    pub(crate) carrier: Carrier<'a>,
    declared: &'a Declared,
    way: &'a Way,
    /// Where a redirect led; it is followed once.
    pub(super) moved: Option<Url>,
    /// Path and query of where calls go.
    pub(super) path: Uri,
    pub(super) headers: OwnHeaders,
    pub(crate) limits: CallLimits,
    pub(crate) session: LegacySession,
    pub(super) trace: u128,
    /// Ids given out so far; a kept program's go on from beat to beat.
    pub(crate) requests: u64,
}

/// How long calls may take, and what time it is.
#[derive(Debug)]
pub(crate) struct CallLimits {
    pub(super) timeout: Duration,
    /// No call lasts longer than this.
    pub(crate) until: Instant,
    started_at: DateTime<Utc>,
    started: Instant,
}

/// The legacy conversation, as far as it has come. The modern era has none.
#[derive(Debug, Default)]
pub(crate) struct LegacySession {
    /// The version agreed on, once it is.
    pub(crate) protocol: Option<HeaderValue>,
    /// The session that calls belong to.
    pub(crate) id: Option<HeaderValue>,
    /// Sessions that replies opened and that are still to be closed.
    pub(super) open: Vec<HeaderValue>,
    /// The session that the latest reply named.
    pub(super) named: Option<HeaderValue>,
}

impl LegacySession {
    /// Says in a request which conversation it belongs to.
    pub(super) fn sign(&self, request: Outgoing) -> Outgoing {
        let request = request.with_some(self.protocol.clone().map(|value| (PROTOCOL, value)));
        request.with_some(self.id.clone().map(|value| (SESSION, value)))
    }
}

impl<'a> Caller<'a> {
    /// Whether the texts of results are kept.
    pub(crate) const fn keeps_passages(&self) -> bool {
        self.means.keeps_passages
    }

    /// The arguments of the monitor's search, with this question.
    pub(crate) fn asking(&self, question: &str) -> String {
        self.declared.search.asking(question)
    }

    pub(crate) fn new(
        means: ProbeContext<'a>,
        Destination { way, target, until }: Destination<'a>,
        declared: &'a Declared,
        monitor: &'a Monitor,
        started_at: DateTime<Utc>,
    ) -> Self {
        Self {
            means,
            monitor,
            scrub: &declared.scrub,
            headers: declared.headers(monitor, started_at),
            wire: Wire::new(means.connector, target, &declared.scrub),
            carrier: Carrier::Http,
            declared,
            way,
            moved: None,
            path: way.path.clone(),
            limits: CallLimits { timeout: monitor.timeout, until, started_at, started: Instant::now() },
            session: LegacySession { open: means.unclosed_sessions.take(monitor), ..LegacySession::default() },
            trace: new_trace(),
            requests: 0,
        }
    }

    /// Where calls go.
    pub(super) fn url(&self) -> &Url {
        self.moved.as_ref().unwrap_or(&self.way.url)
    }

    pub(crate) const fn monitor(&self) -> &'a Monitor {
        self.monitor
    }

    pub(crate) fn reading(&self, id: u64, deadline: Instant) -> ReadLimits<'a> {
        ReadLimits {
            id,
            scrub: self.scrub,
            credentials_sent: self.headers.credentials_sent,
            // The stream is the session.
            in_session: self.session.id.is_some() || matches!(self.carrier, Carrier::Sse(_)),
            now: self.now(),
            deadline,
            transcript: self.wire.transcript,
            resume: OnceLock::new(),
        }
    }

    /// The wall clock, carried on from the moment the probe was given.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.limits.started_at + TimeDelta::from_std(self.limits.started.elapsed()).unwrap_or_default()
    }

    /// When a call that starts now has to be done.
    pub(crate) fn deadline(&self) -> Instant {
        (Instant::now() + self.limits.timeout).min(self.limits.until)
    }

    /// The legacy version agreed on, once it is.
    pub(crate) fn version(&self) -> Option<&'static str> {
        legacy_version(self.session.protocol.as_ref()?.to_str().ok()?)
    }

    /// The trace that all requests of this probe belong to.
    pub(crate) const fn trace(&self) -> u128 {
        self.trace
    }

    /// What carries the calls now.
    pub(crate) fn transport(&self) -> Transport {
        match self.carrier {
            Carrier::Http => Transport::Http,
            Carrier::Sse(_) => Transport::Sse,
            Carrier::Stdio(_) => Transport::Stdio,
        }
    }

    /// The request without what only the monitor's own origin may see.
    pub(crate) fn stripped(&self, request: Outgoing) -> Outgoing {
        request.without(&self.declared.secret)
    }
}
