//! What is read from a model's folder, and what is refused.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokenizers::{Tokenizer, TruncationParams};

/// The largest weights that are read: BERT-large has 1.3 GB, and all of it is kept in memory.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
/// The largest of the other files: a tokenizer of 250,000 words has 17 MB.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// Tokens of a text that are read. Attention grows with the square; BERT was trained with 512.
const TOKENS_MAX: usize = 512;
/// Numbers that `config.json` may give for widths and counts: a hundred times BERT-large.
const COUNT_MAX: usize = 1 << 20;

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct FolderError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and the mend.
    pub why: String,
}

/// A folder's files, checked as far as they speak of each other.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// The folder's own name, which stands for the model.
    pub name: String,
    /// The beginning of SHA-256 over configuration, tokenizer and weights.
    pub revision: String,
    /// `config.json`.
    pub config: BertConfig,
    /// `tokenizer.json`, set to cut and not to pad.
    pub tokenizer: Tokenizer,
    /// `model.safetensors`.
    pub weights: BertWeights,
}

/// `config.json`, as far as it decides what is computed.
#[derive(Debug, Clone, Deserialize)]
pub struct BertConfig {
    model_type: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
    /// Pieces of words.
    pub vocab_size: usize,
    /// Numbers of a token's state.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Heads of a layer, which share the state among them.
    pub num_attention_heads: usize,
    /// Numbers between the two halves of a feed-forward.
    pub intermediate_size: usize,
    /// The function between them.
    pub hidden_act: Activation,
    /// Places of a text.
    pub max_position_embeddings: usize,
    /// Kinds of segments: two texts of a pair.
    pub type_vocab_size: usize,
    /// What keeps a layer norm from dividing by zero.
    #[serde(default = "layer_norm_eps")]
    pub layer_norm_eps: f64,
}

/// BERT's own, where the file is silent.
fn layer_norm_eps() -> f64 {
    1e-12
}

/// The function between the halves of a feed-forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Activation {
    /// GELU by the error function.
    #[serde(rename = "gelu")]
    Gelu,
    /// GELU by the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluTanh,
    /// max(0, x).
    #[serde(rename = "relu")]
    Relu,
}

/// The limit that `sentence-transformers` keeps beside the model.
#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

impl Folder {
    /// Reads and checks a folder.
    ///
    /// # Errors
    /// Which file cannot be used, why, and the mend.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let mut digest = Sha256::new();
        let mut file = |name: &str, bytes_max: u64| {
            let path = path.join(name);
            let bytes = read(&path, bytes_max)?.ok_or_else(|| missing(&path))?;
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(&bytes);
            Ok((path, bytes))
        };
        let (config_path, config) = file("config.json", JSON_BYTES_MAX)?;
        let config: BertConfig = parse(&config_path, &config)?;
        config.check().map_err(|why| FolderError { path: config_path, why })?;
        let (tokenizer_path, tokenizer) = file("tokenizer.json", JSON_BYTES_MAX)?;
        let tokens_max = tokens_max(path, &config)?;
        let tokenizer =
            tokenizer_of(&tokenizer, &config, tokens_max).map_err(|why| FolderError { path: tokenizer_path, why })?;
        let (weights_path, weights) = file("model.safetensors", WEIGHTS_BYTES_MAX)?;
        let weights = BertWeights::read(weights_path, &weights)?;
        let revision = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = whole.file_name().map_or_else(|| "local".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Self { path: path.to_owned(), name, revision, config, tokenizer, weights })
    }
}

impl BertConfig {
    fn check(&self) -> Result<(), String> {
        if self.model_type != "bert" {
            return Err(format!(
                "model_type is {:?}, and only \"bert\" is understood: give a BERT model",
                self.model_type
            ));
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|kind| *kind != "absolute") {
            return Err(format!(
                "position_embedding_type is {kind:?}, and only \"absolute\" is understood: give another model"
            ));
        }
        let counts = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("type_vocab_size", self.type_vocab_size),
        ];
        if let Some((name, count)) = counts.into_iter().find(|(_, count)| !(1..=COUNT_MAX).contains(count)) {
            return Err(format!("{name} is {count}, which no model has: copy the file again"));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err("hidden_size cannot be shared among num_attention_heads: copy the file again".to_owned());
        }
        Ok(())
    }
}

