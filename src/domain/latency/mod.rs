//! How long searches take, over time.
//!
//! Read: `window` (the samples that P95 is taken over), `warming` (a cold server is not a slow one),
//! `warm_up` (whether slowness falls back by itself), `code` (a
//! duration in two bytes), `steps` (the calls of an hour or a day), `histogram` (percentiles over months, by merging).

pub mod window;
pub(crate) mod warming;
pub(crate) mod warm_up;
pub mod code;
pub(crate) mod steps;
pub mod histogram;
