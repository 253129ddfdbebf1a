//! What can go wrong with a server that we ask, and the mend of each.

use std::fmt;
use std::time::Duration;

/// Why there is no answer. No message holds a key, nor more of the address than the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No connection, no answer in time, or a 5xx.
    #[error("{host} does not answer: {why}")]
    Unavailable {
        /// Host and port.
        host: String,
        /// What happened.
        why: String,
    },
    /// 429.
    #[error("{host} has had too many requests")]
    Limited {
        /// Host and port.
        host: String,
        /// After how long it wants to be asked again, if it says.
        retry_after: Option<Duration>,
    },
    /// 3xx and 4xx but 429.
    #[error("{host} refused with HTTP {status}: {said}")]
    Refused {
        /// Host and port.
        host: String,
        /// The status.
        status: u16,
        /// The beginning of what it said, one line.
        said: String,
    },
    /// Not what was asked for.
    #[error("the answer of {host} cannot be used: {why}")]
    Malformed {
        /// Host and port.
        host: String,
        /// What is wrong.
        why: String,
    },
    /// Not asked: the breaker is open.
    #[error("{host} failed too often just now")]
    Open {
        /// Host and port.
        host: String,
        /// When it is tried again; zero while a trial is on its way.
        retry_after: Duration,
    },
}

/// The same of a server that is known by what it is to us, each with its mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ServerError {
    /// What it is to us, such as `embedding server`.
    pub role: &'static str,
    /// What went wrong.
    pub error: RemoteError,
}

impl ServerError {
    /// The same for whoever may not know where the server is.
    pub fn unnamed(&self) -> String {
        let role = self.role;
        match &self.error {
            RemoteError::Unavailable { .. } => format!("the {role} does not answer"),
            RemoteError::Limited { .. } => format!("the {role} has had too many requests"),
            RemoteError::Refused { status, .. } => format!("the {role} refused with HTTP {status}"),
            RemoteError::Malformed { .. } => format!("the {role} does not have what it should have"),
            RemoteError::Open { retry_after, .. } => {
                let when = when(Some(*retry_after));
                format!("the {role} failed three times within a minute: it is asked again {when}")
            }
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = self.role;
        match &self.error {
            RemoteError::Unavailable { host, why } => write!(
                formatter,
                "the {role} {host} does not answer ({why}): see that it runs and that its address is right"
            ),
            RemoteError::Limited { host, retry_after } => {
                write!(formatter, "the {role} {host} has had too many requests: ask again {}", when(*retry_after))
            }
            RemoteError::Refused { host, status, said } => write!(
                formatter,
                "the {role} {host} refused with HTTP {status}: mend the key, the model or the address ({said})"
            ),
            RemoteError::Malformed { host, why } => {
                write!(formatter, "the answer of the {role} {host} cannot be used: {why}")
            }
            RemoteError::Open { host, retry_after } => {
                let when = when(Some(*retry_after));
                write!(formatter, "the {role} {host} failed three times within a minute: it is asked again {when}")
            }
        }
    }
}

fn when(after: Option<Duration>) -> String {
    after.map_or_else(|| "later".to_owned(), |after| format!("in {} s", after.as_secs_f64().ceil()))
}
