//! Markdown as it is written: words come in, spaces and empty lines are what a reader expects.

use crate::extract::limits::TEXT_BYTES_MAX;
use crate::extract::refusal::Refusal;

/// Lists within lists that are indented.
const INDENTS_MAX: usize = 6;

/// A text under way.
#[derive(Debug, Default)]
pub struct Written {
    text: String,
    /// Line feeds owed before the next word, 2 at most.
    breaks: usize,
    /// Whether a space is owed before the next word of the same line.
    space: bool,
    /// What stands before the first word of the next line, such as `## `.
    prefix: String,
}

impl Written {
    /// Words, their white space taken for one space.
    ///
    /// # Errors
    /// `Text`.
    pub fn words(&mut self, words: &str) -> Result<(), Refusal> {
        for (number, word) in words.split(|c: char| c.is_whitespace() && c != '\u{a0}').enumerate() {
            self.space |= number > 0;
            let word = word.trim_matches(|c: char| matches!(c, '\u{200b}' | '\u{feff}' | '\u{ad}'));
            if !word.is_empty() {
                self.open();
                let is_within = !self.text.ends_with([' ', '\n']) && !self.text.is_empty();
                if self.space && is_within {
                    self.text.push(' ');
                }
                self.space = false;
                self.text.extend(word.chars().map(|c| if c == '\u{a0}' { ' ' } else { c }).filter(|c| !c.is_control()));
            }
        }
        self.bounded()
    }

    /// Lines as they are, such as code.
    ///
    /// # Errors
    /// `Text`.
    pub fn raw(&mut self, lines: &str) -> Result<(), Refusal> {
        self.open();
        self.text.extend(lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')));
        self.bounded()
    }

    /// Ends lines as they are with a last one of their own.
    ///
    /// # Errors
    /// `Text`.
    pub fn raw_end(&mut self, last: &str) -> Result<(), Refusal> {
        let is_ended = self.text.ends_with('\n');
        self.raw(if is_ended { "" } else { "\n" })?;
        self.raw(last)
    }

    /// How much is there: what `back_to` goes back to.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Takes away what came after a place that `bytes` told.
    pub fn back_to(&mut self, bytes: usize) {
        self.text.truncate(bytes);
        self.plain();
        self.paragraph();
    }

    /// Ends the line.
    pub fn line(&mut self) {
        self.ends(1);
    }

    /// Ends the paragraph.
    pub fn paragraph(&mut self) {
        self.ends(2);
    }

    /// Begins a heading, 1 to 6.
    pub fn heading(&mut self, level: usize) {
        self.paragraph();
        self.prefix = format!("{} ", "#".repeat(level.clamp(1, 6)));
    }

    /// Begins an item of a list so deep.
    pub fn item(&mut self, depth: usize) {
        self.line();
        self.prefix = format!("{}- ", "  ".repeat(depth.saturating_sub(1).min(INDENTS_MAX)));
    }

    /// Ends a heading or an item: one without words leaves nothing before the next line.
    pub fn plain(&mut self) {
        self.prefix.clear();
    }

    /// Whether words of this line are there already.
    pub fn in_line(&self) -> bool {
        self.breaks == 0 && !self.text.is_empty()
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text.
    pub fn done(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }

    fn ends(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.space = false;
    }

    fn open(&mut self) {
        if self.breaks > 0 {
            if !self.text.is_empty() {
                let there = self.text.bytes().rev().take_while(|byte| *byte == b'\n').count();
                (there..self.breaks).for_each(|_| self.text.push('\n'));
            }
            self.breaks = 0;
            self.space = false;
        }
        self.text.push_str(&std::mem::take(&mut self.prefix));
    }

    fn bounded(&self) -> Result<(), Refusal> {
        if self.text.len() > TEXT_BYTES_MAX { Err(Refusal::Text) } else { Ok(()) }
    }
}
