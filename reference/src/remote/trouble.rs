//! What can go wrong with a server that we ask; rooms above give each a mend in their own words.

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
