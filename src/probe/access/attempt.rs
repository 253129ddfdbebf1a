//! One attempt to get a token: what it may reach, how it asks there, and of whom it tells what went wrong.
//!
//! An address learnt from the wire is reached only where it is public, or on a host that the file names; a listed server on its
//! own host, where its source may reach.

use std::sync::OnceLock;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{ACCEPT_ENCODING, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;
use url::{Host, Url};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Monitor, OAuth};
use crate::domain::observation::{Footprint, Stage, Step};
use crate::net::connect::Connector;
use crate::net::target::Target;
use crate::probe::decode::coding;
use crate::probe::session::declared::guarded;
use crate::probe::session::message::{AGENT, TRACE, new_trace, path_of, traceparent};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::Wire;
use crate::probe::wire::egress::{ClientIdentity, egress};
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::reply::ReadLimits;
use crate::untrusted_text::Scrub;

/// One attempt to get a token.
pub(crate) struct Attempt<'a> {
    pub(super) connector: &'a Connector,
    pub(super) monitor: &'a Monitor,
    pub(super) oauth: &'a OAuth,
    pub(super) scrub: &'a Scrub,
    pub(super) home: Url,
    pub(super) now: DateTime<Utc>,
    pub(super) until: Instant,
    /// The trace that its requests belong to.
    pub(crate) trace: u128,
    /// What was done, for the page.
    pub(crate) steps: Vec<Step>,
    /// What the monitor's own origin had to bear.
    pub(crate) footprint: Footprint,
}

/// Whose answer a request waits for; what goes wrong is told of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The monitored server, or what it names as its own.
    Server,
    /// The declared issuer, or the token endpoint it names.
    Issuer,
}

pub(super) struct TokenAnswer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl<'a> Attempt<'a> {
    /// An attempt that ends at `until`; none where the monitor's address is none.
    pub(crate) fn new(
        connector: &'a Connector,
        monitor: &'a Monitor,
        oauth: &'a OAuth,
        scrub: &'a Scrub,
        now: DateTime<Utc>,
        until: Instant,
    ) -> Option<Self> {
        let home = Url::parse(monitor.url.resolved.expose()).ok()?;
        let (steps, footprint) = (Vec::new(), Footprint::default());
        Some(Self { connector, monitor, oauth, scrub, home, now, until, trace: new_trace(), steps, footprint })
    }

    /// The trace of the next request.
    pub(super) fn traceparent(&self) -> String {
        traceparent(self.trace, self.steps.len() as u64 + 1)
    }

    pub(super) async fn send(
        &mut self,
        side: Side,
        label: &str,
        url: &Url,
        request: Outgoing,
    ) -> Result<TokenAnswer, Fault> {
        let mut clock = StepClock::start(Stage::Handshake, label);
        clock.note(self.scrub.line(&shown(url)));
        let mut footprint = Footprint::default();
        let outcome = self.exchange(url, request, &mut clock, &mut footprint).await;
        if url.origin() == self.home.origin() {
            self.footprint = self.footprint.plus(footprint);
        }
        let outcome = outcome.map_err(|fault| self.unreached(side, url, &fault));
        self.steps.push(clock.stop(None));
        outcome
    }

    async fn exchange(
        &self,
        url: &Url,
        request: Outgoing,
        clock: &mut StepClock,
        footprint: &mut Footprint,
    ) -> Result<TokenAnswer, Fault> {
        let unsafe_address = || self.refused("neither https nor this machine");
        let target = Target::of(url).filter(|_| url.scheme() == "https" || is_local(url)).ok_or_else(unsafe_address)?;
        let host = HeaderValue::from_str(target.authority()).map_err(|_| self.refused("no host"))?;
        let shows = if url.origin() == self.home.origin() { ClientIdentity::Identity } else { ClientIdentity::Nothing };
        let target = egress(self.connector, target, self.monitor, self.scrub, shows)?;
        let request = request.at(path_of(url)).with(HOST, host);
        let request = request.with(USER_AGENT, HeaderValue::from_static(AGENT));
        let request = request.with(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        let trace = HeaderValue::from_str(&self.traceparent()).ok().map(|value| (TRACE, value));
        let request = request.with_some(trace);
        let wire = |target| Wire::new(self.connector, target, self.scrub);
        let mut wire = match () {
            () if self.is_issuer(url) => wire(target),
            () if self.home.host() == url.host() => wire(guarded(target, self.monitor)),
            () => wire(target).guarded(),
        };
        let exchanged = async {
            let mut reply = wire.send(request, clock, self.until).await?;
            let reading = ReadLimits {
                id: 0,
                scrub: self.scrub,
                credentials_sent: false,
                in_session: false,
                now: self.now,
                deadline: self.until,
                resume: OnceLock::new(),
                transcript: None,
            };
            let body = reading.whole(&mut wire, &reply.headers, &mut reply.body).await?;
            clock.answer();
            Ok(TokenAnswer { status: reply.status.as_u16(), headers: reply.headers, body })
        };
        let outcome = exchanged.await;
        wire.hang_up();
        *footprint = wire.footprint;
        outcome
    }

    /// Whether the file names this host as the issuer's, so that no guard stands before it.
    fn is_issuer(&self, url: &Url) -> bool {
        Url::parse(&self.oauth.issuer).is_ok_and(|issuer| issuer.host() == url.host())
    }

    /// What kept an answer from coming, told of whoever it was asked of.
    fn unreached(&self, side: Side, url: &Url, fault: &Fault) -> Fault {
        use FaultKind as K;
        let kind = match (fault.kind, side) {
            // Our own way is our own trouble, whoever it was to lead to.
            (K::WayBlocked | K::OutOfFiles, _) => fault.kind,
            (kind, Side::Server) if url.origin() == self.home.origin() => kind,
            // What a guard or a certificate forbids is forbidden, not broken.
            (K::Guarded | K::AuthRequired | K::AuthRejected, _) | (_, Side::Server) => K::AuthRejected,
            (_, Side::Issuer) => K::IssuerFailed,
        };
        self.scrub.fault(kind, &format!("OAuth: {} cannot be reached: {}", shown(url), fault.detail))
    }

    /// An answer that says that whoever gives it cannot do its work just now.
    pub(super) fn unable(&self, side: Side, url: &Url, status: u16) -> Fault {
        let said = format!("{} answers {status}", shown(url));
        match side {
            Side::Issuer => self.issuer_failed(&said),
            Side::Server if url.origin() == self.home.origin() => {
                self.scrub.fault(FaultKind::HttpStatus(status), &format!("OAuth: {said}"))
            }
            Side::Server => self.refused(&said),
        }
    }

    pub(super) fn issuer_failed(&self, detail: &str) -> Fault {
        self.scrub.fault(FaultKind::IssuerFailed, &format!("OAuth: {detail}"))
    }

    pub(super) fn refused(&self, detail: &str) -> Fault {
        self.scrub.fault(FaultKind::AuthRejected, &format!("OAuth: {detail}"))
    }
}

pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
