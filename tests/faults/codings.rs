//! Bodies in a `content-encoding`, asked for or not: read within the same bounds, or a fault that names what is wrong.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serin::domain::classify::classify;
use serin::domain::fault::FaultKind as F;
use serin::domain::observation::{Observation, Stage};
use serin::domain::reason::FailureReason as R;

use crate::fault_server::{Act, FaultServer, Script, json, result, status, stream};
use crate::probing::{check, first_fault, monitor, probe};
use crate::scripts::{MODERN_TOOLS, TOOLS, legacy, modern, with};

/// Makes the pieces of a coded body from its text.
type Encode = fn(&str) -> Vec<Vec<u8>>;

fn gzip(text: &str) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("a Vec takes all");
    vec![encoder.finish().expect("a Vec takes all")]
}

fn zlib(text: &str) -> Vec<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("a Vec takes all");
    vec![encoder.finish().expect("a Vec takes all")]
}

fn raw(text: &str) -> Vec<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("a Vec takes all");
    vec![encoder.finish().expect("a Vec takes all")]
}

/// Byte by byte.
fn crumbs(text: &str) -> Vec<Vec<u8>> {
    gzip(text).concat().into_iter().map(|byte| vec![byte]).collect()
}

/// Two gzips, one behind the other.
fn twice(text: &str) -> Vec<Vec<u8>> {
    let (first, second) = text.split_at(text.len() / 2);
    [gzip(first), gzip(second)].concat()
}

/// Each event flushed when it is there, and the gzip never ended.
fn flushed(text: &str) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for event in text.split_inclusive("\n\n") {
        encoder.write_all(event.as_bytes()).expect("a Vec takes all");
        encoder.flush().expect("a Vec takes all");
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces
}

fn cut(text: &str) -> Vec<Vec<u8>> {
    let whole = gzip(text).concat();
    vec![whole[..whole.len() / 2].to_vec()]
}

fn plain(text: &str) -> Vec<Vec<u8>> {
    vec![text.as_bytes().to_vec()]
}

/// A gigabyte of blanks in a megabyte: what the second million comes to makes every further one, too.
fn bomb(_: &str) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut million = || {
        encoder.write_all(&vec![b' '; 1024 * 1024]).expect("a Vec takes all");
        encoder.flush().expect("a Vec takes all");
        std::mem::take(encoder.get_mut())
    };
    let first = million();
    vec![first, million().repeat(1023)]
}

/// A gzip that holds nothing, however long it goes on.
fn nothing(_: &str) -> Vec<Vec<u8>> {
    vec![gzip("").concat().repeat(200_000)]
}

fn said(name: &str, text: &str) -> String {
    text.replacen("\r\n", &format!("\r\nContent-Encoding: {name}\r\n"), 1)
}

fn streamed() -> String {
    let result = format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{TOOLS}}}"#);
    stream(&format!(": ping\n\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n\ndata: {result}\n\n"))
}

#[tokio::test]
async fn gzip_and_deflate_are_read_as_they_come() {
    let answer = result(TOOLS);
    #[rustfmt::skip]
    let rows: Vec<(&str, &str, &str, Encode)> = vec![
        ("JSON in gzip", "gzip", &answer, gzip),
        ("by its old name, in capitals", "X-GZIP", &answer, gzip),
        ("byte by byte", "gzip", &answer, crumbs),
        ("two gzips in a row", "gzip", &answer, twice),
        ("JSON in zlib, which the standard calls deflate", "deflate", &answer, zlib),
        ("JSON in deflate itself, as some servers read the word", "deflate", &answer, raw),
        ("no coding, and said so", "identity", &answer, plain),
    ];
    for (sentence, name, text, code) in rows {
        let seen = check(sentence, with(legacy(), "tools/list", Act::Coded(said(name, text), code)), None).await;
        assert!(seen.tools.is_some(), "{sentence}");
    }
    for (sentence, code) in [("an event stream", gzip as Encode), ("flushed, and left open", flushed)] {
        let seen =
            check(sentence, with(legacy(), "tools/list", Act::Coded(said("gzip", &streamed()), code)), None).await;
        assert!(seen.tools.is_some(), "{sentence}");
    }
    let modern = with(modern(), "tools/list", Act::Coded(said("gzip", &result(MODERN_TOOLS)), gzip));
    check("the newer era", modern, None).await;
}

