//! Names and addresses that say nothing of what they stand for: signed with the key of links, so that they stay the same
//! over restarts and backups, and nobody can guess one or read anything out of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

/// Where badges are, below the public address.
pub const BADGE_PATH: &str = "/badge";
/// Bytes of a badge's token: 128 bits are beyond guessing, and short enough for a README.
const TOKEN_BYTES: usize = 16;

/// Makes marks. The key is in the database, and restoring one from a backup keeps them.
#[derive(Clone)]
pub struct PublicMarks {
    key: [u8; 32],
}

impl std::fmt::Debug for PublicMarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicMarks")
    }
}

/// What a badge is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadgeOf<'a> {
    /// A monitor, by its id.
    Monitor(&'a str),
    /// A component of the status page, by its name.
    Component(&'a str),
}

/// What a badge shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BadgeKind {
    /// How it is now.
    State,
    /// The share of seen time in which it could be asked, over 90 days.
    Up,
    /// The share of right answers, over 90 days.
    Right,
    /// P95 of its searches over the window of its rule.
    P95,
}

/// What the address of a badge says, and all that it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BadgeToken([u8; TOKEN_BYTES]);

impl BadgeToken {
    /// As it stands in an address; none where it is none.
    pub fn read(text: &str) -> Option<Self> {
        BASE64.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// Whether both are the same, which takes as long whatever they are.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::fmt::Display for BadgeToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl BadgeKind {
    /// Every kind, in the order in which they are printed.
    pub const ALL: [Self; 4] = [Self::State, Self::Up, Self::Right, Self::P95];

    /// The word for it in what is printed and signed.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Up => "up",
            Self::Right => "right",
            Self::P95 => "p95",
        }
    }
}

impl PublicMarks {
    /// Marks under this key.
    pub const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The token in a badge's address.
    pub fn badge(&self, of: BadgeOf<'_>, kind: BadgeKind) -> BadgeToken {
        let (what, name) = match of {
            BadgeOf::Monitor(id) => ("monitor", id),
            BadgeOf::Component(name) => ("component", name),
        };
        let mark = self.mark(&["badge", kind.slug(), what, name]);
        let mut token = [0; TOKEN_BYTES];
        token.copy_from_slice(&mark[..TOKEN_BYTES]);
        BadgeToken(token)
    }

    /// The address of a badge.
    pub fn badge_url(&self, public_url: &str, of: BadgeOf<'_>, kind: BadgeKind) -> String {
        format!("{public_url}{BADGE_PATH}/{}.svg", self.badge(of, kind))
    }

    /// An id for whatever these words name, as a UUID of one's own making (RFC 9562, version 8).
    pub fn id(&self, of: &[&str]) -> Uuid {
        let mark = self.mark(&[&["id"], of].concat());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&mark[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    fn mark(&self, words: &[&str]) -> [u8; 32] {
        // Every key of HMAC is long enough; one that is longer than a block is hashed.
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of 32 bytes");
        // Apart from what links sign under the same key; lengths first, so that no two marks are alike.
        mac.update(b"public");
        for word in words {
            mac.update(&(word.len() as u64).to_be_bytes());
            mac.update(word.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_badge_has_an_address_of_its_own_that_says_nothing() {
        let marks = PublicMarks::new([7; 32]);
        let of = [BadgeOf::Monitor("docs"), BadgeOf::Component("docs"), BadgeOf::Monitor("doc")];
        let mut all: Vec<String> =
            of.iter().flat_map(|of| BadgeKind::ALL.map(|kind| marks.badge(*of, kind).to_string())).collect();
        assert!(all.iter().all(|token| token.len() == 22 && !token.contains("doc")), "{all:?}");
        all.push(PublicMarks::new([8; 32]).badge(BadgeOf::Monitor("docs"), BadgeKind::State).to_string());
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "of each thing, kind and Serin another one");
    }

    #[test]
    fn a_token_is_read_as_it_was_written_and_in_no_other_way() {
        let token = PublicMarks::new([7; 32]).badge(BadgeOf::Monitor("docs"), BadgeKind::P95);
        let text = token.to_string();
        assert!(BadgeToken::read(&text).is_some_and(|read| read.is(&token) && read == token));
        let last = text.chars().last().unwrap();
        let near = ('A'..='Z').chain('a'..='z').filter(|letter| *letter != last);
        for other in near.map(|letter| format!("{}{letter}", &text[..21])) {
            assert!(BadgeToken::read(&other).is_none_or(|read| !read.is(&token)), "{other} is {text}");
        }
        for other in ["", "AAAA", &text[..21], &format!("{text}A"), &format!("{text}=="), "ä"] {
            assert_eq!(BadgeToken::read(other), None, "{other}");
        }
    }

    #[test]
    fn an_id_stays_and_is_a_uuid() {
        let marks = PublicMarks::new([7; 32]);
        let id = marks.id(&["incident", "0199"]);
        assert_eq!(id, marks.id(&["incident", "0199"]));
        assert_ne!(id, marks.id(&["incident0", "199"]), "words do not run together");
        assert_eq!(id.get_version_num(), 8);
    }
}
