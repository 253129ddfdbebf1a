//! Byte offsets of a text as character offsets, which is what callers count in.

/// Bytes between two marks: a look-up reads at most so many, a text of 200 kB keeps under a thousand.
const STRIDE_BYTES: usize = 256;

/// Marks along a text, so that an offset far behind needs no count from the start.
#[derive(Debug)]
pub(crate) struct Offsets<'a> {
    text: &'a str,
    /// Characters that begin before each multiple of the stride.
    marks: Vec<usize>,
}

impl<'a> Offsets<'a> {
    /// Reads the text once.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut marks = vec![0];
        let mut total = 0;
        for stretch in text.as_bytes().chunks(STRIDE_BYTES) {
            total += begins(stretch);
            marks.push(total);
        }
        Self { text, marks }
    }

    /// Characters before a byte offset, which must lie between characters.
    pub(crate) fn characters(&self, byte: usize) -> usize {
        let mark = byte / STRIDE_BYTES;
        self.marks[mark] + begins(&self.text.as_bytes()[mark * STRIDE_BYTES..byte])
    }
}

/// Characters that begin in these bytes: all bytes but the continuations of UTF-8.
fn begins(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str) {
        let offsets = Offsets::new(text);
        let bytes = text.char_indices().map(|(byte, _)| byte).chain([text.len()]);
        for (character, byte) in bytes.enumerate() {
            assert_eq!(offsets.characters(byte), character, "{says}, byte {byte}");
        }
    }

    #[test]
    fn bytes_become_characters() {
        check("nothing", "");
        check("narrow letters", &"plain ".repeat(100));
        check("letters of every width, across the marks", &"aé漢🙂".repeat(100));
        check("an end that falls on a mark", &"x".repeat(STRIDE_BYTES * 2));
    }
}