/// Tokens of a text that this model reads.
fn tokens_max(folder: &Path, config: &BertConfig) -> Result<usize, FolderError> {
    let named: Option<SentenceConfig> = optional(&folder.join("sentence_bert_config.json"))?;
    let wanted = named.and_then(|file| file.max_seq_length).unwrap_or(TOKENS_MAX);
    Ok(wanted.min(TOKENS_MAX).min(config.max_position_embeddings))
}

fn tokenizer_of(bytes: &[u8], config: &BertConfig, tokens_max: usize) -> Result<Tokenizer, String> {
    let bad =
        |error: tokenizers::Error| format!("it is not a tokenizer ({error}): copy it again from the model's page");
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(bad)?;
    let size = tokenizer.get_vocab_size(true);
    if tokenizer.get_vocab(true).into_values().any(|id| id as usize >= config.vocab_size) {
        let known = config.vocab_size;
        return Err(format!("it has {size} words where config.json has {known}: give the two of one model"));
    }
    let truncation = TruncationParams { max_length: tokens_max, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(truncation)).map_err(bad)?.with_padding(None);
    Ok(tokenizer)
}

/// Named tensors.
#[derive(Debug)]
pub struct BertWeights {
    path: PathBuf,
    tensors: HashMap<String, Tensor>,
}

impl BertWeights {
    fn read(path: PathBuf, bytes: &[u8]) -> Result<Self, FolderError> {
        match candle_core::safetensors::load_buffer(bytes, &Device::Cpu) {
            Ok(tensors) => Ok(Self { path, tensors }),
            Err(error) => {
                let why =
                    format!("it is not a safetensors file ({error}): copy it again (an LFS pointer is a few lines)");
                Err(FolderError { path, why })
            }
        }
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// A tensor of this name and shape, in single precision.
    ///
    /// # Errors
    /// Where there is none, or of another shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor, FolderError> {
        let bad = |why: String| FolderError { path: self.path.clone(), why };
        let tensor = self.tensors.get(name).ok_or_else(|| {
            bad(format!("it has no tensor {name:?}: give a model of the kind that is asked for, in full"))
        })?;
        if tensor.dims() != shape {
            let found = tensor.dims();
            return Err(bad(format!(
                "{name:?} is {found:?} where config.json makes it {shape:?}: give the two of one model"
            )));
        }
        tensor.to_dtype(DType::F32).map_err(|error| self.unusable(name, &error))
    }

    /// The error that candle's stands for.
    pub fn unusable(&self, name: &str, error: &candle_core::Error) -> FolderError {
        let why = format!("{name:?} cannot be read ({error}): copy it again");
        FolderError { path: self.path.clone(), why }
    }
}

/// A JSON file that may be absent.
///
/// # Errors
/// Where it is there and cannot be used.
pub fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FolderError> {
    read(path, JSON_BYTES_MAX)?.map(|bytes| parse(path, &bytes)).transpose()
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, FolderError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let why = format!("it cannot be understood ({error}): copy it again from the model's page");
        FolderError { path: path.to_owned(), why }
    })
}

fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, FolderError> {
    let bad = |why: String| FolderError { path: path.to_owned(), why };
    let unreadable = |error: std::io::Error| bad(format!("it cannot be read ({error}): see its permissions"));
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !about.is_file() {
        return Err(bad("it is no file: give the model's own folder".to_owned()));
    }
    if about.len() > bytes_max {
        return Err(bad(format!(
            "it has {} bytes, and at most {bytes_max} are read: give a smaller model",
            about.len()
        )));
    }
    std::fs::read(path).map(Some).map_err(unreadable)
}

