//! Tells code from what only looks like it: in strings and comments no brace opens a block.
//!
//! Not a parser: one pass over the bytes that knows how the usual languages write comments, strings,
//! characters and regular expressions. A text that is none of them loses nothing but sharpness.

use std::collections::VecDeque;

use crate::chunk::chunkers::code::dialect::Dialect;
use crate::chunk::chunkers::code::heredoc;

/// Stands for each byte of a comment.
pub(crate) const COMMENT: u8 = 1;
/// Stands for each byte of a string, quotes included.
pub(crate) const LITERAL: u8 = 2;

/// The text byte by byte: code as it is, letters beyond ASCII as `x`, comments and strings blanked.
/// The end of a line stays where it ends a line of code or of a comment.
pub(crate) fn mask(text: &str, dialect: Dialect) -> Vec<u8> {
    let bytes = text.as_bytes();
    let has_heredocs = matches!(dialect, Dialect::Ruby | Dialect::Shell);
    let ends = if has_heredocs { heredoc::Ends::of(bytes) } else { heredoc::Ends::default() };
    let mask = Vec::with_capacity(text.len());
    let mut lexer = Lexer { bytes, mask, dialect, templates: Vec::new(), heredocs: VecDeque::new(), ends };
    while lexer.at() < text.len() {
        lexer.step();
    }
    lexer.mask
}

/// A character constant in quotes is this long at most, as `'\u{10FFFF}'` is.
const CHARACTER_BYTES_MAX: usize = 12;
/// A regular expression is rarely longer; looking no further keeps a line of slashes linear.
const EXPRESSION_BYTES_MAX: usize = 1_000;
/// How far back the sign before a regular expression is looked for.
const LOOK_BACK_BYTES: usize = 64;
/// The delimiter of a C++ raw string, by the standard.
const RAW_DELIMITER_MAX: usize = 16;

struct Lexer<'a> {
    bytes: &'a [u8],
    mask: Vec<u8>,
    dialect: Dialect,
    /// For each template string that is open around us: braces open within its `${`.
    templates: Vec<usize>,
    /// Words that end the texts which begin below the running line (`<<END`), the first first.
    heredocs: VecDeque<Vec<u8>>,
    ends: heredoc::Ends<'a>,
}

