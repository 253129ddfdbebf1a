//! The bodies of the fuzz targets over their committed corpus, and over many small changes of it.
//!
//! No libFuzzer, so that it runs wherever the tests do; nothing here steers by coverage. Where nightly Rust and
//! cargo-fuzz are installed, `.ci/run` lets the real ones run for half a minute each.

use std::path::Path;

#[path = "../fuzz/bodies.rs"]
mod bodies;

/// Changes tried of each file.
const CHANGES: usize = 3_000;

/// Pieces that mean something to a decoder.
const WORDS: [&[u8]; 22] = [
    b"\n",
    b"\r",
    b"\n\n",
    b": ",
    b"data: ",
    b"event: endpoint",
    b"id: 7",
    b"retry: 1",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b"null",
    b"7",
    b"\"jsonrpc\":\"2.0\"",
    b"\"id\":7",
    b"\"result\":",
    b"\"error\":{\"code\":-1}",
    b"\\u0000",
];

/// The files of one target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| {
            let entry = entry.expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("it can be read"))
        })
        .collect();
    files.sort();
    files
}

/// Chance from a fixed seed (xorshift64*, Marsaglia 2003, Vigna 2016), so that a failure comes again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap_or_default() % bound.max(1)
    }
}

/// One to eight changes: a byte turned, a word put in, a stretch taken out or repeated, another file's end put on.
fn changed(bytes: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=chance.below(8) {
        let at = chance.below(bytes.len() + 1);
        let end = (at + chance.below(32)).min(bytes.len());
        match chance.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 => drop(bytes.splice(at..at, WORDS[chance.below(WORDS.len())].iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let stretch = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, stretch));
            }
            _ => {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[chance.below(other.len() + 1)..]);
            }
        }
    }
    bytes
}

fn replay(target: &str, files_min: usize, body: fn(&[u8])) {
    let files = corpus(target);
    assert!(files.len() >= files_min, "the corpus of {target} is committed");
    let mut chance = Chance(0x5e21_1e5e_ed5e_ed01);
    for (name, bytes) in &files {
        body(bytes);
        for nth in 0..CHANGES {
            let input = changed(bytes, &files[chance.below(files.len())].1, &mut chance);
            let outcome = std::panic::catch_unwind(|| body(&input));
            assert!(
                outcome.is_ok(),
                "{target}: change {nth} of {name} fails; keep it in the corpus: {:?}",
                input.escape_ascii().to_string()
            );
        }
    }
}

#[test]
fn event_streams() {
    replay("sse", 12, bodies::sse);
}

#[test]
fn messages() {
    replay("rpc", 20, bodies::rpc);
}
