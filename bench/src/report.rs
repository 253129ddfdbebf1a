//! How figures are said: lines of a table, to be put into docs as they are.

use serde_json::Value;

/// A line of the table that every part prints.
pub(crate) fn row(what: &str, measured: &str, goal: &str) {
    anstream::println!("| {what} | {measured} | {goal} |");
}

/// A figure with so many digits.
pub(crate) fn number(values: &Value, key: &str, digits: usize) -> String {
    values[key].as_f64().map_or_else(|| "?".to_owned(), |value| format!("{value:.digits$}"))
}

/// What beats cost, and how many there were.
pub(crate) fn cpu(values: &Value) -> String {
    format!("{} CPU-s per 10,000 ({} beats)", number(values, "cpu_per_10000", 2), number(values, "beats", 0))
}

/// CPU-seconds per 10,000 beats.
pub(crate) fn per_10000(values: &Value) -> f64 {
    values["cpu_per_10000"].as_f64().unwrap_or(f64::NAN)
}

/// The middle one, and in parentheses the least and the most.
pub(crate) fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |nth: usize| values.get(nth).map_or_else(|| "?".to_owned(), |value| format!("{value:.2}"));
    format!("{} ({} to {})", at(values.len() / 2), at(0), at(values.len().saturating_sub(1)))
}

/// What a beat costs those who share machine and disk.
pub(crate) fn quiet(values: &Value) -> String {
    format!("{} waits, {} bytes", number(values, "switches_per_beat", 1), number(values, "written_per_beat", 0))
}

/// Anonymous memory, resident memory beside it, and what a monitor takes beyond a fleet of one.
pub(crate) fn memory(values: &Value, beyond: Option<(&Value, f64)>) -> String {
    let mb = |values: &Value, key: &str| values[key].as_f64().unwrap_or_default();
    let mut said = format!(
        "{:.1} MB; {:.1} MB with the pages of the program's own file",
        mb(values, "anonymous_mb"),
        mb(values, "resident_mb")
    );
    if let Some((one, monitors)) = beyond {
        let each = (mb(values, "anonymous_mb") - mb(one, "anonymous_mb")) * 1_048_576.0 / monitors;
        said.push_str(&format!("; {:.1} kB a monitor", each / 1e3));
    }
    said
}

/// How late beats started, and how many did not.
pub(crate) fn late(values: &Value) -> String {
    let bound = |key| values[key].as_str().unwrap_or("?").to_owned();
    format!("p50 {}, p99 {}, missed {}", bound("late_p50"), bound("late_p99"), number(values, "missed", 0))
}
