//! A code file as its functions and what stands between them.
//!
//! Works on the text that `lexer` has blanked, so that braces and keywords in strings and comments
//! count for nothing. A decorator, an attribute and the comment lines right above belong to their
//! function; so do closing braces that nothing else claims. Functions within functions stay there.

use crate::chunk::chunkers::code::braces;
use crate::chunk::chunkers::code::dialect::{self, Dialect};
use crate::chunk::chunkers::code::ends;
use crate::chunk::chunkers::code::indents;
use crate::chunk::chunkers::code::lexer;
use crate::chunk::chunkers::code::part::Part;

/// The whole file in parts, in order, without holes.
pub(crate) fn parts(text: &str) -> Vec<Part> {
    let dialect = dialect::guess(text);
    let mask = lexer::mask(text, dialect);
    let functions = match dialect {
        Dialect::Python => indents::functions(text, &mask),
        Dialect::Rust | Dialect::Braces | Dialect::Script => braces::functions(text, &mask, dialect),
        Dialect::Ruby | Dialect::Lua | Dialect::Shell => ends::functions(text, &mask, dialect),
        Dialect::Plain => Vec::new(),
    };
    with_what_is_between(text, functions)
}

fn with_what_is_between(text: &str, functions: Vec<Part>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 0;
    for function in functions {
        between(text, at, function.start, &function, &mut parts);
        at = function.end;
        parts.push(function);
    }
    let end = Part { start: text.len(), end: text.len(), titles: Vec::new(), is_function: false };
    between(text, at, text.len(), &end, &mut parts);
    parts
}

/// Adds what lies before a function: lines that only close braces to the one before, the rest as a part.
fn between(text: &str, start: usize, end: usize, next: &Part, parts: &mut Vec<Part>) {
    let mut start = start;
    if let Some(last) = parts.last_mut() {
        start += closing_lines(&text[start..end]);
        last.end = start;
    }
    if text[start..end].trim().is_empty() {
        return;
    }
    // What both neighbours stand in, this stands in too.
    let around = |part: &Part| part.titles[..part.titles.len().saturating_sub(1)].to_vec();
    let before = parts.last().map(around).unwrap_or_default();
    let shared = before.iter().zip(around(next)).take_while(|(a, b)| **a == *b).count();
    parts.push(Part { start, end, titles: before[..shared].to_vec(), is_function: false });
}

