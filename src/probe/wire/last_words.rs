//! What a program says on standard error: the end of it is kept, and of that the most telling is quoted.
//!
//! A program that dies says why and then, line by line, where. The line that tells why is quoted first, then as much of
//! the end as has room. However much it says, [`KEPT_BYTES_MAX`] of it are kept.

use std::collections::VecDeque;

use crate::untrusted_text::{Scrub, excerpt};

/// Bytes of it that are kept: the last words, and the cause above the stack.
const KEPT_BYTES_MAX: usize = 8 * 1024;

/// Characters of it in a fault's one line, which holds 300 and says how the program ended before it.
const QUOTED_CHARS_MAX: usize = 180;

/// What follows the cause is left out where there is room for less than a few words of it.
const REST_CHARS_MIN: usize = 30;

/// Its last lines that are notes of the step; the cause comes besides, where it stands above them.
const NOTED_LINES_MAX: usize = 6;

/// A line with one of these tells more than those around it.
const TELLING: [&str; 5] = ["error", "exception", "fatal", "cannot", "panic"];

/// The end of what a program said on standard error.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    kept: VecDeque<u8>,
    /// Whether something was said before it.
    is_cut: bool,
}

impl LastWords {
    /// Takes what it says next.
    pub(super) fn hear(&mut self, said: &[u8]) {
        self.kept.extend(said);
        let over = self.kept.len().saturating_sub(KEPT_BYTES_MAX);
        self.is_cut |= over > 0;
        self.kept.drain(..over);
    }

    /// In one bounded line without secrets: the cause, where one is told, then the end. Empty where nothing was said.
    pub(super) fn quoted(&self, scrub: &Scrub) -> String {
        let lines = self.lines(scrub);
        let Some(nth) = lines.iter().position(|line| is_telling(line)) else {
            return ending(&lines.join(" "), QUOTED_CHARS_MAX);
        };
        let cause = beginning(&lines[nth], QUOTED_CHARS_MAX);
        let rest = lines[nth + 1..].join(" ");
        let room = QUOTED_CHARS_MAX.saturating_sub(cause.chars().count());
        if rest.is_empty() || room < REST_CHARS_MIN { cause } else { format!("{cause} {}", ending(&rest, room)) }
    }

    /// The cause, where it stands above them, and its last lines.
    pub(super) fn noted(&self, scrub: &Scrub) -> Vec<String> {
        let lines = self.lines(scrub);
        let (before, last) = lines.split_at(lines.len().saturating_sub(NOTED_LINES_MAX));
        let cause = before.iter().find(|line| is_telling(line));
        cause.into_iter().chain(last).cloned().collect()
    }

    /// Its lines that are not blank, without secrets and control characters.
    fn lines(&self, scrub: &Scrub) -> Vec<String> {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        let said = String::from_utf8_lossy(&bytes);
        // In all of it, since one may have several lines.
        let hidden = scrub.hidden(&said);
        let whole = if self.is_cut { behind_the_cut(&hidden, scrub.longest()) } else { &*hidden };
        // Without what stood inside it, such as a control character, a secret may show that did not before.
        let lines = whole.lines().map(|line| scrub.hidden(&excerpt(line, line.len())).into_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }
}

/// A text that lost its beginning, from where no part of a secret can stand that was cut through; from a whole line on,
/// where there is one.
fn behind_the_cut(text: &str, secret_bytes_max: usize) -> &str {
    let rest = &text[text.ceil_char_boundary(secret_bytes_max.min(text.len()))..];
    rest.split_once('\n').map_or(rest, |(_, whole)| whole)
}

fn is_telling(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    TELLING.iter().any(|word| line.contains(word))
}

/// The first words of a text, at most so many characters; one word that fills them all is cut.
fn beginning(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let (kept, rest) = text.split_at(end);
    let is_whole = rest.starts_with(' ');
    let words = if is_whole { kept } else { kept.rsplit_once(' ').map_or(kept, |(words, _)| words) };
    format!("{}…", words.trim_end())
}

/// The last words of a text, likewise.
fn ending(text: &str, chars_max: usize) -> String {
    let Some(over) = text.chars().count().checked_sub(chars_max).filter(|over| *over > 0) else {
        return text.to_owned();
    };
    let from = text.char_indices().nth(over).map_or(text.len(), |(at, _)| at);
    let (left_out, kept) = text.split_at(from);
    let is_whole = left_out.ends_with(' ');
    let words = if is_whole { kept } else { kept.split_once(' ').map_or(kept, |(_, words)| words) };
    format!("… {}", words.trim_start())
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES_MAX, LastWords, QUOTED_CHARS_MAX, beginning, ending};
    use crate::untrusted_text::Scrub;

