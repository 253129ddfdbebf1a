//! A store in PostgreSQL with pgvector, for an index beyond one machine.
//!
//! Words are postings of our own, so that BM25 is exact; vectors are found by HNSW, which is not, and
//! by a whole scan wherever HNSW would bring too few. Any number of servers may share one database:
//! writers queue behind one row, and readers never wait for them.

pub mod address;
pub mod cache;
pub mod fitting;
pub mod nearest;
pub mod open;
pub mod pool;
pub mod reading;
pub mod schema;
pub mod stems;
pub mod terms;
pub mod writing;
