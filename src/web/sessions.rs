//! Who is signed in, and who failed to: in memory, bounded, forgotten at a restart.
//!
//! A session is a random 256-bit id in a cookie; only its hash is kept here. Failures are counted by
//! source, so that whoever guesses is told to stop. Nobody is locked out by it: behind one address may sit everybody, so
//! a right token always passes. What keeps guessing hopeless is the token's length, which `config` sees to. A password has
//! no such length: whoever is told to stop there has to stop, be it the right one or not.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::domain::api_key::Role;
use crate::domain::secret::Secret;
use crate::domain::sign_in::{Provider, User};
use crate::web::source::Peer;

/// Sessions at once; the oldest makes room. More people than ever watch one fleet.
const SESSIONS_MAX: usize = 1_000;
/// Sessions of one key or user; their own oldest makes room, so that it pushes nobody else out.
const SESSIONS_OF_ONE_MAX: usize = 10;
/// A session lasts a long shift.
const SESSION_HOURS: i64 = 12;
/// Failures from one source within [`FAILURE_WINDOW`] before it is told to stop: typing errors pass, guessing does not.
const FAILURES_MAX: u32 = 10;
/// Failures are forgotten after this long without another.
const FAILURE_WINDOW: TimeDelta = TimeDelta::minutes(1);
/// Sources whose failures are remembered at once; the oldest makes room.
const SOURCES_MAX: usize = 10_000;

/// Everybody at the door.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: Mutex<HashMap<[u8; 32], Session>>,
    failures: Mutex<HashMap<Peer, Failures>>,
}

/// What a session was opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenedWith {
    /// The token.
    Token,
    /// A key of the API, by its id: the session ends with it.
    Key(String),
    /// A name and a password: the session ends with the user, and with another password.
    User(Arc<User>),
    /// What a provider said: the session ends with its time, and where the file says something else of the provider.
    Provider { name: String, role: Role, by: Arc<Provider> },
}

impl OpenedWith {
    /// Whether both are of one key or person; those who have the token are many.
    fn is_of_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one), Self::Key(other)) => one == other,
            (Self::User(one), Self::User(other)) => one.name == other.name,
            (Self::Provider { name: one, .. }, Self::Provider { name: other, .. }) => one == other,
            _ => false,
        }
    }

    /// How long a session lasts that is opened so.
    fn lasts(&self) -> TimeDelta {
        let by_provider =
            if let Self::Provider { by, .. } = self { TimeDelta::from_std(by.session).ok() } else { None };
        by_provider.unwrap_or(TimeDelta::hours(SESSION_HOURS))
    }
}

#[derive(Debug)]
struct Session {
    ends_at: DateTime<Utc>,
    opened_with: OpenedWith,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last_at: DateTime<Utc>,
}

/// How a shown token was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthResult {
    /// It is the right one.
    Right,
    Wrong,
    /// It is not, and neither were many others from this source.
    TooOften,
}

impl Sessions {
    /// Compares a shown token, in time that tells nothing about it.
    pub fn authenticate(&self, shown: &str, token: Option<&Secret>, from: IpAddr, now: DateTime<Utc>) -> AuthResult {
        // First of all: who else guesses from here changes nothing for whoever has the token.
        if token.is_some_and(|token| bool::from(hash(shown).ct_eq(&hash(token.expose())))) {
            return AuthResult::Right;
        }
        if self.may_try(from, now) { AuthResult::Wrong } else { AuthResult::TooOften }
    }

    /// Counts a try as a failure before it is known to be one, so that many at once are not all let through; false where
    /// there were too many from there. Whoever then was right takes it back.
    pub(crate) fn may_try(&self, from: IpAddr, now: DateTime<Utc>) -> bool {
        let from = Peer::of(from);
        let mut failures = self.failures.lock();
        failures.retain(|_, failed| now - failed.last_at < FAILURE_WINDOW);
        if failures.get(&from).is_some_and(|failed| failed.count >= FAILURES_MAX) {
            return false;
        }
        if failures.len() >= SOURCES_MAX {
            drop_oldest(&mut failures, |failed| failed.last_at);
        }
        let failed = failures.entry(from).or_insert(Failures { count: 0, last_at: now });
        failed.count += 1;
        failed.last_at = now;
        true
    }

    /// A try that was counted was right.
    pub(crate) fn was_right(&self, from: IpAddr) {
        if let Some(failed) = self.failures.lock().get_mut(&Peer::of(from)) {
            failed.count = failed.count.saturating_sub(1);
        }
    }

