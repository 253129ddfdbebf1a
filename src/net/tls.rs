//! Whom we trust, and the one TLS configuration that all connections share.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The roots of this machine (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured); where it has none, Mozilla's list as compiled in.
pub fn roots() -> RootCertStore {
    let mut store = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    let (added, ignored) = store.add_parsable_certificates(native.certs);
    tracing::debug!(added, ignored, errors = native.errors.len(), "trust roots of this machine");
    if store.is_empty() {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    store
}

/// One configuration for many connections: ring, TLS 1.2 and 1.3, sessions resumed for the `names` last used servers.
///
/// # Panics
/// Never: the provider is named here, and ring has every version that rustls asks for by default.
pub fn client_config(roots: RootCertStore, names: usize) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(names);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// The moment a certificate's validity ends, in unix seconds; none where it cannot be read.
pub fn valid_until(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(parsed.validity().not_after.timestamp())
}
