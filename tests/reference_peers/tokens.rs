//! Our count of tokens is that of an implementation that shares nothing with ours, its vocabulary included.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use serin_reference::index::documentation::SOURCES as DOCUMENTATION;
use serin_reference::text::draw::mix;
use serin_reference::text::tokens;

use crate::node;
use crate::served::Served;

/// Texts of each kind; there are ten kinds.
const OF_EACH: u64 = 100;
/// Questions that are asked through the tool.
const QUESTIONS: usize = 25;

/// Draws that come out the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        (mix(self.0) % end as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// So many pieces, one after the other.
    fn row(&mut self, pieces: usize, all: &[&str]) -> String {
        (0..pieces).map(|_| self.of(all)).collect()
    }

    /// So many characters out of ranges of code points.
    fn characters(&mut self, count: usize, ranges: &[(u32, u32)]) -> String {
        let mut text = String::new();
        while text.chars().count() < count {
            let (first, last) = ranges[self.below(ranges.len())];
            // Surrogates lie in between; a text has none.
            text.extend(char::from_u32(first + self.below((last - first + 1) as usize) as u32));
        }
        text
    }

    /// A stretch of a longer text, wherever it begins and ends.
    fn stretch(&mut self, text: &str, letters_max: usize) -> String {
        let letters = text.chars().count();
        let (start, length) = (self.below(letters), 1 + self.below(letters_max));
        text.chars().skip(start).take(length).collect()
    }
}

const CODE: &[&str] = &[
    include_str!("tokens.rs"),
    include_str!("count.mjs"),
    include_str!("../install.sh"),
    include_str!("../reference/main.rs"),
    include_str!("../third_party/search_mcp.py"),
    include_str!("../reference_peers/package.json"),
];
const CJK: &[(u32, u32)] = &[
    (0x4E00, 0x9FFF),
    (0x4E00, 0x5FFF),
    (0x3040, 0x30FF),
    (0xAC00, 0xD7A3),
    (0x3000, 0x303F),
    (0xFF01, 0xFF5E),
    (0x20, 0x20),
];
const RTL: &[(u32, u32)] =
    &[(0x0590, 0x05F4), (0x0600, 0x06FF), (0x0750, 0x077F), (0x200E, 0x200F), (0x202A, 0x202E), (0x20, 0x20)];
/// But for U+0085 and U+FEFF, on which pattern dialects differ.
const CONTROLS: &[(u32, u32)] =
    &[(0, 0x1F), (0x7F, 0x84), (0x86, 0x9F), (0x20, 0x7E), (0x2028, 0x2029), (0xFFF0, 0xFFFF)];
/// What JavaScript takes for a blank and Unicode does not, and the other way round, among their like.
const DISPUTED: &[&str] = &["\u{FEFF}", "\u{85}", " ", "\n", "\r\n", "\t", "\u{A0}", "a", "B", "7", "!", "\u{0}"];
const ANY: &[(u32, u32)] =
    &[(0, 0x7F), (0x80, 0x24F), (0x250, 0x1FFF), (0x2000, 0xD7FF), (0xE000, 0xFFFF), (0x1_0000, 0x10_FFFF)];
const EMOJI: &[&str] =
    &["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵", "❤️", "☎", "🧑🏿‍🚀", "1️⃣", "\u{200D}", "\u{FE0F}", "ok", " ", "\n", "🫠", "🪿"];
const BLANKS: &[&str] =
    &[" ", "  ", "\t", "\n", "\r\n", "\r", "\u{A0}", "\u{3000}", "\u{2003}", "\u{0B}", "    ", "\n\n\n"];