#[tokio::test]
async fn both_are_asked_for_everywhere() {
    let server = FaultServer::start(legacy(), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.health = vec![crate::common::monitors::address(&format!("http://{}/health", server.address))];
    let seen = probe(monitor).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    for (asked, head) in server.seen().asked.iter().zip(server.seen().heads) {
        assert!(head.to_ascii_lowercase().contains("\r\naccept-encoding: gzip, deflate"), "{asked}: {head}");
    }
}

#[tokio::test]
async fn a_coding_that_cannot_be_undone_is_a_fault_that_names_it() {
    let list = |text: &str, code| with(legacy(), "tools/list", Act::Coded(text.to_owned(), code));
    let answer = result(TOOLS);
    let refused = status("500 Oh", "Content-Type: text/plain\r\n", "the pool is empty");
    let events = streamed();
    #[rustfmt::skip]
    let rows: Vec<(&str, Script, F, R, &str)> = vec![
        ("another coding", list(&said("br", &answer), plain), F::BadCoding, R::ProtocolError, "content-encoding br"),
        ("another coding of a stream", list(&said("zstd", &events), plain), F::BadCoding, R::ProtocolError, "content-encoding zstd"),
        ("several at once", list(&said("gzip, br", &answer), gzip), F::BadCoding, R::ProtocolError, "content-encoding gzip, br"),
        ("gzip that is none", list(&said("gzip", &answer), plain), F::BadCoding, R::ProtocolError, "no valid gzip"),
        ("deflate that is none", list(&said("deflate", &answer), plain), F::BadCoding, R::ProtocolError, "no valid deflate"),
        ("gzip cut in the middle", list(&said("gzip", &answer), cut), F::BadCoding, R::ProtocolError, "in the middle of its gzip"),
        ("a bomb", list(&said("gzip", &answer), bomb), F::TooLarge, R::ResponseTooLarge, "larger than"),
        ("a bomb in a stream", list(&said("gzip", &events), bomb), F::TooLarge, R::ResponseTooLarge, "too many bytes"),
        ("gzip that never holds anything", list(&said("gzip", &answer), nothing), F::TooLarge, R::ResponseTooLarge, ""),
        ("a refusal keeps its status and its words", list(&said("gzip", &refused), gzip), F::HttpStatus(500), R::HttpError, "the pool is empty"),
        ("a refusal in another coding keeps its status", list(&said("br", &refused), plain), F::HttpStatus(500), R::HttpError, "500"),
    ];
    for (sentence, script, kind, reason, evidence) in rows {
        let seen: Observation = check(sentence, script, Some((Stage::Tools, kind))).await;
        let fault = seen.fault(Stage::Tools).expect(sentence);
        assert!(fault.detail.contains(evidence), "{sentence}: {}", fault.detail);
        assert_eq!(classify(&monitor("http://unused.invalid/", 1), &seen).reason(), Some(reason), "{sentence}");
    }
}

/// The most that this process ever had in memory, in kB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_bomb_takes_no_more_memory_than_any_large_answer() {
    let act = Act::Coded(said("gzip", &json("")), bomb);
    let server = FaultServer::start(with(legacy(), "tools/list", act), None).await;
    let before = peak();
    let seen = probe(monitor(&format!("http://{}/mcp", server.address), 1)).await;
    assert_eq!(first_fault(&seen), Some((Stage::Tools, F::TooLarge)), "{seen:#?}");
    // Other tests of this file run beside it; the bomb alone would be a thousand.
    let grown = (peak() - before) / 1024;
    assert!(grown < 256, "{grown} MB more");
}
