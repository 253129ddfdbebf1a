//! monitors.yaml, read into a tree that keeps its places, then checked by hand-written rules into domain values.
//!
//! Nothing invalid gets past here, and a file is refused with everything that is wrong with it at
//! once, each fault with its place and its mend. What a file resolves from the environment is
//! never shown. From the ground: `read` the files, `check` what they say, `describe` what may be said.

pub mod read;

pub mod check;

pub mod describe;

pub use check::load::{Loaded, load, load_afresh};
pub use check::process::ProcessSettings;
