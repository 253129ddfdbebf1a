//! What the server knows when it starts: our own documentation, or a folder.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::index::document::Document;
use crate::index::library::{DOCUMENT_CHARS_MAX, Library, LibraryError};
use crate::store::records::{StoreError, Volatility};

/// Where the first documents come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Corpus {
    /// Serin's own documentation, which is part of the program.
    #[default]
    Documentation,
    /// Every `.md` and `.txt` file below a folder, named by its path within it.
    Folder(PathBuf),
    /// Nothing: documents come through `index_document`.
    Empty,
}

/// Files read from a folder; a larger collection wants a real indexer.
const FILES_MAX: usize = 10_000;
/// Folders below folders.
const DEPTH_MAX: usize = 16;

/// Why a corpus could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The folder or a file in it cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The library refused.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

/// Indexes the corpus; sources that have not changed are left alone. Gives the number of sources.
///
/// # Errors
/// `CorpusError`; what was indexed before stays.
pub async fn index(corpus: &Corpus, library: &Library, now: DateTime<Utc>) -> Result<usize, CorpusError> {
    match corpus {
        Corpus::Empty => Ok(0),
        Corpus::Documentation => {
            for (source, text) in DOCUMENTATION {
                // A laboratory is looked at while it is changed: no answer from it is remembered.
                let document =
                    Document { volatility: Volatility::Live, ..Document::plain(source, "documentation", text) };
                library.put(&document, now).await?;
            }
            Ok(DOCUMENTATION.len())
        }
        Corpus::Folder(folder) => {
            let files = files(folder)?;
            for path in &files {
                let text = std::fs::read(path).map_err(|why| CorpusError::Unreadable { path: path.clone(), why })?;
                let text: String = String::from_utf8_lossy(&text).chars().take(DOCUMENT_CHARS_MAX).collect();
                let source = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
                library.put(&Document::plain(&source, "file", &text), now).await?;
            }
            Ok(files.len())
        }
    }
}

