//! What agents ask of Serin by MCP: is a server fit to be believed.

pub(crate) mod fitness;
pub(crate) mod tools;
