//! The configuration of an index, as it is written in YAML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::rag::cut;
use crate::rag::find::answers::{Remembering, SIMILAR_FROM};
use crate::rag::find::ranking::Ranking;
use crate::rag::find::retrieval::{OVER_FETCH, OVER_FETCH_MAX, Settings};
use crate::rag::find::rewriting::Rewriting;
use crate::rag::index::document::Cutting;
use crate::rag::index::run::{Budgets, Plan, Rule};
use crate::rag::index::walk::Selection;
use crate::rag::project::models::{EmbedderConfig, RerankerConfig, WriterConfig};
use crate::rag::project::place::Place;
use crate::rag::store::records::Volatility;

/// Bytes of a configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Rules of an index.
const RULES_MAX: usize = 200;

/// What `serin reference setup` writes: every setting, with its default.
pub const TEMPLATE: &str = r#"# The index of this project: what `serin reference index` reads and `serin reference serve` serves.
version: 1

# One file beside this one, or a PostgreSQL database with pgvector: `postgres: ${env:DATABASE_URL}`.
store:
  sqlite: index.db

index:
  roots: ["."]                       # folders of the project
  allow: ["*.md", "*.txt", "*.rst"]  # patterns as git writes them; nothing else is read
  deny: ["node_modules/", "target/", "*.min.*", "*.lock"]
  budgets: { files: 20000, bytes: 200000000, file_bytes: 800000, tokens: 20000000 }
  # What is known of files by their path; the first rule that fits counts. For a codebase:
  #   - { files: "docs/rules/**", source_type: constraints }
  #   - { files: "docs/patterns/**", source_type: patterns }
  #   - { files: "src/**", source_type: code, volatility: changing }
  rules: []

# Where documents are cut: by headings and sentences, code by function, unless a method is named
# (markdown, code, topics, fixed, parent_child). Characters are those of `fixed`.
chunks: { tokens: 200, overlap: 1, characters: 512, character_overlap: 64 }

# `builtin`, a server as in `http: {url: "http://127.0.0.1:11434/v1", model: nomic-embed-text, dimensions: 768}`
# (its key in the variable that `key_env` names), or weights as in `folder: {path: ../models/bge-small-en-v1.5}`.
embedder: builtin

search:
  over_fetch: 20                     # candidates the reranker looks at, 100 at most
  reranker: builtin                  # or `none`, `http: {url, model}`, `folder: {path}`
  weight: 1.0
  priors: { constraints: 0.35, patterns: 0.20, code: 0.0 }
  recency: { weight: 0.0, half_life_days: 30 }
  # What short words stand for, such as `SLA: service level agreement`.
  terms: {}
  split_questions: true
  # A language model may word questions anew, and write a passage whose vector is searched with (HyDE):
  # `writer: {url: "http://127.0.0.1:11434/v1", model: "qwen2.5:3b", rewrite: true, hyde: false}`, with `key_env` if need be.

answers:                             # answers remembered by what was asked
  remember: true
  similar_from: 0.92

log:
  questions: hashed                  # or `plain`
"#;

