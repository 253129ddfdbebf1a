//! Why a monitor is not well: the closed list, and what follows from each entry.
//!
//! The same slug stands in page, metric, webhook, route, runbook and table. Which reason a probe
//! gets is decided in `classify`; the signal here is the usual one, for the stage has a say too.

use std::fmt;

use crate::domain::signal::Signal;

/// How loud a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For the record: nobody has to do anything.
    Notice,
    /// Somebody looks at it in working hours.
    Ticket,
    /// Somebody is woken for it.
    Page,
}

impl Severity {
    /// Every severity, the loudest first.
    pub const ALL: [Self; 3] = [Self::Page, Self::Ticket, Self::Notice];

    /// The word used in YAML, table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Ticket => "ticket",
            Self::Notice => "notice",
        }
    }

    /// The severity a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.slug() == slug)
    }
}

/// Which playbook a reason belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// No connection: the name, TCP or TLS failed.
    Transport,
    /// Connected and not let in, or soon not any more; let in where nobody should be.
    Access,
    /// Let in, and the answer is not what HTTP, JSON-RPC or MCP asks for.
    Protocol,
    /// The tools and their calls.
    Tools,
    /// What the server says of itself.
    Named,
    /// Answers that are well formed and wrong, as canaries show.
    Retrieval,
    /// Answers that are right and late.
    Latency,
    /// Serin's own trouble, never counted against a monitor.
    Ours,
}

impl Layer {
    /// Every layer, in the order of the table in docs/reasons.md.
    pub const ALL: [Self; 8] = [
        Self::Transport,
        Self::Access,
        Self::Protocol,
        Self::Tools,
        Self::Named,
        Self::Retrieval,
        Self::Latency,
        Self::Ours,
    ];

    /// The word used in the file.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Access => "access",
            Self::Protocol => "protocol",
            Self::Tools => "tools",
            Self::Named => "named",
            Self::Retrieval => "retrieval",
            Self::Latency => "latency",
            Self::Ours => "ours",
        }
    }

    /// The layer a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.slug() == slug)
    }

    /// The heading used in the table of docs/reasons.md.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Access => "access",
            Self::Protocol => "http, protocol",
            Self::Tools => "tools",
            Self::Named => "named by the server",
            Self::Retrieval => "retrieval, judged by us",
            Self::Latency => "latency",
            Self::Ours => "ours",
        }
    }
}

/// Everything that follows from a reason.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The word used everywhere outside the code.
    pub slug: &'static str,
    /// Which playbook it belongs to.
    pub layer: Layer,
    /// The signal it usually feeds.
    pub signal: Signal,
    /// How loud it is where no rule says otherwise.
    pub severity: Severity,
    /// One sentence for somebody who was just paged by it.
    pub meaning: &'static str,
    /// The number by which stored beats name it.
    pub number: u8,
    /// The runbook Serin brings for it, `src/runbooks/{slug}.md`: Markdown, its slug as title, then "What it means",
    /// "Check first", "Mend", "Confirm".
    pub runbook: &'static str,
}

macro_rules! reasons {
    ($($name:ident, $slug:literal, $number:literal, $layer:ident, $signal:ident, $severity:ident, $meaning:literal;)*) => {
        /// The closed list of causes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FailureReason {
            $(#[doc = $meaning] $name,)*
        }

        impl FailureReason {
            /// Every reason, in the order of the table in docs/reasons.md.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Everything that follows from it.
            pub const fn facts(self) -> Facts {
                match self {
                    $(Self::$name => Facts {
                        slug: $slug,
                        layer: Layer::$layer,
                        signal: Signal::$signal,
                        severity: Severity::$severity,
                        meaning: $meaning,
                        number: $number,
                        runbook: include_str!(concat!("../runbooks/", $slug, ".md")),
                    },)*
                }
            }
        }
    };
}

