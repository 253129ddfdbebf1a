//! The runbooks Serin brings, one for each reason: `src/runbooks/{slug}.md`.
//!
//! They are used where the file names none, so that no page is without one. Serin writes them and
//! no server does, yet they are rendered as carefully as anything else: raw HTML in them is shown,
//! not executed, and links lead to web addresses or places on Serin's own pages only.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html as writer};

use crate::domain::reason::FailureReason;

/// The Markdown text for a reason: its slug as title, then "What it means", "Check first", "Mend", "Confirm".
pub const fn text(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::DnsFailure => include_str!("../runbooks/dns_failure.md"),
        FailureReason::ConnectionRefused => include_str!("../runbooks/connection_refused.md"),
        FailureReason::ConnectTimeout => include_str!("../runbooks/connect_timeout.md"),
        FailureReason::NetworkError => include_str!("../runbooks/network_error.md"),
        FailureReason::TlsFailure => include_str!("../runbooks/tls_failure.md"),
        FailureReason::AuthRequired => include_str!("../runbooks/auth_required.md"),
        FailureReason::AuthRejected => include_str!("../runbooks/auth_rejected.md"),
        FailureReason::AclLeak => include_str!("../runbooks/acl_leak.md"),
        FailureReason::CertificateExpiring => include_str!("../runbooks/certificate_expiring.md"),
        FailureReason::CredentialExpiring => include_str!("../runbooks/credential_expiring.md"),
        FailureReason::HttpError => include_str!("../runbooks/http_error.md"),
        FailureReason::RateLimited => include_str!("../runbooks/rate_limited.md"),
        FailureReason::Redirected => include_str!("../runbooks/redirected.md"),
        FailureReason::Timeout => include_str!("../runbooks/timeout.md"),
        FailureReason::ProtocolError => include_str!("../runbooks/protocol_error.md"),
        FailureReason::VersionUnsupported => include_str!("../runbooks/version_unsupported.md"),
        FailureReason::NotMcp => include_str!("../runbooks/not_mcp.md"),
        FailureReason::ResponseTooLarge => include_str!("../runbooks/response_too_large.md"),
        FailureReason::SessionLost => include_str!("../runbooks/session_lost.md"),
        FailureReason::ToolMissing => include_str!("../runbooks/tool_missing.md"),
        FailureReason::ToolError => include_str!("../runbooks/tool_error.md"),
        FailureReason::SchemaDrift => include_str!("../runbooks/schema_drift.md"),
        FailureReason::ContextCost => include_str!("../runbooks/context_cost.md"),
        FailureReason::ElevatedErrorRate => include_str!("../runbooks/elevated_error_rate.md"),
        FailureReason::ExternalApiFailure => include_str!("../runbooks/external_api_failure.md"),
        FailureReason::VectorStoreUnreachable => include_str!("../runbooks/vector_store_unreachable.md"),
        FailureReason::PoolSaturated => include_str!("../runbooks/pool_saturated.md"),
        FailureReason::IndexEmptyOrStale => include_str!("../runbooks/index_empty_or_stale.md"),
        FailureReason::ChunkSizeAnomaly => include_str!("../runbooks/chunk_size_anomaly.md"),
        FailureReason::Unhealthy => include_str!("../runbooks/unhealthy.md"),
        FailureReason::SelfReportedDegradation => include_str!("../runbooks/self_reported_degradation.md"),
        FailureReason::EmptyResults => include_str!("../runbooks/empty_results.md"),
        FailureReason::WrongResults => include_str!("../runbooks/wrong_results.md"),
        FailureReason::ResultMalformed => include_str!("../runbooks/result_malformed.md"),
        FailureReason::RetrievalRegression => include_str!("../runbooks/retrieval_regression.md"),
        FailureReason::EmbeddingMismatch => include_str!("../runbooks/embedding_mismatch.md"),
        FailureReason::VectorArmDown => include_str!("../runbooks/vector_arm_down.md"),
        FailureReason::KeywordArmDown => include_str!("../runbooks/keyword_arm_down.md"),
        FailureReason::RerankerChanged => include_str!("../runbooks/reranker_changed.md"),
        FailureReason::IndexUnreachableVectors => include_str!("../runbooks/index_unreachable_vectors.md"),
        FailureReason::CorpusTruncated => include_str!("../runbooks/corpus_truncated.md"),
        FailureReason::SourceStale => include_str!("../runbooks/source_stale.md"),
        FailureReason::CacheStale => include_str!("../runbooks/cache_stale.md"),
        FailureReason::CacheFalseHit => include_str!("../runbooks/cache_false_hit.md"),
        FailureReason::ConstantResponse => include_str!("../runbooks/constant_response.md"),
        FailureReason::ThresholdBroken => include_str!("../runbooks/threshold_broken.md"),
        FailureReason::InconsistentResults => include_str!("../runbooks/inconsistent_results.md"),
        FailureReason::ReplicaDivergence => include_str!("../runbooks/replica_divergence.md"),
        FailureReason::RankingChanged => include_str!("../runbooks/ranking_changed.md"),
        FailureReason::ScoreShift => include_str!("../runbooks/score_shift.md"),
        FailureReason::ChunkingChanged => include_str!("../runbooks/chunking_changed.md"),
        FailureReason::CanaryStale => include_str!("../runbooks/canary_stale.md"),
        FailureReason::LatencyElevated => include_str!("../runbooks/latency_elevated.md"),
        FailureReason::ColdStart => include_str!("../runbooks/cold_start.md"),
        FailureReason::MonitorInternal => include_str!("../runbooks/monitor_internal.md"),
        FailureReason::MonitorUplink => include_str!("../runbooks/monitor_uplink.md"),
    }
}

