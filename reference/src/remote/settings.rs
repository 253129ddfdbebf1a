//! Where a server is, the key it wants, and how long it may take.

use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

/// Where a server is and how long it may take.
#[derive(Debug, Clone)]
pub struct RemoteSettings {
    /// Up to and with the version, such as `https://api.example.com/v1`; no query, no user, no key.
    pub base: String,
    /// Sent as `Authorization: Bearer`.
    pub key: Option<ApiKey>,
    /// A header of the server's own that the key, and nothing but it, is sent in besides.
    pub key_header: Option<HeaderName>,
    /// For name, connection and TLS.
    pub connect_max: Duration,
    /// For the whole of a request.
    pub total_max: Duration,
    /// The longest answer that is read.
    pub answer_bytes_max: usize,
    /// How long a server that failed is left alone.
    pub cool_down: Duration,
}

impl RemoteSettings {
    /// The usual limits: 2 s to connect, 10 s in all, 64 MB (2,048 vectors of 1,536 numbers as JSON are 40 MB),
    /// 30 s left alone.
    pub fn new(base: impl Into<String>, key: Option<ApiKey>) -> Self {
        Self {
            base: base.into(),
            key,
            key_header: None,
            connect_max: Duration::from_secs(2),
            total_max: Duration::from_secs(10),
            answer_bytes_max: 64 * 1024 * 1024,
            cool_down: Duration::from_secs(30),
        }
    }

    /// The address, checked.
    ///
    /// # Errors
    /// Where it names no server, or holds what may be secret.
    pub fn address(&self) -> Result<Url, SettingsError> {
        let bad = |shown: String| SettingsError::Address { shown };
        let url = Url::parse(self.base.trim()).map_err(|_| bad("the base address".to_owned()))?;
        let secretive =
            url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || secretive {
            return Err(bad(shown(&url)));
        }
        Ok(url)
    }
}

/// A key that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key, as its provider gave it; blanks around it are not part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// A text without it: a server may echo what it was sent.
    pub fn masked(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }

    /// `Authorization`, and the server's own header where it has one, marked so that nobody logs them.
    ///
    /// # Errors
    /// Where it holds what no header may hold.
    pub fn headers(&self, host: &str, own: Option<HeaderName>) -> Result<HeaderMap, SettingsError> {
        let mut headers = HeaderMap::new();
        for (name, text) in [(Some(AUTHORIZATION), format!("Bearer {}", self.0)), (own, self.0.clone())] {
            let Some(name) = name else { continue };
            let mut value = HeaderValue::try_from(text).map_err(|_| SettingsError::Key { host: host.to_owned() })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// Settings that no client can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The address.
    #[error("{shown} is no address of a server: write one like https://api.example.com/v1, without user, query or key")]
    Address {
        /// Its scheme and host, where it has them.
        shown: String,
    },
    /// The key.
    #[error("the key for {host} holds characters that no header may hold: copy it again, without line breaks")]
    Key {
        /// The server.
        host: String,
    },
    /// Trust roots or the like.
    #[error("no HTTPS client can be made ({why}): see SSL_CERT_FILE and SSL_CERT_DIR")]
    Client {
        /// What happened.
        why: String,
    },
}

/// Host and port: what of an address holds no secret.
pub fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the base address");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether it is this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, base: &str, expected: Result<&str, &str>) {
        let found = RemoteSettings::new(base, None).address();
        let found = found.as_ref().map(Url::as_str).map_err(|error| match error {
            SettingsError::Address { shown } => shown.as_str(),
            _ => "another error",
        });
        assert_eq!(found, expected, "{says}");
    }

    #[test]
    fn an_address_names_a_server_and_nothing_secret() {
        check("https", "https://api.example.com/v1", Ok("https://api.example.com/v1"));
        check("blanks around it", " http://127.0.0.1:8000/v1/ ", Ok("http://127.0.0.1:8000/v1/"));
        check("no scheme", "api.example.com/v1", Err("the base address"));
        check("another scheme", "ftp://api.example.com", Err("api.example.com"));
        check("a user", "https://me:pw@api.example.com", Err("api.example.com"));
        check("a key in the query", "https://api.example.com:444/v1?key=abc", Err("api.example.com:444"));
        check("nothing", "", Err("the base address"));
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-1\n");
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        assert_eq!(key.masked("sk-1 is bad"), "[key] is bad");
        let headers = key.headers("host", Some(HeaderName::from_static("x-key"))).unwrap();
        assert!(headers[AUTHORIZATION] == "Bearer sk-1" && headers["x-key"] == "sk-1", "as each wants it");
        assert!(headers.values().all(HeaderValue::is_sensitive), "{headers:?}");
        let broken = ApiKey::new("sk\n1").headers("host", None).unwrap_err();
        assert!(!broken.to_string().contains("sk"), "{broken}");
    }
}
