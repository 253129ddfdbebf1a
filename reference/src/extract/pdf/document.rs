//! The text layer of a whole file, page after page.

use hayro_syntax::{LoadPdfError, Pdf};

use crate::extract::budget::Budget;
use crate::extract::limits::{PAGES_MAX, TEXT_BYTES_MAX};
use crate::extract::pdf::page::{self, Fonts, Run, Shown};
use crate::extract::pdf::{inflation, layout};
use crate::extract::refusal::Refusal;

/// Of its letters, how many may be unknown: one in so many.
const UNKNOWN_SHARE: usize = 3;

/// The text.
///
/// # Errors
/// `Encrypted`, `Damaged`, `NoTextLayer`, `NoLetters`, or the limit that it is over.
pub fn text(bytes: &[u8], budget: &mut Budget) -> Result<String, Refusal> {
    inflation::check(bytes, budget)?;
    let pdf = Pdf::new(bytes.to_vec()).map_err(|why| match why {
        LoadPdfError::Decryption(_) => Refusal::Encrypted,
        LoadPdfError::Invalid => Refusal::Damaged("PDF"),
    })?;
    let pages = pdf.pages();
    if pages.len() > PAGES_MAX {
        return Err(Refusal::Pages);
    }
    let (mut fonts, mut shown, mut read, mut text_bytes) = (Fonts::new(), Shown::default(), Vec::new(), 0);
    for page in pages.iter() {
        budget.in_time()?;
        page::read(page, &mut fonts, &mut shown, budget)?;
        let runs: Vec<Run> = std::mem::take(&mut shown.runs);
        text_bytes += runs.iter().map(|run| run.text.len()).sum::<usize>();
        if text_bytes > TEXT_BYTES_MAX {
            return Err(Refusal::Text);
        }
        read.push(runs);
    }
    if shown.unknown > shown.letters / UNKNOWN_SHARE {
        return Err(Refusal::NoLetters);
    }
    let text = layout::text(&read)?;
    match (text.is_empty(), pages.is_empty()) {
        (false, _) => Ok(text),
        (true, true) => Err(Refusal::Damaged("PDF")),
        (true, false) => Err(Refusal::NoTextLayer),
    }
}
