//! Texts as a trained model is given them.

use crate::embed::{EmbedError, Purpose};

/// What a model wants before the texts, each with the blank that ends it, such as `query: `.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    /// Before a document.
    pub document: String,
    /// Before a question.
    pub query: String,
}

impl Prefixes {
    /// The one of a purpose.
    pub fn of(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Document => &self.document,
            Purpose::Query => &self.query,
        }
    }
}

/// Bytes of one text: four times the 8,192 tokens that long models take, at four bytes a token.
pub const TEXT_BYTES_MAX: usize = 128 * 1024;

/// The texts as a model is given them, each with the prefix before it.
///
/// # Errors
/// `Blank` or `TooLong`: servers refuse the whole batch for one such text, and say less.
pub fn inputs(prefix: &str, texts: &[String]) -> Result<Vec<String>, EmbedError> {
    let of = texts.len();
    let input = |(text, at): (&String, usize)| {
        let bytes = prefix.len() + text.len();
        match () {
            () if text.trim().is_empty() => Err(EmbedError::Blank { at, of }),
            () if bytes > TEXT_BYTES_MAX => Err(EmbedError::TooLong { bytes, max: TEXT_BYTES_MAX }),
            () => Ok(format!("{prefix}{text}")),
        }
    };
    texts.iter().zip(1..).map(input).collect()
}
