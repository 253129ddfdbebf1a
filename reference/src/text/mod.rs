//! What a text is made of: words, tokens; and draws that come out the same everywhere.

pub mod cleaning;
pub mod draw;
pub mod names;
pub mod terms;
#[cfg(feature = "secrets")]
pub mod secrets;
pub mod tokens;
#[cfg(feature = "figures")]
pub mod concepts;
pub mod words;
