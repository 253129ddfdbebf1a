//! What `tests/install.sh` installs for node, and the node that it pins.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file below `tests`.
pub(crate) fn tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// A command that runs a script. The pinned node, where there is one for this machine: the conformance runner
/// and the Inspector need 22.19 or newer.
pub(crate) fn script(path: &Path) -> Command {
    assert!(path.exists(), "{} is not there; run tests/install.sh", path.display());
    let pinned = tests("conformance/node_modules/.bin/node");
    let mut command = Command::new(if pinned.exists() { pinned } else { "node".into() });
    command.arg(path);
    command
}
