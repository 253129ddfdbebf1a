//! Vectors from an OpenAI-compatible server: `POST {base}/embeddings`.
//!
//! The shape is that of OpenAI's API reference ("Create embeddings"), which Ollama, vLLM, LM Studio,
//! text-embeddings-inference and most hosted providers follow. The answer is not trusted: it must hold
//! each input's vector once, of the declared width and of finite numbers.

use serde::{Deserialize, Serialize};

use crate::embed::inputs::{Prefixes, inputs};
use crate::embed::{EmbedError, Embedder, LENGTH_MIN, Model, Purpose, length, normalise};
use crate::remote::client::RemoteClient;
use crate::remote::listed::in_order;
use crate::remote::settings::{RemoteSettings, SettingsError};
use crate::remote::trouble::ServerError;

/// What messages call such a server.
pub const EMBEDDING_SERVER: &str = "embedding server";
/// Inputs of one request, at most: OpenAI's limit, and nobody's is known to be higher.
pub const BATCH_MAX: usize = 2_048;
/// Inputs of one request unless told otherwise: hosted servers answer these within a second or two.
pub const BATCH_USUAL: usize = 256;
/// Bytes of the inputs of one request: OpenAI takes 300,000 tokens, and text has two bytes a token or more.
const BATCH_BYTES_MAX: usize = 600_000;
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
    pub fn new(settings: RemoteSettings, asked: RemoteModel) -> Result<Self, RemoteEmbedderError> {
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
        let request = EmbeddingsRequest {
            model: &self.asked.name,
            input,
            encoding_format: "float",
            dimensions: self.asked.ask_dimensions.then_some(self.asked.dimensions),
        };
        let read = |bytes: &[u8]| read(bytes, input.len(), &self.asked);
        let vectors = self.client.post("embeddings", &request, read).await;
        vectors.map_err(|error| ServerError { role: EMBEDDING_SERVER, error }.into())
    }
}

#[async_trait::async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let inputs = inputs(self.prefix(purpose), texts)?;
        let mut vectors = Vec::with_capacity(inputs.len());
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
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddedText>,
}

#[derive(Deserialize)]
struct EmbeddedText {
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
    let answer: EmbeddingsAnswer =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not an embeddings answer ({error})"))?;
    if answer.data.len() != count {
        return Err(format!("it has {} vectors for {count} texts", answer.data.len()));
    }
    let vectors = answer.data.into_iter().map(|EmbeddedText { index, embedding }| (index, embedding));
    in_order(vectors, (count, "texts"), |index, vector| checked(index, vector, asked))
}

