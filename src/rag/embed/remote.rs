//! Vectors from an OpenAI-compatible server: `POST {base}/embeddings`.
//!
//! The shape is that of OpenAI's API reference ("Create embeddings"), which Ollama, vLLM, LM Studio,
//! text-embeddings-inference and most hosted providers follow. The answer is not trusted: it must hold
//! each input's vector once, of the declared width and of finite numbers.

use serde::{Deserialize, Serialize};

use crate::rag::embed::{EmbedError, Embedder, LENGTH_MIN, Model, Prefixes, Purpose, length, normalise};
use crate::rag::remote::client::RemoteClient;
use crate::rag::remote::settings::{Settings, SettingsError};

/// Inputs of one request, at most: OpenAI's limit, and nobody's is known to be higher.
pub const BATCH_MAX: usize = 2_048;
/// Inputs of one request unless told otherwise: hosted servers answer these within a second or two.
pub const BATCH_USUAL: usize = 256;
/// Bytes of the inputs of one request: OpenAI takes 300,000 tokens, and text has two bytes a token or more.
const BATCH_BYTES_MAX: usize = 600_000;
/// Bytes of one text: four times the 8,192 tokens that long models take, at four bytes a token.
pub const TEXT_BYTES_MAX: usize = 128 * 1024;
/// Widths that a model may have; the widest hosted one has 4,096.
const DIMENSIONS_MAX: usize = 16_384;

/// What to ask for.
#[derive(Debug, Clone)]
pub struct RemoteModel {
    /// The model, as the server calls it.
    pub name: String,
    /// Which version of it, where the provider says; part of the fingerprint and of the cache's key.
    pub revision: String,
    /// Numbers in a vector.
    pub dimensions: usize,
    /// Whether to send `dimensions`, which shortens the vectors of models that can be shortened; others refuse it.
    pub ask_dimensions: bool,
    /// Whether to bring the vectors to length one. A server's own lengths are kept otherwise.
    pub normalise: bool,
    /// What the model wants before the texts.
    pub prefixes: Prefixes,
    /// Inputs of one request, 1 to `BATCH_MAX`.
    pub batch_max: usize,
}

impl RemoteModel {
    /// A model with the usual choices: normalised, no prefixes, no width asked for.
    pub fn new(name: impl Into<String>, dimensions: usize) -> Self {
        Self {
            name: name.into(),
            revision: String::new(),
            dimensions,
            ask_dimensions: false,
            normalise: true,
            prefixes: Prefixes::default(),
            batch_max: BATCH_USUAL,
        }
    }
}

/// Asks a server for vectors.
#[derive(Debug)]
pub struct RemoteEmbedder {
    client: RemoteClient,
    model: Model,
    asked: RemoteModel,
}

/// Why there is no such embedder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteEmbedderError {
    /// The server.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The width.
    #[error("an embedding of {0} dimensions cannot be: declare the model's width, 1 to {DIMENSIONS_MAX}")]
    Dimensions(usize),
    /// The batch.
    #[error("{0} texts a request cannot be: choose 1 to {BATCH_MAX}")]
    Batch(usize),
}

impl RemoteEmbedder {
    /// An embedder; nothing is asked yet.
    ///
    /// # Errors
    /// Where settings or model cannot be.
    pub fn new(settings: Settings, asked: RemoteModel) -> Result<Self, RemoteEmbedderError> {
        if !(1..=DIMENSIONS_MAX).contains(&asked.dimensions) {
            return Err(RemoteEmbedderError::Dimensions(asked.dimensions));
        }
        if !(1..=BATCH_MAX).contains(&asked.batch_max) {
            return Err(RemoteEmbedderError::Batch(asked.batch_max));
        }
        let model = Model {
            name: asked.name.clone().into(),
            revision: asked.revision.clone().into(),
            dimensions: asked.dimensions,
            normalised: asked.normalise,
        };
        Ok(Self { client: RemoteClient::new(settings)?, model, asked })
    }

    async fn batch(&self, input: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let request = Request {
            model: &self.asked.name,
            input,
            encoding_format: "float",
            dimensions: self.asked.ask_dimensions.then_some(self.asked.dimensions),
        };
        let read = |bytes: &[u8]| read(bytes, input.len(), &self.asked);
        Ok(self.client.post("embeddings", &request, read).await?)
    }
}

#[async_trait::async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = self.prefix(purpose);
        let of = texts.len();
        let mut inputs = Vec::with_capacity(of);
        for (at, text) in texts.iter().enumerate() {
            // Servers refuse the whole batch for it, and say less.
            if text.trim().is_empty() {
                return Err(EmbedError::Blank { at: at + 1, of });
            }
            let bytes = prefix.len() + text.len();
            if bytes > TEXT_BYTES_MAX {
                return Err(EmbedError::TooLong { bytes, max: TEXT_BYTES_MAX });
            }
            inputs.push(format!("{prefix}{text}"));
        }
        let mut vectors = Vec::with_capacity(of);
        for batch in batches(&inputs, self.asked.batch_max) {
            vectors.extend(self.batch(batch).await?);
        }
        Ok(vectors)
    }

    fn batch_max(&self) -> usize {
        self.asked.batch_max
    }

    fn prefix(&self, purpose: Purpose) -> &str {
        self.asked.prefixes.of(purpose)
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    index: usize,
    embedding: Vec<f32>,
}

/// Splits by count and by bytes; a text has its place in one batch, and the order stays.
fn batches(mut inputs: &[String], count_max: usize) -> Vec<&[String]> {
    let mut batches = Vec::new();
    while !inputs.is_empty() {
        let mut bytes = 0;
        let fitting = inputs.iter().take(count_max).take_while(|text| {
            bytes += text.len();
            bytes <= BATCH_BYTES_MAX
        });
        let (batch, rest) = inputs.split_at(fitting.count().max(1));
        batches.push(batch);
        inputs = rest;
    }
    batches
}

/// The vectors of an answer in the order of the inputs.
fn read(bytes: &[u8], count: usize, asked: &RemoteModel) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not an embeddings answer ({error})"))?;
    if answer.data.len() != count {
        return Err(format!("it has {} vectors for {count} texts", answer.data.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for Embedded { index, mut embedding } in answer.data {
        let Some(place @ None) = vectors.get_mut(index) else {
            return Err(format!("index {index} is there twice, or beyond the {count} texts"));
        };
        let (width, wanted) = (embedding.len(), asked.dimensions);
        if width != wanted {
            return Err(format!(
                "a vector has {width} dimensions where {wanted} are declared; declare the model's width"
            ));
        }
        if embedding.iter().any(|number| !number.is_finite()) {
            return Err(format!("vector {index} has a number that is none"));
        }
        if length(&embedding) <= LENGTH_MIN {
            return Err(format!("vector {index} is all zeros"));
        }
        if asked.normalise {
            normalise(&mut embedding);
        }
        *place = Some(embedding);
    }
    // As many as places, none twice: each place is filled.
    Ok(vectors.into_iter().flatten().collect())
}
