//! What is said of a file or of the form it has: its JSON Schema, what each key is for, and what a change of it would change.

pub mod schema;
pub(super) mod changes;
pub mod plan;
