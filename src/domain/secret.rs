//! What is never shown: a secret, and an address that may hold one.

use std::fmt;
use std::sync::Arc;

/// A value from the environment or a secrets file. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a resolved value; from here on it never shows itself.
    pub fn new(value: &str) -> Self {
        Self(Arc::from(value))
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A URL as it is used and as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// For pages, messages and logs: userinfo and query masked; of a monitored server as a person would copy it, with the
    /// environment put in, of anything else as written.
    pub shown: String,
    /// Resolved and complete, for the connection only.
    pub resolved: Secret,
}
