//! Cuts documents into chunks.

pub mod markdown;
