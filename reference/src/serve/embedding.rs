//! The tool `generate_embedding`: the vector of a text, as the index would embed it.

use std::time::Instant;

use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::embed::Embedder as _;
use crate::search::question::RetrievalError;
use crate::serve::answer::Envelope;
use crate::serve::arguments;
use crate::serve::state::ServerState;
use crate::store::contract::Patience;
use crate::text::cleaning::cleaned;
use crate::text::tokens;

/// Letters of a text to embed.
const EMBEDDED_CHARS_MAX: usize = 8_000;
/// Texts of a batch: what embedders of others take at once.
const BATCH_MAX: usize = 64;
/// Letters of all texts of a batch.
const BATCH_CHARS_MAX: usize = 64_000;

const EMBED: &str = "Get the vectors of texts, as this index embeds them, to compare texts yourself: \
    `{\"text\": \"a pool that runs dry\", \"purpose\": \"query\"}`. To find passages, use search_documents.";

/// Arguments of `generate_embedding`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct EmbeddingArguments {
    /// The text, at most 8,000 characters.
    #[serde(default)]
    pub text: String,
    /// Or 64 at most.
    #[serde(default)]
    pub texts: Vec<String>,
    /// Which model: `index` is the one this index was built with, and the only one that can be
    /// compared with it.
    #[serde(default)]
    pub model: ModelAlias,
    /// Models trained with prefixes embed questions in another way.
    #[serde(default)]
    pub purpose: PurposeAlias,
}

/// A model by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelAlias {
    /// The one the index was built with.
    #[default]
    Index,
}

/// What a text is embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PurposeAlias {
    /// To ask with.
    #[default]
    Query,
    /// To be found.
    Document,
}

/// Names of the arguments of `generate_embedding`.
pub const EMBEDDING_NAMES: &[&str] = &["text", "texts", "model", "purpose"];

/// What `generate_embedding` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EmbeddingData {
    /// The model's name.
    pub model: String,
    /// Numbers in the vector.
    pub dimensions: usize,
    /// The vector; its length is one where the model is a normalised one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector: Vec<f32>,
    /// Of `texts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of the texts, by the o200k vocabulary.
    pub tokens: usize,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// The tool as `tools/list` describes it.
pub fn tool() -> Tool {
    Tool::new("generate_embedding", EMBED, schema_for_type::<EmbeddingArguments>())
        .with_raw_output_schema(schema_for_output::<Envelope<EmbeddingData>>())
        .with_annotations(ToolAnnotations::with_title("Embed a text").read_only(true).open_world(false))
}

impl ServerState {
    /// `generate_embedding`.
    pub async fn embedding(&self, arguments: JsonObject) -> Envelope<EmbeddingData> {
        let ignored = arguments::unknown(&arguments, EMBEDDING_NAMES);
        let wanted = match arguments::read::<EmbeddingArguments>(arguments) {
            Ok(wanted) => wanted,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let is_batch = !wanted.texts.is_empty();
        let texts = match texts(wanted.text, wanted.texts) {
            Ok(texts) => texts,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        if self.retrieval.library.vectors().embedder().model().dimensions == 0 {
            let why = "this server searches for words alone: set `embedder` in its configuration, then index again";
            return Envelope::error("EMBEDDER_MISSING", why.to_owned());
        }
        let clean: Vec<String> = texts.iter().map(|text| cleaned(text).0.into_owned()).collect();
        match self.embed(&clean, wanted.purpose).await {
            Ok(mut vectors) => Envelope::ok(EmbeddingData {
                model: self.retrieval.library.vectors().question_model(&clean[0]),
                dimensions: vectors.first().map_or(0, Vec::len),
                vector: if is_batch { Vec::new() } else { vectors.pop().unwrap_or_default() },
                vectors,
                tokens: texts.iter().map(|text| tokens::count(text)).sum(),
                ignored_arguments: ignored,
            }),
            Err(error) => Envelope::failed("Embedding the text", &error),
        }
    }

    async fn embed(&self, texts: &[String], purpose: PurposeAlias) -> Result<Vec<Vec<f32>>, RetrievalError> {
        let library = &self.retrieval.library;
        if purpose == PurposeAlias::Document {
            return Ok(library.vectors().documents(library.store(), texts).await?);
        }
        let mut held = library.store().connect(Patience::Search).await?;
        let mut vectors = Vec::new();
        for text in texts {
            let (vector, age) = self.retrieval.embedding(true).question(held.as_mut(), text).await?;
            self.retrieval.query_cache.looked(age.is_some(), Instant::now());
            vectors.push(vector.to_vec());
        }
        Ok(vectors)
    }
}

/// The one text or the batch, within their limits.
fn texts(text: String, batch: Vec<String>) -> Result<Vec<String>, String> {
    if text.is_empty() == batch.is_empty() {
        return Err("send either 'text' or 'texts', and something in it".to_owned());
    }
    let (name, texts) = if batch.is_empty() { ("text", vec![text]) } else { ("texts", batch) };
    if texts.len() > BATCH_MAX {
        return Err(format!("'texts' has {} of them, {BATCH_MAX} are allowed: send several batches", texts.len()));
    }
    let letters: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    for (text, letters) in texts.iter().zip(&letters) {
        if text.trim().is_empty() || *letters > EMBEDDED_CHARS_MAX {
            return Err(format!("'{name}' has {letters} characters; 1 to {EMBEDDED_CHARS_MAX} can be embedded"));
        }
    }
    let all: usize = letters.iter().sum();
    if all > BATCH_CHARS_MAX {
        return Err(format!("'texts' has {all} characters, {BATCH_CHARS_MAX} are allowed: send several batches"));
    }
    Ok(texts)
}
