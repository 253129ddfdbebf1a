//! Who may do what: roles, and the keys that carry one.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// What keys begin with, so that whoever finds one knows what it opens.
pub const KEY_PREFIX: &str = "serin_key_";
/// Keys that may be live at a time.
pub const KEYS_MAX: usize = 1_000;
/// The longest that a key is good for; a new one takes a minute.
pub const KEY_LASTS_MAX: Duration = Duration::from_secs(366 * 86_400);
/// Characters of a key's name.
pub const KEY_NAME_CHARS_MAX: usize = 64;

/// What somebody may do; each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look at everything, scrape metrics, ask the tools for agents.
    Read,
    /// Acknowledge, silence, accept, recheck, replay, test receivers.
    Act,
    /// Make and end keys, read the audit log: whoever has the token, is named so by the file or the
    /// provider, or is on the machine where nobody signs in.
    Owner,
}

impl Role {
    /// The word of it, as keys, the API and the command line say it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Act => "act",
            Self::Owner => "owner",
        }
    }

    /// A role that a key may carry.
    pub fn of_key(slug: &str) -> Option<Self> {
        [Self::Read, Self::Act].into_iter().find(|role| role.slug() == slug)
    }
}

/// A key of the API, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// A UUIDv7: sorts by when it was made.
    pub id: String,
    /// What it is for, as whoever made it says.
    pub name: String,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
    /// What its bearer may do.
    pub role: Role,
    /// Who made it.
    pub made_by: String,
    /// When it was made, UTC.
    pub made_at: DateTime<Utc>,
    /// The first moment at which it opens nothing any more, UTC.
    pub expires_at: DateTime<Utc>,
    /// When and by whom it was ended before its time.
    pub ended: Option<(DateTime<Utc>, String)>,
}

impl ApiKey {
    /// As the audit log names it, such as `key grafana 3f9a21bc`: names may be given twice.
    pub fn called(&self) -> String {
        let short = self.id.len().saturating_sub(8);
        format!("key {} {}", self.name, self.id.get(short..).unwrap_or_default())
    }

    /// Whether it opens anything.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.ended.is_none() && self.expires_at > now
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_key_opens_until_its_end_and_carries_no_owner() {
        let made = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let key = ApiKey {
            id: String::new(),
            name: "grafana".to_owned(),
            hash: [0; 32],
            role: Role::Read,
            made_by: "ada".to_owned(),
            made_at: made,
            expires_at: made + TimeDelta::days(1),
            ended: None,
        };
        let ended = ApiKey { ended: Some((made, "ada".to_owned())), ..key.clone() };
        let rows = [
            (&key, 0, true, "at once"),
            (&key, 86_399, true, "to its last second"),
            (&key, 86_400, false, "not at its end"),
            (&ended, 1, false, "nor once somebody ended it"),
        ];
        for (key, second, live, sentence) in rows {
            assert_eq!(key.is_live(made + TimeDelta::seconds(second)), live, "{sentence}");
        }
        assert_eq!(Role::of_key("owner"), None, "a key makes no keys");
        assert!(Role::Read < Role::Act && Role::Act < Role::Owner);
    }
}
