//! What is wrong with a file, where, and how to mend it: all of it at once, in the order of the file.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};

/// Faults shown; a person mends the first ones and looks again.
pub const FAULTS_SHOWN_MAX: usize = 50;
/// Faults remembered; a file that is wrong throughout costs no memory beyond.
const FAULTS_KEPT_MAX: usize = 2_000;
/// A longer line is named and not shown.
const LINE_SHOWN_BYTES_MAX: usize = 400;
/// Longer texts from the file are cut in a message.
const QUOTED_CHARS_MAX: usize = 80;

/// A stretch of the file, in bytes, and the line it starts on (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// One thing wrong, before it is rendered.
#[derive(Debug, Clone)]
pub struct Fault {
    at: Place,
    message: String,
    notes: Vec<(Place, String)>,
    help: Option<String>,
    warning: bool,
}

impl Fault {
    /// A fault; the message is one sentence without a full stop that names the thing by its word in the file.
    pub fn new(at: Place, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), notes: Vec::new(), help: None, warning: false }
    }

    /// Something that is better mended and stops nothing.
    pub fn warning(at: Place, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::new(at, message) }
    }

    /// The mend.
    pub fn help(mut self, mend: impl Into<String>) -> Self {
        self.help = Some(mend.into());
        self
    }

    /// Another place that belongs to it.
    pub fn note(mut self, at: Place, text: impl Into<String>) -> Self {
        self.notes.push((at, text.into()));
        self
    }
}

/// Collects faults while a file is read. One place says one thing once, however many aliases lead there.
#[derive(Debug, Default)]
pub struct Collector {
    faults: Vec<Fault>,
    seen: HashSet<(Place, String)>,
    dropped: usize,
    errors: usize,
    /// Stretches that may hold a secret and are never shown.
    pub masks: Vec<Range<usize>>,
}

impl Collector {
    /// Takes a fault, unless it is known already.
    pub fn add(&mut self, fault: Fault) {
        if self.faults.len() >= FAULTS_KEPT_MAX {
            self.errors += usize::from(!fault.warning);
            self.dropped += 1;
        } else if self.seen.insert((fault.at, fault.message.clone())) {
            self.errors += usize::from(!fault.warning);
            self.faults.push(fault);
        }
    }

    /// Faults so far that refuse the file.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Everything found, with the lines it stands on. `text` is the whole file.
    ///
    /// `guess_secrets` masks by the look of a line; for a file whose structure could not be read.
    pub fn finish(self, name: &str, text: &str, guess_secrets: bool) -> Faults {
        let Self { mut faults, dropped, masks, .. } = self;
        faults.sort_by_key(|fault| (fault.at.start, Reverse(fault.at.end)));
        let sheet = Sheet { text, masks, guess_secrets };
        let (warnings, errors): (Vec<_>, Vec<_>) = faults.into_iter().partition(|fault| fault.warning);
        let place_all = |list: Vec<Fault>| {
            let more = list.len().saturating_sub(FAULTS_SHOWN_MAX);
            let placed: Vec<_> = list.into_iter().take(FAULTS_SHOWN_MAX).map(|fault| sheet.place(fault)).collect();
            (placed, more)
        };
        let (placed_warnings, more_warnings) = place_all(warnings);
        let mut rendered: Vec<String> =
            placed_warnings.iter().map(|warning| render(name, warning, &Renderer::plain())).collect();
        if more_warnings > 0 {
            rendered.push(format!("and {more_warnings} more warnings"));
        }
        let (list, more) = place_all(errors);
        Faults { name: name.to_owned(), list, more: more + dropped, warnings: rendered }
    }
}

/// Everything wrong with one file, in the order of the file. `Display` renders it without colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// The file's name.
    name: String,
    list: Vec<PlacedFault>,
    /// Faults beyond [`FAULTS_SHOWN_MAX`].
    more: usize,
    /// What stops nothing, rendered without colour.
    pub warnings: Vec<String>,
}

/// One fault with the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFault {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The mend.
    pub help: Option<String>,
    excerpt: Excerpt,
    notes: Vec<(Excerpt, String)>,
    warning: bool,
}

/// One line of the file, secrets masked, and the stretch of it that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    line: usize,
    column: usize,
    /// None where the line is too long to show.
    text: Option<String>,
    span: Range<usize>,
}

