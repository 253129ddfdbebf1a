//! Tokens to hidden states: embeddings, then layers of attention and feed-forward, each added to what it was given
//! and brought to layer norm (Devlin et al. 2018; Vaswani et al. 2017 for attention).
//!
//! Texts lie end to end, without padding: dense layers see rows of tokens, whosever they are, and only attention goes
//! text by text. Each thread takes texts of its own, since threads that share one product spin while they wait for
//! each other.

use std::ops::Range;

use candle_core::{Device, Error, Result, Storage, StorageRef, Tensor};
use rayon::prelude::*;
use tokenizers::{EncodeInput, Encoding, Tokenizer};

use crate::bert::folder::{Activation, BertConfig, BertWeights, Folder, FolderError};
use crate::bert::rows::{Norm, Step};

/// Tokens that a thread takes at once, unless one text has more. Fewer, and reading the weights is not worth it;
/// more, and what lies between two products leaves the processor's cache.
const TOKENS_TOGETHER: usize = 512;

/// The encoder.
#[derive(Debug)]
pub struct Encoder {
    words: Vec<f32>,
    positions: Vec<f32>,
    types: Vec<f32>,
    norm: Norm,
    layers: Vec<EncoderLayer>,
}

#[derive(Debug)]
struct EncoderLayer {
    /// Query, key and value side by side.
    looks: Linear,
    heads: usize,
    attended: Linear,
    attention_norm: Norm,
    wide: Linear,
    activation: Activation,
    narrow: Linear,
    norm: Norm,
}

/// A dense layer: a row times the weights, plus the bias.
#[derive(Debug)]
pub struct Linear {
    /// (from, to), which is how the product reads it.
    weight: Tensor,
    bias: Vec<f32>,
}

