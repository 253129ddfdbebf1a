//! One MCP request over the wire, in the form its era asks for, and the sessions that come of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use hyper::body::Body as _;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

use crate::domain::fleet::Monitor;
use crate::domain::observation::{Fault, FaultKind};
use crate::domain::protocol::Era;
use crate::net::connect::{Connector, Target};
use crate::probe::clock::Clock;
use crate::probe::era::{LEGACY, MODERN};
use crate::probe::evidence::Scrub;
use crate::probe::identity;
use crate::probe::reply::{Broken, Reading};
use crate::probe::wire::{Reply, Wire};

/// Sessions one probe closes: one of its own, and those that error replies opened.
const SESSIONS_MAX: usize = 4;

/// Time for closing them, beyond the budget if need be: a leaked session costs the server more than this costs us.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// How we name ourselves.
pub(crate) const AGENT: &str = concat!("serin/", env!("CARGO_PKG_VERSION"));

/// Speaks MCP to one server for the length of one probe.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) wire: Wire<'a>,
    pub(crate) scrub: &'a Scrub,
    url: Url,
    base: HeaderMap,
    credentials_sent: bool,
    timeout: Duration,
    /// No call lasts longer than this.
    pub(crate) until: Instant,
    started_at: DateTime<Utc>,
    started: Instant,
    trace: u128,
    requests: u64,
    redirected: bool,
    /// The legacy version agreed on, once it is.
    pub(crate) protocol: Option<HeaderValue>,
    /// The session that calls belong to.
    pub(crate) session: Option<HeaderValue>,
    open: Vec<HeaderValue>,
}

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Call<'c> {
    pub(crate) method: &'c str,
    /// The tool's name, for `tools/call`.
    pub(crate) name: Option<&'c str>,
    /// Members of `params`, without braces.
    pub(crate) params: &'c str,
    /// `Mcp-Param-*`, for the modern era.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        connector: &'a Connector,
        target: Target,
        scrub: &'a Scrub,
        url: Url,
        monitor: &Monitor,
        started_at: DateTime<Utc>,
        until: Instant,
    ) -> Self {
        let mut base = HeaderMap::with_capacity(12);
        if let Ok(host) = HeaderValue::from_str(&target.authority()) {
            base.insert(HOST, host);
        }
        base.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let identity = monitor.identity.as_ref();
        base.extend(
            identity.and_then(|known| Some((identity::HEADER, identity::header(known, &monitor.id, started_at)?))),
        );
        let credentials = authorization(monitor, &url);
        let credentials_sent = credentials.is_some();
        if let Some(value) = credentials {
            base.insert(AUTHORIZATION, value);
        }
        Self {
            wire: Wire::new(connector, target, scrub),
            scrub,
            url,
            base,
            credentials_sent,
            timeout: monitor.timeout,
            until,
            started_at,
            started: Instant::now(),
            trace: rand::random(),
            requests: 0,
            redirected: false,
            protocol: None,
            session: None,
            open: Vec::new(),
        }
    }

    /// Asks and waits for the result.
    pub(crate) async fn ask(&mut self, era: Era, call: &Call<'_>, clock: &mut Clock) -> Result<Box<RawValue>, Broken> {
        let deadline = self.deadline();
        let id = self.requests + 1;
        let body = body_of(era, call, Some(id));
        let reply = self.post(era, call, body, clock, deadline).await.map_err(Broken::before_http)?;
        let reading = self.reading(id, deadline);
        reading.result(&mut self.wire, reply, clock).await
    }

    /// Tells something that needs no answer; the status says whether it was taken.
    pub(crate) async fn tell(&mut self, era: Era, call: &Call<'_>, clock: &mut Clock) -> Result<(), Broken> {
        let deadline = self.deadline();
        let body = body_of(era, call, None);
        let kept = clock.phases;
        let reply = self.post(era, call, body, clock, deadline).await.map_err(Broken::before_http)?;
        clock.phases = kept;
        if reply.status.is_success() {
            self.let_go(&reply);
            return Ok(());
        }
        let reading = self.reading(0, deadline);
        reading.result(&mut self.wire, reply, clock).await.map(drop)
    }

    /// A GET of the MCP address itself, for the older transport; the reply's head.
    pub(crate) async fn look(&mut self, clock: &mut Clock) -> Result<(Reply, Instant), Fault> {
        let deadline = self.deadline();
        let mut request = self.request(Method::GET, Bytes::new());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let reply = self.wire.send(request, clock, deadline).await?;
        self.keep_session(&reply);
        Ok((reply, deadline))
    }

    /// A GET of a path on the same origin.
    pub(crate) fn plain_get(&mut self, url: &Url) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::GET, Bytes::new());
        *request.uri_mut() = path_of(url);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
        request
    }

    pub(crate) fn reading(&self, id: u64, deadline: Instant) -> Reading<'a> {
        Reading {
            id,
            scrub: self.scrub,
            credentials_sent: self.credentials_sent,
            in_session: self.session.is_some(),
            now: self.now(),
            deadline,
        }
    }

    /// The wall clock, carried on from the moment the probe was given.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.started_at + TimeDelta::from_std(self.started.elapsed()).unwrap_or_default()
    }

    /// When a call that starts now has to be done.
    pub(crate) fn deadline(&self) -> Instant {
        (Instant::now() + self.timeout).min(self.until)
    }

    /// Closes every session that any reply opened. Never fails: what could not be closed shows in the footprint.
    pub(crate) async fn close(&mut self, clock: &mut Clock) {
        let deadline = Instant::now() + CLOSE_LIMIT;
        for session in std::mem::take(&mut self.open) {
            let mut request = self.request(Method::DELETE, Bytes::new());
            request.headers_mut().insert(SESSION, session);
            let version = self.protocol.clone().unwrap_or(HeaderValue::from_static(LEGACY));
            request.headers_mut().insert(PROTOCOL, version);
            match self.wire.send(request, clock, deadline).await {
                Ok(reply) if reply.status.is_success() || reply.status.as_u16() == 404 => {
                    self.wire.footprint.sessions_closed += 1;
                    self.let_go(&reply);
                }
                Ok(reply) => {
                    clock.note(format!("the server did not let its session be closed: {}", reply.status));
                    self.let_go(&reply);
                }
                Err(fault) => {
                    clock.note(self.scrub.line(&format!("the session could not be closed: {}", fault.detail)))
                }
            }
        }
        self.session = None;
    }

    /// Whether any session is still open.
    pub(crate) fn has_sessions(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether somebody still answers, on a connection of its own: any HTTP answer will do.
    pub(crate) async fn still_answers(&mut self, clock: &mut Clock) -> bool {
        self.wire.hang_up();
        let deadline = Instant::now() + CLOSE_LIMIT.min(self.timeout);
        let call = Call { method: "ping", ..Call::default() };
        let body = body_of(Era::Legacy, &call, Some(self.requests + 1));
        match self.post(Era::Legacy, &call, body, clock, deadline).await {
            Ok(reply) => {
                self.let_go(&reply);
                true
            }
            Err(fault) => !is_gone(fault.kind),
        }
    }

    async fn post(
        &mut self,
        era: Era,
        call: &Call<'_>,
        body: Bytes,
        clock: &mut Clock,
        deadline: Instant,
    ) -> Result<Reply, Fault> {
        loop {
            let mut request = self.request(Method::POST, body.clone());
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            match era {
                Era::Modern => {
                    headers.insert(PROTOCOL, HeaderValue::from_static(MODERN));
                    headers.extend(HeaderValue::from_str(call.method).ok().map(|value| (METHOD, value)));
                    headers.extend(call.name.and_then(header_value).map(|value| (NAME, value)));
                    headers.extend(call.headers.iter().cloned());
                }
                Era::Legacy => {
                    headers.extend(self.protocol.clone().map(|value| (PROTOCOL, value)));
                    headers.extend(self.session.clone().map(|value| (SESSION, value)));
                }
            }
            let reply = self.wire.send(request, clock, deadline).await?;
            self.keep_session(&reply);
            let Some(moved) = self.moved_to(&reply) else {
                return Ok(reply);
            };
            clock.note(self.scrub.line(&format!("followed a {} to {}", reply.status.as_u16(), moved.path())));
            self.let_go(&reply);
            self.redirected = true;
            self.url = moved;
        }
    }

    /// Where a redirect leads that is followed: once, same origin, method kept.
    fn moved_to(&self, reply: &Reply) -> Option<Url> {
        if self.redirected || !matches!(reply.status.as_u16(), 307 | 308) {
            return None;
        }
        let moved = self.url.join(reply.headers.get(LOCATION)?.to_str().ok()?).ok()?;
        (moved.origin() == self.url.origin()).then_some(moved)
    }

    fn request(&mut self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        self.requests += 1;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path_of(&self.url);
        *request.headers_mut() = self.base.clone();
        let trace = format!("00-{:032x}-{:016x}-01", self.trace.max(1), self.requests);
        request.headers_mut().extend(HeaderValue::from_str(&trace).ok().map(|value| (TRACE, value)));
        request
    }

    fn keep_session(&mut self, reply: &Reply) {
        if let Some(id) = reply.headers.get(SESSION)
            && self.open.len() < SESSIONS_MAX
            && !self.open.contains(id)
        {
            self.open.push(id.clone());
            self.wire.footprint.sessions_opened += 1;
        }
    }

    /// The session the last reply opened becomes ours.
    pub(crate) fn join_session(&mut self) {
        self.session = self.open.last().cloned();
    }

    /// A body nobody reads: the connection can only be kept where there is none.
    fn let_go(&mut self, reply: &Reply) {
        if !reply.body.is_end_stream() {
            self.wire.hang_up();
        }
    }
}

