//! The database file: who has it, its tables, whether it is sound, a copy, and back.

pub(crate) mod private;
pub(crate) mod held;
pub(in crate::store) mod home;
pub(in crate::store) mod schema;
pub(crate) mod integrity;
pub mod backup;
pub mod restore;
