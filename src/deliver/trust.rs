//! Whom TLS trusts on the way to a receiver: the machine's own authorities, else Mozilla's list.

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The machine's authorities that TLS can read; empty on a machine without a store.
///
/// Reads files: call it once.
pub(crate) fn machine_roots() -> Vec<CertificateDer<'static>> {
    let found = rustls_native_certs::load_native_certs();
    let readable = |cert: &CertificateDer<'static>| RootCertStore::empty().add(cert.clone()).is_ok();
    found.certs.into_iter().filter(readable).collect()
}

/// A client configuration that trusts these authorities, or Mozilla's list where there are none.
pub(crate) fn client_config(machine: &[CertificateDer<'static>]) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if machine.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    } else {
        roots.add_parsable_certificates(machine.iter().cloned());
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