/// Text as a header value; the modern era's Base64 form where it is not plain ASCII.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}

fn body_of(era: Era, call: &Call<'_>, id: Option<u64>) -> Bytes {
    let Call { method, params, .. } = call;
    let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let params = match era {
        Era::Legacy => format!("{{{params}}}"),
        Era::Modern => {
            let comma = if params.is_empty() { "" } else { "," };
            format!(
                r#"{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"serin","version":"{version}"}}}}}}"#
            )
        }
    };
    Bytes::from(format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#))
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

/// The path and query of a URL, as HTTP/1.1 asks for them.
fn path_of(url: &Url) -> http::Uri {
    url[url::Position::BeforePath..url::Position::AfterQuery].parse().unwrap_or_default()
}

/// A URL that is none, or none that a probe speaks.
pub(crate) fn bad_address(scrub: &Scrub) -> Fault {
    scrub.fault(FaultKind::NameNotResolved, "the address is no http or https URL with a host")
}

/// Nobody is there any more, which a slow or confused server never looks like.
pub(crate) fn is_gone(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Refused | FaultKind::Reset | FaultKind::ClosedEarly)
}

#[cfg(test)]
mod tests {
    use super::header_value;

    #[test]
    fn names_that_are_no_plain_ascii_travel_as_base64() {
        let seen = |text: &str| header_value(text).unwrap().to_str().unwrap().to_owned();
        assert_eq!(seen("search docs"), "search docs");
        assert_eq!(seen("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(seen(" x"), "=?base64?IHg=?=");
        assert_eq!(seen("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
