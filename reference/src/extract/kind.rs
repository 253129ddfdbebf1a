//! What a document is, by what its server says, by its name, and by its first bytes.

use std::borrow::Cow;

use crate::extract::budget::Budget;
use crate::extract::refusal::Refusal;
use crate::extract::{docx, html, pdf};

/// Bytes at the head of a file in which a PDF begins, as its readers have it.
const HEAD: usize = 1_024;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Letters as they are: Markdown, code, anything else that is no other kind.
    Text,
    /// A web page.
    Html,
    /// A PDF.
    Pdf,
    /// A document of Word and its like.
    Docx,
}

impl Kind {
    /// By the media type where a server gave one that says it, else by the name, else by the first bytes.
    pub fn of(name: &str, media_type: Option<&str>, bytes: &[u8]) -> Self {
        let media_type = media_type.and_then(|given| given.split(';').next()).map(|given| given.trim().to_lowercase());
        match media_type.as_deref() {
            Some("text/html" | "application/xhtml+xml") => return Self::Html,
            Some("application/pdf" | "application/x-pdf") => return Self::Pdf,
            Some("application/vnd.openxmlformats-officedocument.wordprocessingml.document") => return Self::Docx,
            Some(other) if other.starts_with("text/") => return Self::Text,
            _ => {}
        }
        // Of an address: what stands behind the path is no ending.
        let path = name.split(['?', '#']).next().unwrap_or_default().to_lowercase();
        let file = path.rsplit('/').next().unwrap_or_default();
        match file.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("pdf") => Self::Pdf,
            Some("docx" | "docm") => Self::Docx,
            _ if head(bytes).windows(5).any(|window| window == b"%PDF-") && bytes.contains(&0) => Self::Pdf,
            _ => Self::Text,
        }
    }

    /// The kind of source it makes, where nobody says another; `None` for a text, which may be any.
    pub const fn source_type(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Html => Some("html"),
            Self::Pdf => Some("pdf"),
            Self::Docx => Some("docx"),
        }
    }

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "HTML",
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
        }
    }

    /// Its text, read here and now; `thread` does it apart.
    ///
    /// # Errors
    /// Why there is none.
    pub fn text<'b>(self, bytes: &'b [u8], budget: &mut Budget) -> Result<Cow<'b, str>, Refusal> {
        match self {
            Self::Text => Ok(String::from_utf8_lossy(bytes)),
            Self::Html => html::text(bytes, budget).map(Cow::Owned),
            Self::Pdf => pdf::document::text(bytes, budget).map(Cow::Owned),
            Self::Docx => docx::text(bytes, budget).map(Cow::Owned),
        }
    }
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..HEAD).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_what_its_server_name_or_bytes_say() {
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        for (says, name, media_type, bytes, expected) in [
            ("by its ending", "a/b.html", None, &b""[..], Kind::Html),
            ("in capitals", "A.PDF", None, b"", Kind::Pdf),
            ("another", "a.docx", None, b"", Kind::Docx),
            ("a text", "a.md", None, b"# a", Kind::Text),
            ("the server knows best", "https://a/b.pdf", Some("text/html; charset=utf-8"), b"", Kind::Html),
            ("a page without ending", "https://a/b/", Some("Text/HTML"), b"", Kind::Html),
            ("what it calls a text is one", "https://a/b.html", Some("text/plain"), b"", Kind::Text),
            ("a server that says nothing", "https://a/b.pdf?x=1.txt", Some("application/octet-stream"), b"", Kind::Pdf),
            ("by media type", "https://a/b", Some(docx), b"", Kind::Docx),
            ("by its head", "manual", None, b"%PDF-1.4\n\0", Kind::Pdf),
            ("a text about PDF", "pdf.md", None, b"%PDF- is how one begins", Kind::Text),
        ] {
            assert_eq!(Kind::of(name, media_type, bytes), expected, "{says}");
        }
    }
}
