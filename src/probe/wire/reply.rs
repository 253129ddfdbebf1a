//! From the head of an HTTP answer to a JSON-RPC result, or to the fault that it is.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

use crate::domain::fault::{Fault, FaultKind};
use crate::probe::decode::rpc::{Misfit, RpcError, RpcMessage, read};
use crate::probe::decode::sse::{Decoder, Overflow, SseEvent};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::{Body, Piece, Reply, Wire};
use crate::probe::wire::pieces::Pieces;
use crate::probe::wire::transcript::Transcript;
use crate::untrusted_text::{Scrub, readable};
use serin_outbound::retry_after::wish;

/// Bytes of one answer. tools/list of a large server has some hundred kB; a search answer less.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes read of an answer that is a fault anyway, or of what follows an answer: enough for a JSON-RPC error or the first words.
const ERROR_BYTES_MAX: usize = 16 * 1024;

/// How long a stream may stay open behind the answer before we close it ourselves.
const LINGER: Duration = Duration::from_millis(50);

/// How long to wait before a stream is taken up again, where it does not say: as the official clients do.
const RESUME_AFTER: Duration = Duration::from_secs(1);

/// A call that brought no result.
#[derive(Debug)]
pub(crate) struct BrokenReply {
    pub(crate) fault: Fault,
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// The JSON-RPC error, where there was one.
    pub(crate) error: Option<RpcError>,
}

impl BrokenReply {
    pub(crate) fn before_http(fault: Fault) -> Self {
        Self { fault, status: None, error: None }
    }
}

/// What is needed to read an answer.
pub(crate) struct ReadLimits<'r> {
    pub(crate) id: u64,
    pub(crate) scrub: &'r Scrub,
    pub(crate) credentials_sent: bool,
    /// Whether the request named a session.
    pub(crate) in_session: bool,
    /// For `Retry-After` as a date.
    pub(crate) now: DateTime<Utc>,
    pub(crate) deadline: Instant,
    /// Where what is read is kept, where a wire does not keep it.
    pub(crate) transcript: Option<&'r Transcript>,
    /// Where a stream that ended without the answer can be taken up again, if it said so.
    pub(crate) resume: OnceLock<Resume>,
}

/// A place in a stream, and how long to wait before coming back to it.
#[derive(Debug, Clone)]
pub(crate) struct Resume {
    pub(crate) last_id: HeaderValue,
    pub(crate) after: Duration,
}

