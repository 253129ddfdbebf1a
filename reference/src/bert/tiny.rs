//! A tiny model for tests: two layers of seeded random numbers and a real WordPiece tokenizer, as a folder.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{Device, Tensor};
use serde_json::{Value, json};

use crate::text::draw::{fnv, mix};

pub(crate) const HIDDEN: usize = 32;
pub(crate) const HEADS: usize = 4;
pub(crate) const BETWEEN: usize = 64;
pub(crate) const LAYERS: usize = 2;
pub(crate) const PLACES: usize = 24;
/// Large, so that forgetting it shows.
pub(crate) const EPSILON: f64 = 0.01;

/// Numbers by name, with their shape: rows first.
pub(crate) type Numbers = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// The words of the tokenizer: special ones, letters at the beginning and within, some whole words.
pub(crate) fn vocabulary() -> Vec<String> {
    let letters = ('a'..='z').chain('0'..='9');
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "'", ".", "?", "-"].map(str::to_owned);
    let words = ["pump", "valve", "warm", "the", "query", "cold", "restart", "##ing", "##ed"].map(str::to_owned);
    let first = letters.clone().map(String::from);
    special.into_iter().chain(words).chain(first).chain(letters.map(|letter| format!("##{letter}"))).collect()
}

/// Every tensor of the encoder, of the pooler and of a classifier with one label, by the names that files have.
pub(crate) fn numbers(seed: u64) -> Numbers {
    let mut numbers = Numbers::new();
    let mut add = |name: &str, shape: &[usize], middle: f64, reach: f64| {
        let count = shape.iter().product::<usize>() as u64;
        let draw = |at: u64| {
            let random = mix(seed ^ fnv(name.bytes()) ^ mix(at)) >> 11;
            // What a file in single precision can hold.
            f64::from((middle + reach * (random as f64 / 2_f64.powi(52) - 1.0)) as f32)
        };
        numbers.insert(name.to_owned(), (shape.to_vec(), (0..count).map(draw).collect()));
    };
    add("embeddings.word_embeddings.weight", &[vocabulary().len(), HIDDEN], 0.0, 1.0);
    add("embeddings.position_embeddings.weight", &[PLACES, HIDDEN], 0.0, 1.0);
    add("embeddings.token_type_embeddings.weight", &[2, HIDDEN], 0.0, 1.0);
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    let mut linears = vec![("pooler.dense".to_owned(), HIDDEN, HIDDEN), ("classifier".to_owned(), HIDDEN, 1)];
    for layer in 0..LAYERS {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        norms.extend([at("attention.output.LayerNorm"), at("output.LayerNorm")]);
        for name in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"] {
            linears.push((at(name), HIDDEN, HIDDEN));
        }
        linears.extend([(at("intermediate.dense"), HIDDEN, BETWEEN), (at("output.dense"), BETWEEN, HIDDEN)]);
    }
    for name in norms {
        add(&format!("{name}.weight"), &[HIDDEN], 1.0, 0.5);
        add(&format!("{name}.bias"), &[HIDDEN], 0.0, 0.5);
    }
    for (name, from, to) in linears {
        add(&format!("{name}.weight"), &[to, from], 0.0, 0.4);
        add(&format!("{name}.bias"), &[to], 0.0, 0.4);
    }
    numbers
}

/// Writes the folder; `rename` gives the names in the file.
pub(crate) fn write(folder: &Path, numbers: &Numbers, rename: fn(&str) -> String) {
    write_json(folder, "config.json", &config());
    write_json(folder, "tokenizer.json", &tokenizer());
    let tensors: HashMap<String, Tensor> = numbers
        .iter()
        .map(|(name, (shape, values))| {
            let values = values.iter().map(|value| *value as f32).collect();
            (rename(name), Tensor::from_vec::<_, f32>(values, shape.as_slice(), &Device::Cpu).unwrap())
        })
        .collect();
    candle_core::safetensors::save(&tensors, folder.join("model.safetensors")).unwrap();
}

pub(crate) fn write_json(folder: &Path, name: &str, value: &Value) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, value.to_string()).unwrap();
}

pub(crate) fn config() -> Value {
    json!({
        "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "vocab_size": vocabulary().len(),
        "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": BETWEEN,
        "max_position_embeddings": PLACES, "type_vocab_size": 2, "layer_norm_eps": EPSILON, "pad_token_id": 0,
        "position_embedding_type": "absolute", "hidden_dropout_prob": 0.1
    })
}

pub(crate) fn tokenizer() -> Value {
    let vocabulary: BTreeMap<String, usize> = vocabulary().into_iter().zip(0..).collect();
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(|word| {
        json!({"id": vocabulary[word], "content": word, "special": true, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false})
    });
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", vocabulary["[SEP]"]],
                           "cls": ["[CLS]", vocabulary["[CLS]"]]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}
    })
}
