//! What was probably meant where a text is no YAML: the mend that is named beside the parser's own words.

/// The mend for a fault at byte `at` of a text.
pub(super) fn mend(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let above = text[..start].lines().rev().find(|line| !is_empty(line)).unwrap_or_default();
    let (before, behind) = (&text[start..at], &text[at..]);
    if before.ends_with('$') && behind.starts_with('{') {
        return "inside `{ }` and `[ ]` a reference needs quotes: `\"${env:NAME}\"`".to_owned();
    }
    let below = text[start..].lines().nth(1).unwrap_or_default();
    let is_tabbed = |line: &str| line.chars().take_while(|letter| letter.is_whitespace()).any(|letter| letter == '\t');
    // The parser names the value that it was reading, which ends where the tab stands.
    if is_tabbed(line) || is_tabbed(below) {
        return "indent with blanks: YAML takes no tabs".to_owned();
    }
    if behind.starts_with(':') && before.contains(": ") {
        let key = before.rsplit_once(": ").map_or(before, |(key, _)| key);
        let key = key.rsplit(['{', ',', '[']).next().unwrap_or_default().trim().trim_start_matches("- ");
        return format!("a text with a colon and a blank in it needs quotes: `{key}: \"…: …\"`");
    }
    if let Some(key) = glued(line) {
        return format!("`{key}:` needs a blank behind its colon");
    }
    if behind.starts_with(['@', '`', '%', '&', '*', '!', '|', '>', '\'', '"']) && before.trim_end().ends_with(':') {
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
    let value = line.split_once(": ").map_or(line, |(_, value)| value).trim();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    (value.matches(quote).count() % 2 == 1).then_some(quote)
}
