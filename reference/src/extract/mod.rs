//! Texts out of documents of other programs: web pages, PDF, DOCX. What comes out is Markdown, so that headings cut.
//!
//! A file is hostile until it is read. Everything it can make large has a limit here; what is over one, and what cannot
//! be read, is refused with the reason and the mend, and whoever brings many files goes on to the next. Read it so:
//!
//! 1. `limits`, `refusal` why there is no text, `budget` what is left, and the moment at which a reader gives up
//! 2. `written` Markdown as it is written, line by line
//! 3. `letters` bytes and names of glyphs as letters
//! 4. `html`, `docx`, `pdf` the readers
//! 5. `kind` which of them a document wants
//! 6. `thread` a reader apart from everybody else: it may panic, or take too long

pub mod budget;
pub mod docx;
pub mod html;
pub mod kind;
pub mod letters;
pub mod limits;
pub mod pdf;
pub mod refusal;
pub mod thread;
pub mod written;
