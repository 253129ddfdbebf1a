//! Names and passwords, compared with the hashes of the file of users.

use std::sync::Arc;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::PasswordVerifier as _;
use argon2::password_hash::phc::PasswordHash;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::domain::sign_in::{PASSWORD_BYTES_MAX, SignIn, User};

/// Passwords that are compared at once: each takes a core for tens of milliseconds, and up to 256 MiB.
const AT_ONCE: usize = 2;
/// How long somebody waits for their turn; whoever then still waits is one of many, and is told so.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// Whose turn it is to have a password compared.
#[derive(Debug)]
pub struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// Too many passwords were to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy;

impl Passwords {
    /// The user of this name with this password. A name that nobody has costs what a wrong password costs.
    pub(crate) async fn user(&self, sign_in: &SignIn, name: &str, password: String) -> Result<Option<Arc<User>>, Busy> {
        let known = sign_in.user(name).cloned();
        let Some(compared) = known.clone().or_else(|| stand_in(sign_in, name)) else { return Ok(None) };
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(None);
        }
        let turn = tokio::time::timeout(TURN_WITHIN, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Busy) };
        let comparing = tokio::task::spawn_blocking(move || {
            // Held to its end, whoever asked may be gone.
            let _turn = turn;
            is_of(&password, compared.hash.expose())
        });
        let is_right = comparing.await.unwrap_or(false);
        Ok(known.filter(|_| is_right))
    }
}

/// A user to compare with where nobody has a name; the same one for the same name, so that how long it takes tells nothing.
fn stand_in(sign_in: &SignIn, name: &str) -> Option<Arc<User>> {
    let users = sign_in.users.as_deref()?;
    let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let number = u64::from_le_bytes(*digest.first_chunk()?);
    users.get(usize::try_from(number.checked_rem(users.len() as u64)?).ok()?).cloned()
}

fn is_of(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}
