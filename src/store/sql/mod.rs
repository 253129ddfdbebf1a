//! One text a statement, whichever database reads it: SQLite in a file, or PostgreSQL on a server.
//!
//! Read `statement` (a text and its values), then `value` and `row` (what goes in and comes out), `connection` (where to),
//! `rows` (many rows in few statements),
//! `columns` (how a server is given them), `transaction` (how what is written together begins) and `dialect` (what one database alone understands).

pub(in crate::store) mod value;
pub(in crate::store) mod row;
pub(in crate::store) mod connection;
pub(in crate::store) mod statement;
pub(in crate::store) mod rows;
mod columns;
pub(in crate::store) mod transaction;
pub(in crate::store) mod dialect;
