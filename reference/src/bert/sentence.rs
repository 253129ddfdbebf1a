//! A text to a vector: the states of its tokens, pooled, brought to length one (Sentence-BERT).

use std::path::Path;

use candle_core::Result;
use serde::Deserialize;
use tokenizers::Tokenizer;

use crate::bert::encoder::Encoder;
use crate::bert::folder::{Folder, FolderError, optional};

/// Texts of one pass: a thread holds some 20 MB of them at a time, whatever their number; a pass cannot be given up.
pub const BATCH_MAX: usize = 16;

/// How tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over the tokens, padding left out.
    Mean,
    /// The first token, `[CLS]`.
    Cls,
}

/// A bi-encoder.
#[derive(Debug)]
pub struct SentenceEncoder {
    name: String,
    revision: String,
    dimensions: usize,
    tokenizer: Tokenizer,
    encoder: Encoder,
    pooling: Pooling,
}

impl SentenceEncoder {
    /// Reads a folder as `sentence-transformers` keeps it; without `1_Pooling` the mean is taken, as it does.
    ///
    /// # Errors
    /// Which file cannot be used, why, and the mend.
    pub fn open(path: &Path) -> std::result::Result<Self, FolderError> {
        check_modules(path)?;
        let pooling = pooling(path)?;
        let folder = Folder::open(path)?;
        let encoder = Encoder::of(&folder)?;
        let Folder { name, revision, config, tokenizer, .. } = folder;
        Ok(Self { name, revision, dimensions: config.hidden_size, tokenizer, encoder, pooling })
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A digest of its files and of the way of pooling.
    pub fn revision(&self) -> String {
        let pooling = match self.pooling {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        };
        format!("{}-{pooling}", self.revision)
    }

    /// Numbers in a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// One vector of length one for each of at most `BATCH_MAX` texts; a text is cut to the tokens the model reads.
    ///
    /// # Errors
    /// Where the machine has no memory for it.
    pub fn encode(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let texts = texts.iter().map(String::as_str).collect();
        self.encoder.pooled(&self.tokenizer, texts, |states| match self.pooling {
            Pooling::Cls => one(states[..self.dimensions].to_vec()),
            Pooling::Mean => one(sum(states, self.dimensions)),
        })
    }
}

/// The direction of the mean too.
fn sum(states: &[f32], dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimensions];
    for state in states.chunks_exact(dimensions) {
        sum.iter_mut().zip(state).for_each(|(sum, x)| *sum += x);
    }
    sum
}

fn one(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

#[derive(Deserialize)]
struct Module {
    r#type: String,
}

/// Refuses a model with more behind the pooling: without it the vectors would be others.
fn check_modules(folder: &Path) -> std::result::Result<(), FolderError> {
    let path = folder.join("modules.json");
    let modules: Vec<Module> = optional(&path)?.unwrap_or_default();
    let known = |kind: &str| ["Transformer", "Pooling", "Normalize"].contains(&kind);
    let kind = |module: &Module| module.r#type.rsplit('.').next().unwrap_or_default().to_owned();
    match modules.iter().map(kind).find(|kind| !known(kind)) {
        Some(kind) => {
            let why = format!(
                "the model has a module {kind:?}, and only Transformer, Pooling and Normalize are understood: give another model"
            );
            Err(FolderError { path, why })
        }
        None => Ok(()),
    }
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(flatten)]
    others: std::collections::BTreeMap<String, serde_json::Value>,
}

