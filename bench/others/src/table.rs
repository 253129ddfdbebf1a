//! How figures are said: lines of a table, to be put into docs as they are.

/// A line of a table.
pub(crate) fn row(what: &str, measured: &str, goal: &str) {
    anstream::println!("| {what} | {measured} | {goal} |");
}
