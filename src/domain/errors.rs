//! errors.