/// A vector of an answer, where it is one of the model's.
fn checked(index: usize, mut vector: Vec<f32>, asked: &RemoteModel) -> Result<Vec<f32>, String> {
    let (width, wanted) = (vector.len(), asked.dimensions);
    if width != wanted {
        return Err(format!("a vector has {width} dimensions where {wanted} are declared; declare the model's width"));
    }
    if vector.iter().any(|number| !number.is_finite()) {
        return Err(format!("vector {index} has a number that is none"));
    }
    if length(&vector) <= LENGTH_MIN {
        return Err(format!("vector {index} is all zeros"));
    }
    if asked.normalise {
        normalise(&mut vector);
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::fingerprint;
    use crate::embed::inputs::TEXT_BYTES_MAX;
    use crate::remote::scripted::{Reply, Scripted};
    use crate::remote::trouble::RemoteError;
    use Reply::{Json, Made, Plain};
    use serde_json::{Value, json};

    /// Each input's own vector: its length in bytes and its last byte; the last input first.
    fn honest(request: &Value) -> Value {
        let inputs = request["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let data: Vec<Value> = inputs
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": [text.len(), text.bytes().last()]}))
            .rev()
            .collect();
        json!({ "data": data })
    }

    async fn embedder(script: Vec<Reply>, change: impl FnOnce(&mut RemoteModel)) -> (Scripted, RemoteEmbedder) {
        let server = Scripted::play(script).await;
        let mut model = RemoteModel { normalise: false, ..RemoteModel::new("m", 2) };
        change(&mut model);
        let embedder = RemoteEmbedder::new(server.settings(), model).unwrap();
        (server, embedder)
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn batches_are_split_and_answers_put_in_order() {
        let (server, embedder) = embedder(vec![Made(honest), Made(honest)], |model| model.batch_max = 2).await;
        let vectors = embedder.embed(&texts(&["a", "bb", "ccc"]), Purpose::Document).await.unwrap();
        assert_eq!(vectors, [[1.0, 97.0], [2.0, 98.0], [3.0, 99.0]]);
        let asked = server.asked();
        assert_eq!(asked[0].path, "/v1/embeddings");
        assert_eq!(asked[0].body, json!({"model": "m", "input": ["a", "bb"], "encoding_format": "float"}));
        assert_eq!(asked[1].body["input"], json!(["ccc"]));
    }

    #[tokio::test]
    async fn what_was_chosen_is_asked_for() {
        let change = |model: &mut RemoteModel| {
            model.normalise = true;
            model.ask_dimensions = true;
            model.prefixes.query = "query: ".to_owned();
        };
        let vectors = || Json(json!({"data": [{"index": 0, "embedding": [0, -4e30]}]}));
        let (server, embedder) = embedder(vec![vectors(), vectors()], change).await;
        let vector = embedder.embed(&texts(&["a"]), Purpose::Query).await.unwrap();
        assert_eq!(vector, [[0.0, -1.0]], "length one, however long it was");
        embedder.embed(&texts(&["a"]), Purpose::Document).await.unwrap();
        let asked = server.asked();
        assert_eq!(asked[0].body["dimensions"], 2);
        assert_eq!(asked[0].body["input"], json!(["query: a"]));
        assert_eq!(asked[1].body["input"], json!(["a"]));
    }

    async fn check(says: &str, reply: Reply, inputs: &[&str], end: &str) {
        let (server, embedder) = embedder(vec![reply], |_| {}).await;
        let error = embedder.embed(&texts(inputs), Purpose::Document).await.unwrap_err().to_string();
        let host = server.settings().address().unwrap().authority().to_owned();
        let said = error.replace(&host, "HOST");
        assert!(said.starts_with(end), "{says}: {said:?} does not begin with {end:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_refused() {
        let bad = |why: &str| format!("the answer of the embedding server HOST cannot be used: {why}");
        let one = |vector: Value| Json(json!({"data": [{"index": 0, "embedding": vector}]}));
        let twice = json!({"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]});
        let wide = bad("a vector has 3 dimensions where 2 are declared; declare the model's width");
        check("another width", one(json!([1, 2, 3])), &["a"], &wide).await;
        // The parser refuses it, or makes an infinity of it that we do: which one depends on its features.
        check("too big for a number", one(json!([1e39, 1])), &["a"], &bad("")).await;
        check("no direction", one(json!([0, 0])), &["a"], &bad("vector 0 is all zeros")).await;
        check("too few", one(json!([1, 2])), &["a", "b"], &bad("it has 1 vectors for 2 texts")).await;
        let again = bad("index 0 is there twice, or beyond the 2 texts");
        check("one twice", Json(twice), &["a", "b"], &again).await;
        let beyond = Json(json!({"data": [{"index": 7, "embedding": [1, 2]}]}));
        check("one that was not asked for", beyond, &["a"], &bad("index 7 is there twice, or beyond the 1 texts"))
            .await;
        let nan = Plain(200, &[], r#"{"data":[{"index":0,"embedding":[NaN,1]}]}"#);
        let why = bad("it is not an embeddings answer (expected value at line 1 column 34)");
        check("not a number", nan, &["a"], &why).await;
    }

    #[tokio::test]
    async fn errors_name_the_mend() {
        check(
            "a wrong key",
            Plain(401, &[], "who are you"),
            &["a"],
            "the embedding server HOST refused with HTTP 401: mend the key, the model or the address (who are you)",
        )
        .await;
        check(
            "too many requests",
            Plain(429, &[("retry-after", "60")], ""),
            &["a"],
            "the embedding server HOST has had too many requests: ask again in 60 s",
        )
        .await;
        check(
            "trouble there",
            Plain(503, &[], ""),
            &["a"],
            "the embedding server HOST does not answer (HTTP 503: it said nothing): see that it runs and that its \
             address is right",
        )
        .await;
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        check(
            "a text too long is not sent",
            Plain(200, &[], ""),
            &[&long],
            "a text of 131073 bytes is too long to be embedded: cut it into chunks of at most 131072 bytes",
        )
        .await;
        check(
            "nor is a blank one",
            Plain(200, &[], ""),
            &["a", " \n"],
            "text 2 of 2 is blank and has no meaning to embed: leave it out",
        )
        .await;
    }

    #[tokio::test]
    async fn one_failed_batch_fails_the_whole() {
        let (server, embedder) = embedder(vec![Made(honest), Plain(500, &[], "")], |model| model.batch_max = 1).await;
        assert_eq!(embedder.embed(&[], Purpose::Document).await, Ok(vec![]), "nothing is nothing to ask");
        assert!(server.asked().is_empty());
        let error = embedder.embed(&texts(&["a", "b"]), Purpose::Document).await.unwrap_err();
        assert!(
            matches!(error, EmbedError::Server(ServerError { error: RemoteError::Unavailable { .. }, .. })),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_model_that_changed_behind_its_name_is_noticed() {
        fn other(request: &Value) -> Value {
            let mut answer = honest(request);
            answer["data"][0]["embedding"] = json!([-1, 9]);
            answer
        }
        let (_server, embedder) = embedder(vec![Made(honest), Made(honest), Made(other), Made(honest)], |_| {}).await;
        let (was, is) = (fingerprint(&embedder).await.unwrap(), fingerprint(&embedder).await.unwrap());
        let why = was.fits(&is).unwrap_err();
        assert!(why.contains("makes other vectors") && why.contains("--full-rebuild"), "{why}");
    }

    #[test]
    fn batches_keep_both_limits() {
        let check = |says: &str, lengths: &[usize], count_max: usize, expected: &[usize]| {
            let inputs: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let batches = batches(&inputs, count_max);
            assert_eq!(batches.iter().map(|batch| batch.len()).collect::<Vec<_>>(), expected, "{says}");
            assert_eq!(batches.concat(), inputs, "{says}: nothing is lost");
        };
        check("nothing", &[], 2, &[]);
        check("by count", &[1; 5], 2, &[2, 2, 1]);
        check("the greatest count", &[1; 2_049], BATCH_MAX, &[2_048, 1]);
        check("by bytes", &[400_000, 200_000, 1], 10, &[2, 1]);
        check("one beyond the limit goes alone", &[700_000, 1], 10, &[1, 1]);
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_asked() {
        let check = |says: &str, base: &str, dimensions: usize, batch_max: usize, end: &str| {
            let model = RemoteModel { batch_max, ..RemoteModel::new("m", dimensions) };
            let error = RemoteEmbedder::new(RemoteSettings::new(base, None), model).unwrap_err();
            assert!(error.to_string().contains(end), "{says}: {error}");
        };
        check("no width", "http://localhost", 0, 1, "declare the model's width");
        check("no batch", "http://localhost", 2, 0, "choose 1 to 2048");
        check("a batch that nobody takes", "http://localhost", 2, 2_049, "choose 1 to 2048");
        check("no server", "localhost", 2, 1, "write one like https://");
    }
}