/// The length of the lines at the beginning that hold nothing but closing brackets, or Ruby's word.
fn closing_lines(gap: &str) -> usize {
    let closes = |line: &&str| {
        line.trim() == "end" || line.chars().all(|c| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ';' | ','))
    };
    gap.split_inclusive('\n').take_while(closes).map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as title and text; `-` before the title of what is no function.
    fn check(says: &str, text: &str, expected: &[(&str, &str)]) {
        let parts = parts(text);
        let got: Vec<(String, &str)> = parts
            .iter()
            .map(|part| {
                let titles = part.titles.join(" > ");
                let title = if part.is_function { titles } else { format!("-{titles}") };
                (title, text[part.start..part.end].trim())
            })
            .collect();
        let got: Vec<(&str, &str)> = got.iter().map(|(title, text)| (title.as_str(), *text)).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn rust_by_function() {
        check(
            "attributes and comments stay with their function, types are its path",
            "use a::b;\n\n/// Says.\n#[must_use]\npub fn one<'a>(x: &'a str) -> char {\n    '{' // }\n}\n\nimpl<T> X for Y<T> {\n    const A: u8 = 1;\n\n    fn two(&self) { \"}\" }\n}\n",
            &[
                ("-", "use a::b;"),
                (
                    "pub fn one<'a>(x: &'a str) -> char",
                    "/// Says.\n#[must_use]\npub fn one<'a>(x: &'a str) -> char {\n    '{' // }\n}",
                ),
                ("-", "impl<T> X for Y<T> {\n    const A: u8 = 1;"),
                ("impl<T> X for Y<T> > fn two(&self)", "fn two(&self) { \"}\" }\n}"),
            ],
        );
        check(
            "a closure and a function within stay inside, a trait's promise is none",
            "trait T {\n    fn a();\n    fn b() {\n        fn c() {}\n        let d = || {};\n    }\n}\nconst X: Y = Y { z: 1 };\n",
            &[
                ("-", "trait T {\n    fn a();"),
                ("trait T > fn b()", "fn b() {\n        fn c() {}\n        let d = || {};\n    }\n}"),
                ("-", "const X: Y = Y { z: 1 };"),
            ],
        );
    }

    #[test]
    fn python_by_function() {
        check(
            "decorators and comments stay, strings and brackets hide what they hold",
            "import os\n\nclass A(B):\n    '''def no():\n    '''\n    x = 1\n\n    # Why.\n    @d(\n        1,\n    )\n    def f(self,\n          b={}):\n        return \"\"\"\ndef g():\n\"\"\"\n\n\nasync def h():\n    def i(): pass\n    return i\n\nx = f()\n",
            &[
                ("-", "import os\n\nclass A(B):\n    '''def no():\n    '''\n    x = 1"),
                (
                    "class A(B) > def f(self, b={})",
                    "# Why.\n    @d(\n        1,\n    )\n    def f(self,\n          b={}):\n        return \"\"\"\ndef g():\n\"\"\"",
                ),
                ("async def h()", "async def h():\n    def i(): pass\n    return i"),
                ("-", "x = f()"),
            ],
        );
    }

    #[test]
    fn scripts_by_function() {
        check(
            "functions, arrows and methods, with or without semicolons",
            "import { a } from 'a'\n\n// Why.\nexport async function one(b = {}) {\n  return `}${b({})}`\n}\nconst two = (c) => {\n  return /[/}]/\n}\n\nclass D extends E {\n  field = 1\n  @get()\n  three(x: string): void {\n    if (x) { f(() => { x }) }\n  }\n}\nif (a) { b() }\n",
            &[
                ("-", "import { a } from 'a'"),
                (
                    "export async function one(b = {})",
                    "// Why.\nexport async function one(b = {}) {\n  return `}${b({})}`\n}",
                ),
                ("const two = (c) =>", "const two = (c) => {\n  return /[/}]/\n}"),
                ("-", "class D extends E {\n  field = 1"),
                (
                    "class D extends E > three(x: string): void",
                    "@get()\n  three(x: string): void {\n    if (x) { f(() => { x }) }\n  }\n}",
                ),
                ("-", "if (a) { b() }"),
            ],
        );
    }

    #[test]
    fn brace_languages_by_function() {
        check(
            "Go: methods, literals that look like calls, empty types",
            "package a\n\nvar t = []T{{Name: f(1), Y: {2}}}\n\n// One does.\nfunc (r *T) One(x interface{}) (int, error) {\n\treturn `}`, nil\n}\n",
            &[
                ("-", "package a\n\nvar t = []T{{Name: f(1), Y: {2}}}"),
                (
                    "func (r *T) One(x interface{}) (int, error)",
                    "// One does.\nfunc (r *T) One(x interface{}) (int, error) {\n\treturn `}`, nil\n}",
                ),
            ],
        );
        check(
            "Java: annotations, throws, a class around",
            "package a;\n\npublic class A extends B {\n  private int x = 1;\n\n  /** Says. */\n  @Override\n  public List<String> one(int y) throws E {\n    while (y > 0) { y--; }\n  }\n}\n",
            &[
                ("-", "package a;\n\npublic class A extends B {\n  private int x = 1;"),
                (
                    "public class A extends B > public List<String> one(int y) throws E",
                    "/** Says. */\n  @Override\n  public List<String> one(int y) throws E {\n    while (y > 0) { y--; }\n  }\n}",
                ),
            ],
        );
        check(
            "C: a type on its own line, macros with open braces, data",
            "#include <a.h>\n#define B do { \\\n  c(\nint d[] = { 1, 2 };\n\nstatic struct e *\nf(int g)\n{\n  char c = '{';\n  return 0;\n}\n",
            &[
                ("-", "#include <a.h>\n#define B do { \\\n  c(\nint d[] = { 1, 2 };"),
                ("f(int g)", "static struct e *\nf(int g)\n{\n  char c = '{';\n  return 0;\n}"),
            ],
        );
    }

    #[test]
    fn languages_of_words_by_function() {
        check(
            "Ruby: what only ends stays with the method before",
            "class A\n  attr_reader :b\n\n  def c\n    1\n  end\nend\n",
            &[("-", "class A\n  attr_reader :b"), ("class A > def c", "def c\n    1\n  end\nend")],
        );
        check(
            "shell: what stands between is a part of its own",
            "#!/bin/sh\nset -eu\n\nf() {\n  echo\n}\n\nf \"$@\"\n",
            &[("-", "#!/bin/sh\nset -eu"), ("f()", "f() {\n  echo\n}"), ("-", "f \"$@\"")],
        );
    }

    #[test]
    fn other_texts_have_no_functions() {
        check("settings", "# {\n[a]\nf = 1\n", &[("-", "# {\n[a]\nf = 1")]);
        check("nothing", "", &[]);
    }
}