    fn heard(said: &str) -> LastWords {
        let mut words = LastWords::default();
        // As it comes, in pieces.
        said.as_bytes().chunks(7).for_each(|piece| words.hear(piece));
        words
    }

    #[test]
    fn the_line_that_tells_why_comes_before_the_end() {
        let node = "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/nope.js'\n"
            .to_owned()
            + &"    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)\n".repeat(9)
            + "  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.11.0\n";
        let rows: [(&str, &str, &str, &str); 6] = [
            (&*node, "Error: Cannot find module '/nope.js' … ", "requireStack: [] } Node.js v22.11.0", "node"),
            ("out of\n  memory\n", "out of memory", "out of memory", "nothing that tells more: the end, as one line"),
            ("a\nPANIC: no disk\n", "PANIC: no disk", "PANIC: no disk", "in any case, and last"),
            ("fatal: a\nerror: b\n", "fatal: a error: b", "fatal: a error: b", "the first of two, the rest has room"),
            ("tok-12\u{7}345 is no token: error", "••• is", "error", "a secret that shows without its bell"),
            ("", "", "", "nothing"),
        ];
        for (said, begins, ends, sentence) in rows {
            let quoted = heard(said).quoted(&Scrub::new(["tok-12345".to_owned()]));
            assert!(quoted.starts_with(begins) && quoted.ends_with(ends), "{sentence}: {quoted}");
            assert!(!quoted.contains(['\n', '\\']), "{sentence}: {quoted}");
            assert!(quoted.chars().count() <= QUOTED_CHARS_MAX + 3, "{sentence}: {quoted}");
        }
        let noted = heard(&node).noted(&Scrub::default());
        assert_eq!((noted.len(), &*noted[0]), (7, "Error: Cannot find module '/nope.js'"), "above the last lines");
        assert_eq!(heard("error: a\nb\n").noted(&Scrub::default()), ["error: a", "b"], "once");
    }

    #[test]
    fn a_talkative_program_fills_no_memory_and_a_secret_that_was_cut_through_is_not_shown() {
        let scrub = Scrub::new(["tok-12345".to_owned()]);
        // What is kept begins within the secret: the first 4 of its bytes are lost.
        for (gap, sentence) in [(" ", "one line"), ("\n", "several")] {
            let tail = "12345 error: no disk".to_owned() + gap;
            let filled = tail.clone() + &"x".repeat(KEPT_BYTES_MAX - tail.len());
            let words = heard(&format!("{}tok-{filled}", "y".repeat(99)));
            assert_eq!(words.kept.len(), KEPT_BYTES_MAX, "{sentence}");
            let quoted = words.quoted(&scrub);
            assert!(!quoted.contains("345"), "{sentence}: {quoted}");
        }
        let hostile = heard(&"error\u{1b}[2J\u{202e}\r".repeat(99_999));
        assert!(hostile.quoted(&scrub).chars().all(|c| !c.is_control() && c != '\u{202e}'));
        assert!(hostile.quoted(&scrub).chars().count() <= QUOTED_CHARS_MAX + 3);
    }

    #[test]
    fn a_quotation_is_cut_at_whole_words() {
        let rows = [
            ("one two three", 20, "one two three", "one two three"),
            ("one two three", 7, "one two…", "… three"),
            ("one two three", 5, "one…", "… three"),
            ("one two three", 6, "one…", "… three"),
            ("öne", 2, "ön…", "… ne"),
        ];
        for (text, chars, first, last) in rows {
            assert_eq!((&*beginning(text, chars), &*ending(text, chars)), (first, last), "{text} {chars}");
        }
    }
}