impl ReadLimits<'_> {
    pub(crate) async fn result(
        &self,
        wire: &mut Wire<'_>,
        reply: Reply,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        let Reply { status, headers, mut body } = reply;
        let code = Some(status.as_u16());
        let broken = |fault| BrokenReply { fault, status: code, error: None };
        if status != StatusCode::OK {
            return Err(self.refused(wire, status, &headers, body, clock).await);
        }
        let kind = content_type(&headers);
        if kind == "text/event-stream" {
            return self.streamed(wire, body, clock).await.map_err(|mut broken| {
                broken.status = code;
                broken
            });
        }
        let bytes = self.whole(wire, &headers, &mut body).await.map_err(broken)?;
        clock.end();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(broken(self.scrub.fault(FaultKind::EmptyBody, "200 with an empty body")));
        }
        if kind != "application/json" {
            let wrong = if kind == "text/html" { FaultKind::Html } else { FaultKind::WrongContentType };
            let name = if kind.is_empty() { "without a content type" } else { kind };
            return Err(broken(self.scrub.fault(wrong, &format!("200 {name}: {}", readable(&bytes)))));
        }
        match read(&bytes, self.id) {
            Ok(RpcMessage::Result { raw, id_as_string }) => {
                clock.answer();
                note_id(clock, id_as_string);
                Ok(raw.to_owned())
            }
            Ok(RpcMessage::Error(error)) => {
                clock.answer();
                Err(BrokenReply { fault: self.rpc_fault(&error, ""), status: code, error: Some(error) })
            }
            Ok(RpcMessage::Other) => Err(broken(
                self.scrub.fault(FaultKind::NotJsonRpc, "answered with a notification or a request of its own"),
            )),
            Err(misfit) => Err(broken(self.fault_of(&misfit))),
        }
    }

    /// Reads a body to its end.
    pub(crate) async fn whole(
        &self,
        wire: &mut Wire<'_>,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<Bytes, Fault> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if announced.is_some_and(|announced| announced > ANSWER_BYTES_MAX) {
            wire.hang_up();
            return Err(self.too_large());
        }
        let mut pieces = Pieces::default();
        loop {
            match wire.piece(body, self.deadline).await {
                Piece::Bytes(more) if pieces.len() + more.len() > ANSWER_BYTES_MAX => {
                    wire.hang_up();
                    return Err(self.too_large());
                }
                Piece::Bytes(more) => pieces.push(more, announced),
                Piece::End => return Ok(pieces.whole()),
                Piece::Broken(fault) => return Err(fault),
                Piece::Late => {
                    wire.hang_up();
                    let detail = format!("{} bytes of the body came in time, and not its end", pieces.len());
                    return Err(self.scrub.fault(FaultKind::SlowBody, &detail));
                }
            }
        }
    }

    fn too_large(&self) -> Fault {
        self.scrub.fault(FaultKind::TooLarge, &format!("the body is larger than {ANSWER_BYTES_MAX} bytes"))
    }

    /// Reads an event stream up to the answer.
    async fn streamed(
        &self,
        wire: &mut Wire<'_>,
        mut body: Body,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        let (mut decoder, mut events) = (Decoder::new(ANSWER_BYTES_MAX), Vec::new());
        // What the events so far were, if not the answer: it outweighs "without the answer".
        let mut odd: Option<Fault> = None;
        let mut bytes_seen = 0_usize;
        let open = loop {
            match wire.piece(&mut body, self.deadline).await {
                Piece::Bytes(bytes) => {
                    bytes_seen += bytes.len();
                    let pushed = decoder.push(&bytes, &mut events);
                    if let Some(answer) = self.look(&mut events, &mut odd, clock) {
                        self.linger(wire, body, clock).await;
                        return answer;
                    }
                    if pushed.is_err() || bytes_seen > ANSWER_BYTES_MAX {
                        wire.hang_up();
                        let what = if pushed == Err(Overflow::Events) { "events" } else { "bytes" };
                        let fault =
                            self.scrub.fault(FaultKind::TooLarge, &format!("the stream brought too many {what}"));
                        return Err(BrokenReply::before_http(fault));
                    }
                }
                Piece::End => {
                    self.may_resume(&decoder);
                    break false;
                }
                Piece::Late => {
                    wire.hang_up();
                    break true;
                }
                Piece::Broken(fault) => return Err(BrokenReply::before_http(odd.unwrap_or(fault))),
            }
        };
        let detail = format!(
            "the stream {} without the answer; {} events, {} keep-alives",
            if open { "stayed open" } else { "ended" },
            decoder.events(),
            decoder.comments()
        );
        let fault = match odd {
            Some(fault) => fault,
            None if decoder.is_no_stream() => self.scrub.fault(FaultKind::StreamGarbage, &detail),
            None if open => self.scrub.fault(FaultKind::StreamWithoutAnswer, &detail),
            None => self.scrub.fault(FaultKind::StreamEnded, &detail),
        };
        Err(BrokenReply::before_http(fault))
    }

    /// A stream whose events have ids may be taken up again behind the last one.
    fn may_resume(&self, decoder: &Decoder) {
        let last_id = decoder.last_id().and_then(|id| HeaderValue::from_bytes(id).ok());
        if let Some(last_id) = last_id {
            let _ = self.resume.set(Resume { last_id, after: decoder.retry().unwrap_or(RESUME_AFTER) });
        }
    }

    /// Looks through new events for the answer; keeps what else they were.
    fn look(
        &self,
        events: &mut Vec<SseEvent>,
        odd: &mut Option<Fault>,
        clock: &mut StepClock,
    ) -> Option<Result<Box<RawValue>, BrokenReply>> {
        events
            .drain(..)
            .filter(|event| matches!(event.name.as_str(), "" | "message"))
            .find_map(|event| self.message(&event.data, odd, clock))
    }

    /// One message of many: the answer, or none. What it was else is kept, where it is no message at all.
    pub(crate) fn message(
        &self,
        data: &[u8],
        odd: &mut Option<Fault>,
        clock: &mut StepClock,
    ) -> Option<Result<Box<RawValue>, BrokenReply>> {
        match read(data, self.id) {
            Ok(RpcMessage::Other) => None,
            Ok(RpcMessage::Result { raw, id_as_string }) => {
                clock.answer();
                note_id(clock, id_as_string);
                if odd.is_some() {
                    clock.note("there was something else before the answer".to_owned());
                }
                Some(Ok(raw.to_owned()))
            }
            Ok(RpcMessage::Error(error)) => {
                clock.answer();
                let fault = self.rpc_fault(&error, "");
                Some(Err(BrokenReply { fault, status: None, error: Some(error) }))
            }
            Err(misfit) => {
                let mut fault = self.fault_of(&misfit);
                if matches!(fault.kind, FaultKind::NotJson | FaultKind::NotJsonRpc | FaultKind::EmptyBody) {
                    fault.kind = FaultKind::StreamGarbage;
                }
                odd.get_or_insert(fault);
                None
            }
        }
    }

    /// After the answer the stream should end; if it does not, the connection cannot serve the next request.
    async fn linger(&self, wire: &mut Wire<'_>, mut body: Body, clock: &mut StepClock) {
        let until = (Instant::now() + LINGER).min(self.deadline);
        let mut behind = 0;
        loop {
            match wire.piece(&mut body, until).await {
                Piece::Bytes(bytes) if behind + bytes.len() <= ERROR_BYTES_MAX => behind += bytes.len(),
                Piece::Bytes(_) => {
                    clock.note("the stream had much more to say after the answer".to_owned());
                    return wire.hang_up();
                }
                Piece::End => return clock.end(),
                Piece::Broken(_) => return wire.hang_up(),
                Piece::Late => {
                    clock.note("the stream stayed open after the answer".to_owned());
                    return wire.hang_up();
                }
            }
        }
    }

    /// An answer whose status is not 200.
    pub(crate) async fn refused(
        &self,
        wire: &mut Wire<'_>,
        status: StatusCode,
        headers: &HeaderMap,
        body: Body,
        clock: &mut StepClock,
    ) -> BrokenReply {
        let bytes = self.head_of(wire, body).await;
        clock.end();
        let error = match read(&bytes, self.id) {
            Ok(RpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let text = readable(&bytes);
        let fault = match status.as_u16() {
            202 | 204 => self.scrub.fault(FaultKind::EmptyBody, &format!("{status} to a request that needs an answer")),
            404 if self.in_session => self.scrub.fault(FaultKind::SessionLost, &format!("{status}: {text}")),
            400 if self.in_session && speaks_of_session(&text) => {
                self.scrub.fault(FaultKind::SessionLost, &format!("{status}: {text}"))
            }
            _ => match &error {
                Some(error) if status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 429) => {
                    self.rpc_fault(error, &format!("{status}: "))
                }
                _ => status_fault(status, headers, &text, self),
            },
        };
        BrokenReply { fault, status: Some(status.as_u16()), error }
    }

    /// The first bytes of a body that is a fault anyway.
    async fn head_of(&self, wire: &mut Wire<'_>, mut body: Body) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            match wire.piece(&mut body, self.deadline).await {
                Piece::Bytes(more) => bytes.extend_from_slice(&more),
                Piece::End => return bytes,
                Piece::Broken(_) | Piece::Late => break,
            }
            if bytes.len() > ERROR_BYTES_MAX {
                bytes.truncate(ERROR_BYTES_MAX);
                break;
            }
        }
        wire.hang_up();
        bytes
    }

    fn fault_of(&self, misfit: &Misfit) -> Fault {
        self.scrub.fault(misfit.kind, &misfit.detail)
    }

    fn rpc_fault(&self, error: &RpcError, before: &str) -> Fault {
        let kind = match error.code {
            crate::probe::decode::era::UNSUPPORTED_VERSION => FaultKind::WrongVersion,
            code => FaultKind::RpcError(code),
        };
        let supported = if error.supported.is_empty() {
            String::new()
        } else {
            format!("; it speaks {}", error.supported.join(", "))
        };
        self.scrub.fault(kind, &format!("{before}JSON-RPC error {}: {}{supported}", error.code, error.message))
    }
}

