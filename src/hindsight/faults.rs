//! Faults as the record knows them: by the reason that they came to.

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::reason::FailureReason;

/// A fault that stands for a reason.
pub(crate) fn fault(reason: FailureReason) -> Fault {
    use FailureReason as R;
    use FaultKind as K;
    let kind = match reason {
        R::DnsFailure => K::NameNotResolved,
        R::ConnectionRefused => K::Refused,
        R::ConnectTimeout => K::ConnectTimeout,
        R::NetworkError => K::Reset,
        R::TlsFailure => K::TlsFailed,
        R::Timeout => K::Silent,
        R::ResponseTooLarge => K::TooLarge,
        R::AuthRequired => K::AuthRequired,
        R::AuthRejected => K::AuthRejected,
        R::ExternalApiFailure => K::IssuerFailed,
        R::RateLimited => K::RateLimited { retry_after_seconds: None },
        R::HttpError => K::HttpStatus(500),
        R::Redirected => K::Redirected(302),
        R::NotMcp => K::NotHttp,
        R::VersionUnsupported => K::WrongVersion,
        R::ToolError => K::ToolError,
        R::SessionLost => K::SessionLost,
        R::ToolMissing => K::ToolAbsent,
        R::SchemaDrift => K::ArgumentsInvalid,
        R::ResultMalformed => K::AnswerUnreadable,
        _ => K::BadResult,
    };
    Fault { kind, detail: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::classify::reason_of;
    use crate::domain::observation::Stage;

    #[test]
    fn a_fault_means_the_reason_that_it_stands_for() {
        let reasons = [
            FailureReason::DnsFailure,
            FailureReason::ConnectionRefused,
            FailureReason::ConnectTimeout,
            FailureReason::NetworkError,
            FailureReason::TlsFailure,
            FailureReason::Timeout,
            FailureReason::ResponseTooLarge,
            FailureReason::AuthRequired,
            FailureReason::AuthRejected,
            FailureReason::ExternalApiFailure,
            FailureReason::RateLimited,
            FailureReason::HttpError,
            FailureReason::Redirected,
            FailureReason::NotMcp,
            FailureReason::VersionUnsupported,
            FailureReason::ToolError,
            FailureReason::SessionLost,
            FailureReason::ToolMissing,
            FailureReason::SchemaDrift,
            FailureReason::ResultMalformed,
            FailureReason::ProtocolError,
        ];
        for reason in reasons {
            assert_eq!(reason_of(Stage::Search, fault(reason).kind).0, reason);
        }
    }
}
