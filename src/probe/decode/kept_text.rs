//! What is kept of an answer of which only the text tells anything: a name by which it is known again, how long it is,
//! and how it begins.
//!
//! The name is of the text as it came, so that any change shows; what is kept to be read is bounded and has none of our
//! secrets in it.

use sha2::{Digest as _, Sha256};

use crate::domain::answer::{Answer, KeptText, TEXT_NAME};
use crate::untrusted_text::{Scrub, laid_out};

/// Bytes kept of how a text begins: enough for two texts to be compared by a person.
pub(crate) const KEPT_BYTES_MAX: usize = 8 * 1024;

/// Bytes of the hash that a name has: nobody finds two texts of one name.
const NAME_BYTES: usize = 16;

/// None where there is a list of results, or the text says that nothing was found.
pub(crate) fn kept_text(answer: &Answer, scrub: &Scrub) -> Option<KeptText> {
    let text = answer.text.as_deref().filter(|_| answer.text_only)?;
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let begins = &text[..scrub.cut(text, KEPT_BYTES_MAX)];
    Some(KeptText {
        name: format!("{TEXT_NAME}{}", hex::encode(&hash[..NAME_BYTES])).into(),
        bytes: text.len() as u64,
        chars: u32::try_from(text.chars().count()).unwrap_or(u32::MAX),
        begins: laid_out(&scrub.hidden(begins), KEPT_BYTES_MAX).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, text_only: bool) -> Option<KeptText> {
        let answer = Answer { text: Some(text.into()), text_only, ..Answer::default() };
        kept_text(&answer, &Scrub::new(["tok-12345".to_owned()]))
    }

    #[test]
    fn a_text_is_known_again_and_shows_no_secret() {
        let text = kept("# Boilers\nfor tok-12345 only", true).unwrap();
        assert_eq!(&*text.begins, "# Boilers\nfor ••• only");
        assert_eq!((text.bytes, text.chars), (28, 28), "the whole, as it came");
        assert_eq!(kept("abc", true).unwrap().name.as_ref(), "text:ba7816bf8f01cfea414140de5dae2223");
        assert_ne!(kept("abd", true).unwrap().name, kept("abc", true).unwrap().name, "any change is another text");
        assert_eq!(kept("abc", false), None, "a list of results tells more");
        assert_eq!(kept_text(&Answer { text_only: true, ..Answer::default() }, &Scrub::default()), None);
    }

    #[test]
    fn of_a_long_text_the_first_8_kb_are_kept() {
        let within = |at: usize| format!("{}tok-12345 and more", "x".repeat(at));
        let rows = [
            ("x".repeat(KEPT_BYTES_MAX), KEPT_BYTES_MAX, "just as long as is kept"),
            ("x".repeat(KEPT_BYTES_MAX + 1), KEPT_BYTES_MAX, "longer"),
            ("検".repeat(KEPT_BYTES_MAX), KEPT_BYTES_MAX - 2, "cut between characters"),
            ("\u{7}".repeat(KEPT_BYTES_MAX), KEPT_BYTES_MAX / 5 * 5, "escapes take room as well"),
            (within(KEPT_BYTES_MAX - 5), KEPT_BYTES_MAX - 5, "a secret across the end"),
        ];
        for (text, expected, sentence) in rows {
            let kept = kept(&text, true).unwrap();
            assert_eq!((kept.begins.len(), kept.bytes), (expected, text.len() as u64), "{sentence}");
        }
    }
}
