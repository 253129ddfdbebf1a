//! contract.
