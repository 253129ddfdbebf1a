//! The guarded connector and TLS roots.
