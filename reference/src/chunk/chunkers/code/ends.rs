//! Functions of languages whose blocks end with a word or a brace on a line of its own: Ruby, Lua, shell.
//!
//! Not by counting: in Ruby an `if` may open a block or follow its statement, and only a parser knows
//! which. Who writes these languages indents them, so a function ends where a line stands as far out as
//! its first one; where that line is no end, the function ended before it.

use crate::chunk::chunkers::code::dialect::Dialect;
use crate::chunk::chunkers::code::lexer::COMMENT;
use crate::chunk::chunkers::code::part::{self, Part};

/// A line; what stands in a string over several lines is of one.
struct EndsLine<'a> {
    start: usize,
    end: usize,
    indent: usize,
    /// Without the space around it and the comment behind it; empty where nothing else is there.
    code: &'a str,
}

/// Columns of a tab stop.
const TAB: usize = 8;
/// Words before `def` that say who may call.
const VISIBILITIES: &[&str] = &["private", "protected", "public", "module_function", "private_class_method"];
/// Words of Ruby that stand as far out as the function whose part they begin.
const PARTS: &[&str] = &["rescue", "ensure", "else"];

/// Every function that is not within another, in order.
pub(crate) fn functions(text: &str, mask: &[u8], dialect: Dialect) -> Vec<Part> {
    let shown = shown(mask);
    let lines = lines(&shown);
    let mut found: Vec<Part> = Vec::new();
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.code.is_empty() {
            continue;
        }
        around.retain(|(indent, _)| *indent < line.indent);
        let signature = || signature(text, mask, line);
        if dialect == Dialect::Ruby && is_container(line.code) {
            around.push((line.indent, signature()));
        } else if is_function(line.code, lines.get(at), dialect) {
            let body = if is_whole(line.code, dialect) { 0 } else { body(&lines[at..], line.indent, dialect) };
            let end = lines[at + body - 1].end;
            let bound = found.last().map_or(0, |part| part.end);
            let start = part::with_lines_above(mask, line.start, bound, COMMENT);
            let titles = around.iter().map(|(_, title)| title.clone()).chain([signature()]).collect();
            found.push(Part { start, end, titles, is_function: true });
            at += body;
        }
    }
    found
}

fn signature(text: &str, mask: &[u8], line: &EndsLine<'_>) -> String {
    let whole = part::signature(text, mask, line.start, line.end);
    whole.trim_end_matches(|c: char| c == '{' || c.is_whitespace()).to_owned()
}

/// The mask as text: bytes that stand for comments are spaces, those of strings are quotes.
fn shown(mask: &[u8]) -> String {
    let sign = |byte: &u8| match *byte {
        COMMENT => ' ',
        byte if byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t' | b'\n') => char::from(byte),
        _ => '"',
    };
    mask.iter().map(sign).collect()
}

fn lines(shown: &str) -> Vec<EndsLine<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in shown.split_inclusive('\n') {
        let wide = |column: usize, c: char| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 };
        let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t')).fold(0, wide);
        lines.push(EndsLine { start, end: start + line.len(), indent, code: line.trim() });
        start += line.len();
    }
    lines
}

fn is_container(code: &str) -> bool {
    (code.starts_with("class ") || code.starts_with("module ")) && !ends_with_word(code, "end")
}

fn is_function(code: &str, next: Option<&EndsLine<'_>>, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Ruby => {
            let first = code.split(' ').next().unwrap_or_default();
            let rest = if VISIBILITIES.contains(&first) { code[first.len()..].trim_start() } else { code };
            rest.starts_with("def ")
        }
        Dialect::Lua => {
            code.starts_with("function ")
                || code.starts_with("local function ")
                || code
                    .split_once("= function")
                    .is_some_and(|(name, rest)| rest.trim_start().starts_with('(') && !name.contains(['(', '"', '{']))
        }
        _ => is_of_shell(code, next),
    }
}

/// Whether a line of shell begins a function: `name() {`, `function name {`, or with its brace below.
fn is_of_shell(code: &str, next: Option<&EndsLine<'_>>) -> bool {
    let (is_said, rest) = code.strip_prefix("function ").map_or((false, code), |rest| (true, rest.trim_start()));
    let name = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c)).len();
    let after = rest[name..].trim_start();
    let (has_parens, after) = after.strip_prefix("()").map_or((false, after), |after| (true, after.trim_start()));
    let opens = |code: &str| code.starts_with(['{', '(']);
    let is_open = opens(after) || (after.is_empty() && next.is_some_and(|next| opens(next.code)));
    name > 0 && (is_said || has_parens) && is_open
}

/// Whether a function begins and ends in one line.
fn is_whole(code: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Ruby => ends_with_word(code, "end") || is_endless(code),
        Dialect::Lua => ends_with_word(code.trim_end_matches([',', ';', ')']), "end"),
        _ => code.ends_with(['}', ')']) && !code.ends_with("()"),
    }
}

