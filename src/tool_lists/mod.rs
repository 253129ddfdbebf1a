//! Lists of tools: reduced, held against each other, read for instructions and weighed in tokens. No sockets.
//!
//! Read `tools` on `json_text`, `asked` (the arguments of a search) and `fresh` (those that keep caches out), then `diff` on `schema_diff` (with `json_schema` and `diff_words`); `known` is what a probe holds a list against.

pub mod known;
pub(crate) mod json_text;
pub(crate) mod json_schema;
pub(crate) mod diff_words;
pub(crate) mod schema_diff;
pub(crate) mod diff;
pub(crate) mod instructions;
pub mod schema;
pub(crate) mod fresh;
pub mod tools;
pub(crate) mod asked;
pub(crate) mod tokens;
pub(crate) mod interner;
pub(crate) mod callable;
