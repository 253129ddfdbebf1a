//! A way through a proxy that the file names: CONNECT for HTTP proxies, whatever is carried, and SOCKS5.
//!
//! A proxy is never taken from the environment: what a probe shows must not depend on the shell that started Serin.
//! Trouble of the proxy itself is told apart from what the proxy says of the server behind it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_socks::Error as SocksError;
use tokio_socks::tcp::Socks5Stream;
use url::{Host, Url};

use crate::net::connect_failure::ConnectFailure;

/// Bytes of a proxy's answer to CONNECT; a whole head has a few hundred.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// A proxy, and what it wants to see.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    kind: ProxyKind,
    host: Host<String>,
    port: u16,
    login: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyKind {
    Http,
    /// SOCKS5; names are resolved here.
    Socks5,
    /// SOCKS5; names are resolved by the proxy.
    Socks5h,
}

impl std::fmt::Debug for Proxy {
    // Its login must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({self})")
    }
}

impl std::fmt::Display for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Proxy {
    /// The proxy at an `http`, `socks5` or `socks5h` URL; none for any other.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let (kind, port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" => (ProxyKind::Socks5, 1080),
            "socks5h" => (ProxyKind::Socks5h, 1080),
            _ => return None,
        };
        let decoded = |text: &str| percent_decoded(text);
        let login = (!url.username().is_empty())
            .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
        // Of schemes it does not know, the parser keeps a literal address as a name.
        let host = match url.host()?.to_owned() {
            Host::Domain(name) => Host::parse(&name).unwrap_or(Host::Domain(name)),
            host => host,
        };
        Some(Self { kind, host, port: url.port().unwrap_or(port), login })
    }

    /// Where the proxy itself is.
    pub(crate) fn place(&self) -> (&Host<String>, u16) {
        (&self.host, self.port)
    }

    /// Whether the server's name is resolved on our side.
    pub(crate) fn resolves_here(&self) -> bool {
        self.kind == ProxyKind::Socks5
    }

    /// Has the proxy connect to `host`, over a connection to it that stands.
    ///
    /// # Errors
    /// What the proxy refused or broke, and what it says of the server.
    pub(crate) async fn tunnel(
        &self,
        mut tcp: TcpStream,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, (ConnectFailure, String)> {
        if self.kind == ProxyKind::Http {
            self.connect(&mut tcp, host, port).await?;
            return Ok(tcp);
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let opened = match &self.login {
            None => Socks5Stream::connect_with_socket(tcp, (bare, port)).await,
            Some((user, password)) => {
                Socks5Stream::connect_with_password_and_socket(tcp, (bare, port), user, password).await
            }
        };
        opened.map(Socks5Stream::into_inner).map_err(|error| {
            let trouble = match error {
                SocksError::ConnectionRefused => ConnectFailure::Refused,
                SocksError::TtlExpired => ConnectFailure::TimedOut,
                SocksError::HostUnreachable | SocksError::NetworkUnreachable => ConnectFailure::Unreachable,
                _ => ConnectFailure::ProxyFailed,
            };
            (trouble, format!("the proxy {self} says: {error}"))
        })
    }

    async fn connect(&self, tcp: &mut TcpStream, host: &str, port: u16) -> Result<(), (ConnectFailure, String)> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some((user, password)) = &self.login {
            request += &format!("Proxy-Authorization: Basic {}\r\n", BASE64.encode(format!("{user}:{password}")));
        }
        request += "\r\n";
        let broke = |what: String| (ConnectFailure::ProxyFailed, format!("the proxy {self} {what}"));
        tcp.write_all(request.as_bytes()).await.map_err(|error| broke(format!("broke off: {error}")))?;
        let mut head = Vec::with_capacity(512);
        // Byte by byte: whatever follows the head is the server's.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == HEAD_BYTES_MAX {
                return Err(broke("answers without end".to_owned()));
            }
            match tcp.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(error) => return Err(broke(format!("broke off: {error}"))),
            }
        }
        let line = String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
        match status {
            Some(200..=299) => Ok(()),
            // What it could not reach is the server, not itself.
            Some(502..=504) => Err((ConnectFailure::Unreachable, format!("the proxy {self} says: {line}"))),
            Some(_) => Err(broke(format!("refuses: {line}"))),
            None => Err(broke(format!("is no HTTP proxy: {line}"))),
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let pairs = format!("x={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pairs.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Proxy;

    #[test]
    fn a_proxy_is_read_and_never_shows_its_login() {
        let of = |url: &str| Proxy::of(&url.parse().unwrap());
        let rows = [
            ("http://proxy.example:3128", Some("proxy.example:3128"), "an HTTP proxy"),
            ("http://user:p%40ss@10.0.0.1:3128", Some("10.0.0.1:3128"), "with a login"),
            ("socks5://10.0.0.1", Some("10.0.0.1:1080"), "SOCKS has a port of its own"),
            ("socks5h://[::1]:9050", Some("[::1]:9050"), "and may resolve names"),
            ("https://proxy.example", None, "TLS to a proxy is not spoken"),
            ("ftp://proxy.example", None, "nor anything else"),
        ];
        for (url, expected, sentence) in rows {
            assert_eq!(of(url).map(|proxy| proxy.to_string()).as_deref(), expected, "{sentence}");
        }
        let shown = format!("{:?}", of("http://user:p%40ss@10.0.0.1:3128").unwrap());
        assert_eq!(shown, "Proxy(10.0.0.1:3128)");
        assert_eq!(of("http://user:p%40s+s@h").unwrap().login, Some(("user".to_owned(), "p@s+s".to_owned())));
    }
}