const NUMBERS: &[&str] = &[
    "0",
    "7",
    "42",
    "-32022",
    "3.14159",
    "1e-9",
    "٤٢",
    "四十二",
    "½",
    "²",
    "0x1F",
    "1,000,000",
    " ",
    ",",
    "10:30",
    "2026-07-28",
    "€",
    "%",
    "Ⅻ",
    "१२३",
];
const QUIRKS: &[&str] = &[
    "don't",
    "DON'T",
    "I'M",
    "we'Ll",
    "’s",
    "'S",
    "camelCase",
    "HTTPServer",
    "ǅungla",
    "naïve",
    "nai\u{308}ve",
    "STRASSE",
    "ß",
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|im_start|>",
    "/",
    "//",
    "\n/",
    "!?",
    "...",
    "…",
    " \n",
    "\n ",
    " ",
    "a/b",
    "_x_",
    "İ",
    "ﬁ",
];

fn text(kind: u64, draw: &mut Draw) -> String {
    let size = 1 + draw.below(60);
    match kind {
        0 => {
            let (_, document) = DOCUMENTATION[draw.below(DOCUMENTATION.len())];
            draw.stretch(document, 1_500)
        }
        1 => {
            let source = draw.of(CODE);
            draw.stretch(source, 1_500)
        }
        2 => draw.characters(size, CJK),
        3 => draw.row(size, EMOJI),
        4 => draw.characters(size, RTL),
        5 => draw.characters(size, CONTROLS),
        6 => {
            let long = draw.of(BLANKS).repeat(1 + draw.below(700));
            format!("{}x{long}{}", draw.row(size, BLANKS), draw.row(3, &["y", "", " z", "9", "!"]))
        }
        7 => draw.row(size, NUMBERS),
        8 => draw.characters(size, ANY),
        _ => draw.row(size, QUIRKS),
    }
}

/// Counts by js-tiktoken.
fn counted(texts: &[String], blanks: &str) -> Vec<usize> {
    let mut process = node::script(&node::tests("reference_peers/count.mjs"))
        .arg(blanks)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(json!(texts).to_string().as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "count.mjs fails; run tests/install.sh");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(texts: &[String], blanks: &str) {
    let counts = counted(texts, blanks);
    assert_eq!(counts.len(), texts.len());
    let mut wrong = String::new();
    for ((number, text), expected) in texts.iter().enumerate().zip(counts) {
        let count = tokens::count(text);
        if count != expected {
            let _ = writeln!(wrong, "text {number}: {count}, and not {expected}: {text:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
#[ignore = "needs tests/install.sh"]
fn a_thousand_texts_have_as_many_tokens_as_another_implementation_counts() {
    let drawn = (0..10 * OF_EACH).map(|number| text(number % 10, &mut Draw(mix(number))));
    let texts: Vec<String> = drawn.collect();
    assert_eq!(texts.len(), 1_000);
    check(&texts, "as it comes");
}

#[test]
#[ignore = "needs tests/install.sh"]
fn where_dialects_differ_on_blanks_ours_are_those_of_unicode() {
    let texts: Vec<String> = (0..OF_EACH).map(|number| Draw(mix(number)).row(30, DISPUTED)).collect();
    check(&texts, "unicode-blanks");
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn the_tool_says_how_many_tokens_its_context_has() {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let served = Served::with(&[]);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (mut contexts, mut said) = (Vec::new(), Vec::new());
    for (number, (_, document)) in DOCUMENTATION.iter().cycle().take(QUESTIONS).enumerate() {
        let question = Draw(number as u64).stretch(document, 80);
        let arguments =
            json!({"query": format!("{question} ?"), "top_k": 1 + number % 20, "budget_tokens": 100 + 150 * number});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search_documents", "arguments": arguments}});
        let request = client.post(&served.mcp).header("Accept", "application/json, text/event-stream").json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let data = &answer["result"]["structuredContent"]["data"];
        contexts.push(data["context"].as_str().unwrap_or_else(|| panic!("{arguments}: {answer}")).to_owned());
        said.push(data["tokens_used"].as_u64().unwrap() as usize);
    }
    assert_eq!(said, counted(&contexts, "as it comes"));
    assert!(said.iter().max() > Some(&1_000), "some are long: {said:?}");
}
