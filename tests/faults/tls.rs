//! TLS of the tests' own authorities.

use std::sync::Arc;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio_rustls::TlsAcceptor;

/// TLS with a certificate of this issuer, for these names.
pub(crate) fn acceptor(issuer: &CertifiedIssuer<'_, KeyPair>, names: &[&str], expired: bool) -> TlsAcceptor {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).expect("a certificate");
    if expired {
        params.not_before = rcgen::date_time_ymd(2019, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().expect("a certificate");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("a certificate")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().expect("a certificate"))
        .expect("a certificate");
    TlsAcceptor::from(Arc::new(config))
}

/// An authority by this name, whose certificate nobody knows yet.
pub(crate) fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("a certificate");
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a certificate")).expect("a certificate")
}

/// The roots of somebody who trusts this authority and no other.
pub(crate) fn trusting(issuer: &CertifiedIssuer<'_, KeyPair>) -> rustls::RootCertStore {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(issuer.der().clone()).expect("a certificate");
    roots
}
