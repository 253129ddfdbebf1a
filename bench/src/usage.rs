//! What this process used so far, as Linux tells it (proc(5)).

use std::time::Duration;

use serin::live::footprint::Footprint;

/// User and system time.
pub(crate) fn cpu() -> Duration {
    Duration::from_secs_f64(footprint().cpu_seconds)
}

fn footprint() -> Footprint {
    Footprint::now().unwrap_or(Footprint { resident_bytes: 0, anonymous_bytes: 0, cpu_seconds: 0.0 })
}

/// Times that a thread of this process gave its core away to wait, over the threads that live now.
pub(crate) fn switches() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited = |status: String| number(&status, "voluntary_ctxt_switches:");
    tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok()).map(waited).sum::<f64>() as u64
}

/// Bytes that were written towards a disk; what is rewritten before it gets there counts once.
pub(crate) fn bytes_written() -> u64 {
    number(&std::fs::read_to_string("/proc/self/io").unwrap_or_default(), "write_bytes:") as u64
}

/// Resident memory in MB, that of the program's own file included.
pub(crate) fn resident_mb() -> f64 {
    footprint().resident_bytes as f64 / 1_048_576.0
}

/// Resident memory in MB that is nobody else's: without the pages of the program's own file.
pub(crate) fn anonymous_mb() -> f64 {
    footprint().anonymous_bytes as f64 / 1_048_576.0
}

/// The number behind a key at the start of a line.
fn number(text: &str, key: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
}
