//! Which models an index is made and searched with, as the configuration names them.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

use crate::embed::hashing::HashingEmbedder;
use crate::embed::inputs::Prefixes;
use crate::embed::provider::Provider;
use crate::embed::remote::{RemoteEmbedder, RemoteModel};
use crate::project::place::ProjectFolder;
use crate::remote::settings::{ApiKey, RemoteSettings};
use crate::rerank::Reranker;
use crate::rerank::joint::JointReranker;
use crate::rerank::remote::{RemoteReranker, Scale};
use crate::search::writer::{Tasks, Writer};

/// An embedder as it is written: `none`, `http: {…}`, `folder: {…}` or `builtin`.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderConfig {
    /// Words alone are searched.
    #[default]
    None,
    /// Feature hashing with the synonyms of the laboratory's corpora: below BM25 on documents of others.
    Builtin,
    /// An OpenAI-compatible server.
    Http(HttpEmbedder),
    /// BERT-class weights in a folder.
    Folder(FolderModel),
}

/// An OpenAI-compatible server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpEmbedder {
    url: String,
    model: String,
    #[serde(default)]
    revision: String,
    dimensions: usize,
    #[serde(default)]
    ask_dimensions: bool,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default)]
    query_prefix: String,
    #[serde(default)]
    document_prefix: String,
    #[serde(default)]
    batch: Option<usize>,
}

/// Weights in a folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderModel {
    path: PathBuf,
    #[serde(default)]
    query_prefix: String,
}

/// A reranker as it is written: `none`, `http: {…}`, `folder: {…}` or `builtin`.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum RerankerConfig {
    /// The fused order stands.
    #[default]
    None,
    /// The laboratory's joint scorer: it lowers the order of documents of others.
    Builtin,
    /// A rerank server.
    Http(HttpReranker),
    /// A cross-encoder's weights in a folder.
    Folder(FolderModel),
}

/// A rerank server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpReranker {
    url: String,
    model: String,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default)]
    logits: bool,
}

/// A chat server that words questions anew.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterConfig {
    url: String,
    model: String,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default = "yes")]
    rewrite: bool,
    #[serde(default)]
    hyde: bool,
}

fn yes() -> bool {
    true
}

/// The embedder that is meant.
///
/// # Errors
/// What is missing or wrong, with the mend.
pub fn embedder(config: &EmbedderConfig, place: &ProjectFolder) -> Result<Provider, String> {
    match config {
        EmbedderConfig::None => Ok(Provider::None),
        EmbedderConfig::Builtin => Ok(Provider::Hashing(HashingEmbedder::INDEX)),
        EmbedderConfig::Http(http) => {
            let mut model = RemoteModel::new(&http.model, http.dimensions);
            model.revision.clone_from(&http.revision);
            model.ask_dimensions = http.ask_dimensions;
            model.prefixes = Prefixes { document: http.document_prefix.clone(), query: http.query_prefix.clone() };
            model.batch_max = http.batch.unwrap_or(model.batch_max);
            let settings = RemoteSettings::new(&http.url, key(http.key_env.as_deref())?);
            let embedder = RemoteEmbedder::new(settings, model).map_err(|error| format!("`embedder.http`: {error}"))?;
            Ok(Provider::Remote(Box::new(embedder)))
        }
        EmbedderConfig::Folder(folder) => local_embedder(folder, place),
    }
}

/// The reranker that is meant.
///
/// # Errors
/// What is missing or wrong, with the mend.
pub fn reranker(config: &RerankerConfig, place: &ProjectFolder) -> Result<Option<Arc<dyn Reranker>>, String> {
    match config {
        RerankerConfig::None => Ok(None),
        RerankerConfig::Builtin => Ok(Some(Arc::new(JointReranker))),
        RerankerConfig::Http(http) => {
            let settings = RemoteSettings::new(&http.url, key(http.key_env.as_deref())?);
            let scale = if http.logits { Scale::Logit } else { Scale::Unit };
            let reranker = RemoteReranker::new(settings, &http.model, scale);
            Ok(Some(Arc::new(reranker.map_err(|error| format!("`search.reranker.http`: {error}"))?)))
        }
        RerankerConfig::Folder(folder) => local_reranker(folder, place),
    }
}

