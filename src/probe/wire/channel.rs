//! The event stream of HTTP+SSE (2024-11-05): a GET that names where to POST and brings every answer.
//!
//! The stream is the session: it is opened once a probe and closing it ends the session. The endpoint has to be of the
//! stream's own origin; another one is a fault and never followed.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::StatusCode;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::Footprint;
use crate::probe::decode::rpc::read;
use crate::probe::decode::sse::{Decoder, SseEvent};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::{Body, Piece, Reply, Wire};
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::reply::{ANSWER_BYTES_MAX, BrokenReply, ReadLimits, content_type};

/// Bytes of the stream within which the endpoint is named.
const ENDPOINT_BYTES_MAX: usize = 8 * 1024;

/// Bytes of one probe's stream: some answers of the largest size.
const STREAM_BYTES_MAX: usize = 8 * ANSWER_BYTES_MAX;

/// How long a POST may stay unanswered once its call was answered on the stream, and its body unended.
const POST_LINGER: Duration = Duration::from_millis(250);

/// Calls that ran out of time and may be answered yet; a probe makes some dozens.
const LATE_MAX: usize = 64;

/// An open stream with its endpoint.
#[derive(Debug)]
pub(crate) struct Channel<'a> {
    wire: Wire<'a>,
    body: Body,
    decoder: Decoder,
    events: Vec<SseEvent>,
    bytes_seen: usize,
    endpoint: Url,
    late: Vec<u64>,
}

impl<'a> Channel<'a> {
    /// Opens the stream at `home` by `request`, a GET, over a connection of its own; where it is none, the wire's
    /// footprint comes back beside the fault.
    pub(crate) async fn open(
        mut wire: Wire<'a>,
        request: Outgoing,
        home: &Url,
        reading: &ReadLimits<'_>,
        clock: &mut StepClock,
    ) -> Result<Self, (BrokenReply, Footprint)> {
        let reply = match wire.send(request, clock, reading.deadline).await {
            Ok(reply) => reply,
            Err(fault) => return Err((BrokenReply::before_http(fault), spent(wire))),
        };
        let code = Some(reply.status.as_u16());
        let broken = |fault| BrokenReply { fault, status: code, error: None };
        if reply.status != StatusCode::OK {
            let Reply { status, headers, body } = reply;
            let refused = reading.refused(&mut wire, status, &headers, body, clock).await;
            return Err((refused, spent(wire)));
        }
        let kind = content_type(&reply.headers);
        if kind != "text/event-stream" {
            let wrong = if kind == "text/html" { FaultKind::Html } else { FaultKind::WrongContentType };
            let detail = format!("a GET is answered with 200 {kind}, and no event stream");
            return Err((broken(reading.scrub.fault(wrong, &detail)), spent(wire)));
        }
        let Reply { mut body, .. } = reply;
        let mut decoder = Decoder::new(ANSWER_BYTES_MAX);
        match named(&mut wire, &mut body, &mut decoder, home, reading).await {
            Ok((endpoint, events)) => {
                // It names the session.
                if let (Some(transcript), Some(query)) = (wire.transcript, endpoint.query()) {
                    transcript.hide(query);
                    endpoint.query_pairs().for_each(|(_, value)| transcript.hide(&value));
                }
                clock.answer();
                Ok(Self { wire, body, decoder, events, bytes_seen: 0, endpoint, late: Vec::new() })
            }
            Err(fault) => Err((broken(fault), spent(wire))),
        }
    }

    /// Where calls are posted.
    pub(crate) fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Posts a call over `wire`, the other connection, and waits for its answer on the stream at the same time: some
    /// servers answer the POST only once they have answered the call.
    pub(crate) async fn ask(
        &mut self,
        wire: &mut Wire<'_>,
        request: Outgoing,
        reading: &ReadLimits<'_>,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        let mut ear = clock.twin();
        let (posted, heard) = {
            let posting = pin!(wire.send(request, clock, reading.deadline));
            let hearing = pin!(self.answer(reading, &mut ear));
            match select(posting, hearing).await {
                Either::Left((Ok(reply), hearing)) if reply.status.is_success() => {
                    (Some(Ok(reply)), Some(hearing.await))
                }
                Either::Left((posted, _)) => (Some(posted), None),
                Either::Right((Err(broken), _)) => (None, Some(Err(broken))),
                Either::Right((heard, posting)) => (timeout(POST_LINGER, posting).await.ok(), Some(heard)),
            }
        };
        let Some(heard) = heard else {
            return Err(match posted {
                Some(Ok(Reply { status, headers, body })) => reading.refused(wire, status, &headers, body, clock).await,
                Some(Err(fault)) => BrokenReply::before_http(fault),
                None => {
                    BrokenReply::before_http(reading.scrub.fault(FaultKind::StreamWithoutAnswer, "nothing was heard"))
                }
            });
        };
        match posted {
            Some(Ok(reply)) => read_off(wire, reply).await,
            Some(Err(_)) => {}
            None => {
                wire.hang_up();
                ear.note("the POST itself was not answered".to_owned());
            }
        }
        clock.join(ear);
        heard
    }