/// The fault of a status that is no success. Also used for health addresses.
pub(crate) fn status_fault(status: StatusCode, headers: &HeaderMap, text: &str, reading: &ReadLimits<'_>) -> Fault {
    let header = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (kind, extra) = match status.as_u16() {
        401 | 403 if reading.credentials_sent => (FaultKind::AuthRejected, header(WWW_AUTHENTICATE)),
        401 => (FaultKind::AuthRequired, Some(header(WWW_AUTHENTICATE).unwrap_or("without a challenge"))),
        // A bare 403 may come from anything on the way; a challenge makes it a matter of credentials.
        403 if headers.contains_key(WWW_AUTHENTICATE) => (FaultKind::AuthRequired, header(WWW_AUTHENTICATE)),
        429 => {
            let after = header(RETRY_AFTER);
            let retry_after_seconds = after
                .and_then(|after| wish(after, reading.now.into()))
                .map(|wait| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX));
            (FaultKind::RateLimited { retry_after_seconds }, after)
        }
        code @ 300..=399 => (FaultKind::Redirected(code), header(http::header::LOCATION).map(without_query)),
        code => (FaultKind::HttpStatus(code), None),
    };
    let mut detail = status.to_string();
    for part in [extra.unwrap_or_default(), text].into_iter().filter(|part| !part.is_empty()) {
        detail.push_str(": ");
        detail.push_str(part);
    }
    reading.scrub.fault(kind, &detail)
}

fn without_query(location: &str) -> &str {
    location.split(['?', '#']).next().unwrap_or_default()
}

pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = value.split(';').next().unwrap_or_default().trim();
    ["application/json", "text/event-stream", "text/html"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .unwrap_or(name)
}

fn speaks_of_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("session") || text.contains("not initialized")
}

fn note_id(clock: &mut StepClock, id_as_string: bool) {
    if id_as_string {
        clock.note("the id came back as a string".to_owned());
    }
}
