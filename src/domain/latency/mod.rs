//! How long searches take, over time.
//!
//! Read: `window` (the samples that P95 is taken over), `warming` (a cold server is not a slow one).

pub mod window;
pub mod warming;