impl Encoder {
    /// The encoder of a folder.
    ///
    /// # Errors
    /// Where its weights are not those of its configuration.
    pub fn of(folder: &Folder) -> std::result::Result<Self, FolderError> {
        // For all of the process, where nothing else multiplies matrices.
        gemm::set_threading_threshold(usize::MAX);
        let (config, tensors) = (&folder.config, Named::of(&folder.weights));
        let table =
            |name: &str, count| tensors.numbers(&format!("embeddings.{name}.weight"), &[count, config.hidden_size]);
        Ok(Self {
            words: table("word_embeddings", config.vocab_size)?,
            positions: table("position_embeddings", config.max_position_embeddings)?,
            types: table("token_type_embeddings", config.type_vocab_size)?,
            norm: tensors.norm("embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|number| EncoderLayer::of(&tensors, &format!("encoder.layer.{number}"), config))
                .collect::<std::result::Result<_, _>>()?,
        })
    }

    /// What `pool` makes of the states of each text or pair of texts: rows of hidden numbers, one a token. Texts are
    /// cut as the tokenizer says.
    ///
    /// # Errors
    /// Where the tokenizer fails, the machine has no memory, a text has no token, or one that is not the model's.
    pub fn pooled<'s, E, P, T>(&self, tokenizer: &Tokenizer, texts: Vec<E>, pool: P) -> Result<Vec<T>>
    where
        E: Into<EncodeInput<'s>> + Send,
        P: Fn(&[f32]) -> T + Sync,
        T: Send,
    {
        let texts = tokenizer.encode_batch_fast(texts, true).map_err(Error::msg)?;
        if texts.iter().any(Encoding::is_empty) {
            candle_core::bail!("the tokenizer finds no token in a text");
        }
        let pooled: Vec<Vec<T>> =
            packs(&texts).into_par_iter().map(|pack| self.pack(pack, &pool)).collect::<Result<_>>()?;
        Ok(pooled.into_iter().flatten().collect())
    }

    fn pack<T>(&self, texts: &[Encoding], pool: impl Fn(&[f32]) -> T) -> Result<Vec<T>> {
        let mut end = 0;
        let places = texts.iter().map(|text| {
            end += text.len();
            end - text.len()..end
        });
        let places: Vec<Range<usize>> = places.collect();
        let mut states = self.embedded(texts)?;
        for layer in &self.layers {
            states = layer.states(&states, &places)?;
        }
        let (storage, hidden) = (states.storage_and_layout().0, states.dim(1)?);
        let states = floats(&storage)?;
        Ok(places.into_iter().map(|text| pool(&states[text.start * hidden..text.end * hidden])).collect())
    }

    fn embedded(&self, texts: &[Encoding]) -> Result<Tensor> {
        let hidden = self.norm.weight.len();
        let (mut words, mut places) = (Vec::new(), Vec::new());
        for text in texts {
            for (place, (word, kind)) in text.get_ids().iter().zip(text.get_type_ids()).enumerate() {
                words.extend_from_slice(row(&self.words, *word as usize, hidden)?);
                let position = row(&self.positions, place, hidden)?;
                let kind = row(&self.types, *kind as usize, hidden)?;
                places.extend(position.iter().zip(kind).map(|(position, kind)| position + kind));
            }
        }
        let shape = (words.len() / hidden, hidden);
        let states = Tensor::from_vec(words, shape, &Device::Cpu)?;
        states.inplace_op2(&Tensor::from_vec(places, shape, &Device::Cpu)?, &self.norm)?;
        Ok(states)
    }
}

/// Neighbours that one thread takes together.
fn packs(texts: &[Encoding]) -> Vec<&[Encoding]> {
    let (mut packs, mut rest) = (Vec::new(), texts);
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |text: &&Encoding| {
            tokens += text.len();
            tokens <= TOKENS_TOGETHER
        };
        let (pack, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        packs.push(pack);
        rest = later;
    }
    packs
}

fn row(table: &[f32], at: usize, width: usize) -> Result<&[f32]> {
    table.get(at * width..(at + 1) * width).ok_or_else(|| Error::msg("a token is not the model's"))
}

/// The numbers of a tensor that was computed here, so all of its storage.
fn floats<'a>(storage: &'a StorageRef<'_>) -> Result<&'a [f32]> {
    match &**storage {
        Storage::Cpu(storage) => storage.as_slice(),
        _ => candle_core::bail!("states are on the processor"),
    }
}

impl EncoderLayer {
    fn of(tensors: &Named<'_>, at: &str, config: &BertConfig) -> std::result::Result<Self, FolderError> {
        let (hidden, between) = (config.hidden_size, config.intermediate_size);
        let linear = |name: &str, from, to| tensors.linear(&[format!("{at}.{name}")], from, to);
        let looks = ["query", "key", "value"].map(|name| format!("{at}.attention.self.{name}"));
        Ok(Self {
            looks: tensors.linear(&looks, hidden, hidden)?,
            heads: config.num_attention_heads,
            attended: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: tensors.norm(&format!("{at}.attention.output.LayerNorm"), config)?,
            wide: linear("intermediate.dense", hidden, between)?,
            activation: config.hidden_act,
            narrow: linear("output.dense", between, hidden)?,
            norm: tensors.norm(&format!("{at}.output.LayerNorm"), config)?,
        })
    }

    fn states(&self, states: &Tensor, places: &[Range<usize>]) -> Result<Tensor> {
        let attended = self.attended.forward(&self.seen(states, places)?)?;
        attended.inplace_op2(states, &self.attention_norm)?;
        let wide = self.wide.forward(&attended)?;
        wide.inplace_op1(&Step::Activate(self.activation))?;
        let narrow = self.narrow.forward(&wide)?;
        narrow.inplace_op2(&attended, &self.norm)?;
        Ok(narrow)
    }

