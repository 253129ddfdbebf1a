//! One file a command.

pub mod init;
pub mod run;
pub mod check;
pub mod schema;
pub mod plan;
mod observe;
pub mod probe;
pub mod demo;
pub mod bench;
pub mod remote;
pub mod recheck;
pub mod accept;
pub mod replay;
pub mod database;
pub mod backup;
pub mod restore;
pub mod status;
pub mod logging;
pub mod export;
pub mod command_line;
