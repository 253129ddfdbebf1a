//! Where sentences end.
//!
//! By Unicode's rules (UAX #29), with two corrections: a line that breaks inside a sentence does not
//! end it, and neither does an abbreviation.

use unicode_segmentation::UnicodeSegmentation;

/// What ends in a dot without ending a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx.", "no.", "fig.", "dr.", "mr.", "ms."];
/// What ends a sentence, in the scripts that have a sign of their own for it.
const TERMINATORS: &[char] = &['.', '!', '?', '…', '。', '！', '？', '．', '؟', '۔', '।', '።', ':'];
/// What may stand behind it.
const CLOSERS: &[char] = &['"', '\'', ')', ']', '}', '»', '”', '’', '*', '_', '`', '」', '』', '）'];
/// Bytes read at a time: Unicode's rules look ahead over runs of blanks and dots, which a text can make
/// as long as itself. No sentence worth keeping whole is longer.
const WINDOW_BYTES: usize = 2_048;

/// The sentences of a paragraph, as byte ranges that cover all of it.
pub(crate) fn split(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut window = start;
    while window < end {
        let stop = window_end(text, window, end);
        let mut from = window;
        let mut at = window;
        for sentence in text[window..stop].split_sentence_bounds() {
            at += sentence.len();
            if ends(sentence) {
                found.push((from, at));
                from = at;
            }
        }
        if from < stop {
            found.push((from, stop));
        }
        window = stop;
    }
    found
}

/// Where to stop reading: the end, or the last space or character within the window.
fn window_end(text: &str, start: usize, end: usize) -> usize {
    if end - start <= WINDOW_BYTES {
        return end;
    }
    let limit = text.floor_char_boundary(start + WINDOW_BYTES);
    let space = text[start..limit].char_indices().rfind(|(_, c)| c.is_whitespace());
    space.map_or(limit, |(at, c)| start + at + c.len_utf8())
}

fn ends(sentence: &str) -> bool {
    let bare = sentence.trim_end();
    let last_word = bare.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches(['(', '[']);
    bare.trim_end_matches(CLOSERS).ends_with(TERMINATORS)
        && !ABBREVIATIONS.iter().any(|short| last_word.eq_ignore_ascii_case(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: &[&str]) {
        let got: Vec<&str> =
            split(text, 0, text.len()).into_iter().map(|(start, end)| text[start..end].trim()).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        check("dots end them", "One. Two! Three?", &["One.", "Two!", "Three?"]);
        check("an abbreviation does not", "See e.g. This one. Yes.", &["See e.g. This one.", "Yes."]);
        check("a broken line does not", "One goes\non here. Two.", &["One goes\non here.", "Two."]);
        check("a number does not", "Version 2.5 is out. Good.", &["Version 2.5 is out.", "Good."]);
        check("quotes stay with theirs", "\"One.\" Two.", &["\"One.\"", "Two."]);
        check("Chinese needs no space", "一。二！三", &["一。", "二！", "三"]);
        check("Arabic has its own mark", "كيف؟ نعم.", &["كيف؟", "نعم."]);
        check("a rest without a dot is one", "One. two", &["One. two"]);
    }

    #[test]
    fn nothing_is_lost_in_long_runs() {
        for hostile in [". ".repeat(9_000), format!(".{}", " ".repeat(9_000)), "x".repeat(9_000), ".)".repeat(9_000)] {
            let ranges = split(&hostile, 0, hostile.len());
            assert_eq!(ranges.iter().map(|(start, end)| end - start).sum::<usize>(), hostile.len());
        }
    }
}
