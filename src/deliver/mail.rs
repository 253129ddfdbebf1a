//! A message as a mail, for someone who is woken at three in the morning: as text first, and as HTML for readers that
//! show it.
//!
//! Everything in a mail follows from the frozen message and the receiver, the date and the ids
//! included, so every attempt has the same bytes. Mails of one incident form a thread: the first
//! one's Message-ID is made of the incident, and all later ones refer to it.

use std::fmt::Write as _;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use lettre::Address;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, MessageBuilder, MultiPart, SinglePart};

use crate::deliver::message::Message;
use crate::deliver::smtp::{MailMessage, SmtpClient};
use crate::deliver::write_permit::WritePermit;
use crate::deliver::{briefing, plain};
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::receiver::Smtp;
use rustls::pki_types::CertificateDer;

mod html;

/// Characters of an id in a header: 36 as a rule, and what parts a mail's alternatives may have 70 with ours (RFC 2046).
const ID_CHARS_MAX: usize = 60;
/// Characters of a fact's name at least, so that values stand under each other.
const NAME_WIDTH_MIN: usize = 9;
/// Characters of a subject: longer ones are cut by every reader anyway.
const SUBJECT_CHARS_MAX: usize = 160;

#[derive(Debug)]
pub(crate) struct Mailer {
    carrier: SmtpClient,
}

impl Mailer {
    /// Mails over TLS trust these authorities, Mozilla's where there are none.
    pub(crate) fn new(roots: Vec<CertificateDer<'static>>) -> Self {
        Self { carrier: SmtpClient::new(roots) }
    }

    /// One attempt to bring a message to every recipient of a receiver, which is known by its name in the file.
    pub(crate) async fn send(
        &self,
        permit: &WritePermit,
        smtp: Option<&Smtp>,
        (receiver, to): (&str, &[String]),
        id: &str,
        payload: &str,
    ) -> AttemptEnd {
        let Some(smtp) = smtp else {
            return refused("the file declares no mail server (serin.smtp)");
        };
        let mail = match Message::parse(payload) {
            Ok(message) => compose(&message, smtp, to, &format!("{receiver}/{id}")),
            Err(_) => return refused("the stored message cannot be read as contract version 1"),
        };
        let mail = match mail {
            Ok(mail) => mail,
            Err(why) => return refused(&why),
        };
        match tokio::time::timeout(ATTEMPT_MAX, self.carrier.send(smtp, &mail, permit)).await {
            Ok(end) => end,
            Err(_) => AttemptEnd::Failed {
                why: format!("the mail server did not finish within {} s", ATTEMPT_MAX.as_secs()),
                retry_after: None,
            },
        }
    }
}

/// The mail of a message.
///
/// # Errors
/// One line, where the sender or a recipient is no mail address.
pub(crate) fn compose(message: &Message, smtp: &Smtp, to: &[String], key: &str) -> Result<MailMessage, String> {
    let from: Mailbox = smtp.from.parse().map_err(|_| "smtp.from is no mail address".to_owned())?;
    let mut recipients: Vec<Address> = Vec::with_capacity(to.len());
    let mut builder = lettre::Message::builder().from(from.clone());
    for (index, text) in to.iter().enumerate() {
        let mailbox: Mailbox = text.parse().map_err(|_| format!("recipient {} is no mail address", index + 1))?;
        recipients.push(mailbox.email.clone());
        builder = builder.to(mailbox);
    }
    let built = headed(builder, message, from.email.domain())
        .multipart(alternatives(message)?)
        .map_err(|error| plain::line(&error.to_string(), 200))?;
    Ok(MailMessage { key: key.to_owned(), from: from.email, to: recipients, bytes: built.formatted() })
}

/// The text, and the same as HTML: a reader shows the last that it can. What parts them is no secret, and occurs in neither,
/// since `=` is written as `=3D` in both.
fn alternatives(message: &Message) -> Result<MultiPart, String> {
    let part = |kind: ContentType, text: String| {
        let encoded = Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable);
        let encoded = encoded.map_err(|_| "the mail cannot be written as quoted-printable".to_owned())?;
        Ok::<_, String>(SinglePart::builder().header(kind).body(encoded))
    };
    let html = html::page(message, &rule(message).unwrap_or_default(), &parting(message));
    Ok(MultiPart::alternative()
        .boundary(format!("=_serin-{}", id_part(&message.id)))
        .singlepart(part(ContentType::TEXT_PLAIN, body(message))?)
        .singlepart(part(ContentType::TEXT_HTML, html)?))
}

