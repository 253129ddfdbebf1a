//! The database file: who has it, its tables, those who read it, whether it is sound, a copy, and back.

pub mod private;
pub mod held;
pub(in crate::store) mod schema;
pub mod readers;
pub mod integrity;
pub mod backup;
pub mod restore;