    /// Opens a session and returns its id, which is kept nowhere else, and the seconds that it lasts.
    pub(crate) fn open(&self, opened_with: OpenedWith, now: DateTime<Utc>) -> (String, i64) {
        let id = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.ends_at > now);
        let is_own = |session: &Session| session.opened_with.is_of_the_same(&opened_with);
        if sessions.values().filter(|session| is_own(session)).count() >= SESSIONS_OF_ONE_MAX {
            let own = sessions.iter().filter(|(_, session)| is_own(session));
            let oldest = own.min_by_key(|(_, session)| session.ends_at).map(|(id, _)| *id);
            oldest.and_then(|id| sessions.remove(&id));
        }
        if sessions.len() >= SESSIONS_MAX {
            drop_oldest(&mut sessions, |session| session.ends_at);
        }
        let lasts = opened_with.lasts();
        sessions.insert(hash(&id), Session { ends_at: now + lasts, opened_with });
        (id, lasts.num_seconds())
    }

    /// What the session of this id was opened with; none where there is none.
    pub(crate) fn opened_with(&self, id: &str, now: DateTime<Utc>) -> Option<OpenedWith> {
        let sessions = self.sessions.lock();
        sessions.get(&hash(id)).filter(|session| session.ends_at > now).map(|session| session.opened_with.clone())
    }

    pub fn close(&self, id: &str) {
        self.sessions.lock().remove(&hash(id));
    }
}

fn drop_oldest<K: Copy + Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>, at: impl Fn(&V) -> DateTime<Utc>) {
    if let Some(oldest) = map.iter().min_by_key(|(_, value)| at(value)).map(|(key, _)| *key) {
        map.remove(&oldest);
    }
}

pub(super) fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    #[test]
    fn a_session_ends_with_its_time_and_with_its_owner() {
        let (sessions, now) = (Sessions::default(), DateTime::UNIX_EPOCH);
        let (id, lasts) = sessions.open(OpenedWith::Token, now);
        assert_eq!(lasts, SESSION_HOURS * 3600);
        let rows = [
            (now, id.as_str(), true, "it is open at once"),
            (now + TimeDelta::hours(SESSION_HOURS), &id, false, "it ends after its hours"),
            (now, "guess", false, "an invented id is no session"),
        ];
        for (at, id, known, sentence) in rows {
            assert_eq!(sessions.opened_with(id, at).is_some(), known, "{sentence}");
        }
        sessions.close(&id);
        assert_eq!(sessions.opened_with(&id, now), None, "it ends when its owner signs out");
    }

    #[test]
    fn guessing_is_stopped_and_bothers_nobody_else() {
        let (sessions, token, now) = (Sessions::default(), Secret::new("right"), DateTime::UNIX_EPOCH);
        let six = |network: u16, host: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host));
        let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        for _ in 0..FAILURES_MAX {
            assert_eq!(sessions.authenticate("wrong", Some(&token), HERE, now), AuthResult::Wrong);
            assert_eq!(
                sessions.authenticate("right", Some(&token), HERE, now),
                AuthResult::Right,
                "in between, and it makes nothing good"
            );
            assert_eq!(sessions.authenticate("wrong", Some(&token), six(1, 1), now), AuthResult::Wrong);
        }
        let rows = [
            ("right", HERE, now, AuthResult::Right, "a right one passes, whoever guessed before"),
            ("wrong", HERE, now, AuthResult::TooOften, "after ten wrong ones the next is told so"),
            ("wrong", mapped, now, AuthResult::TooOften, "also where its address is written in the other family"),
            ("wrong", THERE, now, AuthResult::Wrong, "another address is not held up"),
            ("wrong", six(1, 2), now, AuthResult::TooOften, "one machine has all addresses of its network"),
            ("right", six(1, 2), now, AuthResult::Right, "and passes from there with the right one"),
            ("wrong", six(2, 1), now, AuthResult::Wrong, "another network is not held up"),
            ("wrong", HERE, now + FAILURE_WINDOW, AuthResult::Wrong, "a minute later it may try again"),
        ];
        for (shown, from, at, taken, sentence) in rows {
            assert_eq!(sessions.authenticate(shown, Some(&token), from, at), taken, "{sentence}");
        }
    }

    #[test]
    fn sessions_are_bounded() {
        let (sessions, now) = (Sessions::default(), DateTime::UNIX_EPOCH);
        let (first, _) = sessions.open(OpenedWith::Token, now);
        for second in 1..=i64::try_from(SESSIONS_MAX).unwrap() {
            sessions.open(OpenedWith::Token, now + TimeDelta::seconds(second));
        }
        assert_eq!(sessions.opened_with(&first, now), None, "the oldest made room");
        assert_eq!(sessions.sessions.lock().len(), SESSIONS_MAX);
        let key = || OpenedWith::Key("k".to_owned());
        let opened: Vec<String> =
            (0..15).map(|second| sessions.open(key(), now + TimeDelta::hours(1 + second)).0).collect();
        let open = |id: &&String| sessions.opened_with(id, now).is_some();
        assert_eq!(opened.iter().filter(open).count(), SESSIONS_OF_ONE_MAX, "a key pushes out its own");
        assert!(open(&&opened[14]));
    }
}
