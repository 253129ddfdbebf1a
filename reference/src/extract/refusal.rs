//! Why a document has no text for the index, and what is to be done.

use crate::extract::limits::{ENTITIES_MAX, FILE_BYTES_MAX, INFLATED_BYTES_MAX, PAGES_MAX, TEXT_BYTES_MAX, WITHIN};

/// Why. The words are the same for all files of a kind, so that a report can count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not what its name or type says, or no longer.
    #[error("damaged, or no {0} at all: save it anew from the program it comes from")]
    Damaged(&'static str),
    /// It wants a password.
    #[error("encrypted: save it without a password")]
    Encrypted,
    /// Pages, but no letters.
    #[error("no text layer, only pictures of pages: recognise their letters (OCR) first")]
    NoTextLayer,
    /// Letters that only its fonts can tell.
    #[error("its fonts do not say which letters they show: recognise them (OCR), or make the PDF anew")]
    NoLetters,
    /// Nothing in it.
    #[error("no text in this {0}: send what it says as a text")]
    NoText(&'static str),
    /// Too many bytes.
    #[error("larger than {FILE_BYTES_MAX} bytes: split it, or leave its pictures out")]
    File,
    /// Too many pages.
    #[error("more than {PAGES_MAX} pages: split it")]
    Pages,
    /// It grows when it is unpacked.
    #[error("it inflates to more than {INFLATED_BYTES_MAX} bytes: split it, or leave its pictures out")]
    Inflates,
    /// It is packed in a way whose size cannot be told beforehand.
    #[error("packed by old or nested filters, whose size nothing bounds: save it anew")]
    Filters,
    /// Markup that means nothing but work.
    #[error("more than {ENTITIES_MAX} pieces of markup: split it")]
    Entities,
    /// Too much text.
    #[error("more than {TEXT_BYTES_MAX} bytes of text: split it")]
    Text,
    /// It took too long.
    #[error("not read within {} seconds: split it", WITHIN.as_secs())]
    Slow,
    /// Readers that take too long are still at it.
    #[error("readers of other documents are still busy: try again in a minute")]
    Busy,
    /// Our fault.
    #[error("the reader of {0} broke off at it: send what it says as a text, and report the file")]
    Panicked(&'static str),
}
