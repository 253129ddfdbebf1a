//! What this process used so far, as Linux tells it (proc(5)).

use std::time::Duration;

/// Clock ticks a second in /proc; 100 on every Linux that Rust's tier 1 targets run on (getconf CLK_TCK).
const TICKS: u64 = 100;

/// User and system time.
pub(crate) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold blanks; utime and stime are the 12th and 13th fields behind it.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS)
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
    status_mb("VmRSS:")
}

/// Resident memory in MB that is nobody else's: without the pages of the program's own file.
pub(crate) fn anonymous_mb() -> f64 {
    status_mb("RssAnon:")
}

fn status_mb(key: &str) -> f64 {
    number(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), key) / 1024.0
}

/// The number behind a key at the start of a line.
fn number(text: &str, key: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0)
}
