//! Two texts to a score: a cross-encoder, which is BERT with a pooler and one logit (`BertForSequenceClassification`).

use std::path::Path;

use candle_core::{Device, Result, Tensor};
use tokenizers::Tokenizer;

use crate::bert::encoder::{Encoder, Linear, Named};
use crate::bert::folder::{Folder, FolderError};

/// Pairs of one pass, as in `sentence`.
pub const BATCH_MAX: usize = 16;

/// A cross-encoder.
#[derive(Debug)]
pub struct PairEncoder {
    name: String,
    hidden: usize,
    tokenizer: Tokenizer,
    encoder: Encoder,
    pooler: Linear,
    classifier: Linear,
}

impl PairEncoder {
    /// Reads a folder of a model with one label.
    ///
    /// # Errors
    /// Which file cannot be used, why, and the mend.
    pub fn open(path: &Path) -> std::result::Result<Self, FolderError> {
        let folder = Folder::open(path)?;
        let hidden = folder.config.hidden_size;
        let encoder = Encoder::of(&folder)?;
        let pooler = Named::of(&folder.weights).linear(&["pooler.dense".to_owned()], hidden, hidden)?;
        let classifier = Named::outside(&folder.weights).linear(&["classifier".to_owned()], hidden, 1)?;
        Ok(Self { name: folder.name, hidden, tokenizer: folder.tokenizer, encoder, pooler, classifier })
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How well each of at most `BATCH_MAX` passages answers the question: the logistic function of the logit, 0 to 1.
    /// A pair is cut to the tokens the model reads, the longer text first.
    ///
    /// # Errors
    /// Where the machine has no memory for it.
    pub fn scores(&self, question: &str, passages: &[String]) -> Result<Vec<f64>> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let pairs = passages.iter().map(|passage| (question, passage.as_str())).collect();
        let first = self.encoder.pooled(&self.tokenizer, pairs, |states| states[..self.hidden].to_vec())?.concat();
        let first = Tensor::from_vec(first, (passages.len(), self.hidden), &Device::Cpu)?;
        let logits = self.classifier.forward(&self.pooler.forward(&first)?.tanh()?)?.squeeze(1)?;
        let logits = logits.to_vec1::<f32>()?;
        Ok(logits.into_iter().map(|logit| 1.0 / (1.0 + f64::from(-logit).exp())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::straight;
    use crate::bert::tiny::{numbers, write};

    fn named(name: &str) -> String {
        if name.starts_with("classifier") { name.to_owned() } else { format!("bert.{name}") }
    }

    #[test]
    fn scores_are_those_of_the_formulas() {
        let folder = tempfile::tempdir().unwrap();
        let numbers = numbers(11);
        write(folder.path(), &numbers, named);
        let encoder = PairEncoder::open(folder.path()).unwrap();
        let question = [("[CLS]", 0), ("warm", 0), ("pump", 0), ("?", 0), ("[SEP]", 0)];
        let rows: [(&str, &[&str]); 3] = [
            ("the pump", &["the", "pump"]),
            ("Cold valve restarted.", &["cold", "valve", "restart", "##ed", "."]),
            ("", &[]),
        ];
        let passages: Vec<String> = rows.iter().map(|(text, _)| (*text).to_owned()).collect();
        let scores = encoder.scores("Warm pump?", &passages).unwrap();
        for (found, (text, words)) in scores.iter().zip(rows) {
            let passage = words.iter().chain(&["[SEP]"]).map(|word| (*word, 1));
            let tokens: Vec<(&str, usize)> = question.into_iter().chain(passage).collect();
            let expected = straight::score(&numbers, &straight::states(&numbers, &tokens));
            assert!((found - expected).abs() < straight::OFF_MAX, "{text:?}: {found} where {expected} is right");
        }
        assert!((scores[0] - scores[1]).abs() > 0.001, "the passage matters: {scores:?}");
    }

    #[test]
    fn a_model_without_the_head_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = numbers(11);
        numbers.remove("classifier.weight");
        write(folder.path(), &numbers, named);
        let error = PairEncoder::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("model.safetensors") && error.contains("no tensor \"classifier.weight\""), "{error}");
    }

    #[test]
    fn a_model_of_three_labels_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = numbers(11);
        numbers.insert("classifier.weight".to_owned(), (vec![3, 32], vec![0.0; 96]));
        write(folder.path(), &numbers, named);
        let error = PairEncoder::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("\"classifier.weight\" is [3, 32]"), "{error}");
    }
}
