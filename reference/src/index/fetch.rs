//! Documents that are not sent but named: a file below an allowed folder that the walk would take too, or a public
//! address.

use std::net::IpAddr;
use std::path::{Component, Path};
use std::time::Duration;

use ipnet::IpNet;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, Url};

use serin_outbound::guard;
use serin_outbound::names::Guarded;
use serin_outbound::tls::trusting_config;

use crate::extract::kind::Kind;
use crate::extract::limits::FILE_BYTES_MAX;
use crate::extract::refusal::Refusal;
use crate::extract::thread;
use crate::index::walk::{Selection, is_text};

/// The largest text that is read: a document of the longest kind, in four-byte letters. Of other kinds it is what
/// `extract` takes, pictures included.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// How long an address may take, from name to last byte.
const URL_WITHIN: Duration = Duration::from_secs(15);

/// Fetches documents.
#[derive(Debug, Clone, Default)]
pub struct Fetcher {
    /// The folder that files are named below, where it is not the project's.
    below: Option<Selection>,
    /// The project's files; with neither, no file is read.
    project: Option<Selection>,
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
    /// The walk would pass it over.
    #[error("the file '{name}' is not taken: {why}")]
    Refused {
        /// As it was named.
        name: String,
        /// The rule, and the mend.
        why: String,
    },
    /// The file or answer cannot be read.
    #[error("'{name}' cannot be read: {why}")]
    Unreadable {
        /// As it was named.
        name: String,
        /// Why not.
        why: String,
    },
    /// It is too large.
    #[error("'{0}' is larger than {1} bytes: split it")]
    TooLarge(String, usize),
    /// There is no text in it, or none that can be got out.
    #[error("'{name}' has no text for the index: {why}")]
    NoText {
        /// As it was named.
        name: String,
        /// Why not, and the mend.
        why: Refusal,
    },
}

impl FetchError {
    /// Its code for callers.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRoot | Self::Outside(_) | Self::Refused { .. } => "FILE_NOT_ALLOWED",
            Self::Unreadable { .. } | Self::NoText { .. } => "DOCUMENT_UNREADABLE",
            Self::TooLarge(..) => "BUDGET_LIMIT_EXCEEDED",
        }
    }
}

/// A document's text, and what the text was in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its text.
    pub text: String,
    /// What it was in.
    pub kind: Kind,
}

impl Fetcher {
    /// The own name and the text of a document that is named by a file or an address; `None` where it is not.
    pub async fn named(&self, file: Option<&str>, url: Option<&str>) -> Option<(String, Result<Fetched, FetchError>)> {
        match (file, url) {
            (Some(file), _) => Some((file.to_owned(), self.file(file).await)),
            (None, Some(url)) => Some((url.to_owned(), self.url(url).await)),
            (None, None) => None,
        }
    }

    /// A fetcher that reads below a folder, or else below the project's, and talks to public addresses and the networks
    /// given. What lies in the project is judged by its own rules, whatever folder it is named below.
    pub fn new(below: Option<Selection>, project: Option<Selection>, allow_private: Vec<IpNet>) -> Self {
        Self { below, project, allow_private }
    }

    /// The text of a file below the allowed folder. Links are followed first: what counts is the file they lead to.
    ///
    /// # Errors
    /// `FetchError`.
    pub async fn file(&self, name: &str) -> Result<Fetched, FetchError> {
        // The files of a project are of all collections: whoever sees some only is sent to `text`.
        #[cfg(feature = "tenants")]
        if crate::tenants::asker::asking().is_some() {
            return Err(FetchError::NoRoot);
        }
        let below = self.below.as_ref().or(self.project.as_ref()).ok_or(FetchError::NoRoot)?;
        let outside = || FetchError::Outside(shown(name));
        let path = Path::new(name);
        if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        let unreadable = |why: std::io::Error| FetchError::Unreadable { name: shown(name), why: why.to_string() };
        let path = below.root().join(path).canonicalize().map_err(unreadable)?;
        if !path.starts_with(below.root()) {
            return Err(outside());
        }
        let facts = std::fs::metadata(&path).map_err(unreadable)?;
        if !facts.is_file() {
            return Err(FetchError::Unreadable { name: shown(name), why: "it is no file".to_owned() });
        }
        if facts.len() > FILE_BYTES_MAX as u64 {
            return Err(FetchError::TooLarge(shown(name), FILE_BYTES_MAX));
        }
        let refused = |why: String| FetchError::Refused { name: shown(name), why };
        let project = self.project.as_ref().filter(|project| path.starts_with(project.root()));
        let file = project.unwrap_or(below).file(&path).map_err(refused)?;
        let bytes = std::fs::read(&file.path).map_err(unreadable)?;
        let kind = Kind::of(name, None, &bytes);
        if kind == Kind::Text && !is_text(&bytes) {
            return Err(refused("not a text: send what it says as 'text'".to_owned()));
        }
        read(name, kind, bytes).await
    }

