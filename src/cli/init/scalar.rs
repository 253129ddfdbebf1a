//! Texts of strangers as YAML scalars: whatever a server said stays one text on one line.

/// Words that YAML reads as something else than a text.
const WORDS: [&str; 13] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "version", "merge"];

/// A text as a YAML value. References in it are written so that they stay text (`$${`).
pub(crate) fn text(text: &str) -> String {
    verbatim(&text.replace("${", "$${"))
}

/// A text as a YAML value, references left to be resolved.
pub(crate) fn verbatim(text: &str) -> String {
    let starts_well = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '.' | '/' | '-'));
    let alone = text.trim() == text && !WORDS.contains(&text.to_lowercase().as_str());
    if starts_well && plain && alone { text.to_owned() } else { quoted(text) }
}

/// In double quotes, everything that is not plainly printable as an escape.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if printable(c) => out.push(c),
            c if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// A text inside a comment: one line, bounded and then cut behind a whole word, nothing that could end it.
pub(crate) fn comment(text: &str) -> String {
    /// Characters of a comment that a person still reads.
    const CHARS_MAX: usize = 240;
    let line: String = text.chars().map(|c| if printable(c) { c } else { '�' }).take(CHARS_MAX).collect();
    match text.chars().nth(CHARS_MAX) {
        None => line,
        Some(' ') => line + "…",
        // One word that fills all of it is cut.
        Some(_) => line.rsplit_once(' ').map_or(&*line, |(whole, _)| whole).to_owned() + "…",
    }
}

/// What YAML takes as it is, and a terminal shows as it is.
fn printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        && !matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
        && !matches!(u32::from(c), 0xe0000..=0xe007f)
}

#[cfg(test)]
mod tests {
    use super::{comment, text, verbatim};

    #[test]
    fn a_strangers_text_stays_one_text() {
        let rows = [
            ("a plain text", "a plain text"),
            ("docs/a-b_c.md", "docs/a-b_c.md"),
            ("true", "\"true\""),
            ("4417", "\"4417\""),
            ("", "\"\""),
            (" a", "\" a\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("- a", "\"- a\""),
            ("say \"no\" \\", "\"say \\\"no\\\" \\\\\""),
            ("a\r\nb: c", "\"a\\u000d\\u000ab: c\""),
            ("\u{1b}[2J\u{85}\u{202e}", "\"\\u001b[2J\\u0085\\u202e\""),
            ("größe", "\"größe\""),
            ("${env:SECRET}", "\"$${env:SECRET}\""),
            ("$${env:SECRET}", "\"$$${env:SECRET}\""),
            ("\u{e0041}", "\"\\U000e0041\""),
        ];
        for (said, expected) in rows {
            assert_eq!(text(said), expected, "{said:?}");
        }
        assert_eq!(verbatim("${env:TOKEN}"), "\"${env:TOKEN}\"", "ours are resolved");
        assert_eq!(comment("a\nmonitors: []\u{2028}"), "a�monitors: []�");
        assert_eq!(comment(&"x".repeat(999)).chars().count(), 241, "and the mark of the cut");
        assert_eq!(comment(&"word ".repeat(99)), "word ".repeat(48).trim_end().to_owned() + "…", "behind a word");
    }
}
