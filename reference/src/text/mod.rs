//! What a text is made of: words, tokens; and draws that come out the same everywhere.

pub mod draw;
pub mod terms;
pub mod secret_rules;
mod secret_values;
pub mod secrets;
pub mod tokens;
pub mod trade;
pub mod words;
