//! Our reference server before others: the official conformance suite, the Inspector's command line, an
//! independent count of tokens, clients of sessions, of which one is Serin, and callers who talk nonsense.
//!
//! What needs `tests/install.sh` is ignored; run it with `cargo test --test reference_peers -- --ignored`.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod conformance;
mod inspector;
mod nonsense;
mod node;
mod served;
mod sessions;
mod tokens;