fn missing(path: &Path) -> FolderError {
    let why = "it is missing: download the model's files into this folder; they are not fetched for you".to_owned();
    FolderError { path: path.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::encoder::Encoder;
    use crate::bert::tiny::{config, numbers, tokenizer, write, write_json};
    use serde_json::json;

    /// A whole folder, harmed; the error names the file and says this.
    fn check(says: &str, harm: impl FnOnce(&Path), file: &str, part: &str) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &numbers(1), str::to_owned);
        harm(folder.path());
        let opened = Folder::open(folder.path()).and_then(|folder| Encoder::of(&folder));
        let error = opened.map(drop).unwrap_err();
        assert_eq!(error.path, folder.path().join(file), "{says}");
        assert!(error.why.contains(part), "{says}: {error}");
        let mends = ["copy it again", "copy the file again", "give ", "download"];
        assert!(mends.iter().any(|mend| error.why.contains(mend)), "{says}: a mend is named: {error}");
    }

    fn config_with(name: &'static str, value: serde_json::Value) -> impl FnOnce(&Path) {
        move |folder| {
            let mut changed = config();
            changed[name] = value;
            write_json(folder, "config.json", &changed);
        }
    }

    fn without(name: &'static str) -> impl FnOnce(&Path) {
        move |folder| std::fs::remove_file(folder.join(name)).unwrap()
    }

    fn nonsense(name: &'static str) -> impl FnOnce(&Path) {
        move |folder| std::fs::write(folder.join(name), "version https://git-lfs.github.com/spec/v1").unwrap()
    }

    #[test]
    fn a_wrong_file_is_named_with_its_mend() {
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            check("a file is missing", without(name), name, "they are not fetched for you");
        }
        check("no JSON", nonsense("config.json"), "config.json", "cannot be understood");
        check("no tokenizer", nonsense("tokenizer.json"), "tokenizer.json", "is not a tokenizer");
        check("no weights", nonsense("model.safetensors"), "model.safetensors", "is not a safetensors file");
        let a_folder = |folder: &Path| {
            std::fs::remove_file(folder.join("config.json")).unwrap();
            std::fs::create_dir(folder.join("config.json")).unwrap();
        };
        check("a folder in the place of a file", a_folder, "config.json", "is no file");
        check("another architecture", config_with("model_type", json!("roberta")), "config.json", "\"roberta\"");
        let relative = config_with("position_embedding_type", json!("relative_key"));
        check("another way of placing", relative, "config.json", "absolute");
        check("another activation", config_with("hidden_act", json!("swish")), "config.json", "swish");
        check("heads that do not share", config_with("num_attention_heads", json!(5)), "config.json", "shared");
        check("no layers", config_with("num_hidden_layers", json!(0)), "config.json", "num_hidden_layers is 0");
        let huge = config_with("intermediate_size", json!(1_u64 << 40));
        check("a width that nobody has", huge, "config.json", "intermediate_size is 1099511627776");
        let wider = config_with("hidden_size", json!(64));
        check("weights of another width", wider, "model.safetensors", "[90, 32] where config.json makes it [90, 64]");
        let more = config_with("num_hidden_layers", json!(3));
        check("weights with a layer less", more, "model.safetensors", "encoder.layer.2.");
        let more_words = |folder: &Path| {
            let mut changed = tokenizer();
            changed["model"]["vocab"]["surplus"] = json!(90);
            write_json(folder, "tokenizer.json", &changed);
        };
        check("a tokenizer of another model", more_words, "tokenizer.json", "91 words where config.json has 90");
    }

    #[test]
    fn a_revision_is_that_of_the_files() {
        let revision = |seed: u64| {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &numbers(seed), str::to_owned);
            Folder::open(folder.path()).unwrap().revision
        };
        assert_eq!(revision(1), revision(1));
        assert_ne!(revision(1), revision(2));
    }
}