    /// The text at a public address. Redirects are not followed: each would be another address to judge.
    ///
    /// # Errors
    /// `FetchError`.
    pub async fn url(&self, name: &str) -> Result<Fetched, FetchError> {
        let unreadable = |why: String| FetchError::Unreadable { name: shown(name), why };
        let url = Url::parse(name).map_err(|error| unreadable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unreadable("only http and https are read: name a file by 'file'".to_owned()));
        }
        // A resolver never sees an address that is written into the URL.
        let written =
            url.host_str().map(|host| host.trim_matches(['[', ']'])).and_then(|host| host.parse::<IpAddr>().ok());
        if let Some(address) = written {
            guard::allowed(address, &self.allow_private).map_err(|refusal| unreadable(why(refusal)))?;
        }
        let client = Client::builder()
            .tls_backend_preconfigured(trusting_config())
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
        let media_type = answer.headers().get(CONTENT_TYPE).and_then(|told| told.to_str().ok()).map(str::to_owned);
        let bytes = bounded(answer, name).await?;
        read(name, Kind::of(name, media_type.as_deref(), &bytes), bytes).await
    }
}

/// The text of what was fetched.
async fn read(name: &str, kind: Kind, bytes: Vec<u8>) -> Result<Fetched, FetchError> {
    if kind == Kind::Text && bytes.len() > TEXT_BYTES_MAX {
        return Err(FetchError::TooLarge(shown(name), TEXT_BYTES_MAX));
    }
    let text = thread::text(kind, bytes).await.map_err(|why| FetchError::NoText { name: shown(name), why })?;
    Ok(Fetched { text, kind })
}

