//! `serin init URL`: two minutes to the first monitor.
//!
//! Explores a server, proposes a monitor with canaries, probes it twice as `serin run` would, and prints it as YAML or
//! puts it into a file. Read: `given` (what a person said) on `secrets` (what of it is never written), `compose` (the
//! YAML) on `scalar` (a stranger's text made safe), `confirming` (what is asked again), `monitors_file` (a file that people wrote) on `append` (its text).

pub(crate) mod secrets;
pub(crate) mod given;
pub(crate) mod scalar;
pub(crate) mod compose;
pub(crate) mod confirming;
pub(crate) mod append;
pub(crate) mod monitors_file;

pub(crate) mod proposing;

pub(crate) use given::InitArgs;
pub(crate) use proposing::command;
