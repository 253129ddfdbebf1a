//! The text layer of a PDF.
//!
//! The parser is a library's, which bounds depth and circles; what is inflated is counted before it is given anything.
//! `document` takes it page after page: `page` what stands where in which `font`, `layout` the lines of that.

pub mod document;
mod font;
mod inflation;
mod layout;
mod page;
mod stream;
