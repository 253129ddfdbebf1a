//! The methods beyond prose by its headings, and summaries of long documents.

pub(super) mod fixed;
pub(super) mod methods;

mod code;
mod summary;
mod topics;
