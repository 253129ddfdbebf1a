//! A silence: somebody's word that what matches is known, and that nobody need be told of it for a while.

use chrono::{DateTime, Utc};

use crate::domain::route::Match;

/// Longest comment, in characters.
pub const COMMENT_CHARS_MAX: usize = 500;
/// Silences that may hold at a time.
pub const SILENCES_MAX: usize = 10_000;

/// Somebody's word that nobody need be told of what matches. It ends at a moment, or with an incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Silence {
    /// A UUIDv7: sorts by when it was made.
    pub id: String,
    /// What it keeps quiet; every given part has to fit, and at least one is given.
    pub matches: Match,
    /// Who made it.
    pub author: String,
    /// Why.
    pub comment: String,
    /// Since when it holds, UTC.
    pub from: DateTime<Utc>,
    /// When it ends by itself, UTC; none where it ends with an incident.
    pub until: Option<DateTime<Utc>>,
    /// The id of the incident with which it ends, where it was made for one.
    pub until_incident: Option<String>,
    /// When and by whom it was ended before its time; `serin` where its incident was over.
    pub ended: Option<(DateTime<Utc>, String)>,
}

impl Silence {
    /// Whether it still holds.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.ended.is_none() && self.until.is_none_or(|until| until > now)
    }

    /// Why it is refused, in a sentence that names the mend; none where it is not.
    pub fn fault(&self) -> Option<&'static str> {
        if self.matches == Match::default() {
            return Some("it matches everything; name a monitor, label, signal, severity or reason");
        }
        if self.author.is_empty() {
            return Some("say who makes it");
        }
        if self.comment.trim().is_empty() {
            return Some("say why, so that whoever finds it knows");
        }
        if self.comment.chars().count() > COMMENT_CHARS_MAX {
            return Some("its comment is too long; 500 characters are kept");
        }
        match (self.until, &self.until_incident) {
            (Some(until), _) if until <= self.from => Some("it is over before it begins"),
            (None, None) => Some("say until when, or until which incident is resolved"),
            _ => None,
        }
    }
}