/// Text files below a folder, in the order of their paths; links are not followed.
fn files(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        let unreadable = |why| CorpusError::Unreadable { path: path.clone(), why };
        for entry in std::fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let is_text = entry.path().extension().is_some_and(|ending| ending == "md" || ending == "txt");
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() && is_text {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found.truncate(FILES_MAX);
    Ok(found)
}

macro_rules! documentation {
    ($($source:literal => $path:literal,)*) => {
        /// Sources of `Corpus::Documentation`: name and text.
        pub const DOCUMENTATION: &[(&str, &str)] = &[$(($source, include_str!($path)),)*];
    };
}

documentation! {
    "README.md" => "../../../README.md",
    "docs/keys.md" => "../../../docs/keys.md",
    "docs/measured.md" => "../../../docs/measured.md",
    "docs/monitors.md" => "../../../docs/monitors.md",
    "docs/operating.md" => "../../../docs/operating.md",
    "docs/paging.md" => "../../../docs/paging.md",
    "docs/quality.md" => "../../../docs/quality.md",
    "docs/reasons.md" => "../../../docs/reasons.md",
    "docs/reference-server.md" => "../../../docs/reference-server.md",
    "reference/backup.md" => "../corpus/backup.md",
    "reference/canaries.md" => "../corpus/canaries.md",
    "reference/chunking.md" => "../corpus/chunking.md",
    "reference/costs.md" => "../corpus/costs.md",
    "reference/embedding.md" => "../corpus/embedding.md",
    "reference/faults.md" => "../corpus/faults.md",
    "reference/freshness.md" => "../corpus/freshness.md",
    "reference/fusion.md" => "../corpus/fusion.md",
    "reference/health.md" => "../corpus/health.md",
    "reference/mcp.md" => "../corpus/mcp.md",
    "reference/oncall.md" => "../corpus/oncall.md",
    "reference/pool.md" => "../corpus/pool.md",
    "reference/postgres.md" => "../corpus/postgres.md",
    "reference/privacy.md" => "../corpus/privacy.md",
    "reference/tokens.md" => "../corpus/tokens.md",
    "reference/warmup.md" => "../corpus/warmup.md",
    "reference/writer.md" => "../corpus/writer.md",
    "runbooks/acl_leak.md" => "../../../src/runbooks/acl_leak.md",
    "runbooks/auth_rejected.md" => "../../../src/runbooks/auth_rejected.md",
    "runbooks/auth_required.md" => "../../../src/runbooks/auth_required.md",
    "runbooks/cache_false_hit.md" => "../../../src/runbooks/cache_false_hit.md",
    "runbooks/cache_stale.md" => "../../../src/runbooks/cache_stale.md",
    "runbooks/canary_stale.md" => "../../../src/runbooks/canary_stale.md",
    "runbooks/certificate_expiring.md" => "../../../src/runbooks/certificate_expiring.md",
    "runbooks/chunk_size_anomaly.md" => "../../../src/runbooks/chunk_size_anomaly.md",
    "runbooks/chunking_changed.md" => "../../../src/runbooks/chunking_changed.md",
    "runbooks/cold_start.md" => "../../../src/runbooks/cold_start.md",
    "runbooks/connect_timeout.md" => "../../../src/runbooks/connect_timeout.md",
    "runbooks/connection_refused.md" => "../../../src/runbooks/connection_refused.md",
    "runbooks/constant_response.md" => "../../../src/runbooks/constant_response.md",
    "runbooks/context_cost.md" => "../../../src/runbooks/context_cost.md",
    "runbooks/corpus_truncated.md" => "../../../src/runbooks/corpus_truncated.md",
    "runbooks/credential_expiring.md" => "../../../src/runbooks/credential_expiring.md",
    "runbooks/dns_failure.md" => "../../../src/runbooks/dns_failure.md",
    "runbooks/elevated_error_rate.md" => "../../../src/runbooks/elevated_error_rate.md",
    "runbooks/embedding_mismatch.md" => "../../../src/runbooks/embedding_mismatch.md",
    "runbooks/empty_results.md" => "../../../src/runbooks/empty_results.md",
    "runbooks/external_api_failure.md" => "../../../src/runbooks/external_api_failure.md",
    "runbooks/http_error.md" => "../../../src/runbooks/http_error.md",
    "runbooks/inconsistent_results.md" => "../../../src/runbooks/inconsistent_results.md",
    "runbooks/index_empty_or_stale.md" => "../../../src/runbooks/index_empty_or_stale.md",
    "runbooks/index_unreachable_vectors.md" => "../../../src/runbooks/index_unreachable_vectors.md",
    "runbooks/keyword_arm_down.md" => "../../../src/runbooks/keyword_arm_down.md",
    "runbooks/latency_elevated.md" => "../../../src/runbooks/latency_elevated.md",
    "runbooks/monitor_internal.md" => "../../../src/runbooks/monitor_internal.md",
    "runbooks/monitor_uplink.md" => "../../../src/runbooks/monitor_uplink.md",
    "runbooks/network_error.md" => "../../../src/runbooks/network_error.md",
    "runbooks/not_mcp.md" => "../../../src/runbooks/not_mcp.md",
    "runbooks/pool_saturated.md" => "../../../src/runbooks/pool_saturated.md",
    "runbooks/protocol_error.md" => "../../../src/runbooks/protocol_error.md",
    "runbooks/ranking_changed.md" => "../../../src/runbooks/ranking_changed.md",
    "runbooks/rate_limited.md" => "../../../src/runbooks/rate_limited.md",
    "runbooks/redirected.md" => "../../../src/runbooks/redirected.md",
    "runbooks/replica_divergence.md" => "../../../src/runbooks/replica_divergence.md",
    "runbooks/reranker_changed.md" => "../../../src/runbooks/reranker_changed.md",
    "runbooks/response_too_large.md" => "../../../src/runbooks/response_too_large.md",
    "runbooks/result_malformed.md" => "../../../src/runbooks/result_malformed.md",
    "runbooks/retrieval_regression.md" => "../../../src/runbooks/retrieval_regression.md",
    "runbooks/schema_drift.md" => "../../../src/runbooks/schema_drift.md",
    "runbooks/score_shift.md" => "../../../src/runbooks/score_shift.md",
    "runbooks/self_reported_degradation.md" => "../../../src/runbooks/self_reported_degradation.md",
    "runbooks/session_lost.md" => "../../../src/runbooks/session_lost.md",
    "runbooks/source_stale.md" => "../../../src/runbooks/source_stale.md",
    "runbooks/threshold_broken.md" => "../../../src/runbooks/threshold_broken.md",
    "runbooks/timeout.md" => "../../../src/runbooks/timeout.md",
    "runbooks/tls_failure.md" => "../../../src/runbooks/tls_failure.md",
    "runbooks/tool_error.md" => "../../../src/runbooks/tool_error.md",
    "runbooks/tool_missing.md" => "../../../src/runbooks/tool_missing.md",
    "runbooks/unhealthy.md" => "../../../src/runbooks/unhealthy.md",
    "runbooks/vector_arm_down.md" => "../../../src/runbooks/vector_arm_down.md",
    "runbooks/vector_store_unreachable.md" => "../../../src/runbooks/vector_store_unreachable.md",
    "runbooks/version_unsupported.md" => "../../../src/runbooks/version_unsupported.md",
    "runbooks/wrong_results.md" => "../../../src/runbooks/wrong_results.md",
}
