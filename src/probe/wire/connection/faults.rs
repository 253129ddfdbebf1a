//! What a connection that fails is called.

use std::error::Error as _;

use crate::domain::fault::FaultKind;
use crate::net::connect_failure::{ConnectFailure, alerted};
use crate::net::stream::TooMuch;

/// What went wrong while a request or an answer was under way.
pub(super) fn of_http(error: &hyper::Error) -> FaultKind {
    let io = io_cause(error);
    let io_is_too_much = || io.is_some_and(|io| io.get_ref().is_some_and(|inner| inner.is::<TooMuch>()));
    if error.is_parse_too_large() || io_is_too_much() {
        FaultKind::TooLarge
    } else if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionReset) {
        FaultKind::Reset
    } else if error.is_parse() {
        FaultKind::NotHttp
    } else if let Some(broken) = io.and_then(|io| io.get_ref()?.downcast_ref::<rustls::Error>()) {
        // TLS 1.3 refuses a client certificate only after the handshake.
        match broken {
            rustls::Error::AlertReceived(alert) => of_trouble(alerted(*alert)),
            _ => FaultKind::TlsFailed,
        }
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || io.is_some() {
        FaultKind::ClosedEarly
    } else {
        FaultKind::NotHttp
    }
}

fn io_cause(error: &hyper::Error) -> Option<&std::io::Error> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return Some(io);
        }
        cause = inner.source();
    }
    None
}

/// An error in words, with its cause.
pub(super) fn said(error: &hyper::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Why a connection did not come to stand.
pub(super) const fn of_trouble(trouble: ConnectFailure) -> FaultKind {
    match trouble {
        ConnectFailure::NameNotResolved => FaultKind::NameNotResolved,
        ConnectFailure::Refused => FaultKind::Refused,
        ConnectFailure::TimedOut => FaultKind::ConnectTimeout,
        ConnectFailure::Reset => FaultKind::Reset,
        ConnectFailure::Unreachable => FaultKind::Unreachable,
        ConnectFailure::Guarded(_) => FaultKind::Guarded,
        ConnectFailure::TlsUntrusted => FaultKind::TlsUntrusted,
        ConnectFailure::TlsWrongName => FaultKind::TlsWrongName,
        ConnectFailure::TlsExpired => FaultKind::TlsExpired,
        ConnectFailure::TlsFailed => FaultKind::TlsFailed,
        ConnectFailure::CertificateWanted => FaultKind::AuthRequired,
        ConnectFailure::CertificateRefused => FaultKind::AuthRejected,
        ConnectFailure::ProxyFailed => FaultKind::WayBlocked,
        ConnectFailure::OutOfFiles => FaultKind::OutOfFiles,
    }
}
