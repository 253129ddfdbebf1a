//! One MCP request over the wire, in the form its era asks for.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use serde_json::value::RawValue;
use tokio::time::Instant;
use url::Url;

use crate::domain::fault::Fault;
use crate::domain::protocol::Era;
use crate::probe::decode::era::MODERN;
use crate::probe::session::caller::{Caller, Carrier};
use crate::probe::session::declared::bad_address;
use crate::probe::session::message::{
    Call, LAST_EVENT_ID, METHOD, NAME, OutgoingRequest, PROTOCOL, TRACE, body_of, header_value, path_of, traceparent,
};
use crate::probe::wire::channel::read_off;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::Reply;
use crate::probe::wire::outgoing::{Header, Outgoing};
use crate::probe::wire::reply::{BrokenReply, Resume};

/// Times one call's stream is taken up again. A server that hands out its answer in more pieces than this never comes to an end.
pub(super) const RESUMES_MAX: usize = 4;

impl<'a> Caller<'a> {
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

    pub(super) async fn ask_http(
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
    pub(super) async fn take_up(&mut self, resume: &Resume, deadline: Instant, clock: &mut StepClock) -> Option<Reply> {
        if Instant::now() + resume.after >= deadline {
            clock.note(format!("the server asks to come back after {} ms: too late", resume.after.as_millis()));
            return None;
        }
        tokio::time::sleep(resume.after).await;
        let request = self.request(Method::GET, Bytes::new());
        let request = request.with(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = self.session.sign(request.with(LAST_EVENT_ID, resume.last_id.clone()));
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

    /// A GET of a path on the same origin.
    pub(crate) fn plain_get(&mut self, url: &Url) -> Outgoing {
        let request = self.request(Method::GET, Bytes::new()).at(path_of(url));
        request.with(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"))
    }

    pub(super) async fn post(
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
            self.path = path_of(&moved);
            self.moved = Some(moved);
        }
    }

    /// A POST of a call, to where calls go.
    pub(super) fn posted(&self, era: Era, call: &Call<'_>, letter: &OutgoingRequest) -> Outgoing {
        let mut request = self.traced(Method::POST, letter.body.clone(), &letter.trace);
        if let Carrier::Sse(channel) = &self.carrier {
            request = request.at(path_of(channel.endpoint()));
        }
        let request = request.with(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = request.with(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        match era {
            Era::Modern => {
                let request = request.with(PROTOCOL, HeaderValue::from_static(MODERN));
                let request = request.with(METHOD, HeaderValue::from_static(call.method));
                let request = request.with_some(call.name.and_then(header_value).map(|value| (NAME, value)));
                call.headers.iter().cloned().fold(request, |request, (name, value)| request.with(name, value))
            }
            Era::Legacy => self.session.sign(request),
        }
    }

    /// Where a redirect leads that is followed: once, same origin, method kept.
    pub(super) fn moved_to(&self, reply: &Reply) -> Option<Url> {
        if self.moved.is_some() || !matches!(reply.status.as_u16(), 307 | 308) {
            return None;
        }
        let moved = self.url().join(reply.headers.get(LOCATION)?.to_str().ok()?).ok()?;
        (moved.origin() == self.url().origin()).then_some(moved)
    }

    /// The next message; only one that asks for an answer carries its id.
    pub(super) fn letter(&mut self, era: Era, call: &Call<'_>, asks: bool) -> OutgoingRequest {
        self.requests += 1;
        let (id, trace) = (self.requests, traceparent(self.trace, self.requests));
        OutgoingRequest { id, body: body_of(era, call, asks.then_some(id), &trace), trace }
    }

    pub(super) fn request(&mut self, method: Method, body: Bytes) -> Outgoing {
        self.requests += 1;
        self.traced(method, body, &traceparent(self.trace, self.requests))
    }

    pub(super) fn traced(&self, method: Method, body: Bytes, trace: &str) -> Outgoing {
        let trace: Option<Header> = HeaderValue::from_str(trace).ok().map(|value| (TRACE, value));
        Outgoing::new(method, self.path.clone(), self.headers.all.clone(), body).with_some(trace)
    }

    /// A body nobody reads: the connection can only be kept where there is none.
    pub(super) fn let_go(&mut self, reply: &Reply) {
        if !reply.body.is_empty() {
            self.wire.hang_up();
        }
    }
}
