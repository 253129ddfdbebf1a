//! What the public is told, and in which words: chosen by signal and reason, and made of nothing that a server said.
//!
//! Not told at all: notices, what only concerns whoever runs the server (certificates and credentials that are still good,
//! the cost of a list of tools), and leaks, which their owner has to tell in words of their own.

use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// How something is, in the order of how much it matters to who uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PublicState {
    Works,
    Maintenance,
    Unknown,
    Slow,
    Wrong,
    Failing,
    Down,
}

impl PublicState {
    /// As pages and badges write it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Maintenance => "maintenance",
            Self::Unknown => "not known",
            Self::Slow => "slow",
            Self::Wrong => "answers may be wrong",
            Self::Failing => "partly failing",
            Self::Down => "down",
        }
    }

    /// The name of its style, and nothing that is read.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Maintenance => "maintenance",
            Self::Unknown => "unknown",
            Self::Slow => "slow",
            Self::Wrong => "wrong",
            Self::Failing => "failing",
            Self::Down => "down",
        }
    }

    /// A sign beside its colour.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Works => "✓",
            Self::Maintenance => "◇",
            Self::Unknown => "?",
            Self::Slow => "≈",
            Self::Wrong => "≠",
            Self::Failing => "!",
            Self::Down => "×",
        }
    }

    /// What is said of one thing that is so, behind its name.
    pub(crate) const fn of_one(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Maintenance => "is in maintenance",
            Self::Unknown => "is not known to work just now",
            Self::Slow => "is slow",
            Self::Wrong => "may answer wrongly",
            Self::Failing => "is partly failing",
            Self::Down => "is down",
        }
    }

    /// The same of several.
    pub(crate) const fn of_several(self) -> &'static str {
        match self {
            Self::Works => "work",
            Self::Maintenance => "are in maintenance",
            Self::Unknown => "are not known to work just now",
            Self::Slow => "are slow",
            Self::Wrong => "may answer wrongly",
            Self::Failing => "are partly failing",
            Self::Down => "are down",
        }
    }
}

/// What an incident is to the public: how the thing is, and a sentence. None where it is none of theirs.
pub(crate) fn told(signal: Signal, reason: FailureReason, severity: Severity) -> Option<(PublicState, &'static str)> {
    use FailureReason as R;
    if severity == Severity::Notice {
        return None;
    }
    match reason {
        // Of whoever runs it; nothing is worse yet.
        R::CertificateExpiring | R::CredentialExpiring | R::ContextCost | R::ChunkSizeAnomaly => None,
        R::CanaryStale | R::RankingChanged | R::ScoreShift | R::ChunkingChanged => None,
        R::IndexUnseen => {
            Some((PublicState::Unknown, "Answers come from a store, so that what is behind them is not known."))
        }
        // Told to everybody, these would be followed before they are mended.
        R::AclLeak | R::TenantLeak => None,
        // Nothing of the server's.
        R::MonitorInternal | R::MonitorUplink => None,
        // Only what breaks callers; other words in a description are no news to them.
        R::SchemaDrift if severity != Severity::Page => None,
        R::RateLimited => Some((PublicState::Failing, "Some requests are turned away, because there are too many.")),
        R::EmptyResults => Some((PublicState::Wrong, "Searches find nothing where there is something to find.")),
        R::SelfReportedDegradation => Some((PublicState::Wrong, "Answers may be incomplete.")),
        R::CorpusTruncated => Some((PublicState::Wrong, "Part of the content is missing from answers.")),
        R::IndexEmptyOrStale => Some((PublicState::Wrong, "Answers may be incomplete or out of date.")),
        R::CacheStale => Some((PublicState::Wrong, "Some answers are out of date.")),
        R::InconsistentResults | R::ReplicaDivergence => {
            Some((PublicState::Wrong, "The same question may get different answers."))
        }
        _ => Some(by_signal(signal)),
    }
}

const fn by_signal(signal: Signal) -> (PublicState, &'static str) {
    match signal {
        Signal::Availability => (PublicState::Down, "It does not answer."),
        Signal::Access => (PublicState::Unknown, "Our checks are not let in, so that how it works is not known."),
        Signal::Errors => (PublicState::Failing, "Some searches fail."),
        Signal::Latency => (PublicState::Slow, "Searches take longer than usual."),
        Signal::Contract => (PublicState::Failing, "Part of what it offers is missing or has changed."),
        Signal::Quality => (PublicState::Wrong, "Some searches bring wrong answers."),
        Signal::Freshness => (PublicState::Wrong, "Answers may be out of date."),
        Signal::Health => (PublicState::Failing, "It reports trouble of its own; some searches may fail."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_in_words_that_are_nobodys_inside() {
        for reason in FailureReason::ALL {
            for signal in Signal::ALL {
                assert_eq!(told(signal, *reason, Severity::Notice), None, "{reason}: a notice is not public");
                let Some((state, said)) = told(signal, *reason, Severity::Page) else { continue };
                assert!(said.ends_with('.') && said.len() <= 70, "{reason}: {said}");
                assert!(state != PublicState::Works, "{reason}: who opened is not well");
                let inside = ["canar", "monitor", "incident", "probe", "beat", "p95", "severity", "mcp", "_"];
                let text = said.to_lowercase();
                assert!(!inside.iter().any(|word| text.contains(word)), "{reason}: {said}");
            }
        }
    }

    #[test]
    fn what_an_incident_is_to_the_public() {
        use FailureReason as R;
        use PublicState::{Down, Failing, Slow, Unknown, Wrong};
        let (page, ticket) = (Severity::Page, Severity::Ticket);
        let rows = [
            (Signal::Availability, R::ConnectionRefused, page, Some(Down), "nobody answers"),
            (Signal::Access, R::AuthRejected, page, Some(Unknown), "who is not let in knows nothing"),
            (Signal::Access, R::CertificateExpiring, ticket, None, "good until it is not"),
            (Signal::Access, R::TenantLeak, page, None, "a leak is told by its owner"),
            (Signal::Errors, R::ElevatedErrorRate, page, Some(Failing), "some calls fail"),
            (Signal::Latency, R::LatencyElevated, ticket, Some(Slow), "a ticket is public too"),
            (Signal::Contract, R::SchemaDrift, page, Some(Failing), "what breaks callers"),
            (Signal::Contract, R::SchemaDrift, ticket, None, "what does not"),
            (Signal::Quality, R::EmbeddingMismatch, page, Some(Wrong), "quietly wrong"),
            (Signal::Freshness, R::SourceStale, ticket, Some(Wrong), "old answers"),
            (Signal::Health, R::PoolSaturated, page, Some(Failing), "its own word"),
        ];
        for (signal, reason, severity, expected, sentence) in rows {
            assert_eq!(told(signal, reason, severity).map(|(state, _)| state), expected, "{sentence}");
        }
    }
}
