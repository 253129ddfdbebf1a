//! Vectors in a Chroma server; words, facts and the index's count of changes in an SQLite file beside the project.
//!
//! Chroma gets keys and vectors and nothing else. In the file stands, in each vector's place, its length: so the file
//! knows which chunks have a vector, and `ledger` which vectors Chroma may have besides. New vectors go to Chroma
//! first, then one transaction of the file shows the new source, then the old vectors go: whoever is killed between two
//! of these leaves the old source or the new one, and vectors that nobody finds until the next write takes them away.

pub mod options;
pub mod client;
pub mod ledger;
pub mod places;
pub mod nearest;
pub mod writing;
pub mod reading;
pub mod cache;
pub mod open;
