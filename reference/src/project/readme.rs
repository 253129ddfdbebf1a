//! The first heading and the first paragraph of a README, in Markdown or reStructuredText, without their markup.

use std::sync::LazyLock;

use regex::Regex;

use crate::chunk::sentences;

/// Sentences of a paragraph that are taken.
const SENTENCES_MAX: usize = 2;
/// Words below which a paragraph says nothing: a slogan, a list of links.
const WORDS_MIN: usize = 4;
/// What begins a block that is no prose: a list, a quotation, a table, a directive, a field, code.
const NO_PROSE: [&str; 9] = ["- ", "* ", "+ ", ">", "|", "..", ":", "```", "~~~"];

static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| regex("(?s)<!--.*?-->|\\A---\n.*?\n---\n"));
static FENCED: LazyLock<Option<Regex>> = LazyLock::new(|| regex("(?ms)^(```|~~~).*?(^(```|~~~)[ \t]*$|\\z)"));
static IMAGE: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])|\|[^|\s]+\|_?"));
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?"));
static RST_LINK: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"`([^`<]*?)\s*<[^>`]*>`_{1,2}"));
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| regex("</?[A-Za-z][^>]*>|<https?:[^>]*>"));
static EMPHASIS: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"[*`]+|~~|_+(\s|$|[.,;:!?])|(^|\s)_+"));

/// A pattern of this file; they are all tried by the tests.
fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

fn replaced(text: &str, pattern: &LazyLock<Option<Regex>>, by: &str) -> String {
    pattern.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, by).into_owned())
}

/// What a README says first: its heading, and the first sentences of its prose; empty where there is none.
pub fn opening(text: &str) -> (String, String) {
    let text = text.replace("\r\n", "\n");
    let text = replaced(&replaced(&text, &HIDDEN, ""), &FENCED, "");
    let mut name = String::new();
    for block in text.split("\n\n") {
        let mut lines: Vec<&str> = block.lines().filter(|line| !line.trim().is_empty()).collect();
        while let Some((title, taken)) = heading(&lines) {
            if name.is_empty() {
                name = title;
            }
            lines.drain(..taken);
        }
        if let Some(summary) = prose(&lines) {
            return (name, summary);
        }
    }
    (name, String::new())
}

/// The heading that a block begins with, and how many lines it takes.
fn heading(lines: &[&str]) -> Option<(String, usize)> {
    let first = lines.first()?.trim();
    if first.starts_with('#') || first.to_ascii_lowercase().contains("<h1") {
        return Some((plain(first.trim_matches('#')), 1));
    }
    let is_line = |line: Option<&&str>| {
        line.is_some_and(|line| {
            let mut marks = line.trim().chars();
            let mark = marks.next().filter(|mark| "=-~^*#".contains(*mark));
            line.trim().len() >= 3 && mark.is_some_and(|mark| marks.all(|other| other == mark))
        })
    };
    match (is_line(lines.first()), is_line(lines.get(1)), is_line(lines.get(2))) {
        (true, false, true) => Some((plain(lines[1]), 3)),
        (true, ..) => Some((String::new(), 1)),
        (false, true, _) => Some((plain(first), 2)),
        (false, false, _) => None,
    }
}

/// The first sentences of a block, where it is prose.
fn prose(lines: &[&str]) -> Option<String> {
    let first = lines.first()?;
    let is_item = first.trim_start().split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    if NO_PROSE.iter().any(|mark| first.trim_start().starts_with(mark)) || is_item || first.starts_with("    ") {
        return None;
    }
    let block = lines.join(" ");
    let text = plain(&block);
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    let links = block.matches("](").count() + block.matches("<a ").count();
    if words < WORDS_MIN || links * 3 > words {
        return None;
    }
    let end = sentences::split(&text, 0, text.len()).into_iter().take(SENTENCES_MAX).next_back();
    end.map(|(_, end)| text[..end].trim_end_matches([' ', ':']).to_owned())
}

/// A line without markup.
fn plain(text: &str) -> String {
    let text = replaced(text, &IMAGE, "");
    let text = replaced(&text, &RST_LINK, "$1");
    let text = replaced(&text, &LINK, "$1");
    let text = replaced(&text, &TAG, " ");
    let text = replaced(&text, &EMPHASIS, "$1$2");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, name: &str, summary: &str) {
        assert_eq!(opening(text), (name.to_owned(), summary.to_owned()), "{says}");
    }

    #[test]
    fn the_patterns_are_patterns() {
        for pattern in [&HIDDEN, &FENCED, &IMAGE, &LINK, &RST_LINK, &TAG, &EMPHASIS] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn a_readme_opens_with_what_it_is_about() {
        let prose = "Keeps the tank full, day and night.";
        check("a heading and a paragraph", &format!("# Pump\n\n{prose}\n"), "Pump", prose);
        check("right below it", &format!("# Pump #\n{prose}\n"), "Pump", prose);
        check("underlined", &format!("Pump\n====\n\n{prose}\n"), "Pump", prose);
        check("between two lines", &format!("====\nPump\n====\n\n{prose}\n"), "Pump", prose);
        check("a centred page", &format!("<h1 align=\"center\">Pump</h1>\n\n<p>{prose}</p>\n"), "Pump", prose);
        check("no heading", &format!("{prose}\n"), "", prose);
        check("nothing else", "# Pump\n", "Pump", "");
        check("lines of Windows", &format!("# Pump\r\n\r\n{prose}\r\n"), "Pump", prose);
        check("the first two sentences", "# P\n\nOne is here now. Two. Three.\n", "P", "One is here now. Two.");
        check("a colon before a list", "# P\n\nThis is what it does:\n\n- a\n", "P", "This is what it does");
    }

    #[test]
    fn what_is_no_prose_is_passed_over() {
        let prose = "Keeps the tank full, day and night.";
        let check = |says: &str, before: &str| check(says, &format!("# Pump\n\n{before}\n\n{prose}\n"), "Pump", prose);
        check("badges", "[![CI](https://x/y.svg)](https://x) ![b][c]");
        check("a list", "- one two three four\n- five");
        check("steps", "1. one two three four\n2. five");
        check("a quotation", "> Somebody said this of it.");
        check("a table", "| a | b |\n|---|---|\n| one | two three |");
        check("code", "```sh\ncargo install pump and more\n\nmore of that here too\n```");
        check("a comment", "<!-- this is not\n\nto be read by anybody -->");
        check("links", "[Site](https://x) [Docs](https://y) [Chat here](https://z)");
        check("a slogan", "Just works!");
        check("a section", "## Why");
        check("a directive", ".. image:: https://x/y.svg\n   :alt: the build of it");
    }

    #[test]
    fn markup_goes_and_words_stay() {
        let check = |says: &str, text: &str, expected: &str| check(says, &format!("{text}\n"), "", expected);
        check("emphasis", "It **really** is _quite_ `fast` here.", "It really is quite fast here.");
        check(
            "names keep their marks",
            "The file read_me_first is read first.",
            "The file read_me_first is read first.",
        );
        check("links", "See [the book](https://x) and [that][1] for more.", "See the book and that for more.");
        check("tags", "It is <b>bold</b><br/>and a < b holds.", "It is bold and a < b holds.");
        check("of reStructuredText", "It uses `Sphinx <https://x>`_ and ``code`` too.", "It uses Sphinx and code too.");
    }
}
