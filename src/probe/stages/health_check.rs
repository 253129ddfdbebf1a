//! The look at a server's own health addresses.

use bytes::Bytes;
use http::HeaderValue;
use tokio::time::Instant;
use url::Url;

use crate::domain::fault::Fault;
use crate::domain::observation::{Footprint, HealthSeen, Observation, Stage};
use crate::domain::secret::Address;
use crate::net::connect::Connector;
use crate::net::target::Target;
use crate::probe::decode::health;
use crate::probe::session::caller::Caller;
use crate::probe::session::declared::bad_address;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::Wire;
use crate::probe::wire::egress::{ClientIdentity, egress};
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::reply::{ReadLimits, status_fault};
use crate::untrusted_text::readable;

/// Status and body, with a fault where the status is one.
type Fetched = Result<(u16, Bytes, Option<Fault>), Fault>;

/// Asks one health address, over the same connection where it is the same origin; what another origin had to bear is
/// given back.
pub(crate) async fn check_health(
    connector: &Connector,
    caller: &mut Caller<'_>,
    home: &Url,
    address: &Address,
    over: Instant,
    seen: &mut Observation,
) -> Footprint {
    caller.limits.until = over;
    let mut elsewhere = Footprint::default();
    let deadline = caller.deadline();
    if deadline <= Instant::now() {
        if let Some(last) = seen.steps.last_mut() {
            last.notes.push(format!("no time was left to ask {}", address.shown));
        }
        return elsewhere;
    }
    let mut clock = StepClock::start(Stage::Health, &address.shown);
    let parsed = Url::parse(address.resolved.expose()).ok().and_then(|url| Some((Target::of(&url)?, url)));
    let outcome = match parsed {
        None => Err(bad_address(caller.scrub)),
        Some((_, url)) if url.origin() == home.origin() => {
            let request = caller.plain_get(&url);
            let reading = caller.reading(0, deadline);
            fetch(&mut caller.wire, request, &reading, &mut clock).await
        }
        Some(found) => {
            let (fetched, cost) = fetch_elsewhere(connector, caller, found, deadline, &mut clock).await;
            elsewhere = cost;
            fetched
        }
    };
    let seen_now = read(caller, &address.shown, outcome);
    seen.steps.push(clock.stop(seen_now.fault.clone()));
    seen.health.push(seen_now);
    elsewhere
}

/// Asks an address of another origin, over a connection of its own and without credentials: they belong to the origin
/// they were declared for.
async fn fetch_elsewhere(
    connector: &Connector,
    caller: &mut Caller<'_>,
    (target, url): (Target, Url),
    deadline: Instant,
    clock: &mut StepClock,
) -> (Fetched, Footprint) {
    let request = caller.plain_get(&url);
    let host = HeaderValue::from_str(target.authority()).ok();
    let request = caller.stripped(request).with_some(host.map(|host| (http::header::HOST, host)));
    let target = match egress(connector, target, caller.monitor(), caller.scrub, ClientIdentity::Nothing) {
        Err(fault) => return (Err(fault), Footprint::default()),
        Ok(target) => target,
    };
    let mut wire = Wire::new(connector, target, caller.scrub).kept_in(caller.wire.transcript);
    let reading = ReadLimits { credentials_sent: false, ..caller.reading(0, deadline) };
    let fetched = fetch(&mut wire, request, &reading, clock).await;
    wire.hang_up();
    (fetched, wire.footprint)
}

/// What an answer says of the server's health.
fn read(caller: &Caller<'_>, address: &str, outcome: Fetched) -> HealthSeen {
    match outcome {
        Ok((status, body, fault)) => {
            let mut read = health::read_health(address, status, &body, caller.now());
            read.reason = read.reason.map(|reason| caller.scrub.line(&reason));
            // A server that says why it is not well has answered; its status alone is a fault only where nothing else speaks.
            read.fault = fault.filter(|_| !read.ok && read.reason.is_none());
            read
        }
        Err(fault) => HealthSeen {
            address: address.to_owned(),
            status: None,
            ok: false,
            reason: None,
            cache_warm: None,
            instance: None,
            process_started_at: None,
            version: None,
            fault: Some(fault),
        },
    }
}

async fn fetch(wire: &mut Wire<'_>, request: Outgoing, reading: &ReadLimits<'_>, clock: &mut StepClock) -> Fetched {
    let mut reply = wire.send(request, clock, reading.deadline).await?;
    let body = reading.whole(wire, &reply.headers, &mut reply.body).await?;
    clock.answer();
    clock.end();
    let fault =
        (!reply.status.is_success()).then(|| status_fault(reply.status, &reply.headers, &readable(&body), reading));
    Ok((reply.status.as_u16(), body, fault))
}
