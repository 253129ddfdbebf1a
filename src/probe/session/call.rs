//! One MCP request over the wire, in the form its era asks for, and the sessions that come of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::value::RawValue;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Monitor, Program};
use crate::domain::protocol::{Era, Transport, legacy_version};
use crate::domain::secret::Secret;
use crate::domain::server_profile::{KeptSession, ServerProfile};
use crate::net::connect::{Connector, Target, Times};
use crate::probe::decode::coding;
use crate::probe::decode::era::{LEGACY, MODERN};
use crate::probe::decode::identity;
use crate::probe::session::unclosed_sessions::UnclosedSessions;
use crate::probe::wire::channel::{Channel, read_off};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::{Reply, Wire};
use crate::probe::wire::program::Process;
use crate::probe::wire::reply::{BrokenReply, ReadLimits, Resume};
use crate::untrusted_text::Scrub;

/// Sessions one probe closes: one of its own, those that error replies opened, and what an earlier one owes.
const SESSIONS_MAX: usize = 16;

/// Time for closing them, beyond the budget if need be: a leaked session costs the server more than this costs us.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// Times one call's stream is taken up again. A server that hands out its answer in more pieces than this never comes to an end.
const RESUMES_MAX: usize = 4;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// How we name ourselves.
pub(crate) const AGENT: &str = concat!("serin/", env!("CARGO_PKG_VERSION"));

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

/// What every probe shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    /// How connections come about.
    pub(crate) connector: &'a Connector,
    /// What earlier probes could not close.
    pub(crate) unclosed_sessions: &'a UnclosedSessions,
}

/// Speaks MCP to one server for the length of one probe.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    connector: &'a Connector,
    pub(crate) wire: Wire<'a>,
    pub(crate) carrier: Carrier<'a>,
    pub(crate) scrub: &'a Scrub,
    url: Url,
    base: HeaderMap,
    credentials_sent: bool,
    /// Headers that are for the monitor's own origin and nobody else.
    secret: Vec<HeaderName>,
    timeout: Duration,
    /// No call lasts longer than this.
    pub(crate) until: Instant,
    started_at: DateTime<Utc>,
    started: Instant,
    trace: u128,
    /// Ids given out so far; a kept program's go on from beat to beat.
    pub(crate) requests: u64,
    redirected: bool,
    /// The legacy version agreed on, once it is.
    pub(crate) protocol: Option<HeaderValue>,
    /// The session that calls belong to.
    pub(crate) session: Option<HeaderValue>,
    open: Vec<HeaderValue>,
    /// The session that the latest reply named.
    named: Option<HeaderValue>,
    unclosed_sessions: &'a UnclosedSessions,
    monitor: &'a Monitor,
}

