//! Functions of languages whose blocks stand in braces.

use crate::chunk::chunkers::code::dialect::Dialect;
use crate::chunk::chunkers::code::headers::{self, Around, Header};
use crate::chunk::chunkers::code::part::{self, Part};

/// How far along a line is looked for what stands before or after; keeps a long line linear.
const LOOK_BACK_BYTES: usize = 200;

/// An open bracket.
struct Open {
    bracket: u8,
    /// The title of the type or module it opens, where it does.
    title: Option<String>,
}

/// A function whose brace is open.
struct OpenFunction {
    start: usize,
    titles: Vec<String>,
    /// Brackets that were open before its own.
    depth: usize,
}

/// Every function that is not within another, in order.
pub(crate) fn functions(text: &str, mask: &[u8], dialect: Dialect) -> Vec<Part> {
    let mut scan = Scan { text, mask, dialect, open: Vec::new(), statement: 0, running: None, found: Vec::new() };
    let mut at = 0;
    while at < mask.len() {
        at = scan.byte(at);
    }
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    mask: &'a [u8],
    dialect: Dialect,
    open: Vec<Open>,
    /// Where the running statement begins.
    statement: usize,
    running: Option<OpenFunction>,
    found: Vec<Part>,
}

impl Scan<'_> {
    /// Reads one byte, or a line of C's preprocessor; gives the next place.
    fn byte(&mut self, at: usize) -> usize {
        match self.mask[at] {
            b'#' if self.dialect == Dialect::Braces && self.is_first_of_line(at) => return self.directive(at),
            b'{' if self.is_empty_type(at) => return at + 2,
            b'{' => self.open_brace(at),
            bracket @ (b'(' | b'[') => self.open.push(Open { bracket, title: None }),
            bracket @ (b')' | b']') => {
                let opening = if bracket == b')' { b'(' } else { b'[' };
                if self.open.last().is_some_and(|open| open.bracket == opening) {
                    self.open.pop();
                }
            }
            b'}' => self.close_brace(at),
            b';' if self.is_between_statements() => self.statement = at + 1,
            b',' if self.dialect == Dialect::Script && self.is_between_statements() => self.statement = at + 1,
            _ => {}
        }
        at + 1
    }

    fn is_between_statements(&self) -> bool {
        self.running.is_none() && self.open.last().is_none_or(|open| open.bracket == b'{')
    }

    fn is_first_of_line(&self, at: usize) -> bool {
        let before = self.mask[..at].iter().rev().take(LOOK_BACK_BYTES).find(|byte| !matches!(byte, b' ' | b'\t'));
        before.is_none_or(|byte| *byte == b'\n')
    }

    /// Whether the braces are a type of Go: `interface{}`, `struct{}`.
    fn is_empty_type(&self, at: usize) -> bool {
        let before = &self.mask[..at];
        self.dialect == Dialect::Braces
            && self.mask[at..].starts_with(b"{}")
            && (before.ends_with(b"interface") || before.ends_with(b"struct"))
    }

    /// Skips a line such as `#define`, whose braces need not match, with the lines it is continued on.
    fn directive(&mut self, at: usize) -> usize {
        let mut end = at;
        for line in self.mask[at..].split_inclusive(|byte| *byte == b'\n') {
            end += line.len();
            if !line.trim_ascii_end().ends_with(b"\\") {
                break;
            }
        }
        if self.is_between_statements() {
            self.statement = end;
        }
        end
    }

    fn open_brace(&mut self, at: usize) {
        let mut title = None;
        if self.is_between_statements() {
            let around = match self.open.last() {
                None => Around::Nothing,
                Some(Open { title: Some(_), .. }) => Around::Type,
                Some(_) => Around::Block,
            };
            match headers::read(self.text, self.mask, self.statement, at, self.dialect, around) {
                Header::Function { start, signature } => {
                    let bound = self.found.last().map_or(0, |part| part.end).max(self.statement);
                    let start = part::with_lines_above(self.mask, start, bound, b'@');
                    let around = self.open.iter().filter_map(|open| open.title.clone());
                    let titles = around.chain([signature]).collect();
                    self.running = Some(OpenFunction { start, titles, depth: self.open.len() });
                }
                Header::Container { signature } => title = Some(signature),
                Header::Other => {}
            }
            self.statement = at + 1;
        }
        self.open.push(Open { bracket: b'{', title });
    }

    fn close_brace(&mut self, at: usize) {
        // Round and square brackets that nobody closed end with the block they stand in.
        if let Some(brace) = self.open.iter().rposition(|open| open.bracket == b'{') {
            self.open.truncate(brace);
        }
        let ended = self.running.take_if(|running| self.open.len() <= running.depth);
        if let Some(function) = ended {
            let end = self.after(at + 1);
            self.found.push(Part { start: function.start, end, titles: function.titles, is_function: true });
            self.statement = end;
        } else if self.is_between_statements() {
            self.statement = at + 1;
        }
    }

    /// The end of the line a function ends on, where nothing else stands on it.
    fn after(&self, at: usize) -> usize {
        let line = self.mask[at..].iter().take(LOOK_BACK_BYTES).position(|byte| *byte == b'\n');
        let end = line.map_or(at, |length| at + length);
        let is_free = self.mask[at..end].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b';' | b','));
        if is_free { end } else { at }
    }
}
