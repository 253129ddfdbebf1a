//! What one document may cost.

use std::time::Duration;

/// Bytes of a file; a manual with pictures. What inflates is bounded for itself.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// Pages of a PDF; the longest text that is indexed has some hundred.
pub const PAGES_MAX: usize = 2_000;
/// Bytes that a file may inflate to, all its parts together: a manual's pictures at 300 dots an inch.
pub const INFLATED_BYTES_MAX: usize = 128 << 20;
/// Bytes of text, some twenty times what one document of the index has.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Tags, tokens and operators of a document: at some 100 ns each, what the time allows.
pub const ENTITIES_MAX: usize = 20_000_000;
/// How long a reader may take.
pub const WITHIN: Duration = Duration::from_secs(20);
