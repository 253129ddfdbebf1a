//! Which incident explains which other of the same monitor, so that one cause is one page.

use crate::domain::classify::{FAULT, INVALID_CALL};
use crate::domain::incident::Incident;
use crate::domain::outcome::Evidence;
use crate::domain::reason::{FailureReason as R, Layer, Severity};
use crate::domain::signal::Signal;

/// What is wrong, as far as one thing explains another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The signal that is elevated.
    pub signal: Signal,
    /// With what reason.
    pub reason: R,
    /// How loud it is.
    pub severity: Severity,
    /// Whether calls that the canaries make no longer fit the tools.
    pub breaks_calls: bool,
}

impl Condition {
    /// What a signal is elevated with; its evidence says whether calls break.
    pub fn new(signal: Signal, reason: R, severity: Severity, evidence: &[Evidence]) -> Self {
        let is_broken = |said: &Evidence| said.key == INVALID_CALL || said.key == FAULT;
        let breaks_calls = signal == Signal::Contract && evidence.iter().any(is_broken);
        Self { signal, reason, severity, breaks_calls }
    }

    /// What an incident is about.
    pub fn of(incident: &Incident) -> Self {
        Self::new(incident.signal, incident.reason, incident.severity, &incident.evidence)
    }

    /// A search that brings an error, nothing, or nothing that can be read. One that the server throttles is not among
    /// them: it was understood.
    fn is_failing_search(&self) -> bool {
        match self.signal {
            Signal::Errors => matches!(self.reason, R::ElevatedErrorRate | R::ToolError),
            Signal::Quality => matches!(self.reason, R::EmptyResults | R::ResultMalformed),
            _ => false,
        }
    }

    /// A source in front of who must never see it is harm in itself, whatever else is wrong.
    const fn is_leak(&self) -> bool {
        matches!(self.reason, R::AclLeak | R::TenantLeak)
    }

    /// What the server's health says of its answers rather than of its parts.
    fn is_said_of_answers(&self) -> bool {
        self.signal == Signal::Health && self.reason.facts().layer == Layer::Retrieval
    }
}

/// A cause and what follows from it.
struct Explanation {
    first: fn(&Condition) -> bool,
    second: fn(&Condition) -> bool,
}

const EXPLANATIONS: &[Explanation] = &[
    // What cannot be reached cannot be looked into.
    Explanation { first: |first| first.signal == Signal::Availability, second: |second| !second.is_leak() },
    // Who is not let in is not served.
    Explanation {
        first: |first| {
            first.signal == Signal::Access
                && matches!(first.reason, R::AuthRejected | R::AuthRequired | R::ExternalApiFailure)
        },
        second: Condition::is_failing_search,
    },
    // Calls that no longer fit fail.
    Explanation { first: |first| first.breaks_calls, second: Condition::is_failing_search },
    // A part of the server that is broken, by its own word, fails searches or makes them wait.
    Explanation {
        first: |first| first.signal == Signal::Health && first.reason.is_cause(),
        second: |second| second.is_failing_search() || second.signal == Signal::Latency,
    },
    // An index that is empty or old, by the server's word, is what canaries and dates show of it.
    Explanation {
        first: |first| first.signal == Signal::Health && first.reason == R::IndexEmptyOrStale,
        second: |second| {
            matches!(
                (second.signal, second.reason),
                (Signal::Quality, R::WrongResults) | (Signal::Freshness, R::SourceStale)
            )
        },
    },
    // A part that is broken, and sources that are old or gone, make a replica answer otherwise than its original.
    Explanation {
        first: |first| {
            first.signal == Signal::Health && first.reason.is_cause()
                || first.signal == Signal::Freshness && matches!(first.reason, R::SourceStale | R::CorpusTruncated)
        },
        second: |second| second.signal == Signal::Quality && second.reason == R::ReplicaDivergence,
    },
    // What the server says of its answers is what canaries see of them.
    Explanation {
        first: Condition::is_said_of_answers,
        second: |second| second.signal == Signal::Quality && second.reason.facts().layer == Layer::Retrieval,
    },
];

