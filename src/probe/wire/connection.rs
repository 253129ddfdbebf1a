//! One HTTP/1.1 connection to one origin, driven by whoever waits on it: no task is spawned, so nothing outlives a probe.

mod faults;

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::Footprint;
use crate::net::alarm::{Alarm, Late};
use crate::net::connect::Connector;
use crate::net::stream::{Stream, Traffic};
use crate::net::target::Target;
use crate::probe::decode::coding::{Coded, Undone};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::faults::{of_http, of_trouble, said};
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::transcript::Transcript;
use crate::untrusted_text::Scrub;

/// Bytes of a response's head, and of the buffer it is read into. Servers and proxies send at most 8 to 16 kB.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Connections one probe opens to one origin: a server that closes each one still gets its few calls.
const CONNECTIONS_MAX: u32 = 24;

type Driver = Pin<Box<http1::Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// A connection that is opened when it is needed, and again when the server closed it.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    connector: &'a Connector,
    target: Target,
    scrub: &'a Scrub,
    live: Option<Live>,
    alarm: Alarm,
    /// Where all of it is kept, while somebody may want to read it.
    pub(crate) transcript: Option<&'a Transcript>,
    /// Tells this wire from others of the same probe.
    number: u32,
    /// Whether only public addresses are reached: for one that was learnt from the wire.
    guarded: bool,
    /// What this origin was made to bear.
    pub(crate) footprint: Footprint,
    /// When the server's certificate ends, unix seconds, once seen.
    pub(crate) certificate_until: Option<i64>,
}

#[derive(Debug)]
struct Live {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Option<Driver>,
    traffic: Arc<Traffic>,
    served: u32,
}

/// The head of a response, its body still on the wire.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// The body of an answer on its way, and the coding it comes in.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    coded: Coded,
}

impl Body {
    /// Whether nothing comes, as its head says.
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_end_stream()
    }
}

/// What the next piece of a body is.
#[derive(Debug)]
pub(crate) enum Piece {
    Bytes(Bytes),
    End,
    /// The limit was reached.
    Late,
    Broken(Fault),
}

impl<'a> Wire<'a> {
    pub(crate) fn new(connector: &'a Connector, target: Target, scrub: &'a Scrub) -> Self {
        Self {
            connector,
            target,
            scrub,
            live: None,
            alarm: Alarm::default(),
            transcript: None,
            number: rand::random(),
            guarded: false,
            footprint: Footprint::default(),
            certificate_until: None,
        }
    }

    pub(crate) const fn kept_in(mut self, transcript: Option<&'a Transcript>) -> Self {
        self.transcript = transcript;
        self
    }