/// Whether it is a method that is one expression: `def area = width * height`.
fn is_endless(code: &str) -> bool {
    let Some((_, rest)) = code.split_once("def ") else { return false };
    let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.?!".contains(c))).unwrap_or(rest.len());
    let after = &rest[name..];
    let after = if after.starts_with('(') { after.split_once(") ").map_or("", |(_, after)| after) } else { after };
    after.trim_start().starts_with("= ")
}

fn ends_with_word(code: &str, word: &str) -> bool {
    code.strip_suffix(word).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// How many lines belong to a function that is indented so, its end included.
fn body(lines: &[EndsLine<'_>], indent: usize, dialect: Dialect) -> usize {
    let mut count = 0;
    for (number, line) in lines.iter().enumerate() {
        if line.code.is_empty() {
            continue;
        }
        let first = line.code.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let goes_on = line.indent > indent
            || (dialect == Dialect::Ruby && PARTS.contains(&first))
            || (dialect == Dialect::Shell && number == 0 && line.code.starts_with(['{', '(']));
        if goes_on {
            count = number + 1;
            continue;
        }
        let ends = match dialect {
            Dialect::Ruby | Dialect::Lua => first == "end",
            _ => line.code.starts_with(['}', ')']),
        };
        return if ends && line.indent == indent { number + 1 } else { count };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::chunkers::code::lexer;

    /// Functions as their titles and their text.
    fn check(says: &str, dialect: Dialect, text: &str, expected: &[(&str, &str)]) {
        let parts = functions(text, &lexer::mask(text, dialect), dialect);
        let got: Vec<(String, &str)> =
            parts.iter().map(|part| (part.titles.join(" > "), text[part.start..part.end].trim())).collect();
        let got: Vec<(&str, &str)> = got.iter().map(|(title, text)| (title.as_str(), *text)).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn ruby_by_method() {
        use Dialect::Ruby;
        check(
            "modules and classes are the path, comments stay",
            Ruby,
            "module A\n  class B < C\n    # Why.\n    def one(x)\n      return 1 if x\n    end\n  end\nend\n",
            &[("module A > class B < C > def one(x)", "# Why.\n    def one(x)\n      return 1 if x\n    end")],
        );
        check(
            "a rescue is a part of its method",
            Ruby,
            "def a\n  b\nrescue E\n  c\nensure\n  d\nend\ne\n",
            &[("def a", "def a\n  b\nrescue E\n  c\nensure\n  d\nend")],
        );
        check(
            "methods in a line",
            Ruby,
            "def area(w, h) = w * h\ndef name=(v)\n  @v = v\nend\ndef none; end\nprivate def b\n  1\nend\n",
            &[
                ("def area(w, h) = w * h", "def area(w, h) = w * h"),
                ("def name=(v)", "def name=(v)\n  @v = v\nend"),
                ("def none; end", "def none; end"),
                ("private def b", "private def b\n  1\nend"),
            ],
        );
        check(
            "what stands in a string ends nothing",
            Ruby,
            "def a\n  x = <<~EOS\nend\ndef no\n  EOS\n  \"#{y}\"\nend\n=begin\ndef neither\n=end\n",
            &[("def a", "def a\n  x = <<~EOS\nend\ndef no\n  EOS\n  \"#{y}\"\nend")],
        );
        check("one without an end is what is indented", Ruby, "def a\n  b\n\nc\n", &[("def a", "def a\n  b")]);
    }

    #[test]
    fn lua_by_function() {
        check(
            "named, local, of a table, within another",
            Dialect::Lua,
            "-- Why.\nfunction M.one(a)\n  local function two() return 1 end\n  --[[\nend\n]]\n  return [[\nend]]\nend\n\
             local three = function(b) -- c\n  return b\nend\nreturn { four = 4,\n  five = function()\n  end,\n}\n",
            &[
                (
                    "function M.one(a)",
                    "-- Why.\nfunction M.one(a)\n  local function two() return 1 end\n  --[[\nend\n]]\n  return [[\n\
                     end]]\nend",
                ),
                ("local three = function(b)", "local three = function(b) -- c\n  return b\nend"),
                ("five = function()", "five = function()\n  end,"),
            ],
        );
    }

    #[test]
    fn shell_by_function() {
        check(
            "in every way they are written",
            Dialect::Shell,
            "#!/bin/sh\nset -e\n\n# Why.\none() {\n  echo \"$#\" '}' # }\n  cat <<-'END'\n}\n\tEND\n}\nfunction two\n{\n  \
             x=${#a}\n}\nthree() { echo 3; }\nfour() (\n  cd x\n)\nif f; then g; fi\n",
            &[
                ("one()", "# Why.\none() {\n  echo \"$#\" '}' # }\n  cat <<-'END'\n}\n\tEND\n}"),
                ("function two", "function two\n{\n  x=${#a}\n}"),
                ("three() { echo 3; }", "three() { echo 3; }"),
                ("four() (", "four() (\n  cd x\n)"),
            ],
        );
    }
}
