//! Text from outside, made plain: one bounded line that shows itself and nothing else.

/// One line of at most `chars_max` characters, without control characters and without the
/// invisible ones that turn or hide text (bidirectional overrides, zero-width joiners, tags).
///
/// Line ends become a space; a text that is too long ends in `…`.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(chars_max * 2));
    let mut count = 0;
    let mut gap = false;
    for c in text.chars() {
        if is_gap(c) {
            gap = count > 0;
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        let needed = 1 + usize::from(gap);
        if count + needed > chars_max {
            while count >= chars_max && kept.pop().is_some() {
                count -= 1;
            }
            kept.push('…');
            break;
        }
        if gap {
            kept.push(' ');
            gap = false;
        }
        kept.push(c);
        count += needed;
    }
    kept
}

/// Characters that separate: white space, line ends of every script and all controls.
fn is_gap(c: char) -> bool {
    c.is_control() || c.is_whitespace()
}

/// Characters that a reader does not see and that change what he does see.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn hostile_text_becomes_one_plain_line() {
        let rows = [
            ("plain words", 40, "plain words", "plain text is left alone"),
            ("a\r\nBcc: x@y\n", 40, "a Bcc: x@y", "line ends become a space, the last one vanishes"),
            ("\u{1b}[31mred\u{7}", 40, "[31mred", "terminal escapes lose their escape"),
            ("abc\u{202e}cba", 40, "abccba", "a direction override is gone"),
            ("zero\u{200b}width", 40, "zerowidth", "zero-width characters are gone"),
            ("a\u{2028}b\u{85}c", 40, "a b c", "line ends of other scripts too"),
            ("</script><b>", 40, "</script><b>", "markup stays: whoever shows it escapes it"),
            ("0123456789", 10, "0123456789", "exactly as long as allowed"),
            ("0123456789x", 10, "012345678…", "one longer is cut and says so"),
            ("ééééé", 3, "éé…", "characters count, not bytes"),
            ("", 3, "", "nothing stays nothing"),
            ("\n\n", 3, "", "only line ends are nothing"),
        ];
        for (text, max, expected, sentence) in rows {
            let found = line(text, max);
            assert_eq!(found, expected, "{sentence}");
            assert!(found.chars().count() <= max, "{sentence}");
        }
    }
}