async fn bounded(mut answer: Response, name: &str) -> Result<Vec<u8>, FetchError> {
    let unreadable = |error: reqwest::Error| FetchError::Unreadable { name: shown(name), why: chain(&error) };
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(unreadable)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > FILE_BYTES_MAX {
            return Err(FetchError::TooLarge(shown(name), FILE_BYTES_MAX));
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

    /// A project in the folder `open`, with what must not get out of it; returns what its walk takes.
    fn project(folder: &Path) -> Selection {
        let root = folder.join("open");
        for (name, text) in [
            ("closed.md", "SECRET"),
            ("open/sub/a.md", "open"),
            ("open/.env", "SECRET"),
            ("open/.git/config", "SECRET"),
            ("open/.gitignore", "ignored.md\nbuild/\n!.env\n"),
            ("open/ignored.md", "SECRET"),
            ("open/build/a.md", "SECRET"),
            ("open/drafts/a.md", "SECRET"),
            ("open/a.key", "SECRET"),
            ("open/large.md", "SECRET, and more bytes than a file may have"),
            ("open/zero.md", "SECRET\0"),
            ("open/index.db", "SECRET"),
            ("open/index.db-wal", "SECRET"),
            ("open/.serin-reference/config.yaml", "SECRET"),
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        #[cfg(unix)]
        for (to, name) in [("../closed.md", "out.md"), (".env", "env.md"), ("sub/a.md", "inside.md"), (".git", "git")] {
            std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        }
        let patterns = ["*.md", "*.db*", ".env", "config*"].map(str::to_owned);
        let selection = Selection::new(&root, &[".".to_owned()], &patterns, &["drafts/".to_owned()], 40).unwrap();
        selection.keeping_out([root.join(".serin-reference"), root.join("sub/../index.db")])
    }

    /// What becomes of a file by its name: its text, or the code of the refusal and a part of its reason.
    async fn check(says: &str, name: &str, expected: Result<&str, (&str, &str)>) {
        let folder = tempfile::tempdir().unwrap();
        let fetcher = Fetcher::new(None, Some(project(folder.path())), Vec::new());
        match (fetcher.file(name).await, expected) {
            (Ok(fetched), Ok(expected)) => assert_eq!(fetched.text, expected, "{says}"),
            (Err(error), Err((code, part))) => {
                let message = error.to_string();
                assert!(error.code() == code && message.contains(part), "{says}: {} {message}", error.code());
                assert!(!message.contains("SECRET"), "{says}: {message}");
            }
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    const NOT_ALLOWED: &str = "FILE_NOT_ALLOWED";
    const UNREADABLE: &str = "DOCUMENT_UNREADABLE";

    #[tokio::test]
    async fn files_are_read_below_the_folder_only() {
        check("a file below", "sub/a.md", Ok("open")).await;
        check("with a dot", "./sub/a.md", Ok("open")).await;
        check("a way out", "../closed.md", Err((NOT_ALLOWED, "not below"))).await;
        check("a way out and in", "sub/../../closed.md", Err((NOT_ALLOWED, "not below"))).await;
        check("a way up and down within", "sub/../sub/a.md", Err((NOT_ALLOWED, "not below"))).await;
        check("an absolute path", "/etc/passwd", Err((NOT_ALLOWED, "not below"))).await;
        check("a folder", "sub", Err((UNREADABLE, "no file"))).await;
        check("the folder itself", "", Err((UNREADABLE, "no file"))).await;
        check("nothing", "no.md", Err((UNREADABLE, ""))).await;
        assert!(matches!(Fetcher::default().file("sub/a.md").await, Err(FetchError::NoRoot)));
    }

    #[tokio::test]
    async fn what_the_walk_passes_over_is_refused_by_name_too() {
        check("a hidden file, though allowed", ".env", Err((NOT_ALLOWED, "hidden"))).await;
        check("with a dot before it", "./.env", Err((NOT_ALLOWED, "hidden"))).await;
        check("in a hidden folder", ".git/config", Err((NOT_ALLOWED, "hidden"))).await;
        check("what git ignores", "ignored.md", Err((NOT_ALLOWED, "ignored by git"))).await;
        check("in a folder that git ignores", "build/a.md", Err((NOT_ALLOWED, "ignored by git"))).await;
        check("what is denied", "drafts/a.md", Err((NOT_ALLOWED, "in the deny list: name another file, or mend")))
            .await;
        check("what is not allowed", "a.key", Err((NOT_ALLOWED, "not in the allow list"))).await;
        check("too large", "large.md", Err((NOT_ALLOWED, "larger than 40 bytes"))).await;
        check("no text", "zero.md", Err((NOT_ALLOWED, "not a text"))).await;
        check("the index", "index.db", Err((NOT_ALLOWED, "the index's own"))).await;
        check("what lies beside it", "index.db-wal", Err((NOT_ALLOWED, "the index's own"))).await;
        check("its configuration", ".serin-reference/config.yaml", Err((NOT_ALLOWED, "hidden"))).await;
    }

    #[tokio::test]
    async fn no_other_spelling_gets_around_it() {
        check("percent-encoded", "%2eenv", Err((UNREADABLE, ""))).await;
        check("a way out, percent-encoded", "%2e%2e/closed.md", Err((UNREADABLE, ""))).await;
        check("as an address", "file:///open/.env", Err((UNREADABLE, ""))).await;
        check("with a zero", ".env\0.md", Err((UNREADABLE, ""))).await;
        #[cfg(unix)]
        {
            check("a link out", "out.md", Err((NOT_ALLOWED, "not below"))).await;
            check("a link to a hidden file", "env.md", Err((NOT_ALLOWED, "hidden"))).await;
            check("through a link to a hidden folder", "git/config", Err((NOT_ALLOWED, "hidden"))).await;
            check("a link to what may be read", "inside.md", Ok("open")).await;
        }
        #[cfg(target_os = "linux")]
        check("in capitals", ".ENV", Err((UNREADABLE, ""))).await;
    }

    #[tokio::test]
    async fn a_folder_that_is_opened_besides_opens_no_project_further() {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        let below = Selection::all(folder.path()).unwrap();
        let around = Fetcher::new(Some(below), Some(project.clone()), Vec::new());
        assert_eq!(around.file("closed.md").await.unwrap().text, "SECRET", "the operator has opened it");
        assert_eq!(around.file("open/sub/a.md").await.unwrap().text, "open");
        assert!(matches!(around.file("open/drafts/a.md").await, Err(FetchError::Refused { .. })));
        let drafts = Selection::all(&folder.path().join("open/drafts")).unwrap();
        let within = Fetcher::new(Some(drafts), Some(project), Vec::new());
        assert!(matches!(within.file("a.md").await, Err(FetchError::Refused { .. })));
    }

    #[tokio::test]
    async fn an_address_of_a_file_is_no_way_in() {
        for url in ["file:///open/.env", "FILE:/open/.env", "file://localhost/open/%2eenv", "view-source:file:///x"] {
            let refused = Fetcher::default().url(url).await.unwrap_err();
            assert!(refused.to_string().contains("only http and https"), "{url}: {refused}");
        }
    }
}