    /// Waits for the answer to the call that `reading` tells of.
    async fn answer(&mut self, reading: &ReadLimits<'_>, clock: &mut StepClock) -> Result<Box<RawValue>, BrokenReply> {
        let fault = |kind, detail: &str| Err(BrokenReply::before_http(reading.scrub.fault(kind, detail)));
        // What the events so far were, if not the answer: it outweighs "without the answer".
        let mut odd: Option<Fault> = None;
        let (events_before, comments_before) = (self.decoder.events(), self.decoder.comments());
        loop {
            if let Some(answer) = self.look(reading, &mut odd, clock) {
                return answer;
            }
            let (ending, kind) = match self.wire.piece(&mut self.body, reading.deadline).await {
                Piece::Bytes(bytes) => {
                    self.bytes_seen += bytes.len();
                    let pushed = self.decoder.push(&bytes, &mut self.events);
                    if pushed.is_ok() && self.bytes_seen <= STREAM_BYTES_MAX {
                        continue;
                    }
                    if let Some(answer) = self.look(reading, &mut odd, clock) {
                        return answer;
                    }
                    self.wire.hang_up();
                    return fault(FaultKind::TooLarge, "the stream brought too many bytes or events");
                }
                Piece::Broken(fault) => return Err(BrokenReply::before_http(odd.unwrap_or(fault))),
                Piece::Late => {
                    if self.late.len() < LATE_MAX {
                        self.late.push(reading.id);
                    }
                    ("stayed open", FaultKind::StreamWithoutAnswer)
                }
                Piece::End => ("ended", FaultKind::StreamEnded),
            };
            let detail = format!(
                "the stream {ending} without the answer; {} events, {} keep-alives",
                self.decoder.events() - events_before,
                self.decoder.comments() - comments_before
            );
            return match odd {
                Some(odd) => Err(BrokenReply::before_http(odd)),
                None => fault(kind, &detail),
            };
        }
    }

    fn look(
        &mut self,
        reading: &ReadLimits<'_>,
        odd: &mut Option<Fault>,
        clock: &mut StepClock,
    ) -> Option<Result<Box<RawValue>, BrokenReply>> {
        let late = &self.late;
        self.events
            .drain(..)
            .filter(|event| matches!(event.name.as_str(), "" | "message"))
            .filter(|event| !late.iter().any(|id| read(&event.data, *id).is_ok()))
            .find_map(|event| reading.message(&event.data, odd, clock))
    }

    /// Closes the stream, and with it the session; what it cost.
    pub(crate) fn close(self) -> Footprint {
        spent(self.wire)
    }
}

/// The word or two behind a 202, so that the connection can be used again.
pub(crate) async fn read_off(wire: &mut Wire<'_>, mut reply: Reply) {
    let until = Instant::now() + POST_LINGER;
    let mut bytes_seen = 0;
    loop {
        match wire.piece(&mut reply.body, until).await {
            Piece::Bytes(bytes) if bytes_seen + bytes.len() <= ENDPOINT_BYTES_MAX => bytes_seen += bytes.len(),
            Piece::End => return,
            _ => return wire.hang_up(),
        }
    }
}

/// Waits for `event: endpoint`; the events behind it are kept.
async fn named(
    wire: &mut Wire<'_>,
    body: &mut Body,
    decoder: &mut Decoder,
    home: &Url,
    reading: &ReadLimits<'_>,
) -> Result<(Url, Vec<SseEvent>), Fault> {
    let mut events = Vec::new();
    let mut bytes_seen = 0;
    let nameless = |kind, why: &str| reading.scrub.fault(kind, why);
    loop {
        match wire.piece(body, reading.deadline).await {
            Piece::Bytes(bytes) => {
                bytes_seen += bytes.len();
                let pushed = decoder.push(&bytes, &mut events);
                if let Some(at) = events.iter().position(|event| event.name == "endpoint") {
                    let endpoint = endpoint_of(&events[at].data, home, reading)?;
                    return Ok((endpoint, events.split_off(at + 1)));
                }
                if pushed.is_err() || bytes_seen > ENDPOINT_BYTES_MAX {
                    return Err(nameless(
                        FaultKind::StreamGarbage,
                        "the event stream does not begin with its endpoint",
                    ));
                }
            }
            Piece::Broken(fault) => return Err(fault),
            Piece::End if decoder.is_no_stream() => {
                return Err(reading.scrub.fault(FaultKind::StreamGarbage, "a GET brings something that is no event"));
            }
            Piece::End => {
                return Err(nameless(FaultKind::StreamEnded, "the event stream ended before it named its endpoint"));
            }
            Piece::Late => {
                return Err(nameless(FaultKind::StreamWithoutAnswer, "the event stream never named its endpoint"));
            }
        }
    }
}

fn endpoint_of(data: &[u8], home: &Url, reading: &ReadLimits<'_>) -> Result<Url, Fault> {
    let text = String::from_utf8_lossy(data);
    let Ok(endpoint) = home.join(text.trim()) else {
        return Err(reading.scrub.fault(FaultKind::StreamGarbage, &format!("the endpoint is no address: {text}")));
    };
    if endpoint.origin() != home.origin() {
        let detail = format!(
            "the endpoint is of another origin, {}, and is not followed",
            endpoint.origin().ascii_serialization()
        );
        return Err(reading.scrub.fault(FaultKind::ForeignEndpoint, &detail));
    }
    Ok(endpoint)
}

fn spent(mut wire: Wire<'_>) -> Footprint {
    wire.hang_up();
    wire.footprint
}
