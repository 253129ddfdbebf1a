//! Tokens to hidden states: embeddings, then layers of attention and feed-forward, each added to what it was given
//! and brought to layer norm (Devlin et al. 2018; Vaswani et al. 2017 for attention).

use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_nn::{Embedding, LayerNorm, Linear, ops};
use tokenizers::{EncodeInput, Tokenizer};

use crate::bert::folder::{Activation, BertConfig, BertWeights, Folder, FolderError};

/// What is added to the attention of a place that only pads: after softmax nothing is left of it.
const PADDED: f64 = -1e9;

/// The encoder.
#[derive(Debug)]
pub struct Encoder {
    words: Embedding,
    positions: Tensor,
    types: Embedding,
    norm: LayerNorm,
    layers: Vec<EncoderLayer>,
}

#[derive(Debug)]
struct EncoderLayer {
    attention: Attention,
    attention_norm: LayerNorm,
    wide: Linear,
    activation: Activation,
    narrow: Linear,
    norm: LayerNorm,
}

#[derive(Debug)]
struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    heads: usize,
}

/// Texts as the encoder takes them: each of the shape (texts, tokens).
#[derive(Debug)]
pub struct Batch {
    ids: Tensor,
    types: Tensor,
    /// 1 for a token, 0 for padding.
    pub mask: Tensor,
}

impl Batch {
    /// Texts or pairs of them as tokens, cut and padded as the folder says; at least one.
    ///
    /// # Errors
    /// Where the tokenizer fails.
    pub fn of<'s, E: Into<EncodeInput<'s>> + Send>(tokenizer: &Tokenizer, texts: Vec<E>) -> Result<Self> {
        let count = texts.len();
        let encoded = tokenizer.encode_batch_fast(texts, true).map_err(candle_core::Error::msg)?;
        let tensor = |part: fn(&tokenizers::Encoding) -> &[u32]| {
            let numbers: Vec<u32> = encoded.iter().flat_map(part).copied().collect();
            let width = numbers.len() / count.max(1);
            Tensor::from_vec(numbers, (count, width), &Device::Cpu)
        };
        Ok(Self {
            ids: tensor(|text| text.get_ids())?,
            types: tensor(|text| text.get_type_ids())?,
            mask: tensor(|text| text.get_attention_mask())?.to_dtype(DType::F32)?,
        })
    }
}

impl Encoder {
    /// The encoder of a folder.
    ///
    /// # Errors
    /// Where its weights are not those of its configuration.
    pub fn of(folder: &Folder) -> std::result::Result<Self, FolderError> {
        let (config, tensors) = (&folder.config, Named::of(&folder.weights));
        let hidden = config.hidden_size;
        let positions = config.max_position_embeddings;
        Ok(Self {
            words: tensors.embedding("embeddings.word_embeddings", config.vocab_size, hidden)?,
            positions: tensors.get("embeddings.position_embeddings.weight", &[positions, hidden])?,
            types: tensors.embedding("embeddings.token_type_embeddings", config.type_vocab_size, hidden)?,
            norm: tensors.norm("embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|number| EncoderLayer::of(&tensors, &format!("encoder.layer.{number}"), config))
                .collect::<std::result::Result<_, _>>()?,
        })
    }

    /// The last layer's states: (texts, tokens, hidden).
    ///
    /// # Errors
    /// Where the machine has no memory for them, or a token is not the model's.
    pub fn states(&self, batch: &Batch) -> Result<Tensor> {
        let (_, tokens) = batch.ids.dims2()?;
        let words = self.words.forward(&batch.ids)?.add(&self.types.forward(&batch.types)?)?;
        let placed = words.broadcast_add(&self.positions.narrow(0, 0, tokens)?)?;
        // (texts, 1, 1, tokens): the same for every head and for every token that looks.
        let padding = batch.mask.affine(-PADDED, PADDED)?.unsqueeze(1)?.unsqueeze(1)?;
        let mut states = self.norm.forward(&placed)?;
        for layer in &self.layers {
            states = layer.states(&states, &padding)?;
        }
        Ok(states)
    }
}

impl EncoderLayer {
    fn of(tensors: &Named<'_>, at: &str, config: &BertConfig) -> std::result::Result<Self, FolderError> {
        let (hidden, between) = (config.hidden_size, config.intermediate_size);
        let linear = |name: &str, from, to| tensors.linear(&format!("{at}.{name}"), from, to);
        Ok(Self {
            attention: Attention {
                query: linear("attention.self.query", hidden, hidden)?,
                key: linear("attention.self.key", hidden, hidden)?,
                value: linear("attention.self.value", hidden, hidden)?,
                output: linear("attention.output.dense", hidden, hidden)?,
                heads: config.num_attention_heads,
            },
            attention_norm: tensors.norm(&format!("{at}.attention.output.LayerNorm"), config)?,
            wide: linear("intermediate.dense", hidden, between)?,
            activation: config.hidden_act,
            narrow: linear("output.dense", between, hidden)?,
            norm: tensors.norm(&format!("{at}.output.LayerNorm"), config)?,
        })
    }

