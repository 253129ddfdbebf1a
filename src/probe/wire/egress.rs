//! The way to a monitor's server as the file declares it: through a proxy, with a private CA, with a certificate of ours.

use std::path::PathBuf;

use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::net::connect::{Connector, Target};
use crate::net::proxy::Proxy;
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
    let reach = &monitor.reach;
    let mut target = target;
    if let Some(proxy) = &reach.proxy {
        let parsed = Url::parse(proxy.resolved.expose()).ok().and_then(|url| Proxy::of(&url));
        let blocked = || scrub.fault(FaultKind::WayBlocked, "the proxy's address is none that a probe speaks");
        target = target.through(parsed.ok_or_else(blocked)?);
    }
    let identity = reach.client_certificate.as_ref().filter(|_| shown == ClientIdentity::Identity);
    let files = Files {
        ca: reach.ca.as_ref().map(PathBuf::from),
        identity: identity.map(|pair| (PathBuf::from(&pair.certificate), PathBuf::from(&pair.key))),
    };
    if !files.is_empty() {
        let tls = connector.trusting(&files);
        target = target.with_tls(tls.map_err(|error| scrub.fault(FaultKind::WayBlocked, &error.to_string()))?);
    }
    Ok(target)
}
