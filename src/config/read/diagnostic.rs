//! What is wrong with a file, where, and how to mend it: all of it at once, in the order of the file.
//! What is gathered is kept for how it is drawn beside the lines, which is why both stay in this file.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};

/// Faults shown; a person mends the first ones and looks again.
pub const DIAGNOSTICS_SHOWN_MAX: usize = 50;
/// Faults remembered; a file that is wrong throughout costs no memory beyond.
const DIAGNOSTICS_KEPT_MAX: usize = 2_000;
/// A longer line is named and not shown.
const LINE_SHOWN_BYTES_MAX: usize = 400;
/// Longer texts from the file are cut in a message.
const QUOTED_CHARS_MAX: usize = 80;

/// A stretch of what was read, in bytes, and the line it starts on. Bytes and lines are numbered through all files,
/// the first one from byte 0 and line 1, so that a place needs no file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::config) struct TextSpan {
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// One file's text and where it stands among all that were read.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct Text<'a> {
    /// The file's name as faults show it.
    pub name: &'a str,
    pub text: &'a str,
    /// The number of its first byte.
    pub start: u32,
    /// The number of its first line.
    pub line: u32,
}

impl<'a> Text<'a> {
    /// Numbered from byte 0 and line 1, as the file that Serin is started with.
    pub(in crate::config) fn first(name: &'a str, text: &'a str) -> Self {
        Self { name, text, start: 0, line: 1 }
    }

    /// The text of the file that follows this one. A byte lies between the two, so that the end of one is no start of the other.
    pub(in crate::config) fn followed_by(&self, name: &'a str, text: &'a str) -> Self {
        let bytes = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let start = self.start.saturating_add(bytes).saturating_add(1);
        Self { name, text, start, line: self.line.saturating_add(lines(self.text)) }
    }

    /// The place before its first character.
    pub(in crate::config) fn top(&self) -> TextSpan {
        TextSpan { start: self.start, end: self.start, line: self.line }
    }
}

/// Lines of a text; one that ends with a line break has an empty one behind it.
pub(in crate::config) fn lines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count() + 1).unwrap_or(u32::MAX)
}

/// One thing wrong, before it is rendered.
#[derive(Debug, Clone)]
pub(in crate::config) struct Diagnostic {
    at: TextSpan,
    message: String,
    notes: Vec<(TextSpan, String)>,
    help: Option<String>,
    warning: bool,
}

impl Diagnostic {
    /// A fault; the message is one sentence without a full stop that names the thing by its word in the file.
    pub(in crate::config) fn new(at: TextSpan, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), notes: Vec::new(), help: None, warning: false }
    }

    /// Something that is better mended and stops nothing.
    pub(in crate::config) fn warning(at: TextSpan, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::new(at, message) }
    }

    /// What to do about it, in the imperative; each diagnostic has one.
    pub(in crate::config) fn help(mut self, mend: impl Into<String>) -> Self {
        self.help = Some(mend.into());
        self
    }

    /// Another place that belongs to it.
    pub(in crate::config) fn note(mut self, at: TextSpan, text: impl Into<String>) -> Self {
        self.notes.push((at, text.into()));
        self
    }
}

/// Collects faults while a file is read. One place says one thing once, however many aliases lead there.
#[derive(Debug, Default)]
pub(in crate::config) struct Collector {
    diagnostics: Vec<Diagnostic>,
    seen: HashSet<(TextSpan, String)>,
    dropped: usize,
    errors: usize,
    /// Stretches that may hold a secret and are never shown.
    pub redactions: Vec<Range<usize>>,
}

/// A moment of a [`Collector`].
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct CollectorMark {
    kept: usize,
    dropped: usize,
    errors: usize,
}