    fn states(&self, states: &Tensor, padding: &Tensor) -> Result<Tensor> {
        let attended = self.attention_norm.forward(&(self.attention.states(states, padding)? + states)?)?;
        let wide = self.wide.forward(&attended)?;
        let wide = match self.activation {
            Activation::Gelu => wide.gelu_erf()?,
            Activation::GeluTanh => wide.gelu()?,
            Activation::Relu => wide.relu()?,
        };
        self.norm.forward(&(self.narrow.forward(&wide)? + attended)?)
    }
}

impl Attention {
    /// softmax(QKᵀ/√d + padding)·V a head, then the heads side by side through one more layer.
    fn states(&self, states: &Tensor, padding: &Tensor) -> Result<Tensor> {
        let (texts, tokens, hidden) = states.dims3()?;
        let width = hidden / self.heads;
        let heads = |linear: &Linear| {
            linear.forward(states)?.reshape((texts, tokens, self.heads, width))?.transpose(1, 2)?.contiguous()
        };
        let (query, key, value) = (heads(&self.query)?, heads(&self.key)?, heads(&self.value)?);
        #[expect(clippy::cast_precision_loss, reason = "a head is at most some thousand numbers wide")]
        let scale = 1.0 / (width as f64).sqrt();
        let looks = query.matmul(&key.transpose(2, 3)?.contiguous()?)?.affine(scale, 0.0)?.broadcast_add(padding)?;
        let seen = ops::softmax_last_dim(&looks)?.matmul(&value)?;
        self.output.forward(&seen.transpose(1, 2)?.contiguous()?.reshape((texts, tokens, hidden))?)
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

    /// One dense layer.
    ///
    /// # Errors
    /// Where it is not there, or of another shape.
    pub fn linear(&self, name: &str, from: usize, to: usize) -> std::result::Result<Linear, FolderError> {
        let weight = self.get(&format!("{name}.weight"), &[to, from])?;
        Ok(Linear::new(weight, Some(self.get(&format!("{name}.bias"), &[to])?)))
    }

    fn embedding(&self, name: &str, count: usize, hidden: usize) -> std::result::Result<Embedding, FolderError> {
        Ok(Embedding::new(self.get(&format!("{name}.weight"), &[count, hidden])?, hidden))
    }

    fn norm(&self, name: &str, config: &BertConfig) -> std::result::Result<LayerNorm, FolderError> {
        // Files made from TensorFlow's checkpoints have the older names.
        let old = self.weights.has(&format!("{}{name}.gamma", self.prefix));
        let (weight, bias) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        let shape = [config.hidden_size];
        let weight = self.get(&format!("{name}.{weight}"), &shape)?;
        Ok(LayerNorm::new(weight, self.get(&format!("{name}.{bias}"), &shape)?, config.layer_norm_eps))
    }

    fn get(&self, name: &str, shape: &[usize]) -> std::result::Result<Tensor, FolderError> {
        self.weights.get(&format!("{}{name}", self.prefix), shape)
    }
}
