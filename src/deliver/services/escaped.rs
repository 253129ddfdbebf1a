//! A text in a service's own writing, as long as the service takes it.

/// The text with each character written as `escape` writes it, in at most `units_max` UTF-16 units: services count
/// characters, code points or these, and no count is higher. What does not fit is cut between two characters, never
/// inside an escape, and ends in `…`.
pub(crate) fn escaped(text: &str, units_max: usize, escape: impl Fn(char, &mut String)) -> String {
    let (mut kept, mut units, mut room) = (String::new(), 0, 0);
    let mut piece = String::new();
    for c in text.chars() {
        piece.clear();
        escape(c, &mut piece);
        units += piece.encode_utf16().count();
        if units > units_max {
            kept.truncate(room);
            kept.push('…');
            return kept;
        }
        kept.push_str(&piece);
        if units < units_max {
            room = kept.len();
        }
    }
    kept
}

/// Parts a mark that services act on from what follows it, by a space of no width.
pub(crate) fn parted(mark: char, into: &mut String) {
    into.push(mark);
    into.push('\u{200B}');
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_text_is_cut_between_its_characters() {
        let entity = |c: char, into: &mut String| if c == '&' { into.push_str("&amp;") } else { into.push(c) };
        let rows = [
            ("a&b", 7, "a&amp;b", "exactly as long as allowed"),
            ("a&b", 6, "a…", "an escape is kept whole or not at all, and the mark of a cut has its place"),
            ("&&", 5, "…", "also where nothing is left"),
            ("a😀b", 4, "a😀b", "a character outside the first plane counts twice"),
            ("a😀b", 3, "a…", "as those services count it that count most"),
            ("", 0, "", "nothing stays nothing"),
        ];
        for (text, max, expected, sentence) in rows {
            let found = escaped(text, max, entity);
            assert_eq!(found, expected, "{sentence}");
            assert!(found.encode_utf16().count() <= max, "{sentence}");
        }
    }
}
