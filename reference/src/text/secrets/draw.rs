//! What samples of secrets are drawn with, and what one is.

use crate::text::draw::mix;

/// Draws that a seed settles.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub(crate) fn number(&mut self, below: usize) -> usize {
        self.0 = mix(self.0);
        usize::try_from(self.0 % below as u64).expect("it is below a usize")
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(of.len())]
    }

    /// So many signs of an alphabet.
    pub(crate) fn signs(&mut self, count: usize, of: &str) -> String {
        let signs: Vec<char> = of.chars().collect();
        (0..count).map(|_| self.one(&signs)).collect()
    }
}

/// A text and the forms in which its secret stands there, line by line.
pub(crate) struct Sample {
    pub(crate) kind: &'static str,
    pub(crate) carrier: &'static str,
    pub(crate) text: String,
    pub(crate) pieces: Vec<String>,
}
