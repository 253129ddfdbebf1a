//! Secrets are taken out of texts.
//!
//! `redact` is what callers want. It tries `rules` (tokens by their form), `values` (what is assigned to a `names`' name,
//! told by `links`, `styles` and `forms`), `middles` (within addresses and options), `blocks` and `manifests` (of several
//! lines). Tests draw `samples`: `kinds` of values in `carriers`.

mod forms;
pub mod rules;
pub mod names;
mod links;
mod styles;
mod values;
mod middles;
mod blocks;
mod manifests;
pub mod redact;
#[cfg(test)]
mod draw;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod carriers;
#[cfg(test)]
mod samples;

pub use redact::{Finding, Redacted, redact};
