//! Several messages as one, for people: what is open first, the loudest before the others, then what is over.
//!
//! It is made of frozen messages and of nothing else, so that each try says the same. It has the shape of any message, so
//! that every channel shows it as it shows others: one line of evidence an incident.

use std::cmp::Reverse;

use crate::deliver::message::{Message, MessageEvidence, MessageGroup, VERSION};
use crate::deliver::plain;
use crate::domain::paging::gathering::{COMMON_CAUSE, DIGEST, TOO_MANY};
use crate::domain::reason::Severity;
use crate::domain::wording::counted;

/// Lines of one message; the page of incidents has the rest.
const LINES_MAX: usize = 200;
/// Monitors that its summary names.
const NAMED_MAX: usize = 4;
/// Characters of a line.
const LINE_CHARS_MAX: usize = 300;
const SUMMARY_CHARS_MAX: usize = 400;

/// What became of one incident, as its last message says.
struct Member<'a> {
    last: &'a Message,
    /// Whether its opening is among the messages.
    is_new: bool,
}

impl Member<'_> {
    fn is_over(&self) -> bool {
        matches!(self.last.event.as_str(), "incident.resolved" | "drill.over")
    }

    /// Whether it asks for somebody still.
    fn is_open(&self) -> bool {
        self.last.incident.is_some() && !self.is_over()
    }

    fn severity(&self) -> Severity {
        Severity::from_slug(&self.last.severity).unwrap_or(Severity::Notice)
    }

    fn monitor(&self) -> &str {
        self.last.monitor.as_ref().map_or("serin", |monitor| monitor.id.as_str())
    }

    /// Such as `page, over: 3 searches came back empty`.
    fn line(&self) -> String {
        let event = self.last.event.strip_prefix("incident.").unwrap_or(&self.last.event);
        let word = match event {
            "resolved" if self.is_new => "opened and over",
            "resolved" => "over",
            "acknowledged" => "taken",
            "reminder" => "still open",
            other => other,
        };
        let said = self.last.summary.strip_prefix(&format!("{}: ", self.monitor())).unwrap_or(&self.last.summary);
        plain::line(&format!("{}, {word}: {said}", self.last.severity), LINE_CHARS_MAX)
    }
}

/// One message of several, which are given in the order in which they were decided; `home` is where people find the pages.
pub(crate) fn of(id: &str, key: &str, messages: &[Message], home: Option<&str>) -> Message {
    let mut members = members(messages);
    members.sort_by_key(|member| (member.is_over(), Reverse(member.severity()), member.monitor().to_owned()));
    let open = members.iter().filter(|member| member.is_open());
    let severity = open.clone().map(Member::severity).max();
    let all_share = |of: fn(&Message) -> Option<&str>| {
        let mut all = members.iter().map(|member| of(member.last));
        let first = all.next().flatten()?;
        all.all(|other| other == Some(first)).then(|| first.to_owned())
    };
    let reason = all_share(|message| message.failure_reason.as_deref());
    let runbook = all_share(|message| Some(message.runbook_url.as_str()));
    let loudest = || members.first().map_or("", |member| &member.last.runbook_url).to_owned();
    let lines = members.iter().take(LINES_MAX).map(|member| (member.monitor().to_owned(), member.line()));
    let mut evidence: Vec<(String, String)> = lines.collect();
    let count = members.len();
    if let Some(more) = count.checked_sub(LINES_MAX).filter(|more| *more > 0) {
        evidence.push(("and".to_owned(), format!("{more} more")));
    }
    Message {
        version: VERSION,
        id: id.to_owned(),
        sequence: 1,
        event: event(&members).to_owned(),
        at: messages.iter().map(|message| message.at.as_str()).max().unwrap_or_default().to_owned(),
        incident: None,
        monitor: None,
        failure_reason: reason,
        failed_stage: all_share(|message| message.failed_stage.as_deref()),
        summary: plain::line(&summary(key, &members), SUMMARY_CHARS_MAX),
        evidence: MessageEvidence(evidence),
        runbook_url: runbook.unwrap_or_else(|| home.map_or_else(loudest, |home| format!("{home}/runbooks"))),
        rule: None,
        reproduce: None,
        severity: severity
            .unwrap_or_else(|| members.iter().map(Member::severity).max().unwrap_or(Severity::Notice))
            .slug()
            .to_owned(),
        resolves_when: None,
        acknowledge_url: None,
        group: Some(MessageGroup {
            key: key.to_owned(),
            incidents: count as u32,
            url: home.map(|home| format!("{home}/incidents")),
        }),
    }
}

