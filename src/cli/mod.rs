//! One file a command.

pub mod config_file;
pub(crate) mod init;
pub(crate) mod run;
pub mod check;
pub(crate) mod schema;
pub(crate) mod plan;
mod observe;
pub(crate) mod probe_json;
pub(crate) mod probe;
pub mod demo;
pub(crate) mod bench;
pub(crate) mod remote;
pub(crate) mod recheck;
pub(crate) mod accept;
pub(crate) mod incidents;
pub(crate) mod ack;
pub(crate) mod mcp;
pub(crate) mod replay;
pub(crate) mod database;
pub(crate) mod backup;
pub(crate) mod restore;
pub(crate) mod status;
pub mod logging;
pub(crate) mod export;
pub(crate) mod manual;
pub mod command_line;
