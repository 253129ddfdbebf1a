//! What a text is made of: words, tokens; and draws that come out the same everywhere.

pub mod cleaning;
pub mod draw;
pub mod names;
pub mod terms;
#[cfg(feature = "secrets")]
pub mod secrets;
#[cfg(feature = "secrets")]
mod secret_blocks;
#[cfg(feature = "secrets")]
mod secret_manifests;
#[cfg(feature = "secrets")]
mod secret_middles;
#[cfg(feature = "secrets")]
pub mod secret_rules;
#[cfg(feature = "secrets")]
pub mod secret_names;
#[cfg(feature = "secrets")]
mod secret_values;
#[cfg(feature = "secrets")]
mod secret_links;
#[cfg(feature = "secrets")]
mod secret_styles;
#[cfg(feature = "secrets")]
mod secret_forms;
#[cfg(all(test, feature = "secrets"))]
mod secret_samples;
#[cfg(all(test, feature = "secrets"))]
mod secret_kinds;
#[cfg(all(test, feature = "secrets"))]
mod secret_carriers;
pub mod tokens;
#[cfg(feature = "figures")]
pub mod concepts;
pub mod words;
