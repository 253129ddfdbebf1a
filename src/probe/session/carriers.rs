//! What carries the calls where it is not a POST each: the event stream of HTTP+SSE, or a program.

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderValue, Method};
use std::time::Duration;
use tokio::time::Instant;

use crate::domain::fault::Fault;
use crate::domain::monitor::Program;
use crate::net::connect::Times;
use crate::probe::session::caller::{Caller, Carrier};
use crate::probe::wire::channel::Channel;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::Wire;
use crate::probe::wire::program::Process;
use crate::probe::wire::reply::BrokenReply;

impl<'a> Caller<'a> {
    /// Opens the event stream of the older transport over a connection of its own; calls go through it from now on.
    pub(crate) async fn open_stream(&mut self, deadline: Instant, clock: &mut StepClock) -> Result<(), BrokenReply> {
        let request = self.request(Method::GET, Bytes::new());
        let request = request.with(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let wire =
            Wire::new(self.means.connector, self.wire.target().clone(), self.scrub).kept_in(self.wire.transcript);
        let reading = self.reading(0, deadline);
        match Box::pin(Channel::open(wire, request, self.url(), &reading, clock)).await {
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
    pub(crate) async fn start_program(&mut self, program: &Program, clock: &mut StepClock) -> Result<(), Fault> {
        let process = Process::start(program, self.scrub).await?;
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
}