/// Everything above the body; nothing in here depends on the moment of sending.
fn headed(builder: MessageBuilder, message: &Message, domain: &str) -> MessageBuilder {
    let date: DateTime<Utc> = message.at.parse().unwrap_or_default();
    let own = format!("<{}@{domain}>", id_part(&message.id));
    let thread = message.incident.as_ref().map(|incident| format!("<incident-{}@{domain}>", id_part(&incident.id)));
    let mut builder = builder
        .date(SystemTime::from(date))
        .subject(subject(message))
        .raw_header(raw("Auto-Submitted", "auto-generated"))
        .raw_header(raw("X-Auto-Response-Suppress", "All"))
        .raw_header(raw("X-Serin-Event", &message.event))
        .raw_header(raw("X-Serin-Notification", &message.id));
    if let Some(monitor) = &message.monitor {
        builder = builder.raw_header(raw("X-Serin-Monitor", &monitor.id));
    }
    if let Some(reason) = &message.failure_reason {
        builder = builder.raw_header(raw("X-Serin-Reason", reason));
    }
    match thread {
        Some(thread) if message.sequence <= 1 => builder.message_id(Some(thread)),
        Some(thread) => builder.message_id(Some(own)).in_reply_to(thread.clone()).references(thread),
        None => builder.message_id(Some(own)),
    }
}

fn raw(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), plain::line(value, 200))
}

/// The part of an id that may stand before the `@`.
fn id_part(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).take(ID_CHARS_MAX).collect()
}

/// `[page] docs: …`, `[resolved] docs: …`: one line.
fn subject(message: &Message) -> String {
    plain::line(&format!("[{}] {}", briefing::tag(message), message.summary), SUBJECT_CHARS_MAX)
}

