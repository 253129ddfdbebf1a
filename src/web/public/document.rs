//! What is sent of the public side, ready to be sent.

use axum::body::Bytes;
use sha2::{Digest as _, Sha256};

/// A page, a feed, a picture or JSON.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub content_type: &'static str,
    pub body: Bytes,
    /// As `ETag` has it: what is in the body, hashed.
    pub etag: String,
}

impl Document {
    pub(crate) fn new(content_type: &'static str, body: String) -> Self {
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(body.as_bytes())[..12]));
        Self { content_type, body: Bytes::from(body), etag }
    }
}
