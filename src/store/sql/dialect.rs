//! Lists as parameters: a text in JSON, read as rows. SQLite has `json_each` of itself; PostgreSQL's tables bring a function
//! of that name, whose values are all texts. Everything else is written so that both read it alike; `tests/store/dialect.rs`
//! looks for what is not.

/// The texts of a list, as rows to look in: `IN texts!("$1")`.
macro_rules! texts {
    ($list:literal) => {
        concat!("(SELECT value FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use texts;

/// The whole numbers of a list, as rows to look in.
macro_rules! numbers {
    ($list:literal) => {
        concat!("(SELECT CAST(value AS BIGINT) FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use numbers;

/// The texts of a list, as a table with the columns `key` (its place, from 0) and `value`.
macro_rules! text_rows {
    ($list:literal) => {
        concat!("(SELECT key, value FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use text_rows;

/// The whole numbers of a list, as a table with the columns `key` (its place, from 0) and `value`.
macro_rules! number_rows {
    ($list:literal) => {
        concat!("(SELECT key, CAST(value AS BIGINT) AS value FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use number_rows;

/// Rows whose columns `v1`, `v2` and so on a server unfolds from lists of these kinds, `$1` first. SQLite has no lists.
pub(in crate::store::sql) fn unfolded(kinds: &[&str]) -> String {
    let lists = kinds.iter().zip(1..).map(|(kind, number)| format!("${number}::{kind}[]"));
    let names = (1..=kinds.len()).map(|number| format!("v{number}"));
    let [lists, names] = [lists.collect::<Vec<_>>(), names.collect()].map(|words| words.join(", "));
    format!("UNNEST({lists}) AS given ({names})")
}
