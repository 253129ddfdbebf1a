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
