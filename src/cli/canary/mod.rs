//! `serin canary`: what is asked, looked at by itself.
//!
//! Read: `declared` (the monitors that a file declares), `lint` (whether each canary proves what its kind is for, and which
//! checks that arms), `suggest` (further ones), `command`.

pub(crate) mod declared;
pub(crate) mod lint;
pub(crate) mod suggest;
pub(crate) mod command;

pub(crate) use command::{CanaryArgs, run};
