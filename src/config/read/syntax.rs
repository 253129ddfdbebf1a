//! What was probably meant where a text is no YAML: the mend that is named beside the parser's own words.

/// Where a fault is to be mended that the parser sees at byte `at`: it names the value that it was reading, and what
/// ends that value is a tab on the line below.
pub(super) fn place(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    for (nth, line) in text[start..].split_inclusive('\n').enumerate() {
        if let Some(tab) = indenting_tab(line).filter(|_| nth == 0 || !is_empty(line)) {
            return start + tab;
        }
        if nth > 0 && !is_empty(line) {
            break;
        }
        start += line.len();
    }
    at
}

/// The mend for a fault at byte `at` of a text, which is its [`place`].
pub(super) fn mend(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let above = text[..start].lines().rev().find(|line| !is_empty(line)).unwrap_or_default();
    let (before, behind) = (&text[start..at], &text[at..]);
    if before.ends_with('$') && behind.starts_with('{') {
        return "inside `{ }` and `[ ]` a reference needs quotes: `\"${env:NAME}\"`".to_owned();
    }
    if indenting_tab(line).is_some() {
        return "indent with blanks: YAML takes no tabs".to_owned();
    }
    if let Some(mend) = quoted_wrongly(behind) {
        return mend;
    }
    if behind.starts_with(':') && before.contains(": ") {
        let key = before.rsplit_once(": ").map_or(before, |(key, _)| key);
        let key = key.rsplit(['{', ',', '[']).next().unwrap_or_default().trim().trim_start_matches("- ");
        return format!("a text with a colon and a blank in it needs quotes: `{key}: \"…: …\"`");
    }
    if let Some(key) = glued(line) {
        return format!("`{key}:` needs a blank behind its colon");
    }
    if behind.starts_with(['@', '`', '%', '&', '*', '!', '|', '>']) && before.trim_end().ends_with(':') {
        return "a text that begins with this character needs quotes around it".to_owned();
    }
    if let Some(quote) = open_quote(above) {
        return format!("the {quote} of the line above is never closed");
    }
    if above.matches(['{', '[']).count() > above.matches(['}', ']']).count() {
        return "the bracket of the line above is not closed".to_owned();
    }
    let (depth, upper) = (indent(line), indent(above));
    if depth != upper && line.contains(':') {
        return format!(
            "this line is indented by {depth}, the one above by {upper}: keys of one map stand exactly below each other"
        );
    }
    "the rest of the file is checked once this can be read".to_owned()
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Where a tab stands before a line's first word, in bytes.
fn indenting_tab(line: &str) -> Option<usize> {
    line[..line.len() - line.trim_start().len()].find('\t')
}

/// The mend for a text in quotes with which `behind` begins: it has no end, or an escape that there is not.
fn quoted_wrongly(behind: &str) -> Option<String> {
    let quote = behind.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    // Quotes that are part of the text do not end it.
    let rest = match quote {
        '"' => behind[1..].replace(r"\\", "").replace("\\\"", ""),
        _ => behind[1..].replace("''", ""),
    };
    match rest.split_once(quote) {
        None => Some(format!("this {quote} is never closed: put another one where its text ends")),
        Some((text, _)) if quote == '"' && text.contains('\\') => {
            Some("between \" a backslash begins an escape: write two of them, or put the text between '".to_owned())
        }
        Some(_) => None,
    }
}

/// Columns before a line's first key; the dash of a list's item counts as blank, since keys stand behind it.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

/// The key of a line such as `url:https://…`.
fn glued(line: &str) -> Option<&str> {
    let (key, value) = line.trim_start_matches([' ', '-']).split_once(':')?;
    let is_word = !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_word && !value.is_empty() && !value.starts_with([' ', '\t'])).then_some(key)
}

/// The quote that a line's value begins with and does not end with.
fn open_quote(line: &str) -> Option<char> {
    let value = line.split_once(": ").map_or(line, |(_, value)| value).trim_start_matches([' ', '-']).trim_end();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    (value.matches(quote).count() % 2 == 1).then_some(quote)
}
