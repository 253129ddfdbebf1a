//! A PostgreSQL server as the place of the database: which one of several takes writes, and its tables.
//!
//! Read `connecting` (to whom, and how long anything may take), then `schema` (its tables) and `home` (that it is ours).

pub(in crate::store) mod connecting;
pub(in crate::store) mod schema;
pub(in crate::store) mod leases;
pub(in crate::store) mod decisions;
pub(in crate::store) mod home;
