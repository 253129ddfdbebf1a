//! Server-sent events, decoded as they come, within bounds.

use std::time::Duration;

/// Events of one stream that are looked at: an answer comes after a handful of notifications, not after thousands.
pub const EVENTS_MAX: usize = 1_000;

/// Bytes of an event's id: it travels back in a header.
const ID_BYTES_MAX: usize = 1024;

/// One event that carried data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field; empty means `message`.
    pub name: String,
    /// The `data:` lines, joined by newlines.
    pub data: Vec<u8>,
}

/// An incremental decoder: bytes in, whole events out.
#[derive(Debug)]
pub struct Decoder {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    id: Vec<u8>,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    after_return: bool,
    at_start: bool,
    /// Bytes that one event may hold.
    bytes_max: usize,
    events: usize,
    /// Lines that were neither a field of the standard nor a comment.
    unknown_lines: usize,
    comments: usize,
}

/// The stream went past its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// One event or line holds too many bytes.
    Bytes,
    /// There are too many events.
    Events,
}

impl Decoder {
    /// A decoder for events of at most so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            id: Vec::new(),
            last_id: Vec::new(),
            retry: None,
            after_return: false,
            at_start: true,
            bytes_max,
            events: 0,
            unknown_lines: 0,
            comments: 0,
        }
    }

    /// Takes the next bytes; whole events are appended to `events`.
    ///
    /// # Errors
    /// [`Overflow`]; the decoder is of no use after it.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Overflow> {
        while !bytes.is_empty() {
            // A line ends with \n, \r or \r\n; the \n of the latter may come in the next chunk.
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.keep(bytes);
            };
            self.keep(&bytes[..end])?;
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.field(&line, events)?;
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    /// How many events carried data.
    pub fn events(&self) -> usize {
        self.events
    }

    /// How many comment lines there were: keep-alives.
    pub fn comments(&self) -> usize {
        self.comments
    }

    /// Whether the stream held lines that belong to no event, and no event at all.
    pub fn is_no_stream(&self) -> bool {
        self.events == 0 && (self.unknown_lines > 0 || (!self.line.is_empty() && !self.line.contains(&b':')))
    }

    /// The id of the last whole event, where it had one: the place from which the stream can be taken up again.
    pub fn last_id(&self) -> Option<&[u8]> {
        Some(&*self.last_id).filter(|id| !id.is_empty())
    }

    /// How long the server asks to wait before that.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Overflow> {
        if self.line.len() + self.data.len() + bytes.len() > self.bytes_max {
            return Err(Overflow::Bytes);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn field(&mut self, line: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Overflow> {
        let line =
            if std::mem::take(&mut self.at_start) { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.dispatch(events);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &[][..]),
        };
        match name {
            b"" => self.comments += 1,
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.name = value.to_vec(),
            // An id with a null byte is to be ignored, and one that is too long is none that a header could carry.
            b"id" if value.len() <= ID_BYTES_MAX && !value.contains(&0) => self.id = value.to_vec(),
            b"id" => {}
            b"retry" => {
                let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                self.retry = digits.and_then(|text| text.parse().ok()).map(Duration::from_millis).or(self.retry);
            }
            _ => self.unknown_lines += 1,
        }
        Ok(())
    }

    /// A blank line ends an event. One without data, or with empty data (which primes a resumable stream), says nothing.
    fn dispatch(&mut self, events: &mut Vec<SseEvent>) -> Result<(), Overflow> {
        self.last_id.clone_from(&self.id);
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) || data.is_empty() {
            return Ok(());
        }
        self.events += 1;
        if self.events > EVENTS_MAX {
            return Err(Overflow::Events);
        }
        events.push(SseEvent { name: String::from_utf8_lossy(&name).into_owned(), data });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Decoder, Overflow, SseEvent};

    fn decode(chunks: &[&[u8]]) -> Result<Vec<SseEvent>, Overflow> {
        let mut decoder = Decoder::new(64);
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk, &mut events)?;
        }
        Ok(events)
    }

    fn check(sentence: &str, chunks: &[&str], expected: &[(&str, &str)]) {
        let chunks: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
        let seen = decode(&chunks).expect(sentence);
        let seen: Vec<(String, String)> =
            seen.into_iter().map(|event| (event.name, String::from_utf8(event.data).unwrap())).collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(seen, expected, "{sentence}");
    }

    #[test]
    fn events_are_found_however_they_are_cut() {
        check("one event", &["event: message\ndata: {}\n\n"], &[("message", "{}")]);
        check("an event without a name", &["data:{}\n\n"], &[("", "{}")]);
        check("a cut inside a field", &["da", "ta: {", "}\n", "\n"], &[("", "{}")]);
        check("carriage returns", &["data: 1\r\rdata: 2\r\r"], &[("", "1"), ("", "2")]);
        check("both, cut between", &["data: 1\r", "\n\r", "\ndata: 2\r\n\r\n"], &[("", "1"), ("", "2")]);
        check("several data lines are one text", &["data: a\ndata: b\n\n"], &[("", "a\nb")]);
        check("comments keep a stream alive", &[": ping\n\n: ping\n\n"], &[]);
        check("an event with empty data primes the stream", &["id: 1\ndata:\n\n"], &[]);
        check("an event that never ends is none", &["data: 1\n"], &[]);
        check("a byte order mark is skipped", &["\u{feff}data: 1\n\n"], &[("", "1")]);
    }

    #[test]
    fn a_stream_names_the_place_to_come_back_to() {
        let check = |sentence: &str, text: &str, id: Option<&str>, retry: Option<u64>| {
            let mut decoder = Decoder::new(64);
            decoder.push(text.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(decoder.last_id(), id.map(str::as_bytes), "{sentence}");
            assert_eq!(decoder.retry(), retry.map(std::time::Duration::from_millis), "{sentence}");
        };
        check("an event that primes", "id: 7\nretry: 500\ndata:\n\n", Some("7"), Some(500));
        check("an event that has not ended", "id: 7\ndata: x\n", None, None);
        check("the last of several", "id: 1\ndata: x\n\nid: 2\ndata: x\n\n", Some("2"), None);
        check("an id lasts", "id: 1\ndata: x\n\ndata: x\n\n", Some("1"), None);
        check("an empty id ends it", "id: 1\ndata: x\n\nid\ndata: x\n\n", None, None);
        check("no number of milliseconds", "retry: soon\n\nretry: -1\n\nretry:\n\n", None, None);
        check("more milliseconds than there are", "retry: 99999999999999999999999\n\n", None, None);
    }

    #[test]
    fn a_stream_without_end_stays_within_bounds() {
        assert_eq!(decode(&[&b"data: ".repeat(20)]), Err(Overflow::Bytes));
        assert_eq!(decode(&[&b"data: 12345678\n".repeat(20)]), Err(Overflow::Bytes));
        assert_eq!(decode(&[&b"data: 1\n\n".repeat(super::EVENTS_MAX + 1)]), Err(Overflow::Events));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_cuts_do_not_matter(bytes in any::<Vec<u8>>(), at in any::<proptest::sample::Index>()) {
            let cut = if bytes.is_empty() { 0 } else { at.index(bytes.len()) };
            prop_assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]), decode(&[&bytes]));
        }
    }
}
