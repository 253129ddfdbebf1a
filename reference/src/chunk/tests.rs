//! What holds for every method, on texts made to break it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::chunk::chunkers::methods::SUMMARY_CHARS_MIN;
use crate::chunk::{Chunk, ChunkSettings, Method, Role, TOKENS_MOST, markdown, split};
use crate::lab::damage::{self, Damage};
use crate::text::tokens;

/// Checks the promises of `cut` for one text and method; gives the chunks.
fn check(says: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
    let chunks = split(method, text, settings);
    let letters: Vec<char> = text.chars().collect();
    let mut last_start = 0;
    for (place, chunk) in chunks.iter().enumerate() {
        let says = format!("{says}, {method}, chunk {place}");
        assert_eq!(chunk.tokens, tokens::count(&chunk.searched()), "{says}: counted with its headings");
        assert!(!chunk.content.trim().is_empty(), "{says}: has something to read");
        match chunk.role {
            Role::Summary => {
                assert_eq!(place + 1, chunks.len(), "{says}: a summary is the last");
                assert_eq!((chunk.char_start, chunk.char_end), (0, letters.len()), "{says}: and spans the document");
                assert!(chunk.tokens <= settings.tokens_max(), "{says}: within the limit");
                assert!(chunk.content.lines().all(|line| text.contains(line)), "{says}: and is verbatim");
                continue;
            }
            Role::Section => assert!(chunk.tokens <= TOKENS_MOST, "{says}: a parent is bounded"),
            Role::Passage => {
                assert!(chunk.tokens <= settings.tokens_max(), "{says}: {} tokens", chunk.tokens);
                if method == Method::Fixed {
                    assert!(chunk.content.chars().count() <= settings.characters(), "{says}: within its characters");
                }
            }
        }
        let there: String = letters[chunk.char_start..chunk.char_end].iter().collect();
        assert_eq!(there, chunk.content, "{says}: offsets point at the very text");
        assert!(chunk.char_start >= last_start, "{says}: in order");
        last_start = chunk.char_start;
        let parent = chunk.parent.map(|parent| &chunks[parent]);
        assert_eq!(parent.is_some(), method == Method::ParentChild && chunk.role == Role::Passage, "{says}: parents");
        if let Some(parent) = parent {
            assert_eq!(parent.role, Role::Section, "{says}: a parent is a section");
            assert!(parent.char_start <= chunk.char_start && chunk.char_end <= parent.char_end, "{says}: around it");
        }
    }
    nothing_is_lost(says, method, text, &chunks);
    chunks
}

/// Only white space and headings stand in no passage; with code and topics no headings either.
fn nothing_is_lost(says: &str, method: Method, text: &str, chunks: &[Chunk]) {
    let mut covered = vec![false; text.chars().count()];
    for chunk in chunks.iter().filter(|chunk| chunk.role == Role::Passage) {
        covered[chunk.char_start..chunk.char_end].fill(true);
    }
    let mut headings: BTreeSet<usize> = BTreeSet::new();
    if matches!(method, Method::Markdown | Method::ParentChild) {
        for block in markdown::blocks(text) {
            if matches!(block.kind, markdown::BlockKind::Heading(..)) {
                headings.extend(block.start..block.end);
            }
        }
    }
    for ((byte, c), covered) in text.char_indices().zip(covered) {
        assert!(
            covered || c.is_whitespace() || headings.contains(&byte),
            "{says}, {method}: {c:?} at byte {byte} is lost"
        );
    }
}

fn settings(tokens_max: usize, overlap: usize) -> ChunkSettings {
    ChunkSettings::checked(tokens_max, overlap, 512, 64).unwrap()
}

