//! Does anybody answer at an address? For the control addresses by which Serin knows its own network.

use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::domain::fleet::Address;
use crate::domain::fleet::Monitor;
use crate::domain::observation::{Fault, Stage};
use crate::net::connect::Target;
use crate::probe::call::{Caller, Means, bad_address};
use crate::probe::clock::Clock;
use crate::probe::evidence::Scrub;

/// One GET; any HTTP answer will do, whatever it says.
pub(crate) async fn answers(means: Means<'_>, address: &Address, within: Duration) -> Result<(), Fault> {
    let scrub = Scrub::default();
    let parsed = Url::parse(address.resolved.expose()).ok().and_then(|url| Some((Target::of(&url)?, url)));
    let Some((target, url)) = parsed else { return Err(bad_address(&scrub)) };
    let until = Instant::now() + within;
    let nobody = Monitor::undeclared("control", address.clone());
    let mut caller = Caller::new(means, target, &scrub, url.clone(), &nobody, chrono::DateTime::UNIX_EPOCH, until);
    let request = caller.plain_get(&url);
    let mut clock = Clock::start(Stage::Connect, &address.shown);
    let answered = caller.wire.send(request, &mut clock, until).await.map(drop);
    caller.wire.hang_up();
    answered
}
