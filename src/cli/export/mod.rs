//! `serin export`: the past as a file, for spreadsheets and notebooks.
//!
//! Read bit by bit beside a Serin that may be running, so memory does not grow with the past. Read: `rows` (the file),
//! then what is in it: `beats`, `percentiles`, `incidents`.

mod beats;
mod incidents;
mod percentiles;
pub(crate) mod rows;

mod timestamps;
pub(crate) mod command;

pub(crate) use command::{ExportArgs, run};