#[test]
fn hostile_texts_keep_every_promise() {
    let table = [
        ("nothing", String::new()),
        ("white space of every kind", " \n\t\u{3000}\r\n".repeat(2_000)),
        ("one word without end", "x".repeat(20_000)),
        ("one line without end", "word, ".repeat(4_000)),
        ("only fences", "```\n".repeat(5_000)),
        ("only backticks", "`".repeat(20_000)),
        ("a fence that never ends", format!("~~~\n{}", "y = 1\n".repeat(3_000))),
        ("only headings", "# A\n## B\n".repeat(3_000)),
        ("a heading without end", format!("# {}", "long ".repeat(4_000))),
        ("a heading of dense letters over each word", format!("# {}\na\n", "漢".repeat(60)).repeat(50)),
        ("control characters", "\u{0}\u{1}\u{2}\u{1b}[31m\u{7f}".repeat(1_000)),
        ("Chinese without spaces", "检索系统把文档切成块。".repeat(500)),
        ("Arabic, from right to left", "يقسم النظام المستندات إلى أجزاء. ".repeat(300)),
        ("pictures", "🙂👩‍👩‍👧‍👦🏳️‍🌈".repeat(700)),
        ("dots", ". ".repeat(10_000)),
        ("a dot and blanks", format!(".{}x", " ".repeat(20_000))),
        ("empty lines between words", format!("a.{}b.", "\n".repeat(20_000))),
        ("braces that only open", "fn a() {".repeat(2_500)),
        ("braces that only close", "}".repeat(20_000)),
        ("brackets of every kind", "({[".repeat(7_000)),
        ("quotes of every kind", "\"'`/*//r#\"R\"(".repeat(1_500)),
        ("slashes", "=/[".repeat(7_000)),
        ("functions on one line", "function a(){return 1}".repeat(1_000)),
        ("functions of Python on one line", "def a(): pass\n".repeat(1_500)),
        ("methods of Ruby that never end", "def a\n".repeat(3_000)),
        ("ends of Ruby that end nothing", format!("def a\n{}", "end\n".repeat(5_000))),
        ("functions of shell that only open", "a() {\n".repeat(3_000)),
        ("texts that never end", (0..3_000).map(|number| format!("echo <<A{number}\n")).collect()),
        ("long brackets of Lua", format!("local a = 1\n{}", "--[==[ ]=] ".repeat(2_000))),
        ("decorators", "@a\n".repeat(7_000)),
        ("lines of blanks in code", format!("def a():\n{}x\n", "    \n".repeat(4_000))),
        ("windows line ends", "# A\r\nOne. Two.\r\n\r\n```\r\nx\r\n```\r\n".repeat(200)),
        ("a separator of Unicode", "One.\u{2028}Two.\u{2029}Three.\u{85}".repeat(500)),
    ];
    for (says, text) in &table {
        for method in Method::ALL.iter().copied() {
            check(says, method, text, &settings(200, 1));
        }
    }
}

/// Pieces that meet in ways nobody writes.
fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "# A\n",
        "## B c\n",
        "Title\n===\n",
        "```\n",
        "~~~rust\n",
        "- item one.\n",
        "| a | b |\n",
        "One sentence. ",
        "Is it? ",
        "\n\n",
        "\n",
        " ",
        "    ",
        "fn a(b: u8) -> u8 {\n",
        "}\n",
        "impl X {\n",
        "def f(a):\n",
        "    return 1\n",
        "class C:\n",
        "@d\n",
        "// {\n",
        "/* ",
        "*/",
        "\"",
        "'",
        "`${",
        "r#\"",
        "{",
        "(",
        ")",
        ";",
        "漢字。",
        "שלום. ",
        "🙂",
        "\u{0}",
        "\u{301}",
        "e.g. ",
        "---\n",
        "#include <a>\n",
        "function f() {\n",
        "const a = () => {\n",
        "\r\n",
        "looooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooong",
    ]);
    let piece = prop_oneof![4 => known.prop_map(str::to_owned), 1 => ".{0,40}"];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_keeps_every_promise(text in pieces(), tokens_max in 32_usize..120, overlap in 0_usize..=3) {
        for method in Method::ALL.iter().copied() {
            check("drawn", method, &text, &settings(tokens_max, overlap));
        }
    }
}

fn contents(method: Method, text: &str) -> Vec<(String, String)> {
    let chunks = check("contents", method, text, &ChunkSettings::default());
    chunks.into_iter().map(|chunk| (chunk.section, chunk.content)).collect()
}

#[test]
fn markdown_follows_headings_and_sentences() {
    let is = |says: &str, text: &str, expected: &[(&str, &str)]| {
        let got = contents(Method::Markdown, text);
        let got: Vec<(&str, &str)> = got.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(got, expected, "{says}");
    };
    is("a heading alone gives nothing", "# Title\n", &[]);
    is("plain text is one section without a path", "Hello there. Bye.", &[("", "Hello there. Bye.")]);
    is(
        "a heading stays with its text, under its parents",
        "# A\nOne é.\n## B\nTwo.\n# C\nThree.\n",
        &[("A", "One é."), ("A > B", "Two."), ("C", "Three.")],
    );
    is(
        "code stays whole, its hashes are no headings",
        "# A\nBefore.\n```\n# not a heading. Nor this.\n```\n",
        &[("A", "Before.\n```\n# not a heading. Nor this.\n```")],
    );
    let nine: String = (1..=9).map(|number| format!("This is sentence {number}. ")).collect();
    is(
        "neighbours share one sentence",
        &nine,
        &[
            ("", "This is sentence 1. This is sentence 2. This is sentence 3. This is sentence 4. This is sentence 5."),
            ("", "This is sentence 5. This is sentence 6. This is sentence 7. This is sentence 8. This is sentence 9."),
        ],
    );
}

#[test]
fn topics_begin_where_the_words_change() {
    let bread = "Knead the dough, rest the dough, bake the bread. ".repeat(8);
    let rockets = "The rocket burns fuel, the engine lifts the rocket. ".repeat(8);
    let got = contents(Method::Topics, &format!("{bread}\n\n{rockets}"));
    assert_eq!(got.len(), 2);
    assert!(got[0].1.ends_with("bake the bread.") && got[1].1.starts_with("The rocket burns"));
}

