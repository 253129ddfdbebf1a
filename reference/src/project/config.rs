//! The configuration of an index, as it is written in YAML.

#[cfg(feature = "tenants")]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::chunk;
use crate::index::document::Cutting;
use crate::index::run::{Budgets, IndexPlan, Rule};
use crate::index::walk::Selection;
use crate::project::models::{EmbedderConfig, RerankerConfig, WriterConfig};
use crate::project::place::{FOLDER, ProjectFolder};
#[cfg(feature = "tenants")]
use crate::project::sections::TenantConfig;
use crate::project::sections::{
    AnswersConfig, ChromaConfig, ChunksConfig, IndexConfig, LogConfig, LoggedQuestions, RuleConfig, SearchConfig,
    StoreConfig,
};
use crate::project::subject::{self, NAME_CHARS_MAX, SUMMARY_CHARS_MAX, Subject};
use crate::remote::settings::ApiKey;
use crate::search::answers::Remembering;
use crate::search::ranking::Ranking;
use crate::search::rewriting::Rewriting;
use crate::search::settings::SearchSettings;
use crate::store::chroma::options::ChromaOptions;
#[cfg(feature = "tenants")]
use crate::tenants::roll::Roll;

/// Bytes of a configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Rules of an index.
const RULES_MAX: usize = 200;
/// What lies beside a collection. Not the file of an index that has its vectors itself: neither could read the other's.
const CHROMA_FILE: &str = "chroma.db";
/// Chunks that the reranker may be set to look at.
const OVER_FETCH_MAX: usize = 100;

/// A configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectConfig {
    version: u32,
    #[serde(default)]
    name: String,
    #[serde(default)]
    summary: String,
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
    #[cfg(feature = "tenants")]
    #[serde(default)]
    tenants: BTreeMap<String, TenantConfig>,
}

/// Which store, in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// A file.
    Sqlite(PathBuf),
    /// A database, by its URL, which may hold a password.
    Postgres(String),
    /// A file, and the collection that has its vectors.
    Chroma(PathBuf, ChromaOptions),
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