/// The same as HTML, safe to put into a page as it is.
pub fn html(reason: FailureReason) -> String {
    rendered(text(reason))
}

/// Markdown as HTML in which nothing is executed.
fn rendered(markdown: &str) -> String {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, title, id, .. }) => {
            Event::Start(Tag::Image { link_type, dest_url: CowStr::Borrowed("#"), title, id })
        }
        other => other,
    });
    let mut page = String::with_capacity(markdown.len() * 2);
    writer::push_html(&mut page, events);
    page
}

/// A link that can only lead to a page.
fn safe(url: CowStr<'_>) -> CowStr<'_> {
    let leads_to_a_page = url.starts_with("https://") || url.starts_with("http://") || url.starts_with('#');
    let leads_home = url.starts_with('/') && !url.starts_with("//");
    if leads_to_a_page || leads_home { url } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a runbook says of a reason that no check finds yet.
    const PLANNED: &str = "This version of Serin has no check for it yet";

    #[test]
    fn every_reason_has_a_runbook_of_the_same_shape() {
        for reason in FailureReason::ALL {
            let (slug, text) = (reason.slug(), text(*reason));
            assert!(text.starts_with(&format!("# {slug}\n")), "{slug}: the title is the slug");
            let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, ["## What it means", "## Check first", "## Mend", "## Confirm"], "{slug}");
            let lines = text.lines().count();
            assert!((15..=45).contains(&lines), "{slug}: {lines} lines are too few or too many to be read at night");
            let confirm = text.split("## Confirm").nth(1).unwrap_or_default();
            assert!(confirm.contains("serin "), "{slug}: it ends with a command that shows whether it worked");
        }
    }

    #[test]
    fn a_planned_reason_promises_no_check() {
        for reason in FailureReason::ALL {
            let says_so = text(*reason).contains(PLANNED);
            assert_eq!(says_so, !reason.facts().checked, "{}: the text says whether there is a check", reason.slug());
        }
    }

    #[test]
    fn each_runbook_speaks_of_its_own_reason() {
        let mut openings = std::collections::BTreeMap::new();
        for reason in FailureReason::ALL {
            let opening = text(*reason).lines().find(|line| !line.is_empty() && !line.starts_with('#'));
            if let Some(other) = openings.insert(opening, reason) {
                panic!("{} and {} open with the same words", other.slug(), reason.slug());
            }
        }
    }

    #[test]
    fn nothing_in_a_rendered_runbook_is_executed() {
        let rows = [
            ("<script>alert(1)</script>", "<script", "a script is shown as text"),
            ("a <img src=x onerror=alert(1)> b", "<img", "so is markup inside a line"),
            ("[x](javascript:alert(1))", "javascript:", "a link leads to a page only"),
            ("[x](//evil.example)", "//evil", "not to another host in disguise"),
            ("![x](https://evil.example/pixel.png)", "evil", "pictures are not fetched"),
        ];
        for (markdown, absent, sentence) in rows {
            assert!(!rendered(markdown).contains(absent), "{sentence}: {}", rendered(markdown));
        }
        for reason in FailureReason::ALL {
            assert!(html(*reason).contains("<h2>Mend</h2>"), "{}", reason.slug());
        }
    }
}
