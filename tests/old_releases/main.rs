//! Releases of the official SDKs that die of what a client may do: nobody may die of our first look.
//!
//! Servers of the Python SDK `mcp`, and one of the TypeScript SDK, as real processes on the releases that
//! `releases.txt` pins, `tests/install.sh` installs, and people still run. With sessions, `mcp` 1.8.0 to 1.9.4 die of
//! a DELETE where anyio is 4.16.0 or newer, and 1.8.0 to 1.9.2 of a request in a session that never heard
//! `notifications/initialized`; without sessions, 1.8.0 to 1.9.2 die of one `server/discover`. All later `initialize`
//! answer 500 until a restart. What Serin did to a server is read from what the server counted.
//!
//! Run with `cargo test --test old_releases -- --ignored`, or with all tests by `--include-ignored`.

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
mod client;
mod comings;
mod lives;
mod release;
mod rig;
mod serin;
