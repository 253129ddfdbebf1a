//! The guarded connector and TLS roots.

pub mod guard;