    /// Reaches public addresses only.
    pub(crate) const fn guarded(mut self) -> Self {
        self.guarded = true;
        self
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Makes sure that a connection stands. One that the server closed meanwhile is replaced.
    pub(crate) async fn connect(&mut self, clock: &mut StepClock, deadline: Instant) -> Result<(), Fault> {
        if let Some(live) = &mut self.live {
            live.settle().await;
            if live.driver.is_some() && !live.sender.is_closed() {
                return Ok(());
            }
            self.hang_up();
        }
        if self.footprint.connections >= CONNECTIONS_MAX {
            return Err(self.scrub.fault(FaultKind::ClosedEarly, "the server closes every connection"));
        }
        let offset = clock.elapsed();
        let by = (deadline, &mut self.alarm);
        let opened = Box::pin(self.connector.connect(&self.target, by, self.guarded.then_some(&[]))).await;
        let mut connection = opened.map_err(|error| {
            clock.connected(offset, error.times);
            self.tell(|| format!("no connection to {}: {}", self.target.authority(), error.detail).into());
            self.scrub.fault(of_trouble(error.trouble), &error.detail)
        })?;
        clock.connected(offset, connection.times);
        if let Some(transcript) = self.transcript {
            transcript.connected(self.target.authority(), connection.times);
        }
        self.footprint.connections += 1;
        self.certificate_until = connection.certificate_until.or(self.certificate_until);
        connection.notes.drain(..).for_each(|note| clock.note(self.scrub.line(&note)));
        let gone = || self.scrub.fault(FaultKind::ClosedEarly, "closed as soon as it stood");
        let stream = connection.take_stream().ok_or_else(gone)?;
        let mut builder = http1::Builder::new();
        let shaken = builder.max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream)).await;
        let (sender, driver) = shaken.map_err(|_| gone())?;
        let traffic = Arc::clone(&connection.traffic);
        self.live = Some(Live { sender, driver: Some(Box::pin(driver)), traffic, served: 0 });
        Ok(())
    }

    /// Sends one request and waits for the head of its answer.
    ///
    /// A connection that was kept open may be closed by the server in the very moment we use it. That is no fault:
    /// the request goes out once more, on a fresh one.
    pub(crate) async fn send(
        &mut self,
        request: Outgoing,
        clock: &mut StepClock,
        deadline: Instant,
    ) -> Result<Reply, Fault> {
        self.connect(clock, deadline).await?;
        let reused = self.live.as_ref().is_some_and(|live| live.served > 0);
        match self.attempt(&request, clock, deadline).await {
            Err(fault) if reused && matches!(fault.kind, FaultKind::ClosedEarly | FaultKind::Reset) => {
                clock.note("the server closed the kept connection; asked again on a fresh one".to_owned());
                self.connect(clock, deadline).await?;
                self.attempt(&request, clock, deadline).await
            }
            outcome => outcome,
        }
    }

    async fn attempt(&mut self, request: &Outgoing, clock: &mut StepClock, deadline: Instant) -> Result<Reply, Fault> {
        let Some(live) = &mut self.live else {
            return Err(self.scrub.fault(FaultKind::ClosedEarly, "no connection"));
        };
        // Whoever stood still past the limit would not hear the answer, and a session that it opens is nobody's.
        if Instant::now() >= deadline {
            return Err(self.scrub.fault(FaultKind::Silent, "the time for it was over before it was asked"));
        }
        self.footprint.requests += 1;
        live.served += 1;
        if let Some(transcript) = self.transcript {
            transcript.request(request);
        }
        let before = live.traffic.heard();
        let sent = live.sender.send_request(request.request());
        let outcome = self.alarm.within(deadline, alongside(&mut live.driver, sent)).await;
        let fault = match outcome {
            Ok(Ok(response)) => {
                clock.headers();
                let (head, body) = response.into_parts();
                if let Some(transcript) = self.transcript {
                    transcript.response(self.number, head.status, &head.headers);
                }
                let body = Body { incoming: body, coded: Coded::new(&head.headers) };
                return Ok(Reply { status: head.status, headers: head.headers, body });
            }
            Ok(Err(error)) => self.http_fault(&error),
            Err(Late) => {
                let heard = live.traffic.heard() - before;
                self.late(heard)
            }
        };
        self.tell(|| format!("no answer: {}", fault.detail).into());
        self.hang_up();
        Err(fault)
    }

    /// An answer whose head did not end in time, of which so many bytes came.
    fn late(&self, heard: u64) -> Fault {
        if heard == 0 {
            let detail = "the request was taken, and no byte of an answer came in time";
            return self.scrub.fault(FaultKind::Silent, detail);
        }
        let detail = format!("{heard} bytes of the answer's head came in time, and not its end");
        self.scrub.fault(FaultKind::SlowHead, &detail)
    }

    /// The next piece of a body, its coding undone.
    pub(crate) async fn piece(&mut self, body: &mut Body, deadline: Instant) -> Piece {
        loop {
            match body.coded.next() {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    if let Some(transcript) = self.transcript {
                        transcript.piece(self.number, &bytes);
                    }
                    return Piece::Bytes(bytes);
                }
                Err(undone) => return self.broken(self.coding_fault(&undone)),
            }
            let Some(live) = &mut self.live else {
                return Piece::End;
            };
            let outcome = self.alarm.within(deadline, alongside(&mut live.driver, body.incoming.frame())).await;
            match outcome {
                Err(Late) => {
                    self.tell(|| "no more of the body came in time".into());
                    return Piece::Late;
                }
                Ok(None) => {
                    return match body.coded.end() {
                        Ok(()) => Piece::End,
                        Err(undone) => self.broken(self.coding_fault(&undone)),
                    };
                }
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        body.coded.push(bytes);
                    }
                }
                Ok(Some(Err(error))) => {
                    let mut fault = self.http_fault(&error);
                    if matches!(fault.kind, FaultKind::ClosedEarly | FaultKind::NotHttp) {
                        fault = self
                            .scrub
                            .fault(FaultKind::BodyTruncated, &format!("the body broke off: {}", said(&error)));
                    }
                    return self.broken(fault);
                }
            }
        }
    }

    fn broken(&mut self, fault: Fault) -> Piece {
        self.tell(|| fault.detail.as_str().into());
        self.hang_up();
        Piece::Broken(fault)
    }

    fn coding_fault(&self, undone: &Undone) -> Fault {
        match undone {
            Undone::Bad(why) => self.scrub.fault(FaultKind::BadCoding, why),
            Undone::Idle => self.scrub.fault(FaultKind::TooLarge, "the body's coding goes on and comes to nothing"),
        }
    }

    /// Closes the connection, if one stands; the next request opens another.
    pub(crate) fn hang_up(&mut self) {
        if let Some(live) = self.live.take() {
            self.footprint.bytes_out += live.traffic.sent();
            self.footprint.bytes_in += live.traffic.received();
            self.tell(|| "connection closed".into());
        }
    }

    fn tell<'e>(&self, event: impl FnOnce() -> Cow<'e, str>) {
        if let Some(transcript) = self.transcript {
            transcript.event(&event());
        }
    }

    fn http_fault(&self, error: &hyper::Error) -> Fault {
        self.scrub.fault(of_http(error), &said(error))
    }
}

impl Live {
    /// Lets the connection take notice of what happened since the last answer, without waiting.
    async fn settle(&mut self) {
        let driver = &mut self.driver;
        poll_fn(|cx| {
            if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready()) {
                *driver = None;
            }
            Poll::Ready(())
        })
        .await;
    }
}

/// Waits for `work`, driving the connection that it depends on.
async fn alongside<T>(driver: &mut Option<Driver>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready()) {
            *driver = None;
        }
        // What the connection just read may be what the work waits for.
        work.as_mut().poll(cx)
    })
    .await
}

#[cfg(test)]
mod tests;