/// The writer that is meant; `None` where none is wanted.
///
/// # Errors
/// What is missing or wrong, with the mend.
pub fn writer(config: Option<&WriterConfig>) -> Result<Option<Arc<Writer>>, String> {
    let Some(WriterConfig { url, model, key_env, rewrite, hyde }) = config else { return Ok(None) };
    if !rewrite && !hyde {
        return Err("`search.writer` has nothing to write: set `rewrite` or `hyde` to true, or leave it out".to_owned());
    }
    let settings = RemoteSettings::new(url, key(key_env.as_deref())?);
    let writer = Writer::new(settings, model, Tasks { rewrite: *rewrite, hyde: *hyde });
    Ok(Some(Arc::new(writer.map_err(|error| format!("`search.writer`: {error}"))?)))
}

fn key(name: Option<&str>) -> Result<Option<ApiKey>, String> {
    let Some(name) = name else { return Ok(None) };
    let value =
        std::env::var(name).map_err(|_unset| format!("the variable {name} is not set: it holds the API key"))?;
    Ok(Some(ApiKey::new(&value)))
}

#[cfg(feature = "local-models")]
fn local_embedder(folder: &FolderModel, place: &ProjectFolder) -> Result<Provider, String> {
    use crate::embed::local::LocalEmbedder;
    let prefixes = Prefixes { document: String::new(), query: folder.query_prefix.clone() };
    let embedder = LocalEmbedder::open(&place.resolve(&folder.path), prefixes);
    Ok(Provider::Local(embedder.map_err(|error| format!("`embedder.folder`: {error}"))?))
}

#[cfg(feature = "local-models")]
fn local_reranker(folder: &FolderModel, place: &ProjectFolder) -> Result<Option<Arc<dyn Reranker>>, String> {
    use crate::rerank::cross::CrossReranker;
    if !folder.query_prefix.is_empty() {
        return Err("`search.reranker.folder`: a cross-encoder takes no `query_prefix`: leave it out".to_owned());
    }
    let reranker = CrossReranker::open(&place.resolve(&folder.path));
    Ok(Some(Arc::new(reranker.map_err(|error| format!("`search.reranker.folder`: {error}"))?)))
}

#[cfg(not(feature = "local-models"))]
fn local_embedder(folder: &FolderModel, place: &ProjectFolder) -> Result<Provider, String> {
    Err(without(folder, place))
}

#[cfg(not(feature = "local-models"))]
fn local_reranker(folder: &FolderModel, place: &ProjectFolder) -> Result<Option<Arc<dyn Reranker>>, String> {
    Err(without(folder, place))
}

#[cfg_attr(feature = "local-models", expect(dead_code, reason = "it can be used"))]
fn without(folder: &FolderModel, place: &ProjectFolder) -> String {
    let FolderModel { path, query_prefix } = folder;
    let path = place.resolve(path);
    let with = if query_prefix.is_empty() { "" } else { " with its prefix" };
    format!("{}{with} cannot be used: build this program with `--features local-models`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, yaml: &str, expected: Result<bool, &str>) {
        let config: Option<WriterConfig> = serde_yaml::from_str(yaml).unwrap();
        match (writer(config.as_ref()), expected) {
            (Ok(writer), Ok(is_there)) => assert_eq!(writer.is_some(), is_there, "{says}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{says}: {why}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    #[test]
    fn a_writer_is_made_or_refused() {
        check("none by default", "~", Ok(false));
        check("a server and a model", "{url: 'http://127.0.0.1:1/v1', model: m}", Ok(true));
        check("no task", "{url: 'http://127.0.0.1:1/v1', model: m, rewrite: false}", Err("set `rewrite` or `hyde`"));
        check("no address", "{url: nowhere, model: m}", Err("`search.writer`: the base address"));
        let keyless = "{url: 'http://127.0.0.1:1/v1', model: m, key_env: SERIN_NO_SUCH_KEY}";
        check("no key where one is named", keyless, Err("SERIN_NO_SUCH_KEY is not set"));
    }
}
