//! What a probe and its server said to each other, written out where it is wanted; until then it lies on a tape.
//!
//! On the healthy path it costs some copying of bounded bytes. Only the writing masks, escapes and bounds the whole:
//! secrets become `•••`, sessions keep eight characters, control characters are shown as escapes, and each line of a
//! server's says by its mark that it is the server's. The first line is [`crate::probe::wire::head`]'s.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, StatusCode};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::domain::observation::Observation;
use crate::domain::outcome::Outcome;
use crate::net::connect::Times;
use crate::probe::assignment::Assignment;
use crate::probe::decode::identity;
use crate::probe::wire::head::Head;
use crate::probe::wire::outgoing::Outgoing;
use crate::probe::wire::tape::{ENTRY_BYTES, FIRST_KEPT, KeptHeader, Message, TAPE_BYTES_MAX, Tape, What};
use crate::probe::wire::transcript_lines::{shown, stands, step_lines};
use crate::untrusted_text::{Scrub, escaped};

/// Bytes of a whole transcript.
pub const TRANSCRIPT_BYTES_MAX: usize = TAPE_BYTES_MAX;

/// Bytes shown of a request's body; ours are a few hundred.
const SENT_BYTES_MAX: usize = 2 * 1024;

/// Bytes shown of an answer's body: its head says what it is.
const RECEIVED_BYTES_MAX: usize = 4 * 1024;

/// Bytes shown of one message's headers.
const HEADERS_BYTES_MAX: usize = 4 * 1024;

/// Bytes of one header's value.
const VALUE_BYTES_MAX: usize = 512;

/// Lengths of what a server calls secret by the header it comes in: shorter ones are ordinary words, longer ones it
/// may keep for itself.
const GIVEN_BYTES: std::ops::RangeInclusive<usize> = 8..=2048;

/// Such secrets kept of one probe.
const GIVEN_MAX: usize = 32;

/// Characters shown of a session's id: enough to tell one from another.
const SESSION_CHARS: usize = 8;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const HIDDEN: &str = "•••";

/// The record of one probe.
pub struct Transcript {
    scrub: Arc<Scrub>,
    /// Headers that the file declares, beside those that are secret by their names.
    declared: Arc<[HeaderName]>,
    started: Instant,
    record: Mutex<Record>,
}

/// Nothing of what was said: secrets are taken out only when it is written.
impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript").field("started", &self.started).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Record {
    tape: Tape,
    /// Secrets met on the way: credentials in another form, cookies, sessions, queries.
    given: Vec<String>,
    /// Messages at the tape's beginning that were looked through for them.
    looked_through: usize,
    /// Whether what is said just now is left out.
    is_paused: bool,
}

impl Transcript {
    pub(crate) fn new(scrub: Arc<Scrub>, declared: Arc<[HeaderName]>) -> Self {
        Self { scrub, declared, started: Instant::now(), record: Mutex::default() }
    }

    pub(crate) fn connected(&self, authority: &str, times: Times) {
        self.record(|tape, at| tape.connected(at, authority, times));
    }

    /// Something happened to the connection.
    pub(crate) fn event(&self, text: &str) {
        self.record(|tape, at| tape.event(at, text));
    }

    pub(crate) fn request(&self, request: &Outgoing) {
        let body = (self.kept(request.body.len(), SENT_BYTES_MAX), SENT_BYTES_MAX);
        self.record(|tape, at| tape.request(at, request, |bytes| self.kept(bytes, VALUE_BYTES_MAX), body));
    }

    /// The head of an answer came, on a connection of this number; its body may follow.
    pub(crate) fn response(&self, wire: u32, status: StatusCode, headers: &HeaderMap) {
        let answer = (wire, status, headers);
        let value = |bytes| self.kept(bytes, VALUE_BYTES_MAX);
        self.record(|tape, at| tape.response(at, answer, value, RECEIVED_BYTES_MAX));
    }

    /// A piece of a body came.
    pub(crate) fn piece(&self, wire: u32, bytes: &[u8]) {
        self.record(|tape, at| match tape.under_way(wire) {
            Some(before) => {
                let kept = self.kept(before + bytes.len(), RECEIVED_BYTES_MAX).saturating_sub(before);
                tape.piece(bytes, kept);
            }
            None => {
                let body = (self.kept(bytes.len(), RECEIVED_BYTES_MAX), RECEIVED_BYTES_MAX);
                tape.line(at, false, Some(wire), bytes, body);
            }
        });
    }

    /// A line goes to a program.
    pub(crate) fn said(&self, line: &[u8]) {
        let body = (self.kept(line.len(), SENT_BYTES_MAX), SENT_BYTES_MAX);
        self.record(|tape, at| tape.line(at, true, None, line, body));
    }

    /// A line came from a program.
    pub(crate) fn heard(&self, line: &[u8]) {
        let body = (self.kept(line.len(), RECEIVED_BYTES_MAX), RECEIVED_BYTES_MAX);
        self.record(|tape, at| tape.line(at, false, None, line, body));
    }

