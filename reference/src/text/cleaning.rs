//! Texts on their way in, without what must not be kept.

use std::borrow::Cow;

/// A text without its secrets, and how many were taken out. Without the feature `secrets` it is the text itself.
pub fn cleaned(text: &str) -> (Cow<'_, str>, usize) {
    #[cfg(feature = "secrets")]
    {
        let clean = crate::text::secrets::redact(text);
        (clean.text, clean.found.len())
    }
    #[cfg(not(feature = "secrets"))]
    (Cow::Borrowed(text), 0)
}
