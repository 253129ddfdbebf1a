//! What strangers say, made fit for a log line, an error and a terminal.

use std::error::Error as _;

/// Of what a refusing server says, as much is read and shown.
const SAID_CHARS_MAX: usize = 200;

/// The chain of causes as one line. The outermost text is left out: it holds the address.
pub fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return if error.is_connect() { "no connection in time" } else { "no whole answer in time" }.to_owned();
    }
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    if causes.is_empty() { "the request failed".to_owned() } else { line(&causes.join(": ")) }
}

/// A stranger's text as one plain line of bounded length.
pub fn line(text: &str) -> String {
    one_line(text, SAID_CHARS_MAX)
}

/// A stranger's text as one plain line of so many characters at most.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(chars_max).collect()
}

/// Marks that turn or hide the text around them: a terminal and a log would be misled.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
