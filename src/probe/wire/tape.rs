//! What a probe and its server say to each other, kept as bytes in the order of time. Nothing is formatted here: all but a
//! few beats go well, and nobody reads what was said in those.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::net::connect::Times;
use crate::probe::wire::outgoing::Outgoing;

/// Bytes kept of one probe: a beat of four calls has some 10 kB, and a database keeps thousands of transcripts.
pub(super) const TAPE_BYTES_MAX: usize = 48 * 1024;

/// Bytes kept of one message's headers: some times what is shown of them, since secrets are shown shorter than they are.
const HEADERS_BYTES_MAX: usize = 16 * 1024;

/// Room that the tape begins with: a beat that goes well has some kilobytes.
const ROOM_BYTES: usize = 8 * 1024;

/// The first messages stay when others have to make room: they tell how the conversation began. The last ones stay
/// since they tell how it broke.
pub(super) const FIRST_KEPT: usize = 4;

/// What a message costs beside its bytes.
pub(super) const ENTRY_BYTES: usize = 64;

/// Marks a header that the sender calls secret.
const SENSITIVE: u8 = b'!';
const PLAIN: u8 = b' ';

/// The messages, and their bytes one behind the other.
#[derive(Default)]
pub(super) struct Tape {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    left_out: usize,
}

#[derive(Debug)]
struct Entry {
    at: Duration,
    what: What,
    head_len: usize,
    /// Bytes of the body that are kept.
    kept: usize,
    /// Bytes of the body in all, kept or not.
    body_len: usize,
    body_max: usize,
    headers_left_out: usize,
    /// Whose body it is, while more may come.
    of: Option<u32>,
}

/// What a message is; its head is kept as bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Something happened to the connection: the head says what.
    Event,
    /// A connection stands; the head is where it leads.
    Connected(Times),
    /// The head is a method and an address, a line each header.
    Request,
    /// The head is a line each header.
    Response(StatusCode),
    /// A body without a head, or its continuation; from us or not.
    Line { ours: bool },
}

/// A message as it lies on the tape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'t> {
    pub(super) at: Duration,
    pub(super) what: What,
    pub(super) head: &'t [u8],
    pub(super) headers_left_out: usize,
    pub(super) body: &'t [u8],
    pub(super) body_len: usize,
    pub(super) body_max: usize,
}

/// A header as it lies in a head.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptHeader<'t> {
    pub(super) name: &'t str,
    pub(super) value: &'t [u8],
    pub(super) is_sensitive: bool,
}

impl Tape {
    pub(super) fn event(&mut self, at: Duration, text: &str) {
        self.entry(at, What::Event, None, |bytes| bytes.extend_from_slice(text.as_bytes()));
    }

    pub(super) fn connected(&mut self, at: Duration, authority: &str, times: Times) {
        self.entry(at, What::Connected(times), None, |bytes| bytes.extend_from_slice(authority.as_bytes()));
    }

