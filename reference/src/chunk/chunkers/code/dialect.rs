//! Guesses how a code file is written, since chunks are asked for by text and not by name.

/// A way of writing code, as far as cutting it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Rust.
    Rust,
    /// Braces and C's characters: C, C++, C#, Go, Java, Kotlin, Scala, Swift.
    Braces,
    /// JavaScript, TypeScript, PHP: strings in either quotes, template strings.
    Script,
    /// Blocks by indentation, comments by hash.
    Python,
    /// Blocks that end with a word, comments by hash.
    Ruby,
    /// Blocks that end with a word, comments by two dashes.
    Lua,
    /// sh, bash and their kin.
    Shell,
    /// None of these; comments by hash.
    Plain,
}

/// Lines that are read to guess.
const LINES_MAX: usize = 2_000;

/// Beginnings of lines that speak for a dialect.
const BEGINNINGS: &[(Dialect, &[&str])] = &[
    (
        Dialect::Rust,
        &[
            "fn ",
            "pub ",
            "impl ",
            "impl<",
            "use crate",
            "use std::",
            "let mut ",
            "#[",
            "//!",
            "///",
            "mod ",
            "trait ",
            "async fn ",
        ],
    ),
    (
        Dialect::Braces,
        &[
            "func ",
            "package ",
            "#include",
            "#define",
            "#if",
            "public ",
            "private ",
            "protected ",
            "static ",
            "void ",
            "int ",
            "template",
            "namespace ",
            "using ",
            "fun ",
            "val ",
            "override ",
            "type ",
            "struct ",
            "typedef ",
            "import java",
            "std::",
            "bool ",
            "char ",
            "double ",
            "@Override",
        ],
    ),
    (
        Dialect::Script,
        &[
            "function ",
            "const ",
            "let ",
            "var ",
            "export ",
            "import {",
            "import * as ",
            "async function ",
            "<?php",
            "$",
            "module.exports",
            "'use strict'",
            "\"use strict\"",
            "interface ",
            "return await ",
            "await ",
        ],
    ),
    (
        Dialect::Python,
        &[
            "def ",
            "async def ",
            "elif ",
            "from ",
            "import ",
            "self.",
            "except ",
            "except:",
            "with ",
            "\"\"\"",
            "if __name__",
            "pass",
            "# ",
        ],
    ),
    (
        Dialect::Ruby,
        &[
            "def ",
            "end",
            "module ",
            "require ",
            "require_relative ",
            "attr_",
            "unless ",
            "elsif ",
            "rescue",
            "puts ",
            "# ",
        ],
    ),
    (Dialect::Lua, &["local ", "function ", "end", "elseif ", "-- ", "--["]),
    (
        Dialect::Shell,
        &["#!", "# ", "fi", "done", "esac", "echo ", "if [", "set -", "export ", "local ", "[[ ", "exit ", "cd "],
    ),
    (Dialect::Plain, &["# ", "- ", "["]),
];

/// The dialect most lines speak for; of equals the first in the order of `Dialect`.
pub(crate) fn guess(text: &str) -> Dialect {
    let mut votes = [0_usize; BEGINNINGS.len()];
    for line in text.lines().take(LINES_MAX) {
        let bare = line.trim_start();
        for (vote, (dialect, beginnings)) in votes.iter_mut().zip(BEGINNINGS) {
            if beginnings.iter().any(|beginning| bare.starts_with(beginning)) {
                *vote += 1 + usize::from(is_sure(*dialect, bare.trim_end()));
            }
        }
    }
    let most = votes.iter().max().copied().unwrap_or_default();
    let dialect = votes.iter().zip(BEGINNINGS).find(|(vote, _)| **vote == most && most > 0);
    dialect.map_or(Dialect::Plain, |(_, (dialect, _))| *dialect)
}

/// Whether a line that begins so is hardly anything else.
fn is_sure(dialect: Dialect, line: &str) -> bool {
    match dialect {
        Dialect::Rust => line.starts_with("fn ") || line.starts_with("pub fn ") || line.starts_with("impl"),
        Dialect::Braces => {
            line.ends_with('{') && (line.starts_with("func ") || line.starts_with("public "))
                || line.starts_with("#include")
        }
        Dialect::Script => line.starts_with("function ") || line.contains("=>") || line.contains("require("),
        Dialect::Python => line.ends_with(':') && (line.starts_with("def ") || line.starts_with("async def ")),
        Dialect::Ruby => line == "end" || (line.starts_with("def ") && !line.ends_with(':')),
        Dialect::Lua => {
            line == "end"
                || line.starts_with("function ")
                || line.starts_with("local function ")
                || (line.starts_with("local ") && line.contains(" = "))
        }
        Dialect::Shell => matches!(line, "fi" | "done" | "esac") || (line.starts_with("#!") && line.contains("sh")),
        Dialect::Plain => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: Dialect) {
        assert_eq!(guess(text), expected, "{says}");
    }

    #[test]
    fn a_few_lines_tell() {
        check("Rust", "use std::fmt;\n\npub fn a(b: &str) -> u8 {\n    0\n}\n", Dialect::Rust);
        check("Go", "package main\n\nfunc main() {\n\tx := 1\n}\n", Dialect::Braces);
        check("Java", "public class A {\n  private int b() { return 1; }\n}\n", Dialect::Braces);
        check("C", "#include <a.h>\nint main(void) { return 0; }\n", Dialect::Braces);
        check("JavaScript", "const a = require('a');\nfunction b() { return 1 }\n", Dialect::Script);
        check("TypeScript", "import { a } from 'a';\nexport const b = (c: number) => c;\n", Dialect::Script);
        check("Python", "import os\n\ndef a(b):\n    return b\n", Dialect::Python);
        check("a shell script", "#!/bin/sh\n# what\nif true; then\n  echo x\nfi\n", Dialect::Shell);
        check("a library of shell functions", "a() {\n  local b=\"$1\"\n}\n\nc() {\n  echo d\n}\n", Dialect::Shell);
        check("Ruby", "require 'a'\n\nclass B\n  def c(d)\n    d\n  end\nend\n", Dialect::Ruby);
        check("Lua", "local m = {}\n\nfunction m.a(b)\n  return b\nend\n\nreturn m\n", Dialect::Lua);
        check("settings", "[server]\n# where\nport = 1\n[client]\n", Dialect::Plain);
        check("nothing", "", Dialect::Plain);
    }
}
