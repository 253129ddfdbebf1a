//! Whom we trust, and the TLS configuration that connections share.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;

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

/// For a client that asks now and then: a machine without certificates of its own, such as an empty image, is no reason not to ask.
///
/// # Panics
/// Never: the provider is named here, and ring has every version that rustls asks for by default.
pub fn trusting_config() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default protocol versions")
        .with_root_certificates(roots())
        .with_no_client_auth()
}

/// How TLS is spoken: with a memory of sessions, and anew where the certificate has to show.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Sessions are resumed.
    pub resuming: Arc<ClientConfig>,
    /// Each handshake is a full one.
    pub anew: Arc<ClientConfig>,
    /// When our own certificate ends, unix seconds; none where we show none.
    pub identity_until: Option<i64>,
}

/// Our own certificate.
#[derive(Debug)]
pub struct Identity {
    /// The chain, ours first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its private key.
    pub key: PrivateKeyDer<'static>,
}

impl Tls {
    /// One configuration for many connections: ring, TLS 1.2 and 1.3, sessions resumed for the `names` last used servers.
    ///
    /// # Errors
    /// Where the key is not the certificate's.
    ///
    /// # Panics
    /// Never: the provider is named here, and ring has every version that rustls asks for by default.
    pub fn new(
        roots: impl Into<Arc<RootCertStore>>,
        names: usize,
        identity: Option<Identity>,
        identity_until: Option<i64>,
    ) -> Result<Self, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the default protocol versions")
            .with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key)?,
        };
        config.resumption = Resumption::in_memory_sessions(names);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut anew = config.clone();
        anew.resumption = Resumption::disabled();
        Ok(Self { resuming: Arc::new(config), anew: Arc::new(anew), identity_until })
    }
}

/// The moment a certificate's validity ends, in unix seconds; none where it cannot be read.
pub fn valid_until(certificate: &CertificateDer<'_>) -> Option<i64> {
    // Raw: a serial number that breaks the rules does not keep us from reading the date.
    let parsed = CertificateInner::<Raw>::from_der(certificate).ok()?;
    i64::try_from(parsed.tbs_certificate().validity().not_after.to_unix_duration().as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SerialNumber, date_time_ymd};

    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read_whatever_its_serial_number() {
        let key = KeyPair::generate().unwrap();
        let ends = |serial: &[u8], year| {
            let mut params = CertificateParams::new(vec!["search.example".to_owned()]).unwrap();
            params.serial_number = Some(SerialNumber::from_slice(serial));
            params.not_after = date_time_ymd(year, 1, 1);
            valid_until(params.self_signed(&key).unwrap().der())
        };
        assert_eq!(ends(&[7; 8], 2030), Some(1_893_456_000));
        assert_eq!(ends(&[7; 30], 2030), Some(1_893_456_000), "more than the twenty bytes of RFC 5280");
        assert_eq!(ends(&[7; 8], 2055), Some(2_682_374_400), "from 2050 on the date is written otherwise");
        assert_eq!(valid_until(&CertificateDer::from(vec![0x30, 0x03, 1, 2, 3])), None, "no certificate");
    }
}
