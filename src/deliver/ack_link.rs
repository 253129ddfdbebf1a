//! The link in a message that takes its incident: signed over incident, receiver and end, so that whoever holds the
//! message needs no account.
//!
//! Following it changes nothing: a mail scanner does that too. The page behind it has a button.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::form_urlencoded::byte_serialize;

use crate::deliver::message::{Message, MessageIncident};

/// Where the page is, below the public address.
pub const PATH: &str = "/take";
/// How long a link can be used, from when its message was decided.
const GOOD_FOR: TimeDelta = TimeDelta::days(7);
/// What somebody who is told of this can still take.
const LINKED: [&str; 4] = ["incident.opened", "incident.updated", "incident.reminder", "incident.escalated"];

/// Makes links and knows them again. The key is in the database, and restoring one from a backup keeps its links.
#[derive(Clone)]
pub struct AckLinks {
    key: [u8; 32],
}

impl std::fmt::Debug for AckLinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AckLinks")
    }
}

/// What a link stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckLink<'a> {
    /// Id of the incident.
    pub incident: &'a str,
    /// Whose message it stood in.
    pub receiver: &'a str,
    /// Until when it can be used, in seconds since 1970.
    pub until: i64,
}

impl AckLinks {
    /// Links under this key.
    pub const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The address below `public_url` that takes an incident.
    pub fn url(&self, public_url: &str, link: AckLink<'_>) -> String {
        let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let (incident, receiver, mark) = (part(link.incident), part(link.receiver), BASE64.encode(self.mark(link)));
        format!("{public_url}{PATH}/{incident}/{receiver}/{}/{mark}", link.until)
    }

    /// Whether we made this link, and it can still be used; compared in constant time.
    pub fn is_good(&self, link: AckLink<'_>, mark: &str, now: DateTime<Utc>) -> bool {
        let Ok(mark) = BASE64.decode(mark) else { return false };
        self.mac(link).verify_slice(&mark).is_ok() && now.timestamp() < link.until
    }

    /// A frozen message as one receiver gets it: with the link to take its incident, where it has one that is open. The same
    /// bytes at every attempt.
    pub fn with_link(&self, payload: &str, receiver: &str, public_url: &str) -> String {
        self.linked(payload, receiver, public_url).unwrap_or_else(|| payload.to_owned())
    }

    fn linked(&self, payload: &str, receiver: &str, public_url: &str) -> Option<String> {
        let mut message = Message::parse(payload).ok().filter(|message| LINKED.contains(&message.event.as_str()))?;
        let free = |incident: &&MessageIncident| incident.acknowledged_by.is_none() && incident.resolved_at.is_none();
        let incident = message.incident.as_ref().filter(free)?;
        let until = (DateTime::parse_from_rfc3339(&message.at).ok()? + GOOD_FOR).timestamp();
        message.acknowledge_url = Some(self.url(public_url, AckLink { incident: &incident.id, receiver, until }));
        Some(message.frozen())
    }

    fn mark(&self, link: AckLink<'_>) -> Vec<u8> {
        self.mac(link).finalize().into_bytes().to_vec()
    }

    fn mac(&self, AckLink { incident, receiver, until }: AckLink<'_>) -> Hmac<Sha256> {
        // Every key of HMAC is long enough; one that is longer than a block is hashed.
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of 32 bytes");
        // Lengths first, so that no two links are alike.
        mac.update(format!("take {} {} {until} {incident} {receiver}", incident.len(), receiver.len()).as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    #[test]
    fn only_what_was_signed_is_good_and_only_until_its_end() {
        let links = AckLinks::new(KEY);
        let link = AckLink { incident: "i-1", receiver: "on call/ä", until: 1_800_000_000 };
        let url = links.url("https://serin.example.org", link);
        assert!(url.starts_with("https://serin.example.org/take/i-1/on+call%2F%C3%A4/1800000000/"), "{url}");
        let mark = url.rsplit('/').next().unwrap();
        let before = DateTime::from_timestamp(1_799_999_999, 0).unwrap();
        let rows = [
            (link, mark, before, true, "as it was made"),
            (link, mark, before + TimeDelta::seconds(1), false, "it ends"),
            (AckLink { incident: "i-2", ..link }, mark, before, false, "another incident"),
            (AckLink { receiver: "on call", ..link }, mark, before, false, "another receiver"),
            (AckLink { until: 1_900_000_000, ..link }, mark, before, false, "a longer life"),
            (link, "", before, false, "no mark"),
            (link, "AAAA", before, false, "a short one"),
        ];
        for (link, mark, now, good, sentence) in rows {
            assert_eq!(links.is_good(link, mark, now), good, "{sentence}");
        }
        assert!(!AckLinks::new([8; 32]).is_good(link, mark, before), "of another Serin");
    }
}
