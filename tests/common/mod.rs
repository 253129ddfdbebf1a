//! Values with every field, said once: a test changes what it is about and takes the rest from here.
//!
//! Every program of tests may take the folder as its module `common`, and use of it what it needs.

pub(crate) mod beats;
pub(crate) mod databases;
pub(crate) mod monitors;
pub(crate) mod paging;