    /// Leaves out what is said from here on.
    pub(crate) fn pause(&self) {
        self.record.lock().is_paused = true;
    }

    /// Goes on after a pause.
    pub(crate) fn resume(&self) {
        self.record.lock().is_paused = false;
    }

    /// Something that is nobody's business, wherever it shows.
    pub(crate) fn hide(&self, secret: &str) {
        hide(&mut self.record.lock().given, secret);
    }

    fn record(&self, keep: impl FnOnce(&mut Tape, Duration)) {
        let at = self.started.elapsed();
        let mut record = self.record.lock();
        if record.is_paused {
            return;
        }
        keep(&mut record.tape, at);
        while record.tape.is_full() {
            // What goes may have told of secrets that show in what stays.
            self.look_through(&mut record);
            record.tape.leave_one_out();
            record.looked_through = record.tape.len();
        }
    }

    /// How many bytes are kept of so many of which `max` are shown: a secret across the bound is recognised as one.
    fn kept(&self, bytes: usize, max: usize) -> usize {
        bytes.min(max + self.scrub.longest().max(*GIVEN_BYTES.end()))
    }

    /// The whole, to be stored and shown; `outcome` is what the caller made of what was seen.
    pub fn written(&self, assignment: &Assignment, seen: &Observation, outcome: &Outcome) -> Arc<str> {
        let mut record = self.record.lock();
        self.look_through(&mut record);
        let scrub = self.scrub.and(record.given.iter().cloned());
        let mut text = Head::of(assignment, seen, outcome, &scrub).line();
        let (at, kind) = (seen.started_at.format("%Y-%m-%d %H:%M:%S UTC"), seen.kind.slug());
        let _ = writeln!(text, "\n# {} · {at} · {kind} beat · {}", seen.monitor, shown(seen.elapsed));
        let mut steps = String::new();
        for step in &seen.steps {
            step_lines(&mut steps, step, &scrub);
        }
        steps.truncate(scrub.cut(&steps, TRANSCRIPT_BYTES_MAX / 4));
        let room = TRANSCRIPT_BYTES_MAX.saturating_sub(text.len() + steps.len());
        text.push_str(&self.lines(&record.tape, &scrub, room));
        text.push_str(&steps);
        text.into()
    }

    /// Notes what the messages tell of secrets that were not looked through before.
    fn look_through(&self, record: &mut Record) {
        let Record { tape, given, looked_through, is_paused: _ } = record;
        for message in tape.messages().skip(*looked_through) {
            if !matches!(message.what, What::Request | What::Response(_)) {
                continue;
            }
            if let Some((_, query)) = String::from_utf8_lossy(message.first_line()).split_once('?') {
                hide(given, query);
            }
            message.headers().for_each(|header| self.hide_given(&header, given));
        }
        *looked_through = tape.len();
    }

    fn hide_given(&self, header: &KeptHeader<'_>, given: &mut Vec<String>) {
        let text = String::from_utf8_lossy(header.value);
        if self.is_secret(header) {
            // An echo of it may lack the scheme, or the name of a cookie and its attributes.
            let inner = match header.name {
                name if name == SET_COOKIE.as_str() => text.split(';').next().and_then(|pair| pair.split_once('=')),
                _ => text.split_once(' '),
            };
            inner.into_iter().for_each(|(_, inner)| hide(given, inner));
            hide(given, &text);
        } else if header.name == SESSION.as_str() {
            hide(given, &text[text.floor_char_boundary(SESSION_CHARS)..]);
        } else if let Some((_, query)) = text.split_once('?').filter(|_| header.name == LOCATION.as_str()) {
            hide(given, query);
        }
    }

    fn is_secret(&self, header: &KeptHeader<'_>) -> bool {
        let secret = [&AUTHORIZATION, &COOKIE, &SET_COOKIE, &PROXY_AUTHORIZATION, &identity::HEADER];
        header.is_sensitive || secret.into_iter().chain(&*self.declared).any(|name| name.as_str() == header.name)
    }

