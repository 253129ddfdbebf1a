//! Servers that are programs, kept by the real binary: they end with what declares them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::stage::{Stage, signal};

/// A monitor of the script in a mode, that logs into this folder.
fn declared(mode: &str, folder: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/program.sh");
    let log = folder.join("log");
    format!(
        "  - id: program\n    command: sh\n    args: [\"{}\", {mode}]\n    env: {{ LOG: \"{}\" }}\n    keep: true\n    canaries: [{{ id: c, query: one, expect: [a.md] }}]\n",
        script.display(),
        log.display()
    )
}

fn started(folder: &Path) -> Vec<PathBuf> {
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines().filter_map(|line| line.strip_prefix("start ")).map(|id| Path::new("/proc").join(id)).collect()
}

/// Waits until none of them is there any more: they are nobody's children here, so that there is no event to wait for.
async fn gone(programs: &[PathBuf]) {
    let ended = async {
        while programs.iter().any(|program| program.exists()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), ended).await.unwrap_or_else(|_| panic!("one of {programs:?} is left"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_program_ends_with_its_monitor_and_with_serin() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::start(&declared("well", folder.path())).await;
    stage.well("program").await;
    let first = started(folder.path());
    assert_eq!(first.len(), 2, "one process for all beats, and one that was asked for the newer era");
    // Another declaration, another process; the first one ends.
    stage.declare(&declared("ends-at-once", folder.path()));
    let refused = |body: &Value| {
        signal(body, "availability")["figure"].as_str().is_some_and(|figure| figure.contains("connection_refused"))
    };
    stage.until("a program that ends at once", "program", refused).await;
    gone(&first).await;
    stage.declare(&declared("modern", folder.path()));
    stage.well("program").await;
    stage.declare("  - id: other\n    command: no-such-program-here\n");
    gone(&started(folder.path())).await;
    stage.declare(&declared("well", folder.path()));
    stage.well("program").await;
    stage.signal("TERM");
    assert!(stage.ended().await.success());
    gone(&started(folder.path())).await;
}