    /// softmax(QKᵀ/√d)·V for each text and head, the heads side by side.
    fn seen(&self, states: &Tensor, places: &[Range<usize>]) -> Result<Tensor> {
        let (tokens, hidden) = states.dims2()?;
        let width = hidden / self.heads;
        let scale = Step::Softmax((width as f32).sqrt().recip());
        let looks = self.looks.forward(states)?;
        let mut seen = vec![0.0; tokens * hidden];
        for place in places {
            let own = looks.narrow(0, place.start, place.len())?.reshape((place.len(), 3 * self.heads, width))?;
            let own = own.transpose(0, 1)?;
            let part = |number| own.narrow(0, number * self.heads, self.heads);
            let shares = part(0)?.matmul(&part(1)?.t()?)?;
            shares.inplace_op1(&scale)?;
            let heads = shares.matmul(&part(2)?)?;
            let storage = heads.storage_and_layout().0;
            for (number, row) in floats(&storage)?.chunks_exact(width).enumerate() {
                let (head, token) = (number / place.len(), place.start + number % place.len());
                let from = token * hidden + head * width;
                seen[from..from + width].copy_from_slice(row);
            }
        }
        Tensor::from_vec(seen, (tokens, hidden), &Device::Cpu)
    }
}

impl Linear {
    /// Layers of the same input side by side; weights are (to, from), as files have them.
    fn of(weights: &[Tensor], biases: &[Tensor]) -> Result<Self> {
        let weight = Tensor::cat(weights, 0)?.t()?.contiguous()?;
        Ok(Self { weight, bias: Tensor::cat(biases, 0)?.to_vec1()? })
    }

    /// Rows through the layer.
    ///
    /// # Errors
    /// Where the machine has no memory for it.
    pub fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let rows = rows.matmul(&self.weight)?;
        rows.inplace_op1(&Step::Add(&self.bias))?;
        Ok(rows)
    }
}

/// A model's tensors by the names within BERT, which files may precede with `bert.`.
#[derive(Debug)]
pub struct Named<'a> {
    weights: &'a BertWeights,
    prefix: &'static str,
}

impl<'a> Named<'a> {
    /// The tensors of these weights.
    pub fn of(weights: &'a BertWeights) -> Self {
        let prefix = if weights.has("bert.embeddings.word_embeddings.weight") { "bert." } else { "" };
        Self { weights, prefix }
    }

    /// Those that no file has within BERT, such as a head.
    pub fn outside(weights: &'a BertWeights) -> Self {
        Self { weights, prefix: "" }
    }

    /// Dense layers of the same shape, side by side.
    ///
    /// # Errors
    /// Where one is not there, or of another shape.
    pub fn linear(&self, names: &[String], from: usize, to: usize) -> std::result::Result<Linear, FolderError> {
        let all = |part: &str, shape: &[usize]| -> std::result::Result<Vec<Tensor>, FolderError> {
            names.iter().map(|name| self.get(&format!("{name}.{part}"), shape)).collect()
        };
        let (weights, biases) = (all("weight", &[to, from])?, all("bias", &[to])?);
        Linear::of(&weights, &biases).map_err(|error| self.weights.unusable(&names.join(", "), &error))
    }

    fn norm(&self, name: &str, config: &BertConfig) -> std::result::Result<Norm, FolderError> {
        // Files made from TensorFlow's checkpoints have the older names.
        let old = self.weights.has(&format!("{}{name}.gamma", self.prefix));
        let (weight, bias) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        let numbers = |part| self.numbers(&format!("{name}.{part}"), &[config.hidden_size]);
        Ok(Norm { weight: numbers(weight)?, bias: numbers(bias)?, epsilon: config.layer_norm_eps as f32 })
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> std::result::Result<Vec<f32>, FolderError> {
        let numbers = self.get(name, shape)?.flatten_all().and_then(|tensor| tensor.to_vec1());
        numbers.map_err(|error| self.weights.unusable(name, &error))
    }

    fn get(&self, name: &str, shape: &[usize]) -> std::result::Result<Tensor, FolderError> {
        self.weights.get(&format!("{}{name}", self.prefix), shape)
    }
}
