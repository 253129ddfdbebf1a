//! `serin drill`: what Serin tells of each fault that the laboratory knows, tried on servers of several shapes.
//!
//! The probe, the judgement and the state are those of the daemon; what is missing is the database, the sending, and the
//! waiting: each beat moves the clock on that the domain is given. `cases` says what is broken and what it should be told
//! as, before anything is measured; `matrix` says what it was told as.

mod command;

mod trial;
mod watcher;
mod stand;
mod canaries;
mod matrix;
mod cases;
mod case;
mod shape;

pub(crate) use command::{DrillArgs, run};