impl ProjectConfig {
    /// Reads a project's configuration.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(place: &ProjectFolder) -> Result<Self, ConfigError> {
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
        subject::check("name", &config.name, NAME_CHARS_MAX)?;
        subject::check("summary", &config.summary, SUMMARY_CHARS_MAX)?;
        let StoreConfig { sqlite, postgres, chroma } = &config.store;
        if [sqlite.is_some(), postgres.is_some(), chroma.is_some()].into_iter().filter(|is_said| *is_said).count() > 1 {
            return Err("`store` is one of `sqlite`, `postgres` and `chroma`".to_owned());
        }
        if !(1..=OVER_FETCH_MAX).contains(&config.search.over_fetch) {
            return Err(format!("`search.over_fetch` is between 1 and {OVER_FETCH_MAX}"));
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
    pub fn store(&self, place: &ProjectFolder) -> Result<StoreChoice, String> {
        let file = |path: &Option<PathBuf>, usual| place.resolve(path.as_deref().unwrap_or(Path::new(usual)));
        match &self.store {
            StoreConfig { postgres: Some(url), .. } => Ok(StoreChoice::Postgres(from_env(url)?)),
            StoreConfig { chroma: Some(chroma), .. } => {
                Ok(StoreChoice::Chroma(file(&chroma.file, CHROMA_FILE), chroma_options(chroma)?))
            }
            StoreConfig { sqlite, .. } => Ok(StoreChoice::Sqlite(file(sqlite, "index.db"))),
        }
    }

    /// What is indexed.
    ///
    /// # Errors
    /// A pattern or folder that cannot be read.
    pub fn plan(&self, place: &ProjectFolder) -> Result<IndexPlan, String> {
        let IndexConfig { roots, allow, deny, budgets, rules } = &self.index;
        let database = match self.store(place) {
            Ok(StoreChoice::Sqlite(path) | StoreChoice::Chroma(path, _)) => Some(path),
            Ok(StoreChoice::Postgres(_)) | Err(_) => None,
        };
        let own = [place.root.join(FOLDER)].into_iter().chain(database);
        let selection = Selection::new(&place.root, roots, allow, deny, budgets.file_bytes)?.keeping_out(own);
        let rule = |rule: &RuleConfig| {
            let RuleConfig { files, source_type, collection, tags, volatility } = rule.clone();
            Rule::new(&files, source_type, collection, tags, volatility)
        };
        let rules = rules.iter().map(rule).collect::<Result<_, _>>()?;
        let budgets = Budgets { files: budgets.files, bytes: budgets.bytes, tokens: budgets.tokens };
        Ok(IndexPlan { selection, rules, budgets })
    }

    /// What is indexed, in words; empty where nobody wrote any.
    pub fn subject(&self) -> Subject {
        Subject { name: self.name.clone(), summary: self.summary.clone() }
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
        let settings = chunk::ChunkSettings::checked(*tokens, *overlap, *characters, *character_overlap)?;
        Ok(Cutting { method, settings })
    }

    /// How it is searched.
    pub fn settings(&self) -> SearchSettings {
        let search = &self.search;
        SearchSettings {
            over_fetch: search.over_fetch,
            ranking: Ranking {
                weight: search.weight,
                priors: search.priors.clone(),
                recency: search.recency.weight,
                recency_half_life_days: search.recency.half_life_days,
            },
            rewriting: Rewriting::new(search.terms.clone(), search.split_questions),
            remembering: Remembering { is_on: self.answers.remember },
            ..SearchSettings::default()
        }
    }

    /// Whether collections are kept apart.
    #[cfg(feature = "tenants")]
    pub fn has_tenants(&self) -> bool {
        !self.tenants.is_empty()
    }

    /// Who is let in, their tokens read; `None` where there are no tenants.
    ///
    /// # Errors
    /// A variable that is not set, or what is wrong with a tenant.
    #[cfg(feature = "tenants")]
    pub fn tenants(&self) -> Result<Option<Roll>, String> {
        if !self.has_tenants() {
            return Ok(None);
        }
        let read = |(name, written): (&String, &TenantConfig)| {
            let token = from_env(&written.token).map_err(|why| format!("`tenants.{name}`: {why}"))?;
            Ok((name.clone(), (token, written.collections.clone())))
        };
        Roll::new(self.tenants.iter().map(read).collect::<Result<_, String>>()?).map(Some)
    }

    /// Whether the log has questions in words.
    pub fn logs_questions(&self) -> bool {
        self.log.questions == LoggedQuestions::Plain
    }
}

fn chroma_options(config: &ChromaConfig) -> Result<ChromaOptions, String> {
    let ChromaConfig { url, collection, tenant, database, token, file: _ } = config;
    let usual = ChromaOptions::new(from_env(url)?, collection);
    let options = ChromaOptions {
        tenant: tenant.clone().unwrap_or(usual.tenant),
        database: database.clone().unwrap_or(usual.database),
        token: token.as_deref().map(from_env).transpose()?.map(|token| ApiKey::new(&token)),
        ..usual
    };
    options.check().map_err(|why| format!("`store.chroma`: {why}"))?;
    Ok(options)
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
    use crate::project::sections::BudgetsConfig;
    use crate::project::template::{TEMPLATE, filled};

    fn check(says: &str, from: &str, to: &str, expected: Result<(), &str>) {
        let text = TEMPLATE.replace(from, to);
        match (ProjectConfig::parse(&text), expected) {
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
        check("what an older program wrote", "remember: true", "{remember: true, similar_from: 0.92}", Ok(()));
        check("two stores", "sqlite: index.db", "{sqlite: a, postgres: b}", Err(""));
        let chroma = "chroma: {url: 'http://127.0.0.1:8000', collection: manuals}";
        check("vectors elsewhere", "sqlite: index.db", chroma, Ok(()));
        check("and here", "sqlite: index.db", &format!("sqlite: a\n  {chroma}"), Err("one of `sqlite`, `postgres`"));
        check("no collection", "sqlite: index.db", "chroma: {url: 'http://127.0.0.1:8000'}", Err("collection"));
        check("another version", "version: 1", "version: 2", Err("reads version 1"));
        check("a chunk too large", "tokens: 200", "tokens: 2000", Err("`chunks`"));
        check("no such method", "chunks: {", "chunks: { method: magic,", Err("parent_child"));
        check("a negative weight", "weight: 1.0", "weight: -1.0", Err("from 0 on"));
        check("a writer", "terms: {}", "writer: {url: 'http://127.0.0.1:1/v1', model: m, hyde: true}", Ok(()));
        check("a writer without a model", "terms: {}", "writer: {url: 'http://127.0.0.1:1/v1'}", Err("model"));
        check("an unknown task", "terms: {}", "writer: {url: u, model: m, translate: true}", Err("translate"));
        check("a name", "name: \"\"", "name: Pump", Ok(()));
        check("a summary over lines", "summary: \"\"", "summary: >\n  Keeps the\n  tank full.\n", Ok(()));
        check("a long name", "name: \"\"", &format!("name: {}", "x".repeat(61)), Err("`name` has 61 characters, 60"));
        let long = format!("summary: {}", "x".repeat(241));
        check("a long summary", "summary: \"\"", &long, Err("`summary` has 241 characters, 240"));
        check("two lines", "summary: \"\"", "summary: \"a\\nb\"", Err("`summary` is one line"));
        check("a name in colour", "name: \"\"", "name: \"a\\e[31m\"", Err("without control characters"));
        check("no number", "half_life_days: 30", "half_life_days: .nan", Err("from 0 on"));
    }

    #[test]
    fn a_filled_template_is_read_back_as_it_was_meant() {
        let check = |says: &str, name: &str, summary: &str| {
            let subject = Subject { name: name.to_owned(), summary: summary.to_owned() };
            let text = filled(&subject);
            assert_eq!(ProjectConfig::parse(&text).unwrap().subject(), subject, "{says}: {text}");
        };
        check("nothing", "", "");
        check("words", "Pump", "Keeps the tank full: day and night. # Or so");
        check("signs of YAML", "- a: {b}", "'single' \"double\" \\ & *x !y %z @a `b` ${env:HOME}");
        check("other scripts", "Насос", "タンクを満たす。 🚰");
        check("a template's own line", "summary: \"\"", "name: \"\"");
    }

    #[test]
    fn an_index_takes_nothing_of_itself() {
        let folder = tempfile::tempdir().unwrap();
        let text = TEMPLATE
            .replace("sqlite: index.db", "sqlite: ../index.md")
            .replace(r#"roots: ["."]"#, r#"roots: [".", ".serin-reference"]"#)
            .replace(r#"allow: ["*.md","#, r#"allow: ["*.md", "*.md-wal", "*.yaml","#);
        let place = ProjectFolder::set_up(folder.path(), &text, false).unwrap();
        for name in ["a.md", "index.md", "index.md-wal"] {
            std::fs::write(folder.path().join(name), "text").unwrap();
        }
        let walked = ProjectConfig::parse(&text).unwrap().plan(&place).unwrap().selection.walk().unwrap();
        let sources: Vec<String> = walked.files.into_iter().map(|file| file.source).collect();
        assert_eq!(sources, ["a.md"]);
        let own = walked.skipped.iter().filter(|file| file.why == "the index's own").count();
        assert_eq!(own, 3, "the database, what lies beside it, and the configuration: {:?}", walked.skipped);
    }

    #[test]
    fn a_collection_has_a_file_of_its_own() {
        let place = ProjectFolder { root: PathBuf::from("/p") };
        let check = |says: &str, more: &str, expected: Result<&str, &str>| {
            let chroma = format!("chroma: {{url: 'http://127.0.0.1:8000', collection: manuals{more}}}");
            let config = ProjectConfig::parse(&TEMPLATE.replace("sqlite: index.db", &chroma)).unwrap();
            match (config.store(&place), expected) {
                (Ok(StoreChoice::Chroma(path, options)), Ok(expected)) => {
                    let ChromaOptions { tenant, database, token, .. } = &options;
                    let found = format!("{} {tenant} {database} {}", path.display(), token.is_some());
                    assert_eq!(found, format!("/p/.serin-reference/{expected}"), "{says}");
                    assert!(!format!("{options:?}").contains("hunter2"), "{says}: {options:?}");
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{says}: {why}"),
                (found, _) => panic!("{says}: {found:?}"),
            }
        };
        check("what is left out", "", Ok("chroma.db default_tenant default_database false"));
        let all = ", tenant: mine, database: rag, token: hunter2, file: v.db";
        check("all of it", all, Ok("v.db mine rag true"));
        check("a token that is not set", ", token: '${env:SERIN_NO_SUCH}'", Err("SERIN_NO_SUCH is not set"));
        check("a name that leads elsewhere", ", tenant: '../x'", Err("`store.chroma`: `tenant`"));
    }

    #[test]
    fn the_template_says_the_defaults() {
        let config = ProjectConfig::parse(TEMPLATE).unwrap();
        assert_eq!(format!("{:?}", config.settings()), format!("{:?}", SearchSettings::default()));
        assert!(config.writer().is_none());
        assert_eq!(config.index.budgets.bytes, BudgetsConfig::default().bytes);
        let place = ProjectFolder { root: PathBuf::from("/p") };
        assert_eq!(config.store(&place), Ok(StoreChoice::Sqlite(PathBuf::from("/p/.serin-reference/index.db"))));
    }
}
