//! The way to a monitor's server as the file declares it: through a proxy, with a private CA, with a certificate of ours.

use std::path::PathBuf;

use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::net::connect::Connector;
use crate::net::proxy::Proxy;
use crate::net::target::Target;
use crate::net::trust::Files;
use crate::untrusted_text::Scrub;

/// What is shown on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientIdentity {
    /// Our certificate, where there is one: to the monitor's own origin.
    Identity,
    /// Nothing: to any other.
    Nothing,
}

/// The target with everything the monitor's file says of the way to it.
///
/// # Errors
/// Where a file of ours cannot be used: that is our own trouble and says nothing of the server.
pub(crate) fn egress(
    connector: &Connector,
    target: Target,
    monitor: &Monitor,
    scrub: &Scrub,
    shown: ClientIdentity,
) -> Result<Target, Fault> {
    trusting(connector, proxied(target, monitor, scrub)?, monitor, scrub, shown)
}

/// The target behind the monitor's proxy, where it declares one.
///
/// # Errors
/// Where the proxy's address is none.
pub(crate) fn proxied(target: Target, monitor: &Monitor, scrub: &Scrub) -> Result<Target, Fault> {
    let Some(proxy) = &monitor.reach.proxy else { return Ok(target) };
    let parsed = Url::parse(proxy.resolved.expose()).ok().and_then(|url| Proxy::of(&url));
    let blocked = || scrub.fault(FaultKind::WayBlocked, "the proxy's address is none that a probe speaks");
    Ok(target.through(parsed.ok_or_else(blocked)?))
}

/// The target with the CA and the certificate that the monitor declares, read anew where a file has changed.
///
/// # Errors
/// Where a file of ours cannot be used.
pub(crate) fn trusting(
    connector: &Connector,
    target: Target,
    monitor: &Monitor,
    scrub: &Scrub,
    shown: ClientIdentity,
) -> Result<Target, Fault> {
    let reach = &monitor.reach;
    let identity = reach.client_certificate.as_ref().filter(|_| shown == ClientIdentity::Identity);
    if reach.ca.is_none() && identity.is_none() {
        return Ok(target);
    }
    let files = Files {
        ca: reach.ca.as_ref().map(PathBuf::from),
        identity: identity.map(|pair| (PathBuf::from(&pair.certificate), PathBuf::from(&pair.key))),
    };
    let tls = connector.trusting(&files);
    Ok(target.with_tls(tls.map_err(|error| scrub.fault(FaultKind::WayBlocked, &error.to_string()))?))
}