/// What, since when, why, what was seen, what would end it, where to look, how to see it oneself.
fn body(message: &Message) -> String {
    let mut text = String::with_capacity(1500);
    paragraph(&mut text, &message.summary);
    table(&mut text, &briefing::facts(message));
    if !message.evidence.0.is_empty() {
        text.push_str("\nWhat was seen\n");
        for (key, value) in &message.evidence.0 {
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    text.push('\n');
    table(&mut text, &pointers(message));
    let _ = writeln!(text, "\n-- \n{}", parting(message));
    text
}

/// The last words.
fn parting(message: &Message) -> String {
    match &message.incident {
        None => "Serin.".to_owned(),
        Some(incident) if incident.resolved_at.is_some() => {
            "Serin. Everything about this incident is in this thread.".to_owned()
        }
        Some(_) => "Serin. Everything about this incident is in this thread; you will be notified here when it ends."
            .to_owned(),
    }
}

/// Where the rule that led here stands.
fn rule(message: &Message) -> Option<String> {
    let rule = message.rule.as_ref()?;
    let commit = rule.commit.as_deref().map(|commit| format!(" at {commit}")).unwrap_or_default();
    Some(format!("{}:{}{commit}", rule.file, rule.line))
}

fn pointers(message: &Message) -> Vec<(&'static str, String)> {
    let mut found = vec![("Runbook", message.runbook_url.clone())];
    if let Some(url) = message.incident.as_ref().and_then(|incident| incident.url.clone()) {
        found.push(("Incident", url));
    }
    if let Some(url) = message.group.as_ref().and_then(|group| group.url.clone()) {
        found.push(("Incidents", url));
    }
    found.extend(message.acknowledge_url.clone().map(|url| ("Acknowledge", url)));
    found.extend(rule(message).map(|rule| ("Rule", rule)));
    if let Some(command) = &message.reproduce {
        found.push(("Reproduce", command.clone()));
    }
    found
}

fn paragraph(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line}\n");
}

fn table(text: &mut String, rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max(NAME_WIDTH_MIN);
    for (name, value) in rows {
        let _ = writeln!(text, "{name:<width$} {value}");
    }
}

fn refused(why: &str) -> AttemptEnd {
    AttemptEnd::Refused { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::services::samples::opened;
    use crate::domain::receiver::SmtpTls;

    fn smtp() -> Smtp {
        Smtp {
            host: "127.0.0.1".into(),
            port: 25,
            tls: SmtpTls::None,
            login: None,
            from: "Serin <serin@example.org>".into(),
            ca: None,
        }
    }

    fn message(event: &str, sequence: u32) -> Message {
        Message { id: format!("n-{sequence}"), sequence, event: event.into(), ..opened() }
    }

    fn text(message: &Message) -> String {
        let to = ["sre@example.org".to_owned(), "Ops <ops@example.org>".to_owned()];
        String::from_utf8(compose(message, &smtp(), &to, "k").unwrap().bytes).unwrap()
    }

    fn header<'a>(mail: &'a str, name: &str) -> Option<&'a str> {
        let head = mail.split("\r\n\r\n").next().unwrap();
        head.split("\r\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    #[test]
    fn a_thread_hangs_on_the_incident() {
        let (first, later) = (text(&message("incident.opened", 1)), text(&message("incident.resolved", 2)));
        assert_eq!(header(&first, "Message-ID"), Some("<incident-i-1@example.org>"));
        assert_eq!(header(&later, "Message-ID"), Some("<n-2@example.org>"));
        assert_eq!(header(&later, "In-Reply-To"), header(&first, "Message-ID"));
        assert_eq!(header(&later, "References"), header(&first, "Message-ID"));
        assert_eq!(header(&first, "MIME-Version"), Some("1.0"));
        assert_eq!(header(&first, "Auto-Submitted"), Some("auto-generated"));
        assert_eq!(header(&first, "Date"), Some("Sat, 21 Nov 2026 09:14:03 +0000"));
        assert_eq!(header(&first, "Subject"), Some("[page] docs: 3 searches came back empty"));
        assert_eq!(header(&later, "Subject"), Some("[resolved] docs: 3 searches came back empty"));
    }

    #[test]
    fn the_same_message_gives_the_same_bytes() {
        assert_eq!(text(&message("incident.opened", 1)), text(&message("incident.opened", 1)));
    }

    #[test]
    fn a_mail_says_what_someone_woken_at_night_needs() {
        let body = body(&message("incident.opened", 1));
        let rows = [
            ("docs: 3 searches came back empty", "what"),
            ("Since     2026-11-21 09:14:03 UTC", "since when"),
            ("Reason    pool_saturated, seen at search", "why"),
            ("connection pool is exhausted", "what that means"),
            ("canary: err-4417 → nothing", "what was seen"),
            ("Resolves  two good beats in a row", "what would end it"),
            ("Runbook     https://serin.example/runbooks/pool_saturated", "where to look"),
            ("Incident    https://serin.example/incidents/i-1", "the page"),
            ("Rule        monitors.yaml:24 at c0ffee", "the rule"),
            ("Reproduce   serin probe docs", "the command"),
        ];
        for (part, sentence) in rows {
            assert!(body.contains(part), "a mail says {sentence}: {body}");
        }
    }

    #[test]
    fn a_mail_has_its_text_first_and_the_same_as_html() {
        let mail = text(&message("incident.opened", 1));
        let parsed = mail_parser::MessageParser::default().parse(mail.as_bytes()).unwrap();
        assert!(header(&mail, "Content-Type").unwrap().starts_with("multipart/alternative;"), "{mail}");
        assert_eq!((parsed.text_body_count(), parsed.html_body_count()), (1, 1));
        assert_eq!(parsed.attachment_count(), 0, "nothing hangs on it");
        let plain = parsed.body_text(0).unwrap();
        assert_eq!(
            plain.replace("\r\n", "\n"),
            body(&message("incident.opened", 1)),
            "the text says everything by itself"
        );
        assert!(parsed.body_html(0).unwrap().contains("<h1"));
        assert!(
            mail.find("text/plain").unwrap() < mail.find("text/html").unwrap(),
            "the last is shown where it can be"
        );
        assert!(mail.lines().all(|line| line.len() <= 200), "no server breaks a line of it");
    }

    #[test]
    fn hostile_text_makes_no_part() {
        let mut hostile = message("incident.opened", 1);
        let part = "--=_serin-n-1\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>";
        hostile.summary = part.into();
        hostile.evidence.0.push((part.into(), part.into()));
        let mail = text(&hostile);
        let parsed = mail_parser::MessageParser::default().parse(mail.as_bytes()).unwrap();
        assert_eq!(parsed.parts.len(), 3, "the two, and what holds them");
        assert!(parsed.body_text(0).unwrap().contains("--=_serin-n-1"), "it stays text");
        assert!(!parsed.body_html(0).unwrap().contains("<script"));
    }

    #[test]
    fn hostile_text_makes_no_header() {
        let mut hostile = message("incident.opened", 1);
        hostile.summary = "docs: x\r\nBcc: everybody@example.org\r\n\r\n</script>".into();
        hostile.event = "incident.opened\r\nX-Evil: 1".into();
        hostile.id = "n\r\nX-Evil: 2 <a@b>".into();
        hostile.failure_reason = Some("http_error\nX-Evil: 3".into());
        let mail = text(&hostile);
        assert_eq!(header(&mail, "Bcc"), None);
        assert_eq!(header(&mail, "X-Evil"), None);
    }

    #[test]
    fn bad_addresses_are_said_without_being_shown() {
        let broken = compose(&message("drill", 1), &smtp(), &["no address".to_owned()], "k");
        assert_eq!(broken.unwrap_err(), "recipient 1 is no mail address");
    }
}
