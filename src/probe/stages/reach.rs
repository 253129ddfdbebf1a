//! Does a control address answer, by which Serin knows its own network? And is it the one who answers there?

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::Control;
use crate::domain::monitor::Monitor;
use crate::domain::observation::Stage;
use crate::probe::session::caller::{Caller, Destination, ProbeContext};
use crate::probe::session::declared::Declared;
use crate::probe::wire::clock::StepClock;

/// One GET, and its status; any HTTP answer will do, unless the file says what the right one has. No redirect is followed: a gateway's
/// leads to its own pages.
pub(crate) async fn answers(means: ProbeContext<'_>, control: &Control, within: Duration) -> Result<u16, Fault> {
    let nobody = Monitor::undeclared("control", control.address.clone());
    let declared = Declared::of(&nobody, Arc::default(), Arc::default());
    let way = declared.way()?;
    let until = Instant::now() + within;
    let destination = Destination { way, target: way.target.clone(), until };
    let mut caller = Caller::new(means, destination, &declared, &nobody, chrono::DateTime::UNIX_EPOCH);
    let answered = asked(&mut caller, &way.url, control, until).await;
    caller.wire.hang_up();
    answered
}

async fn asked(caller: &mut Caller<'_>, url: &Url, control: &Control, until: Instant) -> Result<u16, Fault> {
    let request = caller.plain_get(url);
    let mut clock = StepClock::start(Stage::Connect, &control.address.shown);
    let mut reply = caller.wire.send(request, &mut clock, until).await?;
    let status = reply.status.as_u16();
    if let Some(wanted) = control.status.filter(|wanted| *wanted != status) {
        let said = format!("answers {status} and not {wanted}: somebody else answers in its place");
        return Err(caller.scrub.fault(FaultKind::HttpStatus(status), &said));
    }
    let Some(wanted) = &control.contains else { return Ok(status) };
    let reading = caller.reading(0, until);
    let body = reading.whole(&mut caller.wire, &reply.headers, &mut reply.body).await?;
    if String::from_utf8_lossy(&body).contains(wanted.as_str()) {
        return Ok(status);
    }
    let said = format!("answers {status} without the declared text: somebody else answers in its place");
    Err(caller.scrub.fault(FaultKind::BadResult, &said))
}
