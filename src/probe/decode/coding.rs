//! What a body's `content-encoding` is, undone as the bytes come: gzip and deflate, in pieces of bounded size.
//!
//! A server or a proxy may compress whether it was asked to or not. Each step gives out a small piece, so that whoever
//! reads meets a bomb with the same bounds as any other endless body.

use std::io::{self, Write};

use bytes::{Buf as _, Bytes};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// What we ask for, and can undo.
pub(crate) const ACCEPTED: &str = "gzip, deflate";

/// Coded bytes undone in one step. Deflate makes at most some thousand bytes of one: a step brings 256 kB at most.
const STEP_BYTES: usize = 256;

/// Coded bytes that may come beyond what they make, as those that make nothing do. A gzip's head has at most 64 kB to
/// itself, and what is flushed some bytes an event.
const IDLE_BYTES_MAX: usize = 128 * 1024;

/// Characters shown of a coding's name that we do not know.
const NAME_CHARS_MAX: usize = 40;

/// Undoes one body's coding.
#[derive(Debug)]
pub(crate) struct Coded {
    coding: Coding,
    /// Came and is not undone yet.
    rest: Bytes,
    /// Coded bytes so far, and what became of them.
    read: usize,
    made: usize,
}

#[derive(Debug)]
enum Coding {
    None,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// Whether zlib stands around it shows in the first byte: servers disagree on what the word means.
    Deflate,
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    Raw(Box<DeflateDecoder<Vec<u8>>>),
    Unknown(String),
}

/// Why a body cannot be read as what its headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// It is not in its coding, or the coding is none of ours.
    Bad(String),
    /// It goes on and on and comes to nothing.
    Idle,
}

impl Coded {
    /// As the headers of an answer say.
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        let values = headers.get_all(CONTENT_ENCODING).iter();
        let names: Vec<String> = values
            .flat_map(|value| String::from_utf8_lossy(value.as_bytes()).split(',').map(named).collect::<Vec<_>>())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        let coding = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Coding::None,
            ["gzip" | "x-gzip"] => Coding::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            ["deflate"] => Coding::Deflate,
            _ => Coding::Unknown(names.join(", ").chars().take(NAME_CHARS_MAX).collect()),
        };
        Self { coding, rest: Bytes::new(), read: 0, made: 0 }
    }

    /// Takes what came; only where nothing is left of what came before.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        self.rest = bytes;
    }

    /// The next piece of what came, undone; none where more has to come first.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Undone> {
        if matches!(self.coding, Coding::None) {
            return Ok(Some(std::mem::take(&mut self.rest)).filter(|bytes| !bytes.is_empty()));
        }
        while !self.rest.is_empty() {
            let step = self.rest.split_to(STEP_BYTES.min(self.rest.remaining()));
            self.read += step.len();
            let made = self.undo(&step)?;
            self.made += made.len();
            if !made.is_empty() {
                return Ok(Some(made.into()));
            }
            if self.read > self.made + IDLE_BYTES_MAX {
                return Err(Undone::Idle);
            }
        }
        Ok(None)
    }

    /// The body has ended; where its coding has not, it was cut.
    pub(crate) fn end(&mut self) -> Result<(), Undone> {
        let Coding::Gzip(decoder) = &mut self.coding else { return Ok(()) };
        // An empty body is no gzip, and no fault of its coding.
        if self.read == 0 {
            return Ok(());
        }
        decoder.try_finish().map_err(|error| Undone::Bad(format!("the body ends in the middle of its gzip: {error}")))
    }

    fn undo(&mut self, step: &[u8]) -> Result<Vec<u8>, Undone> {
        if matches!(self.coding, Coding::Deflate) {
            // The low half of zlib's first byte is 8; no encoder begins deflate itself so.
            self.coding = if step.first().is_some_and(|first| first & 0x0f == 8) {
                Coding::Zlib(Box::new(ZlibDecoder::new(Vec::new())))
            } else {
                Coding::Raw(Box::new(DeflateDecoder::new(Vec::new())))
            };
        }
        let (undone, name) = match &mut self.coding {
            Coding::Gzip(decoder) => (through(decoder.as_mut(), step).map(|()| taken(decoder.get_mut())), "gzip"),
            Coding::Zlib(decoder) => (through(decoder.as_mut(), step).map(|()| taken(decoder.get_mut())), "deflate"),
            Coding::Raw(decoder) => (through(decoder.as_mut(), step).map(|()| taken(decoder.get_mut())), "deflate"),
            Coding::Unknown(name) => {
                return Err(Undone::Bad(format!(
                    "the body is in the content-encoding {name}, asked for was {ACCEPTED}"
                )));
            }
            Coding::None | Coding::Deflate => return Ok(step.to_vec()),
        };
        undone
            .map_err(|error| Undone::Bad(format!("the body is no valid {name}, as its content-encoding says: {error}")))
    }
}

/// Writes a step and has all that it makes come out at once: an event that was flushed is not to wait for the next.
fn through(decoder: &mut impl Write, step: &[u8]) -> io::Result<()> {
    decoder.write_all(step)?;
    decoder.flush()
}

fn taken(made: &mut Vec<u8>) -> Vec<u8> {
    std::mem::take(made)
}

fn named(part: &str) -> String {
    part.trim().to_ascii_lowercase()
}