    /// A request; `value` says how many bytes of a header are kept that has so many, `(kept, max)` how many of its body
    /// are kept and how many shown.
    pub(super) fn request(
        &mut self,
        at: Duration,
        request: &Outgoing,
        value: impl Fn(usize) -> usize,
        body: (usize, usize),
    ) {
        self.entry(at, What::Request, None, |bytes| {
            bytes.extend_from_slice(request.method.as_str().as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(request.uri.path().as_bytes());
            if let Some(query) = request.uri.query() {
                bytes.push(b'?');
                bytes.extend_from_slice(query.as_bytes());
            }
        });
        let headers = request.headers().map(|(name, value)| (name.as_str(), value.as_bytes(), value.is_sensitive()));
        self.headers(headers, value);
        self.body(&request.body, body);
    }

    /// The head of an answer on a connection of this number.
    pub(super) fn response(
        &mut self,
        at: Duration,
        (of, status, headers): (u32, StatusCode, &HeaderMap),
        value: impl Fn(usize) -> usize,
        body_max: usize,
    ) {
        self.entry(at, What::Response(status), Some(of), |_| {});
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes(), value.is_sensitive()));
        self.headers(headers, value);
        self.body(&[], (0, body_max));
    }

    /// A line to or from a program, or a piece of a body whose beginning is not the last message.
    pub(super) fn line(&mut self, at: Duration, ours: bool, of: Option<u32>, text: &[u8], body: (usize, usize)) {
        self.entry(at, What::Line { ours }, of, |_| {});
        self.body(text, body);
    }

    /// Whether the last message is an answer on a connection of this number; then the bytes of its body so far.
    pub(super) fn under_way(&self, of: u32) -> Option<usize> {
        self.entries.last().filter(|last| last.of == Some(of)).map(|last| last.kept)
    }

    /// Adds a piece to the last message's body, of which so many bytes are kept.
    pub(super) fn piece(&mut self, bytes: &[u8], kept: usize) {
        if let Some(last) = self.entries.last_mut() {
            last.kept += kept;
            last.body_len += bytes.len();
            self.bytes.extend_from_slice(&bytes[..kept]);
        }
    }

    fn entry(&mut self, at: Duration, what: What, of: Option<u32>, head: impl FnOnce(&mut Vec<u8>)) {
        if self.entries.is_empty() {
            self.bytes.reserve(ROOM_BYTES);
            self.entries.reserve(FIRST_KEPT * 4);
        }
        let before = self.bytes.len();
        head(&mut self.bytes);
        let head_len = self.bytes.len() - before;
        self.entries.push(Entry { at, what, head_len, kept: 0, body_len: 0, body_max: 0, headers_left_out: 0, of });
    }

    fn headers<'h>(&mut self, headers: impl Iterator<Item = (&'h str, &'h [u8], bool)>, kept: impl Fn(usize) -> usize) {
        let Some(last) = self.entries.last_mut() else { return };
        let before = self.bytes.len();
        for (name, value, is_sensitive) in headers {
            if self.bytes.len() - before > HEADERS_BYTES_MAX {
                last.headers_left_out += 1;
                continue;
            }
            self.bytes.extend_from_slice(&[b'\n', if is_sensitive { SENSITIVE } else { PLAIN }]);
            self.bytes.extend_from_slice(name.as_bytes());
            self.bytes.push(b':');
            self.bytes.extend_from_slice(&value[..kept(value.len())]);
        }
        last.head_len += self.bytes.len() - before;
    }

    fn body(&mut self, bytes: &[u8], (kept, max): (usize, usize)) {
        if let Some(last) = self.entries.last_mut() {
            (last.kept, last.body_len, last.body_max) = (kept, bytes.len(), max);
            self.bytes.extend_from_slice(&bytes[..kept]);
        }
    }

    /// Whether it is longer than it may be, and has a message that can go.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() + self.entries.len() * ENTRY_BYTES > TAPE_BYTES_MAX && self.entries.len() > FIRST_KEPT + 1
    }

    /// Lets the first message go that does not tell how the conversation began.
    pub(super) fn leave_one_out(&mut self) {
        let from: usize = self.entries[..FIRST_KEPT].iter().map(Entry::len).sum();
        let gone = self.entries.remove(FIRST_KEPT).len();
        self.bytes.drain(from..from + gone);
        self.left_out += 1;
    }

    /// Messages that had to go.
    pub(super) const fn left_out(&self) -> usize {
        self.left_out
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        let mut from = 0;
        self.entries.iter().map(move |entry| {
            let (head, body) = self.bytes[from..from + entry.len()].split_at(entry.head_len);
            from += entry.len();
            let Entry { at, what, headers_left_out, body_len, body_max, .. } = *entry;
            Message { at, what, head, headers_left_out, body, body_len, body_max }
        })
    }
}

impl Entry {
    /// Its bytes on the tape.
    const fn len(&self) -> usize {
        self.head_len + self.kept
    }
}

impl<'t> Message<'t> {
    /// The head's first line: what is asked for, by a request.
    pub(super) fn first_line(&self) -> &'t [u8] {
        self.head.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = KeptHeader<'t>> + use<'t> {
        // No value has a line's end in it: hyper refuses one that does.
        self.head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
            let (mark, line) = line.split_first()?;
            let at = line.iter().position(|byte| *byte == b':')?;
            let name = std::str::from_utf8(&line[..at]).ok()?;
            Some(KeptHeader { name, value: &line[at + 1..], is_sensitive: *mark == SENSITIVE })
        })
    }
}