// A reason stands beside those of its layer, and gets the next number that is free: stored beats hold the numbers, so that
// none is ever changed or given to another.
reasons! {
    DnsFailure, "dns_failure", 32, Transport, Availability, Page, "The server's host name did not resolve to any address.";
    ConnectionRefused, "connection_refused", 33, Transport, Availability, Page, "Nothing listens on the server's port: the process is gone, or never came up.";
    ConnectTimeout, "connect_timeout", 34, Transport, Availability, Page, "The TCP connection was not answered in time: a dropped packet, a firewall or a machine that hangs.";
    NetworkError, "network_error", 35, Transport, Availability, Page, "The connection was reset, closed early or had no route.";
    TlsFailure, "tls_failure", 36, Transport, Availability, Page, "TLS did not come about: untrusted, for another name, expired, or not TLS at all.";
    AuthRequired, "auth_required", 37, Access, Access, Page, "The server asks for credentials and the monitor sends none.";
    AuthRejected, "auth_rejected", 38, Access, Access, Page, "The server refused the credentials that the monitor sent.";
    AclLeak, "acl_leak", 39, Access, Access, Page, "The server answers without credentials although it should refuse.";
    TenantLeak, "tenant_leak", 88, Access, Access, Page, "An answer names a source that its caller must never see, such as another tenant's.";
    CertificateExpiring, "certificate_expiring", 40, Access, Access, Ticket, "The server's certificate expires soon.";
    CredentialExpiring, "credential_expiring", 41, Access, Access, Ticket, "The monitor's own credential expires soon.";
    HttpError, "http_error", 42, Protocol, Availability, Page, "The server answered with an HTTP status that is no success.";
    RateLimited, "rate_limited", 43, Protocol, Errors, Ticket, "The server asks its callers to slow down (429).";
    Redirected, "redirected", 44, Protocol, Availability, Page, "The server sends its callers to another address, which a probe does not follow.";
    Timeout, "timeout", 45, Protocol, Availability, Page, "The server took the request and did not answer in time.";
    ProtocolError, "protocol_error", 46, Protocol, Availability, Page, "The answer is HTTP, but not the JSON-RPC that MCP asks for.";
    VersionUnsupported, "version_unsupported", 47, Protocol, Availability, Page, "No protocol version is spoken by both the server and the monitor.";
    NotMcp, "not_mcp", 48, Protocol, Availability, Page, "Something answers at this address, but it is not an MCP server.";
    ResponseTooLarge, "response_too_large", 49, Protocol, Availability, Page, "The answer is larger than a probe reads.";
    SessionLost, "session_lost", 50, Protocol, Availability, Page, "The server forgot the session in the middle of a probe: it restarted, or dropped it.";
    ToolMissing, "tool_missing", 51, Tools, Contract, Page, "A tool that was there, or that the canaries call, is gone from tools/list.";
    ToolError, "tool_error", 52, Tools, Errors, Page, "The search tool answered with an error.";
    SchemaDrift, "schema_drift", 53, Tools, Contract, Notice, "The tools differ from the accepted baseline.";
    ContextCost, "context_cost", 54, Tools, Contract, Ticket, "The list of tools or an answer takes more of a model's context than the file allows.";
    ElevatedErrorRate, "elevated_error_rate", 55, Tools, Errors, Page, "The share of failed search calls is above its limit.";
    ExternalApiFailure, "external_api_failure", 56, Named, Health, Page, "The server says that a provider it depends on, such as its embedding API, fails; or the issuer of our token does, which feeds access.";
    VectorStoreUnreachable, "vector_store_unreachable", 57, Named, Health, Page, "The server says that it cannot reach its vector store.";
    PoolSaturated, "pool_saturated", 58, Named, Health, Page, "The server says that its connection pool is exhausted.";
    IndexEmptyOrStale, "index_empty_or_stale", 59, Named, Health, Page, "The server says that its index is empty or too old.";
    ChunkSizeAnomaly, "chunk_size_anomaly", 60, Named, Health, Ticket, "The server says that its chunks are far longer or shorter than they should be.";
    Unhealthy, "unhealthy", 61, Named, Health, Page, "The server's health address does not answer well, for a reason outside the closed list.";
    SelfReportedDegradation, "self_reported_degradation", 62, Named, Quality, Ticket, "Answers carry the server's own word that they are partial or degraded.";
    EmptyResults, "empty_results", 63, Retrieval, Quality, Page, "Searches with a known answer come back empty, without an error.";
    WrongResults, "wrong_results", 64, Retrieval, Quality, Page, "Searches with a known answer no longer bring the expected source within its rank.";
    ResultMalformed, "result_malformed", 65, Retrieval, Quality, Page, "The search tool's answer has no readable list of results, or a broken one.";
    RetrievalRegression, "retrieval_regression", 66, Retrieval, Quality, Ticket, "The share of right answers falls slowly.";
    EmbeddingMismatch, "embedding_mismatch", 67, Retrieval, Quality, Page, "Questions are embedded with another model than the index.";
    VectorArmDown, "vector_arm_down", 68, Retrieval, Quality, Page, "Only the keyword half of the search still works.";
    KeywordArmDown, "keyword_arm_down", 69, Retrieval, Quality, Page, "Only the vector half of the search still works.";
    RerankerChanged, "reranker_changed", 70, Retrieval, Quality, Ticket, "The same results come in another order and on another scale of scores.";
    IndexUnreachableVectors, "index_unreachable_vectors", 71, Retrieval, Quality, Ticket, "Part of the vectors can no longer be reached through the index.";
    CorpusTruncated, "corpus_truncated", 72, Retrieval, Freshness, Page, "Sources are missing from the index.";
    SourceStale, "source_stale", 73, Retrieval, Freshness, Ticket, "The newest source was indexed longer ago than allowed.";
    CacheStale, "cache_stale", 74, Retrieval, Quality, Page, "The cache answers wrongly what the index answers rightly.";
    CacheFalseHit, "cache_false_hit", 75, Retrieval, Quality, Page, "The cache answers one question with another question's results.";
    IndexUnseen, "index_unseen", 89, Retrieval, Quality, Ticket, "For an hour every answer came from a cache, so that nothing is known of the index.";
    ConstantResponse, "constant_response", 76, Retrieval, Quality, Page, "Unrelated questions all get one and the same list.";
    ThresholdBroken, "threshold_broken", 77, Retrieval, Quality, Page, "A question about something that is not there brings results all the same.";
    InconsistentResults, "inconsistent_results", 78, Retrieval, Quality, Ticket, "The same question gets different lists.";
    ReplicaDivergence, "replica_divergence", 79, Retrieval, Quality, Ticket, "Replicas declared identical answer differently.";
    RankingChanged, "ranking_changed", 80, Retrieval, Quality, Notice, "Lists moved, without a right answer lost.";
    ScoreShift, "score_shift", 81, Retrieval, Quality, Notice, "Scores moved on all questions at once.";
    ChunkingChanged, "chunking_changed", 82, Retrieval, Quality, Notice, "Chunks have other lengths than before.";
    CanaryStale, "canary_stale", 83, Retrieval, Quality, Notice, "A canary's source is no longer among the server's sources.";
    LatencyElevated, "latency_elevated", 84, Latency, Latency, Ticket, "P95 of search calls stays above its limit.";
    ColdStart, "cold_start", 85, Latency, Latency, Notice, "Searches are slow and the server restarted or is warming its cache; held back up to a cap.";
    MonitorInternal, "monitor_internal", 86, Ours, Availability, Notice, "Serin itself had trouble; nothing is said about the monitor.";
    MonitorUplink, "monitor_uplink", 87, Ours, Availability, Notice, "Serin's own connection to the network is gone.";
}

impl FailureReason {
    /// The word used everywhere outside the code.
    pub const fn slug(self) -> &'static str {
        self.facts().slug
    }

    /// The reason a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.slug() == slug)
    }

    /// Whether a server may say it of itself.
    pub fn may_be_named_by_server(self) -> bool {
        self.facts().layer == Layer::Retrieval || self.is_cause() || self == Self::Unhealthy
    }

    /// Whether it is a cause that only the server knows: it stands before whatever we saw of it.
    pub fn is_cause(self) -> bool {
        self.facts().layer == Layer::Named && !matches!(self, Self::Unhealthy | Self::SelfReportedDegradation)
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}