impl Collector {
    /// Takes a fault, unless it is known already.
    pub(in crate::config) fn add(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() >= DIAGNOSTICS_KEPT_MAX {
            self.errors += usize::from(!diagnostic.warning);
            self.dropped += 1;
        } else if self.seen.insert((diagnostic.at, diagnostic.message.clone())) {
            self.errors += usize::from(!diagnostic.warning);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Where it stands, to take back what comes.
    pub(in crate::config) fn mark(&self) -> CollectorMark {
        CollectorMark { kept: self.diagnostics.len(), dropped: self.dropped, errors: self.errors }
    }

    /// Takes back everything since; answers with the first fault among it, in its own words.
    pub(in crate::config) fn take_back(&mut self, mark: CollectorMark) -> Option<String> {
        let mut first = (self.errors > mark.errors).then(|| "it has faults".to_owned());
        for diagnostic in self.diagnostics.drain(mark.kept..).rev() {
            self.seen.remove(&(diagnostic.at, diagnostic.message.clone()));
            if !diagnostic.warning {
                first = Some(diagnostic.message);
            }
        }
        (self.dropped, self.errors) = (mark.dropped, mark.errors);
        first
    }

    /// Faults so far that refuse the file.
    pub(in crate::config) fn errors(&self) -> usize {
        self.errors
    }

    /// Everything found, with the lines it stands on. `texts` are all files, in order.
    ///
    /// `guess_secrets` redacts by the look of a line; for a file whose structure could not be read.
    pub(in crate::config) fn finish(self, texts: &[Text<'_>], guess_secrets: bool) -> Diagnostics {
        let Self { mut diagnostics, dropped, redactions, .. } = self;
        diagnostics.sort_by_key(|diagnostic| (diagnostic.at.start, Reverse(diagnostic.at.end)));
        let sheets = Sheets { texts, redactions, guess_secrets };
        let (warnings, errors): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(|diagnostic| diagnostic.warning);
        let place_all = |list: Vec<Diagnostic>| {
            let more = list.len().saturating_sub(DIAGNOSTICS_SHOWN_MAX);
            let placed: Vec<_> =
                list.into_iter().take(DIAGNOSTICS_SHOWN_MAX).map(|diagnostic| sheets.place(diagnostic)).collect();
            (placed, more)
        };
        let (placed_warnings, more_warnings) = place_all(warnings);
        let mut rendered: Vec<String> =
            placed_warnings.iter().map(|warning| render(warning, &Renderer::plain())).collect();
        if more_warnings > 0 {
            rendered.push(format!("and {more_warnings} more warnings"));
        }
        let (list, more) = place_all(errors);
        Diagnostics { list, more: more + dropped, warnings: rendered }
    }
}

/// Everything wrong with a file and those it includes, in their order. `Display` renders it without colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<PlacedDiagnostic>,
    /// Faults beyond [`DIAGNOSTICS_SHOWN_MAX`].
    more: usize,
    /// What stops nothing, rendered without colour.
    pub warnings: Vec<String>,
}

/// One fault with the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedDiagnostic {
    /// As the source names it: relative, or the bare file name of an absolute path.
    pub file: String,
    /// Line of that file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// One sentence without a full stop that names the thing by its word in the file.
    pub message: String,
    /// What to do about it, in the imperative.
    pub help: Option<String>,
    excerpt: Excerpt,
    notes: Vec<(Excerpt, String)>,
    warning: bool,
}

/// One line of a file, secrets redacted, and the stretch of it that is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Excerpt {
    file: String,
    line: usize,
    column: usize,
    /// None where the line is too long to show.
    text: Option<String>,
    span: Range<usize>,
}

impl Diagnostics {
    /// The faults, at most [`DIAGNOSTICS_SHOWN_MAX`].
    pub fn list(&self) -> &[PlacedDiagnostic] {
        &self.list
    }

    /// How many there are, shown or not.
    pub fn count(&self) -> usize {
        self.list.len() + self.more
    }

    /// Rendered with colour; print it through `anstream`, which takes the colour away where it does not belong.
    pub fn styled(&self) -> String {
        self.rendered(&Renderer::styled())
    }

    fn rendered(&self, renderer: &Renderer) -> String {
        let mut text: Vec<String> = self.list.iter().map(|diagnostic| render(diagnostic, renderer)).collect();
        if self.more > 0 {
            text.push(format!("and {} more", self.more));
        }
        text.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(&Renderer::plain()))
    }
}

impl std::error::Error for Diagnostics {}

/// A text from the file inside a message: bounded, control characters escaped.
pub(in crate::config) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).flat_map(escaped).collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

fn escaped(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

fn render(diagnostic: &PlacedDiagnostic, renderer: &Renderer) -> String {
    let level = if diagnostic.warning { Level::WARNING } else { Level::ERROR };
    let mut first =
        excerpt_element(Group::with_title(level.primary_title(&*diagnostic.message)), &diagnostic.excerpt, true);
    let mut rest = Vec::new();
    for (excerpt, text) in &diagnostic.notes {
        rest.push(excerpt_element(
            Group::with_title(Level::NOTE.secondary_title(normalize_untrusted_str(text))),
            excerpt,
            false,
        ));
    }
    if let Some(help) = diagnostic.help.as_deref().map(normalize_untrusted_str) {
        match rest.last_mut() {
            None => first = first.element(Level::HELP.message(help)),
            Some(_) => rest.push(Group::with_title(Level::HELP.secondary_title(help))),
        }
    }
    rest.insert(0, first);
    renderer.render(&rest)
}

fn excerpt_element<'a>(group: Group<'a>, excerpt: &'a Excerpt, primary: bool) -> Group<'a> {
    let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    match &excerpt.text {
        Some(text) => group.element(
            Snippet::source(&**text)
                .line_start(excerpt.line)
                .path(&*excerpt.file)
                .fold(false)
                .annotation(kind.span(excerpt.span.clone())),
        ),
        None => group.element(Origin::path(&*excerpt.file).line(excerpt.line).char_column(excerpt.column)),
    }
}

/// The files with what may be seen of them.
struct Sheets<'a> {
    texts: &'a [Text<'a>],
    redactions: Vec<Range<usize>>,
    guess_secrets: bool,
}

