//! A rehearsal of telling: a message that says nothing is wrong, on the way that a page takes.
//!
//! Where something of it would stay open, its end is told as well: a drill is over once it was taken.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::outcome::Evidence;
use crate::domain::paging::notification::{Event, MonitorCard, Notification};
use crate::domain::reason::Severity;
use crate::domain::receiver::Channel;

/// The evidence key under which both messages of a drill name it: what one opened the other closes.
pub const DRILL: &str = "drill";

/// One drill: what both of its messages are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drill {
    /// What the drill is known by, in both messages.
    pub id: String,
    /// Who asked for it, or by which line of the file it came.
    pub by: String,
    /// Why it came, such as `a test of receiver 'oncall'`.
    pub what: String,
    /// When the next one comes, where it is known, such as `2026-11-30 10:00 CET`.
    pub next: Option<String>,
}

impl Drill {
    /// The message that is to be taken; `id` is its own. It is as loud as a page, since that is what is rehearsed.
    pub fn opening(&self, id: String, now: DateTime<Utc>, public_url: &str) -> Notification {
        let next = self.next.as_ref().map(|next| format!("; the next is on {next}")).unwrap_or_default();
        let summary = format!("Serin: {}, by {}: nothing is wrong{next}", self.what, self.by);
        self.notification(id, Event::Drill, summary, now, public_url)
    }

    /// The message that it is over, for those where it would stay open.
    pub fn end(&self, id: String, now: DateTime<Utc>, public_url: &str) -> Notification {
        let summary = format!("Serin: {}, by {}: it is over", self.what, self.by);
        self.notification(id, Event::DrillOver, summary, now, public_url)
    }

    fn notification(
        &self,
        id: String,
        event: Event,
        summary: String,
        now: DateTime<Utc>,
        public_url: &str,
    ) -> Notification {
        let mut evidence = vec![Evidence::new(DRILL, self.id.clone()), Evidence::new("by", self.by.clone())];
        evidence.extend(self.next.as_ref().map(|next| Evidence::new("next", next.clone())));
        Notification {
            id,
            sequence: if event == Event::Drill { 1 } else { 2 },
            event,
            at: now,
            incident: None,
            monitor: MonitorCard {
                id: String::new(),
                name: String::new(),
                url: String::new(),
                labels: BTreeMap::new(),
            },
            reason: None,
            failed_stage: None,
            severity: Severity::Page,
            summary,
            evidence,
            resolves_when: None,
            runbook_url: format!("{public_url}/receivers"),
            incident_url: None,
            rule: None,
            reproduce: String::new(),
            group_key: None,
        }
    }
}

/// Whether a channel keeps what it was told open until it hears of the end: programs do, people read.
pub const fn keeps_open(channel: &Channel) -> bool {
    matches!(channel, Channel::Webhook { .. } | Channel::PagerDuty { .. })
}
