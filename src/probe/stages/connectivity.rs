//! Connectivity diagnosis after a first failure: how far one gets, step by step: name, TCP, TLS, HTTP without credentials,
//! tools/list. It says what a person would try first, seconds after the failure and not at four in the morning.
//!
//! One try at each step, all within one limit, and it ends at the first that does not hold: a server in trouble is not
//! made to bear more than a handful of requests. What a step shows is evidence, never a judgement of its own.

use std::net::SocketAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::domain::monitor::Monitor;
use crate::domain::observation::{ConnectivityStep, Footprint, Stage};
use crate::domain::protocol::Era;
use crate::domain::server_profile::ServerProfile;
use crate::domain::wording::counted;
use crate::net::target::Target;
use crate::probe::session::caller::{Caller, Destination, ProbeContext};
use crate::probe::session::declared::Declared;
use crate::probe::session::message::Call;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, trusting};
use crate::untrusted_text::Scrub;

/// All steps together: what they show is wanted before the page, which comes some ten seconds after a first failure.
const CLIMB_MAX: Duration = Duration::from_secs(10);
/// Addresses of one name that TCP is tried with.
const ADDRESSES_TRIED: usize = 4;

/// The steps, and what they cost the server. Nothing for a server that is a program of our own.
pub(crate) async fn diagnose(
    means: ProbeContext<'_>,
    monitor: &Monitor,
    declared: &Declared,
    profile: &ServerProfile,
    now: DateTime<Utc>,
) -> (Vec<ConnectivityStep>, Footprint) {
    let scrub = &declared.scrub;
    let Some(way) = declared.way().ok().filter(|_| monitor.reach.program.is_none()) else {
        return (Vec::new(), Footprint::default());
    };
    let Ok(target) = trusting(means.connector, way.target.clone(), monitor, scrub, ClientIdentity::Identity) else {
        return (Vec::new(), Footprint::default());
    };
    let mut connectivity = Diagnosing { tried: Vec::new(), until: Instant::now() + CLIMB_MAX, scrub };
    // Behind a proxy the name and the socket are the proxy's own matter.
    if monitor.reach.proxy.is_none() && !connectivity.socket(&target).await {
        return (connectivity.tried, Footprint::default());
    }
    let destination = Destination { way, target, until: connectivity.until };
    let mut caller = Caller::new(means, destination, declared, monitor, now);
    if connectivity.secured(&mut caller, &way.url).await && connectivity.bare(&mut caller, &way.url).await {
        connectivity.listed(&mut caller, profile).await;
    }
    let mut clock = StepClock::start(Stage::Handshake, "closing");
    caller.close(profile, &mut clock).await;
    caller.wire.hang_up();
    (connectivity.tried, caller.wire.footprint)
}

struct Diagnosing<'s> {
    tried: Vec<ConnectivityStep>,
    until: Instant,
    scrub: &'s Scrub,
}

impl Diagnosing<'_> {
    fn step(&mut self, name: &'static str, began: Instant, holds: bool, said: &str) -> bool {
        self.tried.push(ConnectivityStep { name, holds, said: self.scrub.line(said), elapsed: began.elapsed() });
        holds
    }

    /// Name and TCP. Every address is tried: one dead family of two is half an answer.
    async fn socket(&mut self, target: &Target) -> bool {
        let began = Instant::now();
        let addresses = match timeout_at(self.until, target.addresses()).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => return self.step("name", began, false, &error.to_string()),
            Err(_) => return self.step("name", began, false, "the resolver did not answer in time"),
        };
        let list: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
        self.step("name", began, true, &list.join(", "));
        let began = Instant::now();
        let tried =
            futures_util::future::join_all(addresses.iter().take(ADDRESSES_TRIED).map(|at| stands(*at, self.until)));
        let tried = tried.await;
        let holds = tried.iter().any(Result::is_ok);
        let said: Vec<String> = addresses
            .iter()
            .zip(&tried)
            .map(|(at, outcome)| match outcome {
                Ok(()) => format!("{at} stands"),
                Err(why) => format!("{at} {why}"),
            })
            .collect();
        self.step("tcp", began, holds, &said.join("; "))
    }

    async fn secured(&mut self, caller: &mut Caller<'_>, url: &Url) -> bool {
        let (began, mut clock) = (Instant::now(), StepClock::start(Stage::Connect, ""));
        let connected = caller.wire.connect(&mut clock, self.until).await;
        let name = if url.scheme() == "https" { "tls" } else { "connect" };
        match connected {
            Err(fault) => self.step(name, began, false, &fault.detail),
            Ok(()) if name == "connect" => true,
            Ok(()) => {
                let days =
                    caller.wire.certificate_until.map(|until| (until - caller.now().timestamp()).div_euclid(86_400));
                let said = days.map_or_else(
                    || "stands".to_owned(),
                    |days| format!("stands; certificate valid for {}", counted(days, "day", "days")),
                );
                self.step(name, began, true, &said)
            }
        }
    }

    /// A plain GET, without credentials: whoever answers says what it is.
    async fn bare(&mut self, caller: &mut Caller<'_>, url: &Url) -> bool {
        let (began, mut clock) = (Instant::now(), StepClock::start(Stage::Connect, ""));
        let request = caller.plain_get(url);
        let request = caller.stripped(request);
        match caller.wire.send(request, &mut clock, self.until).await {
            Err(fault) => self.step("unauthenticated", began, false, &fault.detail),
            Ok(reply) => {
                caller.keep_session(&reply);
                let header = |name| reply.headers.get(name).and_then(|value| value.to_str().ok());
                let mut said = format!("GET answers {}", reply.status);
                for value in
                    [header(CONTENT_TYPE), header(WWW_AUTHENTICATE), header(http::header::SERVER)].into_iter().flatten()
                {
                    said.push_str(&format!(", {value}"));
                }
                // What it says does not matter here, and may have no end.
                caller.wire.hang_up();
                self.step("unauthenticated", began, true, &said)
            }
        }
    }

    /// tools/list, as the server's era asks for it.
    async fn listed(&mut self, caller: &mut Caller<'_>, profile: &ServerProfile) {
        let (began, mut clock) = (Instant::now(), StepClock::start(Stage::Tools, ""));
        let call = Call { method: "tools/list", ..Call::default() };
        match caller.ask(profile.era.unwrap_or(Era::Modern), &call, &mut clock).await {
            Ok(raw) => self.step("list", began, true, &format!("tools/list answers {} bytes", raw.get().len())),
            Err(broken) => self.step("list", began, false, &broken.fault.detail),
        };
    }
}

async fn stands(address: SocketAddr, until: Instant) -> Result<(), String> {
    match timeout_at(until, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}