/// Whether the first is why the second is seen: whoever heard of the first need not hear of the second.
///
/// Nothing explains what is louder than itself, or a ticket would keep a page from everybody.
pub fn explains(first: &Condition, second: &Condition) -> bool {
    let is_known = |row: &Explanation| (row.first)(first) && (row.second)(second);
    first.signal != second.signal
        && first.severity >= second.severity
        && (carries_its_name(first, second) || EXPLANATIONS.iter().any(is_known))
}

/// A cause that the server names stands in the place of each symptom that was seen with it.
fn carries_its_name(first: &Condition, second: &Condition) -> bool {
    let carriers = [Signal::Health, Signal::Errors, Signal::Quality];
    first.reason == second.reason
        && first.reason.is_cause()
        && carriers.contains(&first.signal)
        && carriers[1..].contains(&second.signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(signal: Signal, reason: R) -> Condition {
        Condition { signal, reason, severity: Severity::Page, breaks_calls: false }
    }

    fn ticket(signal: Signal, reason: R) -> Condition {
        Condition { severity: Severity::Ticket, ..page(signal, reason) }
    }

    fn broken(reason: R) -> Condition {
        Condition { breaks_calls: true, ..page(Signal::Contract, reason) }
    }

    #[test]
    fn each_cause_explains_its_own_symptoms_and_nothing_else() {
        use Signal as S;
        let (errors, empty) = (page(S::Errors, R::ElevatedErrorRate), page(S::Quality, R::EmptyResults));
        let slow = ticket(S::Latency, R::LatencyElevated);
        let (down, locked) = (page(S::Availability, R::Timeout), page(S::Access, R::AuthRejected));
        let rows = [
            (down, errors, true, "errors of a server that cannot be reached any more are old ones"),
            (down, page(S::Health, R::Unhealthy), true, "its health address is the same server's"),
            (down, locked, true, "who is out of reach refuses nobody"),
            (down, slow, true, "slow was the way to it"),
            (down, page(S::Access, R::TenantLeak), false, "a leak is harm whatever else is wrong"),
            (down, page(S::Access, R::AclLeak), false, "and so is an open door"),
            (errors, down, false, "no symptom explains an outage"),
            (locked, errors, true, "who is not let in gets errors"),
            (locked, page(S::Errors, R::ToolError), true, "by the tool, too"),
            (locked, empty, true, "or nothing"),
            (locked, page(S::Quality, R::ConstantResponse), false, "but not one answer to every question"),
            (page(S::Access, R::TenantLeak), empty, false, "a leak makes no search fail"),
            (ticket(S::Access, R::CertificateExpiring), ticket(S::Errors, R::ToolError), false, "a date neither"),
            (broken(R::SchemaDrift), errors, true, "a call that does not fit fails"),
            (broken(R::ToolMissing), errors, true, "nor does one of a tool that is gone"),
            (broken(R::SchemaDrift), empty, true, "or finds nothing"),
            (broken(R::SchemaDrift), page(S::Quality, R::ResultMalformed), true, "or nothing that can be read"),
            (
                broken(R::SchemaDrift),
                page(S::Errors, R::PoolSaturated),
                false,
                "a cause that the server names is its own",
            ),
            (
                broken(R::SchemaDrift),
                ticket(S::Errors, R::RateLimited),
                false,
                "a limit on calls has nothing to do with it",
            ),
            (
                broken(R::SchemaDrift),
                page(S::Quality, R::WrongResults),
                false,
                "an answer that is wrong was understood",
            ),
            (page(S::Contract, R::SchemaDrift), errors, false, "a change that breaks no call breaks no call"),
            (
                ticket(S::Contract, R::ContextCost),
                ticket(S::Errors, R::ToolError),
                false,
                "what is large may still be called",
            ),
            (page(S::Health, R::PoolSaturated), errors, true, "a cause that the server names explains what fails"),
            (page(S::Health, R::PoolSaturated), page(S::Quality, R::PoolSaturated), true, "under its own name, too"),
            (page(S::Health, R::PoolSaturated), slow, true, "and what waits"),
            (
                page(S::Health, R::PoolSaturated),
                page(S::Quality, R::VectorStoreUnreachable),
                false,
                "another cause is another",
            ),
            (page(S::Health, R::Unhealthy), errors, false, "a word that nobody knows explains nothing"),
            (
                page(S::Health, R::IndexEmptyOrStale),
                page(S::Quality, R::WrongResults),
                true,
                "an old index answers from old sources",
            ),
            (page(S::Health, R::IndexEmptyOrStale), ticket(S::Freshness, R::SourceStale), true, "whose dates are old"),
            (
                page(S::Health, R::PoolSaturated),
                ticket(S::Freshness, R::SourceStale),
                false,
                "a full pool makes nothing older",
            ),
            (
                page(S::Health, R::WrongResults),
                page(S::Quality, R::ConstantResponse),
                true,
                "it says what canaries see",
            ),
            (page(S::Health, R::WrongResults), errors, false, "and not what fails"),
            (page(S::Errors, R::PoolSaturated), page(S::Quality, R::PoolSaturated), true, "one name is one cause"),
            (page(S::Quality, R::PoolSaturated), page(S::Errors, R::PoolSaturated), true, "whichever was first"),
            (
                page(S::Quality, R::PoolSaturated),
                page(S::Health, R::PoolSaturated),
                false,
                "the server's word is no symptom",
            ),
            (
                ticket(S::Freshness, R::SourceStale),
                ticket(S::Quality, R::ReplicaDivergence),
                true,
                "an old index answers otherwise than a new one",
            ),
            (page(S::Health, R::PoolSaturated), ticket(S::Quality, R::ReplicaDivergence), true, "and so does a part"),
            (page(S::Health, R::Unhealthy), ticket(S::Quality, R::ReplicaDivergence), false, "but what is unhealthy?"),
            (slow, ticket(S::Quality, R::ReplicaDivergence), false, "what is slow answers the same"),
            (
                ticket(S::Freshness, R::SourceStale),
                page(S::Quality, R::ReplicaDivergence),
                false,
                "and a ticket hides no page of it",
            ),
            (errors, empty, false, "two symptoms explain each other no more than themselves"),
            (ticket(S::Health, R::PoolSaturated), errors, false, "a ticket hides no page"),
            (ticket(S::Health, R::PoolSaturated), slow, true, "but another ticket"),
            (down, page(S::Availability, R::DnsFailure), false, "nothing explains itself"),
        ];
        for (first, second, expected, sentence) in rows {
            assert_eq!(explains(&first, &second), expected, "{sentence}: {first:?} {second:?}");
        }
    }

    #[test]
    fn nothing_that_is_explained_explains_its_cause_but_where_both_carry_one_name() {
        let all = || R::ALL.iter().flat_map(|reason| Signal::ALL.map(|signal| page(signal, *reason)));
        let all: Vec<Condition> = all().chain([broken(R::SchemaDrift), broken(R::ToolMissing)]).collect();
        for first in &all {
            for second in all.iter().filter(|second| explains(first, second) && explains(second, first)) {
                assert!(first.reason == second.reason && first.reason.is_cause(), "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn whether_calls_break_stands_in_the_evidence() {
        let of = |signal, key| Condition::new(signal, R::SchemaDrift, Severity::Page, &[Evidence::new(key, "x")]);
        assert!(of(Signal::Contract, INVALID_CALL).breaks_calls, "a declared call that no longer fits");
        assert!(of(Signal::Contract, FAULT).breaks_calls, "a search tool that is gone");
        assert!(!of(Signal::Contract, "class").breaks_calls, "a change that meets no call");
        assert!(!of(Signal::Availability, FAULT).breaks_calls, "any other fault");
    }
}