impl Lexer<'_> {
    fn at(&self) -> usize {
        self.mask.len()
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at()..]
    }

    fn begins(&self, with: &str) -> bool {
        self.rest().starts_with(with.as_bytes())
    }

    /// Reads one piece: a comment, a string, or a byte of code.
    fn step(&mut self) {
        if self.comment() || self.raw_string() || self.string() || self.regular_expression() {
            return;
        }
        let byte = self.bytes[self.at()];
        if matches!(self.dialect, Dialect::Ruby | Dialect::Shell) {
            self.heredocs.extend(heredoc::opened(self.rest()));
            if byte == b'\n' {
                self.heredoc_bodies();
                return;
            }
        }
        match (byte, self.templates.last_mut()) {
            (b'{', Some(open)) => *open += 1,
            (b'}', Some(0)) => {
                self.templates.pop();
                self.template(1);
                return;
            }
            (b'}', Some(open)) => *open -= 1,
            _ => {}
        }
        self.mask.push(match byte {
            COMMENT | LITERAL => b' ',
            byte if byte.is_ascii() => byte,
            _ => b'x',
        });
    }

    /// Masks so many bytes.
    fn cover(&mut self, length: usize, with: u8) {
        for _ in 0..length.min(self.rest().len()) {
            let newline = with == COMMENT && self.bytes[self.at()] == b'\n';
            self.mask.push(if newline { b'\n' } else { with });
        }
    }

    fn comment(&mut self) -> bool {
        let slashes = matches!(self.dialect, Dialect::Rust | Dialect::Braces | Dialect::Script);
        if slashes && self.begins("/*") {
            let length = self.block_comment();
            self.cover(length, COMMENT);
        } else if self.dialect == Dialect::Lua && self.begins("--[") && self.long_bracket(2).is_some() {
            let length = self.long_bracket(2).unwrap_or_default();
            self.cover(length, COMMENT);
        } else if self.dialect == Dialect::Ruby
            && self.begins("=begin")
            && self.mask.last().is_none_or(|byte| *byte == b'\n')
        {
            let end = self.rest().windows(5).position(|window| window == b"\n=end");
            let length = end.map_or(self.rest().len(), |at| at + 5);
            self.cover(length, COMMENT);
        } else if self.line_comment() {
            let length = self.rest().iter().position(|byte| *byte == b'\n').unwrap_or(self.rest().len());
            self.cover(length, COMMENT);
        } else {
            return false;
        }
        true
    }

    /// Whether a comment to the end of the line begins here.
    fn line_comment(&self) -> bool {
        match self.dialect {
            Dialect::Rust | Dialect::Braces | Dialect::Script => self.begins("//"),
            Dialect::Python | Dialect::Plain | Dialect::Ruby => self.begins("#"),
            Dialect::Lua => self.begins("--"),
            // `$#` and `${#name}` are none.
            Dialect::Shell => self.begins("#") && (self.at() == 0 || b" \t\n;&|(".contains(&self.mask[self.at() - 1])),
        }
    }

    /// The length of what stands between Lua's long brackets, from `from` bytes on: `[[…]]`, `[==[…]==]`.
    fn long_bracket(&self, from: usize) -> Option<usize> {
        let rest = self.rest().get(from + 1..)?;
        let level = rest.iter().take_while(|byte| **byte == b'=').count();
        if rest.get(level) != Some(&b'[') {
            return None;
        }
        let close = [&b"]"[..], &b"=".repeat(level), b"]"].concat();
        let found = rest.windows(close.len()).position(|window| window == close);
        Some(found.map_or(self.rest().len(), |at| from + 1 + at + close.len()))
    }

    /// Masks the texts that begin below this line, whose end is at the place; they become a part of it.
    fn heredoc_bodies(&mut self) {
        let line = self.at();
        while let Some(end) = self.heredocs.pop_front() {
            // A text that never ends is none: the two signs were a shift.
            if let Some(end) = self.ends.after(self.at(), &end) {
                self.cover(end - self.at(), LITERAL);
            }
        }
        if self.at() == line {
            self.mask.push(b'\n');
        }
    }

    /// The length of a block comment; Rust's may hold others.
    fn block_comment(&self) -> usize {
        let rest = self.rest();
        let (mut depth, mut at) = (1, 2);
        while at < rest.len() && depth > 0 {
            let pair = &rest[at..(at + 2).min(rest.len())];
            match pair {
                b"*/" => depth -= 1,
                b"/*" if self.dialect == Dialect::Rust => depth += 1,
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 2;
        }
        at
    }

    /// Strings in which a backslash means nothing: `r#"…"#` of Rust, `R"x(…)x"` of C++.
    fn raw_string(&mut self) -> bool {
        let before = self.at().checked_sub(1).map_or(b' ', |at| self.mask[at]);
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if is_word(before) && before != b'b' {
            return false;
        }
        let close = match (self.dialect, self.rest().first()) {
            (Dialect::Rust, Some(b'r')) => {
                let hashes = self.rest()[1..].iter().take_while(|byte| **byte == b'#').count();
                if self.rest().get(1 + hashes) != Some(&b'"') {
                    return false;
                }
                (2 + hashes, format!("\"{}", "#".repeat(hashes)))
            }
            (Dialect::Braces, Some(b'R')) if self.begins("R\"") => {
                let delimiter = &self.rest()[2..self.rest().len().min(2 + RAW_DELIMITER_MAX + 1)];
                let Some(paren) = delimiter.iter().position(|byte| *byte == b'(') else { return false };
                (3 + paren, format!("){}\"", String::from_utf8_lossy(&delimiter[..paren])))
            }
            _ => return false,
        };
        self.until(close.0, close.1.as_bytes());
        true
    }

    /// Masks up to and with the closing mark, or all that is left.
    fn until(&mut self, from: usize, close: &[u8]) {
        let body = &self.rest()[from.min(self.rest().len())..];
        let found = body.windows(close.len()).position(|window| window == close);
        let length = found.map_or(self.rest().len(), |at| from + at + close.len());
        self.cover(length, LITERAL);
    }

    fn string(&mut self) -> bool {
        match self.rest().first() {
            Some(b'"' | b'\'') if self.is_triple() => {
                let close = [self.bytes[self.at()]; 3];
                self.until(3, &close);
            }
            Some(b'[') if self.dialect == Dialect::Lua => {
                let Some(length) = self.long_bracket(0) else { return false };
                self.cover(length, LITERAL);
            }
            // A backslash hides the sign after it, and means nothing between single quotes.
            Some(b'\\') if self.dialect == Dialect::Shell => self.cover(2, LITERAL),
            Some(quote @ (b'"' | b'\'')) if self.dialect == Dialect::Shell => {
                let length = heredoc::quoted(self.rest(), *quote);
                self.cover(length, LITERAL);
            }
            Some(b'"') => self.quoted(b'"', self.dialect == Dialect::Rust),
            Some(b'\'') if matches!(self.dialect, Dialect::Rust | Dialect::Braces) => return self.character(),
            Some(b'\'') => self.quoted(b'\'', false),
            Some(b'`') if self.dialect == Dialect::Script => self.template(1),
            Some(b'`') if self.dialect == Dialect::Braces => self.until(1, b"`"),
            _ => return false,
        }
        true
    }

    fn is_triple(&self) -> bool {
        match self.dialect {
            Dialect::Python => self.begins("\"\"\"") || self.begins("'''"),
            Dialect::Braces => self.begins("\"\"\""),
            _ => false,
        }
    }

    /// A string in quotes. Where it may not cross lines an open one ends with its line.
    fn quoted(&mut self, quote: u8, crosses_lines: bool) {
        let rest = self.rest();
        let mut at = 1;
        while at < rest.len() && rest[at] != quote {
            if rest[at] == b'\n' && !crosses_lines {
                self.cover(at, LITERAL);
                return;
            }
            at += if rest[at] == b'\\' { 2 } else { 1 };
        }
        self.cover(at + 1, LITERAL);
    }

    /// A character constant; a quote that opens none is a lifetime or a mark between digits.
    fn character(&mut self) -> bool {
        let near = &self.rest()[1..self.rest().len().min(CHARACTER_BYTES_MAX + 1)];
        let length = match near.first() {
            Some(b'\\') => near.iter().skip(2).position(|byte| *byte == b'\'').map(|at| at + 4),
            Some(b'\'' | b'\n') | None => None,
            Some(first) => {
                let width = match first {
                    0..0x80 => 1,
                    0x80..0xE0 => 2,
                    0xE0..0xF0 => 3,
                    0xF0.. => 4,
                };
                (near.get(width) == Some(&b'\'')).then_some(width + 2)
            }
        };
        if let Some(length) = length {
            self.cover(length, LITERAL);
        }
        length.is_some()
    }

    /// A template string from its opening mark, or from the brace that ends a `${…}` within it.
    fn template(&mut self, from: usize) {
        let rest = self.rest();
        let mut at = from;
        while at < rest.len() {
            match rest[at] {
                b'`' => {
                    self.cover(at + 1, LITERAL);
                    return;
                }
                b'$' if rest.get(at + 1) == Some(&b'{') => {
                    self.cover(at + 2, LITERAL);
                    self.templates.push(0);
                    return;
                }
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.cover(at, LITERAL);
    }

    /// A regular expression of JavaScript: a slash where a value may begin.
    fn regular_expression(&mut self) -> bool {
        if self.dialect != Dialect::Script || self.rest().first() != Some(&b'/') || !self.value_may_begin() {
            return false;
        }
        let rest = &self.rest()[..self.rest().len().min(EXPRESSION_BYTES_MAX)];
        let (mut at, mut in_class) = (1, false);
        while at < rest.len() && rest[at] != b'\n' {
            match rest[at] {
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.cover(at + 1, LITERAL);
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    fn value_may_begin(&self) -> bool {
        let near = &self.mask[self.at().saturating_sub(LOOK_BACK_BYTES)..];
        let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let code = line.trim_ascii_end();
        match code.last() {
            None => true,
            Some(last) => b"(,=:[!&|?{};+-*%<>~^".contains(last) || code.ends_with(b"return"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comments shown as `~`, strings as `_`.
    fn check(says: &str, dialect: Dialect, text: &str, expected: &str) {
        let shown: String = mask(text, dialect)
            .into_iter()
            .map(|byte| match byte {
                COMMENT => '~',
                LITERAL => '_',
                byte => char::from(byte),
            })
            .collect();
        assert_eq!(shown, expected, "{says}");
    }

    #[test]
    fn strings_and_comments_are_told_from_code() {
        use Dialect::{Braces, Lua, Plain, Python, Ruby, Rust, Script, Shell};
        check("a comment to the end of the line", Rust, "a // {\nb", "a ~~~~\nb");
        check("comments within comments", Rust, "/*/*{*/*/a", "~~~~~~~~~a");
        check("not so in C", Braces, "/*/*{*/a", "~~~~~~~a");
        check("a string with an escaped quote", Rust, r#"a("\"{")b"#, "a(_____)b");
        check("a raw string", Rust, r##"r#"{"}"# a"##, "________ a");
        check("a character, and a lifetime", Rust, "'{' <'a>", "___ <'a>");
        check("an escaped character", Rust, r"'\'' a", "____ a");
        check("a string of Go", Braces, "`{\n` a", "____ a");
        check("a raw string of C++", Braces, "R\"x({)x\" a", "________ a");
        check("a text block", Braces, "\"\"\"{\n\"\"\" a", "________ a");
        check("an open string ends with its line", Braces, "\"{\na", "__\na");
        check("a template with code in it", Script, "`a{${b{}}}` c", "_____b{}___ c");
        check("a regular expression", Script, "x = /[/{]/; a / b", "x = ______; a / b");
        check("a division is none", Script, "a / b / c", "a / b / c");
        check("a string over lines", Python, "'''{\n''' # {", "________ ~~~");
        check("a hash", Plain, "a # {\nb", "a ~~~\nb");
        check("a long comment of Lua", Lua, "--[=[ {\n]]]=] a -- {", "~~~~~~~\n~~~~~ a ~~~~");
        check("a long string of Lua, and an index", Lua, "[[{]] a[b[1]]", "_____ a[b[1]]");
        check("comments of Ruby", Ruby, "=begin\n{\n=end\na # {", "~~~~~~\n~\n~~~~\na ~~~");
        check("a text below its line", Ruby, "a(<<~X, <<Y)\n{\n  X\n}\nY\nb", "a(<<~X, <<Y)__________\nb");
        check("a shift is none", Ruby, "a << X\n{", "a << X\n{");
        check("counts of shell are no comments", Shell, "$# ${#a} # {", "$# ${#a} ~~~");
        check("quotes of shell over lines", Shell, "'{\n\\' \"}\n\\\"\" a", "_____ ______ a");
        check("one that is not closed ends with its line", Shell, "it's\na", "it__\na");
        check("wide letters keep their bytes", Rust, "é 'é'", "xx ____");
    }

    #[test]
    fn every_byte_has_its_mark() {
        use Dialect::{Braces, Lua, Plain, Python, Ruby, Rust, Script, Shell};
        for text in [
            "--[", "--[[", "[", "[=", "[[", "=begin", "<<", "<<~", "<<-'", "<<A\n", "<<A\nA", "\\", "/*", "\"\\", "'",
            "`${", "r#\"", "R\"", "R\"x", "\"\"\"", "/", "'\\", "é'é", "`${`${", "b'\u{1}'",
        ] {
            for dialect in [Braces, Lua, Plain, Python, Ruby, Rust, Script, Shell] {
                assert_eq!(mask(text, dialect).len(), text.len(), "{text:?} as {dialect:?}");
            }
        }
    }
}
