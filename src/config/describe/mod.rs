//! What is said of a file or of the form it has: its JSON Schema, what each key is for, what a change of it would change, and the lock as it is written.

pub mod schema;
pub(crate) mod changes;
pub mod plan;
pub mod lock;
pub mod listed_file;
