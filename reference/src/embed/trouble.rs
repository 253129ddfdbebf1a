//! What can go wrong with a server that embeds, each with its mend.

use std::time::Duration;

use crate::remote::trouble::RemoteError;

/// Why a server gives no vectors. No message holds a key or a text that was to be embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// No answer, or one that says the server is in trouble.
    #[error("the embedding server {host} does not answer ({why}): see that it runs and that its address is right")]
    Unavailable {
        /// The server.
        host: String,
        /// What happened.
        why: String,
    },
    /// Too many requests.
    #[error("the embedding server {host} has had too many requests: ask again {}", when(*retry_after))]
    Limited {
        /// The server.
        host: String,
        /// After how long it wants to be asked again, if it says.
        retry_after: Option<Duration>,
    },
    /// It will not do this, now or later.
    #[error("the embedding server {host} refused with HTTP {status}: mend the key, the model or the address ({said})")]
    Refused {
        /// The server.
        host: String,
        /// 300 to 499.
        status: u16,
        /// The beginning of what it said, one line, without the key.
        said: String,
    },
    /// An answer that is none.
    #[error("the answer of the embedding server {host} cannot be used: {why}")]
    Malformed {
        /// The server.
        host: String,
        /// What is wrong, with the mend where there is one.
        why: String,
    },
    /// Not asked, since it failed too often just now.
    #[error("the embedding server {host} failed three times within a minute: it is asked again {}", when(Some(*retry_after)))]
    Open {
        /// The server.
        host: String,
        /// When it is tried again.
        retry_after: Duration,
    },
}

impl From<RemoteError> for ServerError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Unavailable { host, why } => Self::Unavailable { host, why },
            RemoteError::Limited { host, retry_after } => Self::Limited { host, retry_after },
            RemoteError::Refused { host, status, said } => Self::Refused { host, status, said },
            RemoteError::Malformed { host, why } => Self::Malformed { host, why },
            RemoteError::Open { host, retry_after } => Self::Open { host, retry_after },
        }
    }
}

fn when(after: Option<Duration>) -> String {
    after.map_or_else(|| "later".to_owned(), |after| format!("in {} s", after.as_secs_f64().ceil()))
}