/// A message as it goes out: the trace in its `_meta` is that of the header of whatever request carries it.
#[derive(Debug)]
struct OutgoingRequest {
    id: u64,
    body: Bytes,
    trace: String,
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
        means: Means<'a>,
        target: Target,
        scrub: &'a Scrub,
        url: Url,
        monitor: &'a Monitor,
        started_at: DateTime<Utc>,
        until: Instant,
    ) -> Self {
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
        let credentials = authorization(monitor, &url);
        let credentials_sent = credentials.is_some();
        if let Some(value) = credentials {
            base.insert(AUTHORIZATION, value);
        }
        let declared = declared_headers(monitor);
        let credentials_sent = credentials_sent || !declared.is_empty();
        let secret: Vec<HeaderName> = declared.iter().map(|(name, _)| name.clone()).chain([AUTHORIZATION]).collect();
        base.extend(declared);
        let Means { connector, unclosed_sessions } = means;
        Self {
            connector,
            wire: Wire::new(connector, target, scrub),
            carrier: Carrier::Http,
            scrub,
            url,
            base,
            credentials_sent,
            secret,
            timeout: monitor.timeout,
            until,
            started_at,
            started: Instant::now(),
            trace: new_trace(),
            requests: 0,
            redirected: false,
            protocol: None,
            session: None,
            open: unclosed_sessions.take(monitor),
            named: None,
            unclosed_sessions,
            monitor,
        }
    }

    /// Asks and waits for the result.
    pub(crate) async fn ask(
        &mut self,
        era: Era,
        call: &Call<'_>,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        self.ask_until(self.deadline(), era, call, clock).await
    }

    /// Asks and waits for the result, until another moment than the usual.
    pub(crate) async fn ask_until(
        &mut self,
        deadline: Instant,
        era: Era,
        call: &Call<'_>,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        let letter = self.letter(era, call, true);
        let reading = self.reading(letter.id, deadline);
        if matches!(self.carrier, Carrier::Http) {
            return self.ask_http(deadline, era, call, &letter, clock).await;
        }
        let request = self.posted(era, call, &letter);
        let body = letter.body;
        match &mut self.carrier {
            Carrier::Sse(channel) => channel.ask(&mut self.wire, request, &reading, clock).await,
            Carrier::Stdio(process) => {
                if let Some(transcript) = self.wire.transcript {
                    transcript.said(&body);
                }
                process.ask(&body, &reading, clock).await
            }
            Carrier::Http => Err(BrokenReply::before_http(bad_address(self.scrub))),
        }
    }

    async fn ask_http(
        &mut self,
        deadline: Instant,
        era: Era,
        call: &Call<'_>,
        letter: &OutgoingRequest,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        let reply = self.post(era, call, letter, clock, deadline).await.map_err(BrokenReply::before_http)?;
        // The session may have come with the reply.
        let mut reading = self.reading(letter.id, deadline);
        let mut outcome = reading.result(&mut self.wire, reply, clock).await;
        for _ in 0..RESUMES_MAX {
            let Some(resume) = reading.resume.take().filter(|_| era == Era::Legacy) else {
                break;
            };
            let Some(reply) = self.take_up(&resume, deadline, clock).await else {
                break;
            };
            reading = self.reading(letter.id, deadline);
            outcome = reading.result(&mut self.wire, reply, clock).await;
        }
        outcome
    }

    /// A stream that the server ended before the answer, taken up again where it named a place (2025-11-25, "Resumability
    /// and Redelivery"): after the wait it asked for, by a GET. None where that cannot be, and the stream's fault stands.
    async fn take_up(&mut self, resume: &Resume, deadline: Instant, clock: &mut StepClock) -> Option<Reply> {
        if Instant::now() + resume.after >= deadline {
            clock.note(format!("the server asks to come back after {} ms: too late", resume.after.as_millis()));
            return None;
        }
        tokio::time::sleep(resume.after).await;
        let mut request = self.request(Method::GET, Bytes::new());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(LAST_EVENT_ID, resume.last_id.clone());
        headers.extend(self.protocol.clone().map(|value| (PROTOCOL, value)));
        headers.extend(self.session.clone().map(|value| (SESSION, value)));
        let reply = self.wire.send(request, clock, deadline).await.ok()?;
        clock.note(format!("the server ended the stream before the answer; taken up again: {}", reply.status));
        if reply.status != StatusCode::OK {
            self.let_go(&reply);
            return None;
        }
        Some(reply)
    }

    /// Tells something that needs no answer; the status says whether it was taken.
    pub(crate) async fn tell(&mut self, era: Era, call: &Call<'_>, clock: &mut StepClock) -> Result<(), BrokenReply> {
        let deadline = self.deadline();
        let letter = self.letter(era, call, false);
        let kept = clock.phases;
        let reply = match &mut self.carrier {
            Carrier::Http => self.post(era, call, &letter, clock, deadline).await,
            Carrier::Sse(_) => {
                let request = self.posted(era, call, &letter);
                self.wire.send(request, clock, deadline).await
            }
            Carrier::Stdio(process) => {
                if let Some(transcript) = self.wire.transcript {
                    transcript.said(&letter.body);
                }
                return process.tell(&letter.body, self.scrub, deadline).await.map_err(BrokenReply::before_http);
            }
        };
        let reply = reply.map_err(BrokenReply::before_http)?;
        clock.phases = kept;
        if reply.status.is_success() {
            read_off(&mut self.wire, reply).await;
            return Ok(());
        }
        let reading = self.reading(0, deadline);
        reading.result(&mut self.wire, reply, clock).await.map(drop)
    }

    /// Opens the event stream of the older transport over a connection of its own; calls go through it from now on.
    pub(crate) async fn open_stream(&mut self, deadline: Instant, clock: &mut StepClock) -> Result<(), BrokenReply> {
        let mut request = self.request(Method::GET, Bytes::new());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let wire = Wire::new(self.connector, self.wire.target().clone(), self.scrub).kept_in(self.wire.transcript);
        let reading = self.reading(0, deadline);
        match Box::pin(Channel::open(wire, request, &self.url, &reading, clock)).await {
            Ok(channel) => {
                self.carrier = Carrier::Sse(Box::new(channel));
                self.wire.footprint.sessions_opened += 1;
                Ok(())
            }
            Err((broken, spent)) => {
                self.wire.footprint = self.wire.footprint.plus(spent);
                Err(broken)
            }
        }
    }

    /// Closes the event stream, where one is open, and with it the session.
    pub(crate) fn close_stream(&mut self) {
        if matches!(self.carrier, Carrier::Sse(_))
            && let Carrier::Sse(channel) = std::mem::replace(&mut self.carrier, Carrier::Http)
        {
            self.wire.footprint = self.wire.footprint.plus(channel.close());
            self.wire.footprint.sessions_closed += 1;
        }
    }

    /// Starts the program that is the server; calls go to it from now on.
    pub(crate) fn start_program(&mut self, program: &Program, clock: &mut StepClock) -> Result<(), Fault> {
        let process = Process::start(program, self.scrub)?;
        clock.connected(clock.elapsed(), Times { connect: Some(Duration::ZERO), ..Times::default() });
        self.carrier = Carrier::Stdio(Box::new(process));
        Ok(())
    }

    /// Stops the program, where one runs.
    pub(crate) async fn stop_program(&mut self) {
        if let Some(process) = self.take_program() {
            process.stop().await;
        }
    }

    /// The program as it runs, for another beat or to be stopped; what it cost is counted here.
    pub(crate) fn take_program(&mut self) -> Option<Box<Process>> {
        match std::mem::replace(&mut self.carrier, Carrier::Http) {
            Carrier::Stdio(mut process) => {
                self.wire.footprint = self.wire.footprint.plus(std::mem::take(&mut process.footprint));
                Some(process)
            }
            other => {
                self.carrier = other;
                None
            }
        }
    }

    /// Goes on with a program that was taken before.
    pub(crate) fn put_program(&mut self, process: Box<Process>) {
        self.carrier = Carrier::Stdio(process);
    }

    /// What carries the calls now.
    pub(crate) fn transport(&self) -> Transport {
        match self.carrier {
            Carrier::Http => Transport::Http,
            Carrier::Sse(_) => Transport::Sse,
            Carrier::Stdio(_) => Transport::Stdio,
        }
    }

    /// A GET of a path on the same origin.
    pub(crate) fn plain_get(&mut self, url: &Url) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::GET, Bytes::new());
        *request.uri_mut() = path_of(url);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
        request
    }

    /// Whose server it is.
    pub(crate) const fn monitor(&self) -> &'a Monitor {
        self.monitor
    }

    /// Takes out what only the monitor's own origin may see.
    pub(crate) fn strip(&self, request: &mut Request<Full<Bytes>>) {
        for name in &self.secret {
            request.headers_mut().remove(name);
        }
    }

    pub(crate) fn reading(&self, id: u64, deadline: Instant) -> ReadLimits<'a> {
        ReadLimits {
            id,
            scrub: self.scrub,
            credentials_sent: self.credentials_sent,
            // The stream is the session.
            in_session: self.session.is_some() || matches!(self.carrier, Carrier::Sse(_)),
            now: self.now(),
            deadline,
            transcript: self.wire.transcript,
            resume: OnceLock::new(),
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

    /// Closes the sessions that replies opened, but for those that are to stay open; whether it closed any. Never
    /// fails: what was not closed shows in the footprint.
    pub(crate) async fn close(&mut self, profile: &ServerProfile, clock: &mut StepClock) -> bool {
        let mut closed = matches!(self.carrier, Carrier::Sse(_));
        self.close_stream();
        let deadline = Instant::now() + CLOSE_LIMIT;
        for session in std::mem::take(&mut self.open) {
            if self.spares(profile, &session) {
                clock.note("a session stays open: closing one may bring this server down".to_owned());
                continue;
            }
            closed = true;
            let mut request = self.request(Method::DELETE, Bytes::new());
            request.headers_mut().insert(SESSION, session.clone());
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
                    clock.note(self.scrub.line(&format!("the session could not be closed: {}", fault.detail)));
                    self.open.push(session);
                }
            }
        }
        self.session = None;
        closed
    }

    /// Whether this session is to stay open.
    pub(crate) fn spares(&self, profile: &ServerProfile, session: &HeaderValue) -> bool {
        profile.spares(self.monitor.reach.close_sessions, session.as_bytes(), self.version())
    }

    /// Goes on in a session that an earlier probe left open; false where its id cannot be one.
    pub(crate) fn go_on(&mut self, kept: &KeptSession) -> bool {
        let Ok(id) = HeaderValue::from_str(&kept.id) else { return false };
        self.session = Some(id);
        self.protocol = Some(HeaderValue::from_static(kept.version));
        // Whoever else speaks in it just now counts from elsewhere.
        self.requests = u64::from(rand::random::<u32>()) << 8;
        true
    }

    /// Speaks outside the legacy conversation from now on; its session is still to be closed.
    pub(crate) fn leave_legacy(&mut self) {
        (self.session, self.protocol) = (None, None);
    }

    /// The legacy version agreed on, once it is.
    pub(crate) fn version(&self) -> Option<&'static str> {
        legacy_version(self.protocol.as_ref()?.to_str().ok()?)
    }

    /// Whether somebody still answers, on a connection of its own.
    ///
    /// Any answer but a 5xx will do. Behind a gateway a server that is gone is a 502, and one whose tasks broke down
    /// says 500; so may a confused one to a ping without a session, which then still opens a session when asked to.
    pub(crate) async fn still_answers(&mut self, era: Era, clock: &mut StepClock) -> Afterwards {
        // The modern era has neither of the two below.
        if era == Era::Modern {
            let discover = Call { method: "server/discover", ..Call::default() };
            return afterwards(&self.knock(era, &discover, clock).await);
        }
        let ping = Call { method: "ping", ..Call::default() };
        match self.knock(era, &ping, clock).await {
            Ok(status) if !status.is_server_error() => return Afterwards::Answers,
            Err(fault) if is_gone(fault.kind) => return Afterwards::Gone,
            _ => {}
        }
        let params = initialize_params();
        let initialize = Call { method: "initialize", params: &params, ..Call::default() };
        afterwards(&self.knock(era, &initialize, clock).await)
    }

    /// Posts a call outside any session on a fresh connection; the status is all that is looked at.
    async fn knock(&mut self, era: Era, call: &Call<'_>, clock: &mut StepClock) -> Result<StatusCode, Fault> {
        self.wire.hang_up();
        let deadline = Instant::now() + CLOSE_LIMIT.min(self.timeout);
        let letter = self.letter(era, call, true);
        let reply = self.post(era, call, &letter, clock, deadline).await?;
        self.let_go(&reply);
        Ok(reply.status)
    }

    async fn post(
        &mut self,
        era: Era,
        call: &Call<'_>,
        letter: &OutgoingRequest,
        clock: &mut StepClock,
        deadline: Instant,
    ) -> Result<Reply, Fault> {
        loop {
            let request = self.posted(era, call, letter);
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

    /// A POST of a call, to where calls go.
    fn posted(&self, era: Era, call: &Call<'_>, letter: &OutgoingRequest) -> Request<Full<Bytes>> {
        let mut request = self.traced(Method::POST, letter.body.clone(), &letter.trace);
        if let Carrier::Sse(channel) = &self.carrier {
            *request.uri_mut() = path_of(channel.endpoint());
        }
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
        request
    }

    /// Where a redirect leads that is followed: once, same origin, method kept.
    fn moved_to(&self, reply: &Reply) -> Option<Url> {
        if self.redirected || !matches!(reply.status.as_u16(), 307 | 308) {
            return None;
        }
        let moved = self.url.join(reply.headers.get(LOCATION)?.to_str().ok()?).ok()?;
        (moved.origin() == self.url.origin()).then_some(moved)
    }

    /// The trace that all requests of this probe belong to.
    pub(crate) const fn trace(&self) -> u128 {
        self.trace
    }

    /// The next message; only one that asks for an answer carries its id.
    fn letter(&mut self, era: Era, call: &Call<'_>, asks: bool) -> OutgoingRequest {
        self.requests += 1;
        let (id, trace) = (self.requests, traceparent(self.trace, self.requests));
        OutgoingRequest { id, body: body_of(era, call, asks.then_some(id), &trace), trace }
    }

    fn request(&mut self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        self.requests += 1;
        self.traced(method, body, &traceparent(self.trace, self.requests))
    }

    fn traced(&self, method: Method, body: Bytes, trace: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path_of(&self.url);
        *request.headers_mut() = self.base.clone();
        request.headers_mut().extend(HeaderValue::from_str(trace).ok().map(|value| (TRACE, value)));
        request
    }

    /// Takes note of the session that a reply named: error replies open some too.
    pub(crate) fn keep_session(&mut self, reply: &Reply) {
        self.named = reply.headers.get(SESSION).cloned();
        if let Some(id) = reply.headers.get(SESSION)
            && self.open.len() < SESSIONS_MAX
            && !self.open.contains(id)
            && self.session.as_ref() != Some(id)
        {
            self.open.push(id.clone());
            self.wire.footprint.sessions_opened += 1;
        }
    }

    /// The session the last reply opened becomes ours.
    pub(crate) fn join_session(&mut self) {
        self.session = self.named.clone();
    }

    /// A body nobody reads: the connection can only be kept where there is none.
    fn let_go(&mut self, reply: &Reply) {
        if !reply.body.is_empty() {
            self.wire.hang_up();
        }
    }
}

impl Drop for Caller<'_> {
    /// What is still open is closed by the next probe: this one was dropped, or the server did not take the closing.
    fn drop(&mut self) {
        if !self.open.is_empty() {
            self.unclosed_sessions.leave(
                &self.monitor.id,
                &self.monitor.definition_hash,
                std::mem::take(&mut self.open),
            );
        }
    }
}

