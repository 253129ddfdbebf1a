//! What a probe and its server said to each other, in order: kept aside as it goes, written out only where it is wanted.
//!
//! On the healthy path it costs some copying of bounded bytes. Only the writing masks, escapes and bounds the whole:
//! secrets become `•••`, sessions keep eight characters, control characters are shown as escapes, and each line of a
//! server's says by its mark that it is the server's. The first line is [`crate::probe::wire::head`]'s.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::domain::monitor::Monitor;
use crate::domain::observation::{Observation, Phases, Step};
use crate::domain::outcome::Outcome;
use crate::net::connect::Times;
use crate::probe::assignment::Assignment;
use crate::probe::decode::identity;
use crate::probe::wire::head::{Head, fault_word};
use crate::untrusted_text::{DETAIL_CHARS_MAX, Scrub, escaped};

/// Bytes of a whole transcript: a beat of four calls has some 10 kB, and a database keeps thousands of them.
pub const TRANSCRIPT_BYTES_MAX: usize = 48 * 1024;

/// Bytes shown of a request's body; ours are a few hundred.
const SENT_BYTES_MAX: usize = 2 * 1024;

/// Bytes shown of an answer's body: its head says what it is.
const RECEIVED_BYTES_MAX: usize = 4 * 1024;

/// Bytes of one message's headers.
const HEADERS_BYTES_MAX: usize = 4 * 1024;

/// Bytes of one header's value.
const VALUE_BYTES_MAX: usize = 512;

/// The first messages stay when others have to make room: they tell how the conversation began. The last ones stay
/// since they tell how it broke.
const FIRST_KEPT: usize = 4;

/// What a message costs beside its bytes.
const ENTRY_BYTES: usize = 64;

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
#[derive(Debug)]
pub struct Transcript {
    scrub: Scrub,
    /// Headers that the file declares, beside those that are secret by their names.
    declared: Vec<HeaderName>,
    started: Instant,
    tape: Mutex<Tape>,
}

#[derive(Debug, Default)]
struct Tape {
    entries: Vec<TranscriptEntry>,
    bytes: usize,
    left_out: usize,
    /// Secrets met on the way: credentials in another form, cookies, sessions, queries.
    given: Vec<String>,
}

#[derive(Debug)]
struct TranscriptEntry {
    at: Duration,
    mark: char,
    head: String,
    body: Vec<u8>,
    /// Bytes of the body in all, kept or not.
    body_len: usize,
    body_max: usize,
    /// Whose body it is, while more may come.
    of: Option<u32>,
}

impl Transcript {
    pub(crate) fn new(scrub: Scrub, monitor: &Monitor) -> Self {
        let names = monitor.auth.headers.iter();
        let declared = names.filter_map(|(name, _)| HeaderName::from_bytes(name.as_bytes()).ok()).collect();
        Self { scrub, declared, started: Instant::now(), tape: Mutex::default() }
    }

    /// What takes this monitor's secrets out of whatever is said.
    pub(crate) const fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    pub(crate) fn connected(&self, authority: &str, times: Times) {
        let took = times.tls.or(times.connect).map(shown).unwrap_or_default();
        let mut head = format!("connected {authority} in {took}");
        for (name, time) in [("name", times.name), ("TCP", times.connect), ("TLS", times.tls)] {
            if let Some(time) = time {
                let _ = write!(head, ", {name} after {}", shown(time));
            }
        }
        self.event(head);
    }

    /// Something happened to the connection.
    pub(crate) fn event(&self, text: String) {
        self.push('*', text, &[], 0, None);
    }

    pub(crate) fn request(&self, request: &Request<Full<Bytes>>) {
        let mut head = String::with_capacity(512);
        let _ = write!(head, "{} {}", request.method(), self.path(request.uri()));
        self.headers(&mut head, request.headers());
        // A body that is there as a whole is there at once.
        let body = request.body().clone().collect().now_or_never().and_then(Result::ok);
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        self.push('>', head, &body, SENT_BYTES_MAX, None);
    }

    /// The head of an answer came, on a connection of this number; its body may follow.
    pub(crate) fn response(&self, wire: u32, status: StatusCode, headers: &HeaderMap) {
        let mut head = String::with_capacity(512);
        let _ = write!(head, "{status}");
        self.headers(&mut head, headers);
        self.push('<', head, &[], RECEIVED_BYTES_MAX, Some(wire));
    }

