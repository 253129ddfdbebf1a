//! Says all of it by MCP and HTTP.

pub mod answer;
pub mod arguments;
pub mod canary;
#[cfg(feature = "project")]
pub mod codebase;
#[cfg(not(feature = "cli"))]
pub mod command;
#[cfg(feature = "metrics")]
pub mod counts;
pub mod database;
pub mod door;
pub mod health;
#[cfg(feature = "sessions")]
pub mod legacy;
pub mod life;
pub mod messages;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod options;
pub mod plain;
pub mod readiness;
pub mod report;
pub mod schemas;
pub mod server;
pub mod tools;
pub mod work;
