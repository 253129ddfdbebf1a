//! Where Serin's memory is: a file of its own, or a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};

use url::Url;

/// What may stand behind the `?` of a server's address, as libpq calls it.
const PARAMETERS: [&str; 5] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "host"];
/// How the connection may be kept from others, as libpq calls it.
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];
/// Servers of one address: one that is written to, and those that would take over.
const HOSTS_MAX: usize = 8;

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// A file, in SQLite's format.
    File(PathBuf),
    /// A database of a PostgreSQL server, or of one of several.
    Server(ServerAddress),
}

/// A database of whichever PostgreSQL server takes writes. Shown without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// One for each server: user, password and parameters are the same in all.
    urls: Vec<Url>,
}

impl DatabaseAddress {
    /// Reads `postgres://USER:PASSWORD@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…]`; everything else is a path.
    ///
    /// # Errors
    /// What is wrong with an address, without its password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scheme = ["postgres://", "postgresql://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
        match scheme {
            Some(rest) => server(rest).map(Self::Server),
            None if text.contains("://") => Err("it is neither a file nor begins with `postgres://`".to_owned()),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// The same, where a path starts at this folder.
    #[must_use]
    pub fn within(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            Self::Server(_) => self,
        }
    }

    /// The file; none where it is a server.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// How errors name it.
    pub fn name(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }
}

impl ServerAddress {
    /// An address a server, each whole, in the order given.
    pub fn urls(&self) -> &[Url] {
        &self.urls
    }
}

impl From<&Path> for DatabaseAddress {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<&PathBuf> for DatabaseAddress {
    fn from(path: &PathBuf) -> Self {
        Self::File(path.clone())
    }
}

impl From<&Self> for DatabaseAddress {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Server(server) => server.fmt(out),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.urls.iter().map(host).collect();
        let path = self.urls.first().map(Url::path).unwrap_or_default();
        write!(out, "postgres://{}{path}", hosts.join(","))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The address behind its scheme, of which nothing that may be a password is repeated in an error.
fn server(rest: &str) -> Result<ServerAddress, String> {
    const ENCODED: &str = "characters such as `@ / # ?` of a user or a password are written `%40 %2F %23 %3F`";
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if tail.contains(['@', '#']) {
        return Err(format!("it cannot be told what its password is and what its server; {ENCODED}"));
    }
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let hosts: Vec<&str> = hosts.split(',').collect();
    if hosts.len() > HOSTS_MAX {
        return Err(format!("it names more than {HOSTS_MAX} servers"));
    }
    let url = |host: &&str| {
        let url = Url::parse(&format!("postgres://{user}{host}{tail}"));
        url.map_err(|error| format!("it is no address ({error}); {ENCODED}"))
    };
    let mut urls = hosts.iter().map(url).collect::<Result<Vec<_>, _>>()?;
    urls.iter_mut().try_for_each(whole)?;
    Ok(ServerAddress { urls })
}

fn whole(url: &mut Url) -> Result<(), String> {
    if url.path().trim_matches('/').is_empty() {
        return Err("it names no database: end it with `/serin`".to_owned());
    }
    let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let unknown = parameters.iter().find(|(name, _)| !PARAMETERS.contains(&name.as_str()));
    if let Some((name, _)) = unknown {
        return Err(format!("'{name}' is no parameter of it; there are {}", PARAMETERS.join(", ")));
    }
    if (1..parameters.len()).any(|at| parameters[..at].iter().any(|(name, _)| *name == parameters[at].0)) {
        return Err("it has a parameter twice".to_owned());
    }
    let of = |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let socket = of("host");
    if socket.is_some_and(|folder| !folder.starts_with('/')) {
        return Err("`host=` names the folder of a socket; other servers stand before the database's name".to_owned());
    }
    if socket.is_none() && url.host_str().unwrap_or_default().is_empty() {
        return Err("it names no server: write `@127.0.0.1/`, or `?host=/run/postgresql` for a socket".to_owned());
    }
    match of("sslmode") {
        Some(mode) if !SSL_MODES.contains(&mode) => {
            Err(format!("sslmode is one of {}, not '{mode}'", SSL_MODES.join(", ")))
        }
        Some(_) => Ok(()),
        // What goes through a network is for nobody else, and comes from nobody else.
        None if socket.is_none() && !is_here(url) => {
            url.query_pairs_mut().append_pair("sslmode", "verify-full");
            Ok(())
        }
        None => Ok(()),
    }
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    // The folder of a socket begins with a slash.
    matches!(host, "localhost" | "127.0.0.1" | "[::1]") || host.starts_with("%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<String> {
        let Ok(DatabaseAddress::Server(server)) = DatabaseAddress::parse(text) else { return Vec::new() };
        server.urls().iter().map(Url::to_string).collect()
    }

    #[test]
    fn an_address_names_one_database_on_one_server_or_on_several() {
        let rows: [(&str, &[&str], &str); 5] = [
            ("serin.db", &[], "a path is a file"),
            ("postgres://u:p@127.0.0.1:5433/serin", &["postgres://u:p@127.0.0.1:5433/serin"], "on this machine"),
            (
                "postgresql://u:p%40@a,b:5433/serin",
                &[
                    "postgres://u:p%40@a/serin?sslmode=verify-full",
                    "postgres://u:p%40@b:5433/serin?sslmode=verify-full",
                ],
                "of several servers each is asked, and over a network none without its certificate",
            ),
            ("postgres://a/serin?sslmode=require", &["postgres://a/serin?sslmode=require"], "unless somebody says so"),
            ("postgres:///serin?host=/run/pg", &["postgres:///serin?host=/run/pg"], "a socket is on this machine"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(urls(text), expected, "{sentence}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        let rows = [
            ("postgres://u:hunter2@a", "it names no database: end it with `/serin`"),
            (
                "postgres://u:hunter2@a/serin?ssl=on",
                "'ssl' is no parameter of it; there are sslmode, sslrootcert, sslcert, sslkey, host",
            ),
            (
                "postgres://a/serin?sslmode=on",
                "sslmode is one of disable, prefer, require, verify-ca, verify-full, not 'on'",
            ),
            (
                "postgres://a:hunter2/serin",
                "it is no address (invalid port number); characters such as `@ / # ?` of a user or a password are written `%40 %2F %23 %3F`",
            ),
            (
                "postgres:///serin?host=db",
                "`host=` names the folder of a socket; other servers stand before the database's name",
            ),
            (
                "postgres://u:12/hunter2@a/serin",
                "it cannot be told what its password is and what its server; characters such as `@ / # ?` of a user or a password are written `%40 %2F %23 %3F`",
            ),
            ("postgres:///serin", "it names no server: write `@127.0.0.1/`, or `?host=/run/postgresql` for a socket"),
            ("postgres:///serin?host=/a&host=b", "it has a parameter twice"),
            ("mysql://a/serin", "it is neither a file nor begins with `postgres://`"),
            ("postgres://a,b,c,d,e,f,g,h,i/serin", "it names more than 8 servers"),
        ];
        for (text, expected) in rows {
            assert_eq!(DatabaseAddress::parse(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let address = DatabaseAddress::parse("postgres://serin:hunter2@a,b:5433/serin").unwrap();
        assert_eq!(address.to_string(), "postgres://a,b:5433/serin");
        assert!(!format!("{address:?}").contains("hunter2"));
    }
}