impl Sheets<'_> {
    fn place(&self, diagnostic: Diagnostic) -> PlacedDiagnostic {
        let excerpt = self.excerpt(diagnostic.at);
        PlacedDiagnostic {
            file: excerpt.file.clone(),
            line: excerpt.line,
            column: excerpt.column,
            message: diagnostic.message,
            help: diagnostic.help,
            notes: diagnostic.notes.into_iter().map(|(at, text)| (self.excerpt(at), text)).collect(),
            excerpt,
            warning: diagnostic.warning,
        }
    }

    /// The line a place starts on. A place over several lines is shown as far as its first one goes.
    fn excerpt(&self, at: TextSpan) -> Excerpt {
        let nth = self.texts.partition_point(|text| text.start <= at.start).saturating_sub(1);
        let Some(file) = self.texts.get(nth) else { return Excerpt::default() };
        let (text, first) = (file.text, file.start as usize);
        let start = floor_boundary(text, at.start as usize - first);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line_text = text[line_start..line_end].trim_end();
        let column = text[line_start..start].chars().count() + 1;
        // A place among the blanks at a line's end is shown at the end of what is shown.
        let from = (start - line_start).min(line_text.len());
        let to = floor_boundary(text, (at.end as usize).saturating_sub(first)).saturating_sub(line_start);
        let span = from..to.min(line_text.len()).max(from);
        let text = (line_text.len() <= LINE_SHOWN_BYTES_MAX).then(|| self.redacted(first + line_start, line_text));
        let line = at.line.saturating_sub(file.line) as usize + 1;
        Excerpt { file: file.name.to_owned(), line, column, text, span }
    }

    /// The line with every secret byte replaced by a star, so that places stay where they are.
    fn redacted(&self, line_start: usize, line: &str) -> String {
        let mut bytes = line.as_bytes().to_vec();
        for hidden in &self.redactions {
            let from = hidden.start.saturating_sub(line_start).min(bytes.len());
            let to = hidden.end.saturating_sub(line_start).min(bytes.len());
            if from < to {
                bytes[from..to].fill(b'*');
            }
        }
        if self.guess_secrets
            && let Some(from) = guessed_secret(line)
        {
            bytes[from..].fill(b'*');
        }
        // A redaction that cuts a character in two leaves no text; stars keep every place where it is.
        String::from_utf8(bytes).unwrap_or_else(|cut| {
            cut.into_bytes().into_iter().map(|byte| if byte.is_ascii() { char::from(byte) } else { '*' }).collect()
        })
    }
}

/// Whether a key's value may be a secret.
pub(in crate::config) fn is_secret_key(key: &str) -> bool {
    // Asked of every key of the file, so without a copy of it.
    ["secret", "password", "token", "bearer", "authorization", "api_key", "apikey"]
        .iter()
        .any(|word| key.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())))
}

/// Where the value of the first secret-looking key of a broken line starts. A canary's question is none, whatever words and
/// colons it holds.
fn guessed_secret(line: &str) -> Option<usize> {
    let is_question = |before: &str| {
        let key = before.rsplit(['{', ',']).next().unwrap_or_default();
        key.trim_start_matches([' ', '-']).starts_with("query:")
    };
    let mut colons = line.match_indices(':').map(|(at, _)| at);
    let colon = colons.find(|at| is_secret_key(&line[..*at]) && !is_question(&line[..*at]))?;
    Some(colon + 1)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_among_blanks_is_shown_at_the_lines_end() {
        for (text, start, column) in [("a: b\n    \nc: d\n", 9, 5), ("   ", 3, 4), ("", 0, 1), ("a \u{85}", 2, 3)] {
            let mut found = Collector::default();
            found.add(Diagnostic::new(TextSpan { start, end: start, line: 1 }, "wrong"));
            let found = found.finish(&[Text::first("m.yaml", text)], false);
            assert_eq!(found.list()[0].column, column, "{text:?}");
            assert!(found.to_string().contains("wrong"), "{text:?}");
        }
    }
}
