//! The sections of a configuration, as they are written; what is left out has its default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::chunk;
use crate::project::models::{RerankerConfig, WriterConfig};
use crate::search::ranking::Ranking;
use crate::search::settings::OVER_FETCH;
use crate::store::records::Volatility;

/// Where the index is kept.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreConfig {
    pub(super) sqlite: Option<PathBuf>,
    pub(super) postgres: Option<String>,
    pub(super) chroma: Option<ChromaConfig>,
}

/// Where a Chroma server keeps the vectors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChromaConfig {
    pub(super) url: String,
    pub(super) collection: String,
    pub(super) tenant: Option<String>,
    pub(super) database: Option<String>,
    /// May be a secret, so it is usually `${env:NAME}`.
    pub(super) token: Option<String>,
    /// The file beside it.
    pub(super) file: Option<PathBuf>,
}

/// What is indexed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IndexConfig {
    pub(super) roots: Vec<String>,
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) deny: Vec<String>,
    #[serde(default)]
    pub(super) budgets: BudgetsConfig,
    #[serde(default)]
    pub(super) rules: Vec<RuleConfig>,
}

/// How much is indexed at most.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BudgetsConfig {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) file_bytes: u64,
    pub(super) tokens: usize,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self { files: 20_000, bytes: 200_000_000, file_bytes: 16_000_000, tokens: 20_000_000 }
    }
}

/// What is known of files by their path.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleConfig {
    pub(super) files: String,
    pub(super) source_type: String,
    #[serde(default)]
    pub(super) collection: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) volatility: Volatility,
}

/// How documents are cut.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChunksConfig {
    pub(super) method: Option<String>,
    pub(super) tokens: usize,
    pub(super) overlap: usize,
    pub(super) characters: usize,
    pub(super) character_overlap: usize,
}

impl Default for ChunksConfig {
    fn default() -> Self {
        let usual = chunk::ChunkSettings::default();
        Self {
            method: None,
            tokens: usual.tokens_max(),
            overlap: usual.overlap(),
            characters: usual.characters(),
            character_overlap: usual.character_overlap(),
        }
    }
}

/// How it is searched.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SearchConfig {
    pub(super) over_fetch: usize,
    pub(super) reranker: RerankerConfig,
    pub(super) weight: f64,
    pub(super) priors: BTreeMap<String, f64>,
    pub(super) recency: RecencyConfig,
    pub(super) terms: BTreeMap<String, String>,
    pub(super) split_questions: bool,
    pub(super) writer: Option<WriterConfig>,
}

impl Default for SearchConfig {
    fn default() -> Self {
        let usual = Ranking::default();
        Self {
            over_fetch: OVER_FETCH,
            reranker: RerankerConfig::default(),
            weight: usual.weight,
            priors: usual.priors,
            recency: RecencyConfig::default(),
            terms: BTreeMap::new(),
            split_questions: true,
            writer: None,
        }
    }
}

/// What a late day is worth.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RecencyConfig {
    pub(super) weight: f64,
    pub(super) half_life_days: f64,
}

impl Default for RecencyConfig {
    fn default() -> Self {
        let usual = Ranking::default();
        Self { weight: usual.recency, half_life_days: usual.recency_half_life_days }
    }
}

/// Whether answers are remembered.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AnswersConfig {
    pub(super) remember: bool,
    /// Answers were remembered by meaning once; whoever still says how near is told nothing new.
    #[serde(rename = "similar_from")]
    _similar_from: Option<f64>,
}

impl Default for AnswersConfig {
    fn default() -> Self {
        Self { remember: true, _similar_from: None }
    }
}

/// A tenant; its token may be `${env:NAME}`.
#[cfg(feature = "tenants")]
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantConfig {
    pub(super) token: String,
    pub(super) collections: Vec<String>,
}

#[cfg(feature = "tenants")]
impl std::fmt::Debug for TenantConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the token.
        formatter.debug_struct("TenantConfig").field("collections", &self.collections).finish_non_exhaustive()
    }
}

/// What the log may say.
#[derive(Debug, Clone, Copy, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogConfig {
    pub(super) questions: LoggedQuestions,
}

/// How questions are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoggedQuestions {
    #[default]
    Hashed,
    Plain,
}
