//! What of our statements one database understands and another does not. Everything else is written so that SQLite and
//! PostgreSQL read it alike; `tests/store/dialect.rs` looks for what is not.

/// The texts of a parameter that is a list in JSON, as rows to look in: `IN texts!("$1")`.
macro_rules! texts {
    ($list:literal) => {
        concat!("(SELECT value FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use texts;

/// The whole numbers of a parameter that is a list in JSON, as rows to look in.
macro_rules! numbers {
    ($list:literal) => {
        concat!("(SELECT value FROM json_each(", $list, "))")
    };
}
pub(in crate::store) use numbers;

/// The texts of a parameter that is a list in JSON, as a table with the columns `key` (its place, from 0) and `value`.
macro_rules! text_rows {
    ($list:literal) => {
        concat!("json_each(", $list, ")")
    };
}
pub(in crate::store) use text_rows;

/// The whole numbers of a parameter that is a list in JSON, as a table with the columns `key` (its place, from 0) and `value`.
macro_rules! number_rows {
    ($list:literal) => {
        concat!("json_each(", $list, ")")
    };
}
pub(in crate::store) use number_rows;