    /// A piece of a body came.
    pub(crate) fn piece(&self, wire: u32, bytes: &[u8]) {
        let kept_max = RECEIVED_BYTES_MAX + self.slack();
        let mut tape = self.tape();
        if let Some(last) = tape.entries.last_mut().filter(|last| last.of == Some(wire)) {
            let room = kept_max.saturating_sub(last.body.len()).min(bytes.len());
            last.body.extend_from_slice(&bytes[..room]);
            last.body_len += bytes.len();
            tape.bytes += room;
            tape.make_room();
        } else {
            drop(tape);
            self.push('<', String::new(), bytes, RECEIVED_BYTES_MAX, Some(wire));
        }
    }

    /// A line goes to a program.
    pub(crate) fn said(&self, line: &[u8]) {
        self.push('>', String::new(), line, SENT_BYTES_MAX, None);
    }

    /// A line came from a program.
    pub(crate) fn heard(&self, line: &[u8]) {
        self.push('<', String::new(), line, RECEIVED_BYTES_MAX, None);
    }

    /// Something that is nobody's business, wherever it shows.
    pub(crate) fn hide(&self, secret: &str) {
        let mut tape = self.tape();
        if GIVEN_BYTES.contains(&secret.len())
            && tape.given.len() < GIVEN_MAX
            && !tape.given.iter().any(|known| known == secret)
        {
            tape.given.push(secret.to_owned());
        }
    }

    /// The whole, to be stored and shown; `outcome` is what the caller made of what was seen.
    pub fn written(&self, assignment: &Assignment, seen: &Observation, outcome: &Outcome) -> Arc<str> {
        let tape = self.tape();
        let scrub = self.scrub.and(tape.given.iter().cloned());
        let mut text = Head::of(assignment, seen, outcome, &scrub).line();
        let (at, kind) = (seen.started_at.format("%Y-%m-%d %H:%M:%S UTC"), seen.kind.slug());
        let _ = writeln!(text, "\n# {} · {at} · {kind} beat · {}", seen.monitor, shown(seen.elapsed));
        let mut steps = String::new();
        for step in &seen.steps {
            step_lines(&mut steps, step, &scrub);
        }
        steps.truncate(scrub.cut(&steps, TRANSCRIPT_BYTES_MAX / 4));
        let room = TRANSCRIPT_BYTES_MAX.saturating_sub(text.len() + steps.len());
        text.push_str(&tape.lines(&scrub, room));
        text.push_str(&steps);
        text.into()
    }

    fn path(&self, uri: &Uri) -> String {
        match uri.query() {
            None => uri.path().to_owned(),
            Some(query) => {
                self.hide(query);
                format!("{}?{HIDDEN}", uri.path())
            }
        }
    }

    fn headers(&self, head: &mut String, headers: &HeaderMap) {
        let end = head.len() + HEADERS_BYTES_MAX;
        for (nth, (name, value)) in headers.iter().enumerate() {
            if head.len() > end {
                let _ = write!(head, "\n  … {} more headers", headers.len() - nth);
                return;
            }
            let _ = write!(head, "\n  {name}: ");
            self.value(head, name, value);
        }
    }