/// The incidents in the order in which they came, each as it stands last; what belongs to none stands alone.
fn members(messages: &[Message]) -> Vec<Member<'_>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    for message in messages {
        let is_new = message.event == "incident.opened";
        let id = |of: &Message| of.incident.as_ref().map(|incident| incident.id.clone());
        let same =
            id(message).and_then(|id_of| members.iter_mut().find(|known| id(known.last).as_ref() == Some(&id_of)));
        match same {
            Some(known) => {
                known.is_new |= is_new;
                if message.sequence >= known.last.sequence {
                    known.last = message;
                }
            }
            None => members.push(Member { last: message, is_new }),
        }
    }
    members
}

/// What the message as a whole is: the loudest that became of what is open, the end where all incidents of it ended; of
/// what belongs to no incident what it is, where that is one thing.
fn event<'a>(members: &'a [Member<'_>]) -> &'a str {
    const LOUDEST_FIRST: [&str; 5] =
        ["incident.escalated", "incident.opened", "incident.reminder", "incident.updated", "incident.acknowledged"];
    let became = |event: &&&str| {
        let is_so = |member: &Member<'_>| member.last.event == **event || member.is_new && **event == "incident.opened";
        members.iter().any(|member| member.is_open() && is_so(member))
    };
    if let Some(loudest) = LOUDEST_FIRST.iter().find(became) {
        return loudest;
    }
    let same = |first: &&Member<'_>| members.iter().all(|member| member.last.event == first.last.event);
    match members.first().filter(same) {
        Some(first) => &first.last.event,
        None if members.iter().any(|member| member.last.incident.is_some()) => "incident.resolved",
        None => "incident.updated",
    }
}

/// Such as `12 monitors went down together: docs, wiki, faq, code and 8 more`.
fn summary(key: &str, members: &[Member<'_>]) -> String {
    let over = members.iter().filter(|member| member.is_over()).count();
    let new = members.iter().filter(|member| member.is_new && !member.is_over()).count();
    // A restart, or a change of tools: nothing that opens or ends.
    let noted = members.iter().filter(|member| member.last.incident.is_none() && !member.is_over()).count();
    let rest = members.len() - over - new - noted;
    let parts = [(new, "opened"), (rest, "told of again"), (noted, "noted"), (over, "over")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let mut ids: Vec<&str> = Vec::new();
    for member in members {
        if !ids.contains(&member.monitor()) {
            ids.push(member.monitor());
        }
    }
    let monitors = counted(ids.len() as u64, "monitor", "monitors");
    let mut named = ids.get(..NAMED_MAX).unwrap_or(&ids).join(", ");
    if let Some(more) = ids.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        named.push_str(&format!(" and {more} more"));
    }
    match key {
        _ if key.starts_with(COMMON_CAUSE) && new == members.len() => format!("{monitors} went down together: {named}"),
        _ if key.starts_with(COMMON_CAUSE) => {
            format!("of {monitors} that went down together: {}: {named}", parts.join(", "))
        }
        _ if key.starts_with(DIGEST) => {
            format!("digest of {}, on {monitors}: {named}", counted(members.len() as u64, "notice", "notices"))
        }
        _ if key.starts_with(TOO_MANY) => {
            format!("{} that had to wait, on {monitors}: {named}", counted(members.len() as u64, "message", "messages"))
        }
        key => format!("{key}: {}, on {monitors}: {named}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests;
