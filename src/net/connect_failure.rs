//! Everything that can go wrong on the way to a server, before the first byte of HTTP.

use rustls::AlertDescription;

use serin_outbound::guard::Refusal;

/// What can go wrong before the first byte of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectFailure {
    /// No address for the name.
    NameNotResolved,
    /// The guard does not let the address pass.
    Guarded(Refusal),
    Refused,
    /// TCP was not answered in time.
    TimedOut,
    Reset,
    Unreachable,
    /// The chain is not trusted.
    TlsUntrusted,
    /// The certificate is for another name.
    TlsWrongName,
    /// The certificate has expired or is not valid yet.
    TlsExpired,
    /// TLS did not come about for another reason.
    TlsFailed,
    /// The server wants a certificate of ours, and there is none.
    CertificateWanted,
    /// The server does not take the certificate that we show.
    CertificateRefused,
    /// The proxy that the file names cannot be used.
    ProxyFailed,
    /// We have no file left to connect with.
    OutOfFiles,
}

/// What a server's alert means: some of them speak of the certificate that we showed, or did not.
pub(crate) fn alerted(alert: AlertDescription) -> ConnectFailure {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => ConnectFailure::CertificateWanted,
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => ConnectFailure::CertificateRefused,
        _ => ConnectFailure::TlsFailed,
    }
}