impl Faults {
    /// The faults, at most [`FAULTS_SHOWN_MAX`].
    pub fn list(&self) -> &[PlacedFault] {
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
        let mut text: Vec<String> = self.list.iter().map(|fault| render(&self.name, fault, renderer)).collect();
        if self.more > 0 {
            text.push(format!("and {} more", self.more));
        }
        text.join("\n\n")
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(&Renderer::plain()))
    }
}

impl std::error::Error for Faults {}

/// A text from the file inside a message: bounded, control characters escaped.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).flat_map(escaped).collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

fn escaped(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

fn render(name: &str, fault: &PlacedFault, renderer: &Renderer) -> String {
    let level = if fault.warning { Level::WARNING } else { Level::ERROR };
    let mut first =
        excerpt_element(Group::with_title(level.primary_title(&*fault.message)), name, &fault.excerpt, true);
    let mut rest = Vec::new();
    for (excerpt, text) in &fault.notes {
        rest.push(excerpt_element(
            Group::with_title(Level::NOTE.secondary_title(normalize_untrusted_str(text))),
            name,
            excerpt,
            false,
        ));
    }
    if let Some(help) = fault.help.as_deref().map(normalize_untrusted_str) {
        match rest.last_mut() {
            None => first = first.element(Level::HELP.message(help)),
            Some(_) => rest.push(Group::with_title(Level::HELP.secondary_title(help))),
        }
    }
    rest.insert(0, first);
    renderer.render(&rest)
}

fn excerpt_element<'a>(group: Group<'a>, name: &'a str, excerpt: &'a Excerpt, primary: bool) -> Group<'a> {
    let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    match &excerpt.text {
        Some(text) => group.element(
            Snippet::source(&**text)
                .line_start(excerpt.line)
                .path(name)
                .fold(false)
                .annotation(kind.span(excerpt.span.clone())),
        ),
        None => group.element(Origin::path(name).line(excerpt.line).char_column(excerpt.column)),
    }
}

/// The file with what may be seen of it.
struct Sheet<'a> {
    text: &'a str,
    masks: Vec<Range<usize>>,
    guess_secrets: bool,
}

impl Sheet<'_> {
    fn place(&self, fault: Fault) -> PlacedFault {
        let excerpt = self.excerpt(fault.at);
        PlacedFault {
            line: excerpt.line,
            column: excerpt.column,
            message: fault.message,
            help: fault.help,
            notes: fault.notes.into_iter().map(|(at, text)| (self.excerpt(at), text)).collect(),
            excerpt,
            warning: fault.warning,
        }
    }

    /// The line a place starts on. A place over several lines is shown as far as its first one goes.
    fn excerpt(&self, at: Place) -> Excerpt {
        let start = floor_boundary(self.text, at.start as usize);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        let line_text = self.text[line_start..line_end].trim_end();
        let column = self.text[line_start..start].chars().count() + 1;
        let end = floor_boundary(self.text, at.end as usize).min(line_start + line_text.len()).max(start) - line_start;
        let span = start - line_start..end;
        let text = (line_text.len() <= LINE_SHOWN_BYTES_MAX).then(|| self.masked(line_start, line_text));
        Excerpt { line: at.line.max(1) as usize, column, text, span }
    }

    /// The line with every secret byte replaced by a star, so that places stay where they are.
    fn masked(&self, line_start: usize, line: &str) -> String {
        let mut bytes = line.as_bytes().to_vec();
        for mask in &self.masks {
            let from = mask.start.saturating_sub(line_start).min(bytes.len());
            let to = mask.end.saturating_sub(line_start).min(bytes.len());
            if from < to {
                bytes[from..to].fill(b'*');
            }
        }
        if self.guess_secrets
            && let Some(from) = guessed_secret(line)
        {
            bytes[from..].fill(b'*');
        }
        // A mask that cuts a character in two leaves no text; stars keep every place where it is.
        String::from_utf8(bytes).unwrap_or_else(|cut| {
            cut.into_bytes().into_iter().map(|byte| if byte.is_ascii() { char::from(byte) } else { '*' }).collect()
        })
    }
}

/// Whether a key's value may be a secret.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["secret", "password", "token", "bearer", "authorization", "api_key", "apikey"]
        .iter()
        .any(|word| key.contains(word))
}

/// Where the value of the first secret-looking key of a broken line starts.
fn guessed_secret(line: &str) -> Option<usize> {
    let colon = line.match_indices(':').find(|(at, _)| is_secret_key(&line[..*at])).map(|(at, _)| at)?;
    Some(colon + 1)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