    /// All that was said, within so many bytes.
    fn lines(&self, tape: &Tape, scrub: &Scrub, room: usize) -> String {
        let mut texts: Vec<String> = tape.messages().map(|message| self.text(&message, scrub)).collect();
        let mut left_out = tape.left_out();
        let room = room.saturating_sub(ENTRY_BYTES);
        let mut bytes: usize = texts.iter().map(String::len).sum();
        while bytes > room && texts.len() > FIRST_KEPT + 1 {
            bytes -= texts.remove(FIRST_KEPT).len();
            left_out += 1;
        }
        if left_out > 0 {
            texts.insert(FIRST_KEPT.min(texts.len()), format!("* … {left_out} messages are left out here\n"));
        }
        let mut text = texts.concat();
        if text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            text.push_str("…\n");
        }
        text
    }

    /// A message's lines, each with its mark, so that no server can write a line that looks like ours.
    fn text(&self, message: &Message<'_>, scrub: &Scrub) -> String {
        let mark = match message.what {
            What::Event | What::Connected(_) => '*',
            What::Request | What::Line { ours: true } => '>',
            What::Response(_) | What::Line { ours: false } => '<',
        };
        let mut text = String::with_capacity((message.head.len() + message.body.len()) * 2);
        for (nth, line) in self.head(message).lines().enumerate() {
            let line = escaped(&scrub.hidden(line), TRANSCRIPT_BYTES_MAX);
            let when = if nth == 0 && mark != '*' { format!("  ({})", shown(message.at)) } else { String::new() };
            let _ = writeln!(text, "{mark} {line}{when}");
        }
        let body = String::from_utf8_lossy(message.body);
        let end = scrub.cut(&body, message.body_max);
        for line in scrub.hidden(&body[..end]).trim_end_matches(['\r', '\n']).lines() {
            let _ = writeln!(text, "{mark} {}", escaped(line, TRANSCRIPT_BYTES_MAX));
        }
        if message.body_len > end {
            let _ = writeln!(text, "{mark} … {} bytes in all", message.body_len);
        }
        text
    }

    /// A message's head, its secrets taken out that are known by their place.
    fn head(&self, message: &Message<'_>) -> String {
        let first = String::from_utf8_lossy(message.first_line());
        let mut head = match message.what {
            What::Event => return String::from_utf8_lossy(message.head).into_owned(),
            What::Connected(times) => return stands(&first, times),
            What::Line { .. } => return String::new(),
            What::Response(status) => status.to_string(),
            What::Request => match first.split_once('?') {
                Some((before, _)) => format!("{before}?{HIDDEN}"),
                None => first.into_owned(),
            },
        };
        let (end, count) = (head.len() + HEADERS_BYTES_MAX, message.headers().count() + message.headers_left_out);
        for (nth, header) in message.headers().enumerate() {
            if head.len() > end {
                let _ = write!(head, "\n  … {} more headers", count - nth);
                return head;
            }
            let _ = write!(head, "\n  {}: {}", header.name, self.value(&header));
        }
        if message.headers_left_out > 0 {
            let _ = write!(head, "\n  … {} more headers", message.headers_left_out);
        }
        head
    }

    fn value<'h>(&self, header: &KeptHeader<'h>) -> Cow<'h, str> {
        let text = String::from_utf8_lossy(header.value);
        if self.is_secret(header) {
            HIDDEN.into()
        } else if header.name == SESSION.as_str() {
            let shown = text.floor_char_boundary(SESSION_CHARS);
            format!("{}{}", &text[..shown], if text.len() > shown { HIDDEN } else { "" }).into()
        } else if let Some((path, _)) = text.split_once('?').filter(|_| header.name == LOCATION.as_str()) {
            format!("{path}?{HIDDEN}").into()
        } else {
            let end = self.scrub.cut(&text, VALUE_BYTES_MAX);
            if header.value.len() > end { format!("{}…", &text[..end]).into() } else { text }
        }
    }
}

fn hide(given: &mut Vec<String>, secret: &str) {
    if GIVEN_BYTES.contains(&secret.len()) && given.len() < GIVEN_MAX && !given.iter().any(|known| known == secret) {
        given.push(secret.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_TYPE;
    use http::{HeaderValue, Method};

    use super::*;

    impl Transcript {
        fn said_in_all(&self) -> String {
            let mut record = self.record.lock();
            self.look_through(&mut record);
            self.lines(&record.tape, &self.scrub.and(record.given.iter().cloned()), TRANSCRIPT_BYTES_MAX)
        }
    }

    #[test]
    fn what_a_message_told_of_secrets_holds_after_it_had_to_go() {
        let scrub = Arc::new(Scrub::new(["tok-12345".to_owned()]));
        let transcript = Transcript::new(scrub, Arc::from([HeaderName::from_static("x-key")]));
        let headers =
            |name: HeaderName, value: &str| HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
        let request = Outgoing::to_nowhere(Method::POST, "{}".into())
            .at("/mcp?key=query-secret".parse().unwrap())
            .with(HeaderName::from_static("x-key"), HeaderValue::from_static("declared-secret"));
        for _ in 0..FIRST_KEPT {
            transcript.request(&request);
        }
        transcript.response(1, StatusCode::OK, &headers(SET_COOKIE, "sid=cookie-secret; Path=/"));
        for _ in 0..20 {
            transcript.response(1, StatusCode::OK, &headers(CONTENT_TYPE, "text/plain"));
            transcript.piece(1, "x".repeat(2 * RECEIVED_BYTES_MAX).as_bytes());
        }
        transcript.response(1, StatusCode::OK, &HeaderMap::new());
        // In two pieces, as it may come.
        transcript.piece(1, b"tok-12345 key=query-secret declared-se");
        transcript.piece(1, b"cret cookie-secret");
        let text = transcript.said_in_all();
        assert!(text.contains("messages are left out here") && !text.contains("set-cookie"), "it is gone: {text}");
        assert!(text.ends_with("< ••• ••• ••• •••\n"), "{text}");
        assert!(text.contains("> POST /mcp?•••  (") && text.contains("x-key: •••"), "{text}");
        assert!(!text.contains("-secret"), "{text}");
    }
}
