//! Whoever speaks MCP to one server for the length of one probe: what it has, and what it may show.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::Full;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::protocol::{Transport, legacy_version};
use crate::domain::secret::Secret;
use crate::net::connect::{Connector, Target};
use crate::probe::decode::coding;
use crate::probe::decode::identity;
use crate::probe::session::message::{AGENT, PROTOCOL, SESSION, new_trace};
use crate::probe::session::unclosed_sessions::UnclosedSessions;
use crate::probe::wire::channel::Channel;
use crate::probe::wire::connection::Wire;
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
}

/// Where a caller calls, and how long it may.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) target: Target,
    pub(crate) url: Url,
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
    /// Where calls go; a redirect moves it once.
    pub(super) url: Url,
    pub(super) redirected: bool,
    pub(super) headers: OwnHeaders,
    pub(crate) limits: CallLimits,
    pub(crate) session: LegacySession,
    pub(super) trace: u128,
    /// Ids given out so far; a kept program's go on from beat to beat.
    pub(crate) requests: u64,
}

/// What every request carries.
#[derive(Debug)]
pub(super) struct OwnHeaders {
    pub(super) base: HeaderMap,
    pub(super) credentials_sent: bool,
    /// Headers that are for the monitor's own origin and nobody else.
    secret: Vec<HeaderName>,
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
    pub(super) fn sign(&self, headers: &mut HeaderMap) {
        headers.extend(self.protocol.clone().map(|value| (PROTOCOL, value)));
        headers.extend(self.id.clone().map(|value| (SESSION, value)));
    }
}

impl OwnHeaders {
    fn new(monitor: &Monitor, target: &Target, url: &Url, started_at: DateTime<Utc>) -> Self {
        let mut base = HeaderMap::with_capacity(12);
        if let Ok(host) = HeaderValue::from_str(&target.authority()) {
            base.insert(HOST, host);
        }
        base.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        base.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        let identity = monitor.identity.as_ref();
        base.extend(
            identity.and_then(|known| Some((identity::HEADER, identity::header(known, &monitor.id, started_at)?))),
        );
        let credentials = authorization(monitor, url);
        let declared = declared_headers(monitor);
        let credentials_sent = credentials.is_some() || !declared.is_empty();
        let secret = declared.iter().map(|(name, _)| name.clone()).chain([AUTHORIZATION]).collect();
        base.extend(credentials.map(|value| (AUTHORIZATION, value)));
        base.extend(declared);
        Self { base, credentials_sent, secret }
    }
}

fn authorization(monitor: &Monitor, url: &Url) -> Option<HeaderValue> {
    let text = match &monitor.auth.bearer {
        Some(bearer) => format!("Bearer {}", bearer.expose()),
        None if !url.username().is_empty() || url.password().is_some() => {
            format!("Basic {}", STANDARD.encode(format!("{}:{}", url.username(), url.password().unwrap_or_default())))
        }
        None => return None,
    };
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Further headers of the file; `config` has checked names and values.
fn declared_headers(monitor: &Monitor) -> Vec<(HeaderName, HeaderValue)> {
    let header = |(name, value): &(String, Secret)| {
        let mut value = HeaderValue::from_str(value.expose()).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    monitor.auth.headers.iter().filter_map(header).collect()
}

/// A URL that is none, or none that a probe speaks.
pub(crate) fn bad_address(scrub: &Scrub) -> Fault {
    scrub.fault(FaultKind::NameNotResolved, "the address is no http or https URL with a host")
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        means: ProbeContext<'a>,
        Destination { target, url, until }: Destination,
        scrub: &'a Scrub,
        monitor: &'a Monitor,
        started_at: DateTime<Utc>,
    ) -> Self {
        Self {
            means,
            monitor,
            scrub,
            headers: OwnHeaders::new(monitor, &target, &url, started_at),
            wire: Wire::new(means.connector, target, scrub),
            carrier: Carrier::Http,
            url,
            redirected: false,
            limits: CallLimits { timeout: monitor.timeout, until, started_at, started: Instant::now() },
            session: LegacySession { open: means.unclosed_sessions.take(monitor), ..LegacySession::default() },
            trace: new_trace(),
            requests: 0,
        }
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

    /// Takes out what only the monitor's own origin may see.
    pub(crate) fn strip(&self, request: &mut Request<Full<Bytes>>) {
        for name in &self.headers.secret {
            request.headers_mut().remove(name);
        }
    }
}
