//! The header by which an owner knows our probes, and can keep them out of analytics and rate limits.
//!
//! `Serin-Probe: v1; key=ID; time=UNIX; monitor=ID; signature=BASE64`, the signature being HMAC-SHA256 with the shared
//! secret over `v1.KEY.TIME.MONITOR`. It proves who asks and when, and gives nobody any right: whoever verifies it
//! refuses times that are more than five minutes off.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;

use crate::domain::monitor::{MonitorId, ProbeIdentity};

/// Sent with each request of a monitor that declares `identity`.
pub const HEADER: HeaderName = HeaderName::from_static("serin-probe");

/// The header of one probe; none only where the id or the key id could not stand in a header, which `config` rules out.
pub fn header(identity: &ProbeIdentity, monitor: &MonitorId, at: DateTime<Utc>) -> Option<HeaderValue> {
    let (key, time) = (&identity.key, at.timestamp());
    let mut mac = Hmac::<Sha256>::new_from_slice(identity.secret.expose().as_bytes()).ok()?;
    mac.update(format!("v1.{key}.{time}.{monitor}").as_bytes());
    let signature = BASE64.encode(mac.finalize().into_bytes());
    HeaderValue::from_str(&format!("v1; key={key}; time={time}; monitor={monitor}; signature={signature}")).ok()
}

#[cfg(test)]
mod tests {
    use super::header;
    use crate::domain::monitor::{MonitorId, ProbeIdentity};
    use crate::domain::secret::Secret;

    #[test]
    fn a_probe_says_who_it_is() {
        let identity = ProbeIdentity { key: "ops-1".to_owned(), secret: Secret::new("correct horse battery staple") };
        let at = "2026-11-21T09:14:03Z".parse().unwrap();
        let seen = header(&identity, &MonitorId::new("docs"), at).unwrap();
        // The signature is what Python's hmac gives for the same words; tests/readme.rs holds the example to it.
        assert_eq!(
            seen.to_str().unwrap(),
            "v1; key=ops-1; time=1795252443; monitor=docs; signature=eiKbDCJDQhXoCEeiQseJ5nSIKq3r5gS03VjnxdT4Q3Q="
        );
    }
}