/// What became of a server after something was done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It answers.
    Answers,
    /// It does not, and did before.
    Gone,
    /// It is slow: that proves nothing.
    Unclear,
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

/// A trace of its own; all zeros would be none.
pub(crate) fn new_trace() -> u128 {
    rand::random::<u128>().max(1)
}

/// The nth request of a trace, as W3C Trace Context writes it; `nth` counts from 1.
pub(crate) fn traceparent(trace: u128, nth: u64) -> String {
    format!("00-{trace:032x}-{nth:016x}-01")
}

fn body_of(era: Era, call: &Call<'_>, id: Option<u64>, trace: &str) -> Bytes {
    let Call { method, params, .. } = call;
    let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let comma = if params.is_empty() { "" } else { "," };
    let params = match era {
        Era::Legacy => format!(r#"{{{params}{comma}"_meta":{{"traceparent":"{trace}"}}}}"#),
        Era::Modern => {
            format!(
                r#"{{{params}{comma}"_meta":{{"traceparent":"{trace}","io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"serin","version":"{version}"}}}}}}"#
            )
        }
    };
    Bytes::from(format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#))
}

/// The parameters of `initialize`.
pub(crate) fn initialize_params() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#""protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"serin","version":"{version}"}}"#)
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

/// The path and query of a URL, as HTTP/1.1 asks for them.
fn path_of(url: &Url) -> http::Uri {
    url[url::Position::BeforePath..url::Position::AfterQuery].parse().unwrap_or_default()
}

/// A URL that is none, or none that a probe speaks.
pub(crate) fn bad_address(scrub: &Scrub) -> Fault {
    scrub.fault(FaultKind::NameNotResolved, "the address is no http or https URL with a host")
}

/// What an answer after a closing says of the server.
fn afterwards(knocked: &Result<StatusCode, Fault>) -> Afterwards {
    match knocked {
        Ok(status) if !status.is_server_error() => Afterwards::Answers,
        Ok(_) => Afterwards::Gone,
        Err(fault) if is_gone(fault.kind) => Afterwards::Gone,
        Err(_) => Afterwards::Unclear,
    }
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