#[test]
fn a_passage_lies_within_its_section() {
    let text = format!("# A\n{}\n# B\nShort.\n", "A sentence of the first section stands here. ".repeat(20));
    let chunks = check("two sections", Method::ParentChild, &text, &ChunkSettings::default());
    let parents: Vec<&str> =
        chunks.iter().filter(|chunk| chunk.role == Role::Section).map(|chunk| chunk.section.as_str()).collect();
    assert_eq!(parents, ["A", "B"]);
    let passages = chunks.iter().filter(|chunk| chunk.parent == Some(0)).count();
    assert!(passages > 2, "the first section has several passages, {passages}");
}

#[test]
fn a_long_document_has_one_summary() {
    let sentence = |number: usize| {
        let thing = ["pump", "valve", "filter", "sensor"][number % 4];
        format!("Step {number} explains how the {thing} of the boiler is cleaned before winter. ")
    };
    let text = format!("# Boiler manual\n{}", (0..900).map(sentence).collect::<String>());
    assert!(text.len() > SUMMARY_CHARS_MIN);
    for method in Method::ALL.iter().copied() {
        let chunks = check("a long manual", method, &text, &ChunkSettings::default());
        let summaries: Vec<&Chunk> = chunks.iter().filter(|chunk| chunk.role == Role::Summary).collect();
        assert_eq!(summaries.len(), usize::from(method != Method::Fixed), "{method}");
        assert!(summaries.iter().all(|summary| summary.content.contains("boiler")), "{method}");
        assert_eq!(chunks, split(method, &text, &ChunkSettings::default()), "{method}: the same each time");
    }
    let short = split(Method::Markdown, &text[..40_000], &ChunkSettings::default());
    assert!(short.iter().all(|chunk| chunk.role != Role::Summary));
}

#[test]
fn settings_name_the_mend() {
    let is = |says: &str, got: Result<ChunkSettings, String>, names: &str| {
        assert!(got.expect_err(says).contains(names), "{says}");
    };
    is("too few tokens", ChunkSettings::checked(31, 1, 512, 64), "32 to 500");
    is("more than health allows", ChunkSettings::checked(501, 1, 512, 64), "32 to 500");
    is("nothing new in a chunk", ChunkSettings::checked(200, 4, 512, 64), "0 to 3");
    is("too few characters", ChunkSettings::checked(200, 1, 10, 0), "64 to 2000");
    is("more overlap than half", ChunkSettings::checked(200, 1, 100, 51), "0 to 50");
    assert_eq!(ChunkSettings::checked(200, 1, 512, 64), Ok(ChunkSettings::default()));
}

#[test]
fn names_say_how_they_are_cut() {
    let is = |source: &str, expected: Method| assert_eq!(Method::of(source), expected, "{source}");
    is("src/main.rs", Method::Code);
    is("A.PY", Method::Code);
    is("README.md", Method::Markdown);
    is("notes", Method::Markdown);
    is("rs", Method::Markdown);
    is("a.rs/notes", Method::Markdown);
    for method in Method::ALL.iter().copied() {
        assert_eq!(method.to_string().parse(), Ok(method));
    }
    assert!("words".parse::<Method>().expect_err("unknown").contains("parent_child"));
}

#[test]
fn damage_is_what_a_bad_chunker_does() {
    let text = format!("# A\n{}", "Some sentence of this document stands here, complete. ".repeat(40));
    let chunks = split(Method::ParentChild, &text, &ChunkSettings::default());
    let passages = |chunks: &[Chunk]| chunks.iter().filter(|chunk| chunk.role == Role::Passage).count();
    let whole = passages(&chunks);
    let is = |says: &str, damage: Damage, expected: usize| {
        let now = damage::apply(damage, &text, chunks.clone(), |_| true);
        assert_eq!(passages(&now), expected, "{says}");
        for chunk in &now {
            let there: String = text.chars().skip(chunk.char_start).take(chunk.char_end - chunk.char_start).collect();
            assert_eq!(there, chunk.content, "{says}: offsets are true");
            assert_eq!(chunk.tokens, tokens::count(&chunk.searched()), "{says}: tokens are true");
            assert!(
                chunk.parent.is_none_or(|parent| now[parent].role == Role::Section),
                "{says}: parents are sections"
            );
        }
        assert_eq!(damage::apply(damage, &text, chunks.clone(), |_| false), chunks, "{says}: none struck, none hurt");
        now
    };
    is("cut mid-sentence", Damage::MidSentence, text.len().div_ceil(397));
    let emptied = is("emptied", Damage::Emptied, whole);
    assert!(emptied.iter().filter(|chunk| chunk.role == Role::Passage).all(|chunk| chunk.content.is_empty()));
    is("twice each", Damage::Duplicated, 2 * whole);
    is("three of each", Damage::Small, 3 * whole);
}