    fn value(&self, head: &mut String, name: &HeaderName, value: &HeaderValue) {
        let bytes = value.as_bytes();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(VALUE_BYTES_MAX + self.slack())]);
        let secret = value.is_sensitive()
            || [&AUTHORIZATION, &COOKIE, &SET_COOKIE, &PROXY_AUTHORIZATION, &identity::HEADER].contains(&name)
            || self.declared.contains(name);
        if secret {
            // An echo of it may lack the scheme, or the name of a cookie and its attributes.
            let inner = match name {
                name if *name == SET_COOKIE => text.split(';').next().and_then(|pair| pair.split_once('=')),
                _ => text.split_once(' '),
            };
            inner.into_iter().for_each(|(_, inner)| self.hide(inner));
            self.hide(&text);
            head.push_str(HIDDEN);
        } else if *name == SESSION {
            let shown = text.floor_char_boundary(SESSION_CHARS);
            self.hide(&text[shown..]);
            head.push_str(&text[..shown]);
            head.push_str(if text.len() > shown { HIDDEN } else { "" });
        } else if let Some((path, query)) = text.split_once('?').filter(|_| *name == LOCATION) {
            self.hide(query);
            let _ = write!(head, "{path}?{HIDDEN}");
        } else {
            let end = self.scrub.cut(&text, VALUE_BYTES_MAX);
            head.push_str(&text[..end]);
            head.push_str(if bytes.len() > end { "…" } else { "" });
        }
    }

    fn push(&self, mark: char, head: String, body: &[u8], body_max: usize, of: Option<u32>) {
        let kept = &body[..body.len().min(body_max + self.slack())];
        let entry = TranscriptEntry {
            at: self.started.elapsed(),
            mark,
            head,
            body: kept.to_vec(),
            body_len: body.len(),
            body_max,
            of,
        };
        let mut tape = self.tape();
        tape.bytes += entry.cost();
        tape.entries.push(entry);
        tape.make_room();
    }

    /// Bytes kept behind each bound, so that a secret across the bound is recognised as one.
    fn slack(&self) -> usize {
        self.scrub.longest().max(*GIVEN_BYTES.end())
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock()
    }
}

impl Tape {
    fn make_room(&mut self) {
        while self.bytes > TRANSCRIPT_BYTES_MAX && self.entries.len() > FIRST_KEPT + 1 {
            self.bytes -= self.entries.remove(FIRST_KEPT).cost();
            self.left_out += 1;
        }
    }

    /// All that was said, within so many bytes.
    fn lines(&self, scrub: &Scrub, room: usize) -> String {
        let mut texts: Vec<String> = self.entries.iter().map(|entry| entry.text(scrub)).collect();
        let mut left_out = self.left_out;
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
}

impl TranscriptEntry {
    fn cost(&self) -> usize {
        ENTRY_BYTES + self.head.len() + self.body.len()
    }

    /// Its lines, each with its mark, so that no server can write a line that looks like ours.
    fn text(&self, scrub: &Scrub) -> String {
        let mut text = String::with_capacity(self.cost() * 2);
        let Self { mark, at, .. } = self;
        for (nth, line) in self.head.lines().enumerate() {
            let line = escaped(&scrub.hidden(line), TRANSCRIPT_BYTES_MAX);
            let when = if nth == 0 && *mark != '*' { format!("  ({})", shown(*at)) } else { String::new() };
            let _ = writeln!(text, "{mark} {line}{when}");
        }
        let body = String::from_utf8_lossy(&self.body);
        let end = scrub.cut(&body, self.body_max);
        for line in scrub.hidden(&body[..end]).trim_end_matches(['\r', '\n']).lines() {
            let _ = writeln!(text, "{mark} {}", escaped(line, TRANSCRIPT_BYTES_MAX));
        }
        if self.body_len > end {
            let _ = writeln!(text, "{mark} … {} bytes in all", self.body_len);
        }
        text
    }
}

fn step_lines(text: &mut String, step: &Step, scrub: &Scrub) {
    let mark = if step.fault.is_some() { '✗' } else { '✓' };
    let label = escaped(&scrub.hidden(&step.label), DETAIL_CHARS_MAX);
    let _ = write!(text, "= {} {mark} {label} · {}", step.stage.slug(), shown(step.elapsed));
    for (name, time) in phases(&step.phases) {
        let _ = write!(text, ", {name} {}", shown(time));
    }
    text.push('\n');
    if let Some(fault) = &step.fault {
        let _ = writeln!(text, "=   {}: {}", fault_word(fault.kind), scrub.line(&fault.detail));
    }
    for note in &step.notes {
        let _ = writeln!(text, "=   note: {}", scrub.line(note));
    }
}

/// The phases that were reached, in order.
pub fn phases(phases: &Phases) -> Vec<(&'static str, Duration)> {
    let all = [
        ("name", phases.name),
        ("connect", phases.connect),
        ("tls", phases.tls),
        ("headers", phases.headers),
        ("answer", phases.answer),
        ("end", phases.end),
    ];
    all.into_iter().filter_map(|(name, time)| Some((name, time?))).collect()
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