fn pooling(folder: &Path) -> std::result::Result<Pooling, FolderError> {
    let path = folder.join("1_Pooling").join("config.json");
    let Some(config) = optional::<PoolingConfig>(&path)? else { return Ok(Pooling::Mean) };
    let is_mode = |(name, value): (&String, &serde_json::Value)| {
        name.starts_with("pooling_mode_") && *value == serde_json::Value::Bool(true)
    };
    match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, config.others.iter().any(is_mode)) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::Cls),
        _ => {
            let why =
                "only pooling by the mean or by the first token (cls), one of them, is understood: give another model";
            Err(FolderError { path, why: why.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::straight;
    use crate::bert::tiny::{Numbers, numbers, write, write_json};
    use serde_json::json;

    fn same(name: &str) -> String {
        name.to_owned()
    }

    /// Names as older files and whole `BertForSequenceClassification`s have them.
    fn older(name: &str) -> String {
        let name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        format!("bert.{name}")
    }

    /// Texts with their tokens, written down by hand.
    const TEXTS: [(&str, &[&str]); 3] = [
        ("The pump's warm.", &["[CLS]", "the", "pump", "'", "s", "warm", ".", "[SEP]"]),
        ("valve", &["[CLS]", "valve", "[SEP]"]),
        ("restarting ☃ Cold?", &["[CLS]", "restart", "##ing", "[UNK]", "cold", "?", "[SEP]"]),
    ];

    fn near(says: &str, found: &[f32], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{says}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (f64::from(*found) - expected).abs() < straight::OFF_MAX,
                "{says}: {found} where {expected} is right"
            );
        }
    }

    fn straight(numbers: &Numbers, tokens: &[&str], pooling: Pooling) -> Vec<f64> {
        let tokens: Vec<(&str, usize)> = tokens.iter().map(|token| (*token, 0)).collect();
        let states = straight::states(numbers, &tokens);
        match pooling {
            Pooling::Mean => straight::mean(&states),
            Pooling::Cls => straight::one(&states[0]),
        }
    }

    fn check(says: &str, rename: fn(&str) -> String, mode: &str, pooling: Pooling) {
        let folder = tempfile::tempdir().unwrap();
        let numbers = numbers(7);
        write(folder.path(), &numbers, rename);
        let mut modes = json!({"word_embedding_dimension": 32, "pooling_mode_max_tokens": false});
        modes[mode] = json!(true);
        write_json(folder.path(), "1_Pooling/config.json", &modes);
        let encoder = SentenceEncoder::open(folder.path()).unwrap();
        let texts: Vec<String> = TEXTS.iter().map(|(text, _)| (*text).to_owned()).collect();
        let vectors = encoder.encode(&texts).unwrap();
        for (vector, (text, tokens)) in vectors.iter().zip(TEXTS) {
            near(&format!("{says}: {text}"), vector, &straight(&numbers, tokens, pooling));
        }
    }

    #[test]
    fn vectors_are_those_of_the_formulas() {
        check("by the mean", same, "pooling_mode_mean_tokens", Pooling::Mean);
        check("by the first token", same, "pooling_mode_cls_token", Pooling::Cls);
        check("with the names of older files", older, "pooling_mode_mean_tokens", Pooling::Mean);
    }

    #[test]
    fn a_text_has_its_vector_whichever_lie_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &numbers(7), same);
        let encoder = SentenceEncoder::open(folder.path()).unwrap();
        // Some 900 tokens, more than a thread takes at once.
        let texts: Vec<String> = (0..80).map(|number| "pump valve ".repeat(number % 9 + 1)).collect();
        for (text, vector) in texts.iter().zip(encoder.encode(&texts).unwrap()) {
            let alone = encoder.encode(std::slice::from_ref(text)).unwrap().remove(0);
            near(text, &vector, &alone.into_iter().map(f64::from).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_long_text_is_cut_as_the_folder_says() {
        let folder = tempfile::tempdir().unwrap();
        let numbers = numbers(7);
        write(folder.path(), &numbers, same);
        write_json(folder.path(), "sentence_bert_config.json", &json!({"max_seq_length": 4}));
        let encoder = SentenceEncoder::open(folder.path()).unwrap();
        let vectors = encoder.encode(&["the pump valve valve valve".to_owned()]).unwrap();
        let tokens = ["[CLS]", "the", "pump", "[SEP]"];
        near("two words and the ends", &vectors[0], &straight(&numbers, &tokens, Pooling::Mean));
    }

    #[test]
    fn what_would_give_other_vectors_is_refused() {
        let check = |says: &str, name: &str, content: serde_json::Value, part: &str| {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &numbers(7), same);
            write_json(folder.path(), name, &content);
            let error = SentenceEncoder::open(folder.path()).unwrap_err();
            assert_eq!(error.path, folder.path().join(name), "{says}");
            assert!(
                error.to_string().contains(part) && error.to_string().contains("give another model"),
                "{says}: {error}"
            );
        };
        let dense =
            json!([{"type": "sentence_transformers.models.Pooling"}, {"type": "sentence_transformers.models.Dense"}]);
        check("a layer behind the pooling", "modules.json", dense, "Dense");
        let two = json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true});
        check("two ways of pooling", "1_Pooling/config.json", two, "one of them");
        let max = json!({"pooling_mode_max_tokens": true});
        check("another way of pooling", "1_Pooling/config.json", max, "one of them");
    }
}
