//! Documents that are not sent but named: a file below an allowed folder, or a public address.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use reqwest::{Client, Response, Url};

use serin_outbound::guard;
use serin_outbound::names::Guarded;

/// The largest file or answer that is read: a document of the longest kind, in four-byte letters.
const BYTES_MAX: usize = 1 << 20;
/// How long an address may take, from name to last byte.
const URL_WITHIN: Duration = Duration::from_secs(15);

/// Fetches documents.
#[derive(Debug, Clone, Default)]
pub struct Fetcher {
    /// The folder that files may be read from; `None` is none.
    root: Option<PathBuf>,
    allow_private: Vec<IpNet>,
}

/// Why a document was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No folder is allowed.
    #[error("this server reads no files: start it with --root DIR, or send the document's 'text'")]
    NoRoot,
    /// The file is outside.
    #[error("the file '{0}' is not below the folder that is allowed: name it by its path within that folder")]
    Outside(String),
    /// The file or answer cannot be read.
    #[error("'{name}' cannot be read: {why}")]
    Unreadable {
        /// As it was named.
        name: String,
        /// Why not.
        why: String,
    },
    /// It is too large.
    #[error("'{0}' is larger than {BYTES_MAX} bytes: split it")]
    TooLarge(String),
}

impl FetchError {
    /// Its code for callers.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRoot | Self::Outside(_) => "FILE_NOT_ALLOWED",
            Self::Unreadable { .. } => "DOCUMENT_UNREADABLE",
            Self::TooLarge(_) => "BUDGET_LIMIT_EXCEEDED",
        }
    }
}

impl Fetcher {
    /// The own name and the text of a document that is named by a file or an address; `None` where it is not.
    pub async fn named(&self, file: Option<&str>, url: Option<&str>) -> Option<(String, Result<String, FetchError>)> {
        match (file, url) {
            (Some(file), _) => Some((file.to_owned(), self.file(file))),
            (None, Some(url)) => Some((url.to_owned(), self.url(url).await)),
            (None, None) => None,
        }
    }

    /// A fetcher that reads below a folder, and talks to public addresses and the networks given.
    pub fn new(root: Option<PathBuf>, allow_private: Vec<IpNet>) -> Self {
        Self { root, allow_private }
    }

    /// The text of a file below the allowed folder. Links are followed, and must stay below it.
    ///
    /// # Errors
    /// `FetchError`.
    pub fn file(&self, name: &str) -> Result<String, FetchError> {
        let root = self.root.as_ref().ok_or(FetchError::NoRoot)?;
        let outside = || FetchError::Outside(shown(name));
        let path = Path::new(name);
        if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        let unreadable = |why: std::io::Error| FetchError::Unreadable { name: shown(name), why: why.to_string() };
        let root = root.canonicalize().map_err(unreadable)?;
        let path = root.join(path).canonicalize().map_err(unreadable)?;
        if !path.starts_with(&root) {
            return Err(outside());
        }
        let facts = std::fs::metadata(&path).map_err(unreadable)?;
        if !facts.is_file() {
            return Err(FetchError::Unreadable { name: shown(name), why: "it is no file".to_owned() });
        }
        if facts.len() > BYTES_MAX as u64 {
            return Err(FetchError::TooLarge(shown(name)));
        }
        Ok(String::from_utf8_lossy(&std::fs::read(&path).map_err(unreadable)?).into_owned())
    }

    /// The text at a public address. Redirects are not followed: each would be another address to judge.
    ///
    /// # Errors
    /// `FetchError`.
    pub async fn url(&self, name: &str) -> Result<String, FetchError> {
        let unreadable = |why: String| FetchError::Unreadable { name: shown(name), why };
        let url = Url::parse(name).map_err(|error| unreadable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unreadable("only http and https are read".to_owned()));
        }
        // A resolver never sees an address that is written into the URL.
        let written =
            url.host_str().map(|host| host.trim_matches(['[', ']'])).and_then(|host| host.parse::<IpAddr>().ok());
        if let Some(address) = written {
            guard::allowed(address, &self.allow_private).map_err(|refusal| unreadable(why(refusal)))?;
        }
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(URL_WITHIN)
            .dns_resolver(std::sync::Arc::new(Guarded::new(&self.allow_private)))
            .user_agent(concat!("serin-reference/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unreadable(error.to_string()))?;
        let answer = client.get(url).send().await.map_err(|error| unreadable(chain(&error)))?;
        if !answer.status().is_success() {
            return Err(unreadable(format!("it answers {}", answer.status())));
        }
        let bytes = bounded(answer, name).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

async fn bounded(mut answer: Response, name: &str) -> Result<Vec<u8>, FetchError> {
    let unreadable = |error: reqwest::Error| FetchError::Unreadable { name: shown(name), why: chain(&error) };
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(unreadable)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > BYTES_MAX {
            return Err(FetchError::TooLarge(shown(name)));
        }
    }
    Ok(bytes)
}

/// The refusal in this server's words: it has no configuration file to list a network in.
fn why(refusal: guard::Refusal) -> String {
    format!("{} is a {} address, and only public ones are read", refusal.ip, refusal.why)
}

/// The last reason of an error, which is the one that says something.
fn chain(error: &reqwest::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(deeper) = reason.source() {
        reason = deeper;
    }
    reason.downcast_ref::<guard::Refusal>().map_or_else(|| reason.to_string(), |refusal| why(*refusal))
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, name: &str, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("open");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(folder.path().join("closed.md"), "closed").unwrap();
        std::fs::write(root.join("sub/a.md"), "open").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("closed.md"), root.join("link.md")).unwrap();
        let got = Fetcher::new(Some(root), Vec::new()).file(name);
        assert_eq!(got.as_deref().map_err(FetchError::code), expected, "{says}");
    }

    #[test]
    fn files_are_read_below_the_folder_only() {
        check("a file below", "sub/a.md", Ok("open"));
        check("with a dot", "./sub/a.md", Ok("open"));
        check("a way out", "../closed.md", Err("FILE_NOT_ALLOWED"));
        check("a way out and in", "sub/../../closed.md", Err("FILE_NOT_ALLOWED"));
        check("an absolute path", "/etc/passwd", Err("FILE_NOT_ALLOWED"));
        check("a link out", "link.md", Err("FILE_NOT_ALLOWED"));
        check("a folder", "sub", Err("DOCUMENT_UNREADABLE"));
        check("nothing", "no.md", Err("DOCUMENT_UNREADABLE"));
        assert!(matches!(Fetcher::default().file("sub/a.md"), Err(FetchError::NoRoot)));
    }
}