/// A configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    version: u32,
    #[serde(default)]
    store: StoreConfig,
    index: IndexConfig,
    #[serde(default)]
    chunks: ChunksConfig,
    #[serde(default)]
    embedder: EmbedderConfig,
    #[serde(default)]
    search: SearchConfig,
    #[serde(default)]
    answers: AnswersConfig,
    #[serde(default)]
    log: LogConfig,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StoreConfig {
    sqlite: Option<PathBuf>,
    postgres: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexConfig {
    roots: Vec<String>,
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    budgets: BudgetsConfig,
    #[serde(default)]
    rules: Vec<RuleConfig>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetsConfig {
    files: usize,
    bytes: u64,
    file_bytes: u64,
    tokens: usize,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self { files: 20_000, bytes: 200_000_000, file_bytes: 800_000, tokens: 20_000_000 }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleConfig {
    files: String,
    source_type: String,
    #[serde(default)]
    collection: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    volatility: Volatility,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChunksConfig {
    method: Option<String>,
    tokens: usize,
    overlap: usize,
    characters: usize,
    character_overlap: usize,
}

impl Default for ChunksConfig {
    fn default() -> Self {
        let usual = cut::Settings::default();
        Self {
            method: None,
            tokens: usual.tokens_max(),
            overlap: usual.overlap(),
            characters: usual.characters(),
            character_overlap: usual.character_overlap(),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SearchConfig {
    over_fetch: usize,
    reranker: RerankerConfig,
    weight: f64,
    priors: BTreeMap<String, f64>,
    recency: RecencyConfig,
    terms: BTreeMap<String, String>,
    split_questions: bool,
    writer: Option<WriterConfig>,
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

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecencyConfig {
    weight: f64,
    half_life_days: f64,
}

impl Default for RecencyConfig {
    fn default() -> Self {
        let usual = Ranking::default();
        Self { weight: usual.recency, half_life_days: usual.recency_half_life_days }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AnswersConfig {
    remember: bool,
    similar_from: f64,
}

impl Default for AnswersConfig {
    fn default() -> Self {
        Self { remember: true, similar_from: SIMILAR_FROM }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LogConfig {
    questions: LoggedQuestions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum LoggedQuestions {
    #[default]
    Hashed,
    Plain,
}

/// Which store, in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// A file.
    Sqlite(PathBuf),
    /// A database, by its URL, which may hold a password.
    Postgres(String),
}

/// Why a configuration is not taken; the message names the mend.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it, and where.
    pub why: String,
}

impl Config {
    /// Reads a project's configuration.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(place: &Place) -> Result<Self, ConfigError> {
        let path = place.config();
        let wrong = |why: String| ConfigError { path: path.clone(), why };
        let facts = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?;
        if facts.len() > CONFIG_BYTES_MAX {
            return Err(wrong(format!("it is larger than {CONFIG_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    /// Reads a configuration's text.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        if config.version != 1 {
            return Err(format!("`version: {}` is not known to this program: it reads version 1", config.version));
        }
        if config.store.sqlite.is_some() && config.store.postgres.is_some() {
            return Err("`store` is one of `sqlite` and `postgres`, not both".to_owned());
        }
        if !(1..=OVER_FETCH_MAX).contains(&config.search.over_fetch) {
            return Err(format!("`search.over_fetch` is between 1 and {OVER_FETCH_MAX}"));
        }
        if !(0.5..=1.0).contains(&config.answers.similar_from) {
            return Err(
                "`answers.similar_from` is between 0.5 and 1: below that, other questions get the answer".to_owned()
            );
        }
        if config.index.rules.len() > RULES_MAX {
            return Err(format!("`index.rules` has {} rules, {RULES_MAX} are allowed", config.index.rules.len()));
        }
        let numbers = config.search.priors.values().copied().chain([
            config.search.weight,
            config.search.recency.weight,
            config.search.recency.half_life_days,
        ]);
        if numbers.into_iter().any(|number| !number.is_finite() || number < 0.0) {
            return Err("`search`: weights, priors and days are numbers from 0 on".to_owned());
        }
        config.cutting().map_err(|why| format!("`chunks`: {why}"))?;
        Ok(config)
    }

    /// Which store, paths resolved and `${env:NAME}` read.
    ///
    /// # Errors
    /// A variable that is not set.
    pub fn store(&self, place: &Place) -> Result<StoreChoice, String> {
        match (&self.store.sqlite, &self.store.postgres) {
            (_, Some(url)) => Ok(StoreChoice::Postgres(from_env(url)?)),
            (path, None) => Ok(StoreChoice::Sqlite(place.resolve(path.as_deref().unwrap_or(Path::new("index.db"))))),
        }
    }

    /// What is indexed.
    ///
    /// # Errors
    /// A pattern or folder that cannot be read.
    pub fn plan(&self, place: &Place) -> Result<Plan, String> {
        let IndexConfig { roots, allow, deny, budgets, rules } = &self.index;
        let selection = Selection::new(&place.root, roots, allow, deny, budgets.file_bytes)?;
        let rule = |rule: &RuleConfig| {
            let RuleConfig { files, source_type, collection, tags, volatility } = rule.clone();
            Rule::new(&files, source_type, collection, tags, volatility)
        };
        let rules = rules.iter().map(rule).collect::<Result<_, _>>()?;
        let budgets = Budgets { files: budgets.files, bytes: budgets.bytes, tokens: budgets.tokens };
        Ok(Plan { selection, rules, budgets })
    }

    /// What embeds.
    pub fn embedder(&self) -> &EmbedderConfig {
        &self.embedder
    }

    /// What reranks.
    pub fn reranker(&self) -> &RerankerConfig {
        &self.search.reranker
    }

    /// What words questions anew, if anything.
    pub fn writer(&self) -> Option<&WriterConfig> {
        self.search.writer.as_ref()
    }

    /// How documents are cut.
    ///
    /// # Errors
    /// A limit that is passed, or a method that does not exist.
    pub fn cutting(&self) -> Result<Cutting, String> {
        let ChunksConfig { method, tokens, overlap, characters, character_overlap } = &self.chunks;
        let method = method.as_deref().map(str::parse).transpose()?;
        let settings = cut::Settings::checked(*tokens, *overlap, *characters, *character_overlap)?;
        Ok(Cutting { method, settings })
    }

    /// How it is searched.
    pub fn settings(&self) -> Settings {
        let search = &self.search;
        Settings {
            over_fetch: search.over_fetch,
            ranking: Ranking {
                weight: search.weight,
                priors: search.priors.clone(),
                recency: search.recency.weight,
                recency_half_life_days: search.recency.half_life_days,
            },
            rewriting: Rewriting::new(search.terms.clone(), search.split_questions),
            remembering: Remembering { is_on: self.answers.remember, similar_from: self.answers.similar_from },
        }
    }

    /// Whether the log has questions in words.
    pub fn logs_questions(&self) -> bool {
        self.log.questions == LoggedQuestions::Plain
    }
}

/// A value that may be `${env:NAME}`.
fn from_env(value: &str) -> Result<String, String> {
    let Some(name) = value.strip_prefix("${env:").and_then(|rest| rest.strip_suffix('}')) else {
        return Ok(value.to_owned());
    };
    std::env::var(name).map_err(|_unset| format!("the variable {name} is not set: set it, or write the value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, from: &str, to: &str, expected: Result<(), &str>) {
        let text = TEMPLATE.replace(from, to);
        match (Config::parse(&text), expected) {
            (Ok(_), Ok(())) => {}
            (Err(why), Err(part)) => assert!(why.contains(part), "{says}: {why}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    #[test]
    fn configurations_are_read_or_refused() {
        check("what setup writes", "", "", Ok(()));
        check("an unknown key", "over_fetch:", "overfetch:", Err("overfetch"));
        check("too many candidates", "over_fetch: 20", "over_fetch: 500", Err("between 1 and 100"));
        check("a loose cache", "similar_from: 0.92", "similar_from: 0.2", Err("between 0.5 and 1"));
        check("two stores", "sqlite: index.db", "{sqlite: a, postgres: b}", Err(""));
        check("another version", "version: 1", "version: 2", Err("reads version 1"));
        check("a chunk too large", "tokens: 200", "tokens: 2000", Err("`chunks`"));
        check("no such method", "chunks: {", "chunks: { method: magic,", Err("parent_child"));
        check("a negative weight", "weight: 1.0", "weight: -1.0", Err("from 0 on"));
        check("a writer", "terms: {}", "writer: {url: 'http://127.0.0.1:1/v1', model: m, hyde: true}", Ok(()));
        check("a writer without a model", "terms: {}", "writer: {url: 'http://127.0.0.1:1/v1'}", Err("model"));
        check("an unknown task", "terms: {}", "writer: {url: u, model: m, translate: true}", Err("translate"));
        check("no number", "half_life_days: 30", "half_life_days: .nan", Err("from 0 on"));
    }

    #[test]
    fn the_template_says_the_defaults() {
        let config = Config::parse(TEMPLATE).unwrap();
        assert_eq!(config.settings(), Settings::default());
        assert!(config.writer().is_none());
        assert_eq!(config.index.budgets.bytes, BudgetsConfig::default().bytes);
        let place = Place { root: PathBuf::from("/p") };
        assert_eq!(config.store(&place), Ok(StoreChoice::Sqlite(PathBuf::from("/p/.serin-reference/index.db"))));
    }
}
