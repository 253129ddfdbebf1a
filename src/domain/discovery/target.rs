//! A listed server as a monitor: its address, an id that stays the same, and the labels that it brings along.

use sha2::{Digest as _, Sha256};
use url::Url;

use crate::domain::discovery::Source;
use crate::domain::discovery::relabel::{Labels, relabelled};
use crate::domain::misleading::misleading;

/// Host and port, as lists name a server; a whole URL is taken as well.
pub const ADDRESS: &str = "__address__";
/// `http` or `https`.
pub const SCHEME: &str = "__scheme__";
/// Where on the server MCP is spoken; `__metrics_path__` means something else and is not looked at.
pub const PATH: &str = "__path__";
/// What the id is made of where the address is nothing that lasts, as with pods.
pub const ID: &str = "__id__";
/// The name that people read.
pub const NAME: &str = "__name__";

/// As many as a declared monitor may have.
const LABELS_MAX: usize = 32;
const LABEL_CHARS_MAX: usize = 256;
const NAME_CHARS_MAX: usize = 200;
/// What browsers and proxies carry at most.
const URL_BYTES_MAX: usize = 2_048;
/// Characters of an id, the hexadecimal end of a long one among them.
const ID_CHARS_MAX: usize = 64;
const HASH_CHARS: usize = 8;

/// A server that is watched because a list names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The monitor's id: the source's, and what names the server.
    pub id: String,
    /// Its name, where the list gives it one.
    pub name: Option<String>,
    /// Its address, without a user, a query or a fragment.
    pub url: String,
    /// Its labels, those for rules left out.
    pub labels: Labels,
    /// Since when it is gone from the list, unix seconds; none: it is on it, or held.
    pub gone_since: Option<i64>,
    /// Since when it is one of many that are gone and that nobody has let go, unix seconds; none: it is not.
    pub held_since: Option<i64>,
}

impl Target {
    /// The same under a source of another name; none where nobody knows any more what its id was made of.
    pub fn under(&self, before: &str, now: &str) -> Option<Self> {
        let named = place(&Url::parse(&self.url).ok()?);
        let by_address = (id(before, &named) == self.id).then(|| id(now, &named));
        // The hash at an id's end is not of the source; where it ends a long id, that was cut by the length of the source's.
        let renamed = || Some(format!("{now}-{}", self.id.strip_prefix(before)?.strip_prefix('-')?));
        let is_uncut = |renamed: &String| renamed.len().max(self.id.len()) < ID_CHARS_MAX - HASH_CHARS;
        let id = by_address.or_else(|| renamed().filter(is_uncut))?;
        Some(Self { id, ..self.clone() })
    }
}

/// A listed server that cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The id that its monitor would have, where it says that much: it is not gone from its list.
    pub id: Option<String>,
    /// Why, in one line.
    pub why: String,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self { id: None, why }
    }
}

/// What becomes of a listed server: a monitor, nothing by the rules, or a reason why it cannot be one.
///
/// # Errors
/// Why it is no server that may be watched.
pub fn target(source: &Source, listed: Labels) -> Result<Option<Target>, Refused> {
    let Some(labels) = relabelled(listed, &source.relabel) else { return Ok(None) };
    let id_at = |url: Option<&Url>| {
        let named = labels.get(ID).cloned().or_else(|| url.map(place));
        named.map(|named| id(&source.id, &named))
    };
    let url = address(&labels).map_err(|(url, why)| Refused { id: id_at(url.as_ref()), why })?;
    let id = id_at(Some(&url)).unwrap_or_default();
    if let Some(why) = source.refusal(&url) {
        return Err(Refused { id: Some(id), why: format!("{}: {why}", shown(url.as_str())) });
    }
    described(&id, labels, url).map(Some).map_err(|why| Refused { id: Some(id), why })
}

/// A server at this address, with what people read of it.
fn described(id: &str, labels: Labels, url: Url) -> Result<Target, String> {
    let id = id.to_owned();
    let name = labels.get(NAME).map(|name| legible(name)).filter(|name| !name.trim().is_empty());
    let own: Labels = labels.into_iter().filter(|(name, _)| !name.starts_with("__")).collect();
    if own.len() > LABELS_MAX {
        return Err(format!("it has {} labels, and a monitor {LABELS_MAX} at most: drop some by `relabel`", own.len()));
    }
    let mut labels = Labels::new();
    for (name, value) in own {
        let value = legible(&value);
        plain("a label's value", &value, LABEL_CHARS_MAX)?;
        // One without a value says nothing, as in Prometheus.
        if !value.trim().is_empty() {
            labels.insert(label(&name)?, value);
        }
    }
    if let Some(name) = &name {
        plain("its name", name, NAME_CHARS_MAX)?;
    }
    Ok(Target { id, name, url: url.into(), labels, gone_since: None, held_since: None })
}

/// Where it is, or why nowhere, with what can be read of the address.
fn address(labels: &Labels) -> Result<Url, (Option<Url>, String)> {
    let unread = |why: String| (None, why);
    let address = labels.get(ADDRESS).map(|address| address.trim()).filter(|address| !address.is_empty());
    let address = address.ok_or_else(|| unread(format!("it has no `{ADDRESS}`")))?;
    let written = if address.contains("://") {
        address.to_owned()
    } else {
        let scheme = labels.get(SCHEME).map_or("https", String::as_str);
        let path = labels.get(PATH).map_or("/mcp", String::as_str);
        format!("{scheme}://{address}{}{path}", if path.starts_with('/') { "" } else { "/" })
    };
    plain("its address", &written, 2_000).map_err(unread)?;
    if written.contains(['{', '}']) {
        return Err(unread(format!("its address {} has a variable in it, which nobody fills in", shown(&written))));
    }
    let url =
        Url::parse(&written).map_err(|error| unread(format!("its address {} is none: {error}", shown(&written))))?;
    let why = match () {
        () if !matches!(url.scheme(), "http" | "https") => "is neither http nor https",
        () if url.host_str().is_none_or(str::is_empty) => "names no host",
        () if !url.username().is_empty() || url.password().is_some() => "holds a user or a password",
        () if url.query().is_some() || url.fragment().is_some() => "has a query or a fragment",
        () if url.port() == Some(0) => "has the port 0",
        () if url.as_str().len() > URL_BYTES_MAX => "is too long",
        () => return Ok(url),
    };
    let why = format!("its address {} {why}", shown(&written));
    Err((Some(url), why))
}

/// What of an address names the server: host, port where it is written, and path where it is not the usual one.
fn place(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!("{}{port}{}", url.host_str().unwrap_or_default(), if path == "/mcp" { "" } else { path })
}

/// The same text gives the same id, whatever else is on the list. What had to be altered or cut ends with a hash of it, so that
/// two servers never share one; a port stands behind two dashes, and a text that looks so has its hash too.
fn id(source: &str, named: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let (name, port) = named.rsplit_once(':').filter(|(_, port)| is_number(port)).unzip();
    let name = name.unwrap_or(named);
    let looks_so = name.rsplit_once("--").is_some_and(|(_, end)| is_number(end));
    let plain: String = name.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    let port = port.map(|port| format!("--{port}")).unwrap_or_default();
    let whole = format!("{source}-{plain}{port}");
    if name.chars().all(fits) && !looks_so && whole.len() <= ID_CHARS_MAX {
        return whole;
    }
    let digest = hex::encode(Sha256::digest(named.as_bytes()));
    let head: String = whole.chars().take(ID_CHARS_MAX - HASH_CHARS - 1).collect();
    format!("{}-{}", head.trim_end_matches(['-', '.', '_']), &digest[..HASH_CHARS])
}

/// A label's name as the file may have it: what other systems write in another way is altered.
fn label(name: &str) -> Result<String, String> {
    let altered: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(ID_CHARS_MAX)
        .collect();
    if altered.is_empty() { Err(format!("a label's name {} has no letter in it", shown(name))) } else { Ok(altered) }
}

/// A text of a list goes into our file: it may refer to nothing, break no line, and has an end.
fn plain(what: &str, text: &str, chars_max: usize) -> Result<(), String> {
    let why = match () {
        () if text.chars().count() > chars_max => format!("is longer than {chars_max} characters"),
        () if text.chars().any(char::is_control) => "holds a control character".to_owned(),
        // A file of YAML cannot hold it (YAML 1.2.2, 5.1).
        () if text.contains(['\u{fffe}', '\u{ffff}']) => "holds what is no character".to_owned(),
        () if text.contains("${") => "refers to something with `${`".to_owned(),
        () => return Ok(()),
    };
    Err(format!("{what} {} {why}", shown(text)))
}

/// Without what is not seen: it would do no harm in a title, such as a joined emoji, and does where it turns what follows.
fn legible(text: &str) -> String {
    text.chars().filter(|c| c.is_control() || !misleading(*c)).collect()
}

fn shown(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 80;
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).map(|c| if misleading(c) { ' ' } else { c }).collect();
    format!("'{cut}'")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::discovery::From;

    /// Names of labels with their values.
    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn source(hosts: &[&str]) -> Source {
        Source {
            id: "prod".to_owned(),
            from: From::FileSd(Vec::new()),
            every: Duration::from_secs(60),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            has_credential: false,
            allow_private: Vec::new(),
            relabel: Vec::new(),
            template: String::new(),
            gone_after: Duration::from_secs(60),
            line: 1,
        }
    }

    fn listed(pairs: Pairs<'_>) -> Labels {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_listed_server_is_a_monitor_with_an_id_that_lasts() {
        let rows: [(Pairs<'_>, &str, &str, &str); 9] = [
            (
                &[(ADDRESS, "docs.example.org:8443")],
                "prod-docs.example.org--8443",
                "https://docs.example.org:8443/mcp",
                "usual",
            ),
            (
                &[(ADDRESS, "10.0.0.7:80"), (ID, "docs-0")],
                "prod-docs-0",
                "https://10.0.0.7:80/mcp",
                "one with a number",
            ),
            (&[(ADDRESS, "docs"), (SCHEME, "http")], "prod-docs", "http://docs/mcp", "another scheme"),
            (&[(ADDRESS, "docs"), (PATH, "rag")], "prod-docs-rag-fa4e9d6d", "https://docs/rag", "another path"),
            (&[(ADDRESS, "https://docs/a/mcp")], "prod-docs-a-mcp-3a7bcd0f", "https://docs/a/mcp", "a whole address"),
            (&[(ADDRESS, "10.0.0.7:80"), (ID, "docs_1")], "prod-docs_1", "https://10.0.0.7:80/mcp", "an id of its own"),
            (
                &[(ADDRESS, "a"), (ID, "Docs 1")],
                "prod--ocs-1-5f7e4d5a",
                "https://a/mcp",
                "an id that had to be altered",
            ),
            (
                &[(ADDRESS, "[2001:db8::1]:80")],
                "prod--2001-db8--1---80-0d0d6a6e",
                "https://[2001:db8::1]:80/mcp",
                "IPv6",
            ),
            (
                &[(ADDRESS, "DOCS.example.org")],
                "prod-docs.example.org",
                "https://docs.example.org/mcp",
                "a name in capitals",
            ),
        ];
        for (labels, id, url, sentence) in rows {
            let seen = target(&source(&[]), listed(labels)).unwrap().unwrap();
            // The end of an altered id is a hash, which is compared as far as its head.
            let head = id.rsplit_once('-').map_or(id, |(head, end)| if end.len() == HASH_CHARS { head } else { id });
            assert!(seen.id.starts_with(head), "{sentence}: {}", seen.id);
            assert_eq!(seen.url, url, "{sentence}");
            assert_eq!(seen, target(&source(&[]), listed(labels)).unwrap().unwrap(), "{sentence}: the same again");
        }
        let id = |named: &str| super::id("prod", named);
        for (one, other) in [("a-b", "a:b"), ("a--80", "a:80"), ("a--80:1", "a:80:1"), ("a:80", "a--80:"), ("A", "a")] {
            assert_ne!(id(one), id(other), "two servers never share an id: {one} and {other}");
        }
        assert_ne!(id(&format!("{}1", "x".repeat(80))), id(&format!("{}2", "x".repeat(80))));
        assert!(id(&"x".repeat(500)).len() <= ID_CHARS_MAX);
    }

    #[test]
    fn what_a_source_lists_goes_along_where_it_is_renamed() {
        let long = "x".repeat(80);
        let rows: [(Pairs<'_>, bool, &str); 7] = [
            (&[(ADDRESS, "docs.example.org:8443")], true, "a port"),
            (&[(ADDRESS, "docs"), (PATH, "rag")], true, "what ends with a hash, of an address"),
            (&[(ADDRESS, "[2001:db8::1]:80")], true, "IPv6"),
            (&[(ADDRESS, "10.0.0.7"), (ID, "docs-0")], true, "an id of its own"),
            (&[(ADDRESS, "10.0.0.7"), (ID, "docs:80")], true, "with a port"),
            (&[(ADDRESS, "10.0.0.7"), (ID, "docs--80")], true, "what ends with a hash, of a text that is not kept"),
            (&[(ADDRESS, "10.0.0.7"), (ID, &long)], false, "what was cut, of one"),
        ];
        let renamed = Source { id: "staging".to_owned(), ..source(&[]) };
        for (labels, is_known, sentence) in rows {
            let [before, now] = [&source(&[]), &renamed].map(|source| target(source, listed(labels)).unwrap().unwrap());
            assert_eq!(before.under("prod", "staging"), is_known.then_some(now), "{sentence}");
            assert_eq!(before.under("dev", "staging"), None, "{sentence}: of another source");
        }
    }

    #[test]
    fn what_cannot_be_watched_says_why() {
        let long = "x".repeat(300);
        let wide = format!("a.example.org/{}", "ü".repeat(900));
        let rows: [(Pairs<'_>, &str, &str); 17] = [
            (&[(ADDRESS, "a.example.org:0")], "the port 0", "a port that is none"),
            (&[(ADDRESS, &wide)], "is too long", "one that is long as it is sent"),
            (&[(ADDRESS, "a.example.org"), (NAME, "a\u{fffe}")], "no character", "what no file holds"),
            (&[(ADDRESS, "a.example.org"), ("env", "\u{ffff}")], "no character", "or no other"),
            (&[(ADDRESS, "https://{tenant}.example.org/mcp")], "has a variable", "a template of an address"),
            (&[], "no `__address__`", "nothing"),
            (&[(ADDRESS, " ")], "no `__address__`", "a blank"),
            (&[(ADDRESS, "evil.example.net")], "none of `hosts`", "another host"),
            (&[(ADDRESS, "a.example.org.evil.net")], "none of `hosts`", "one that only begins so"),
            (&[(ADDRESS, "a.example.org"), (SCHEME, "file")], "neither http nor https", "another scheme"),
            (&[(ADDRESS, "u:p@a.example.org")], "a user or a password", "a password"),
            (&[(ADDRESS, "a.example.org"), (PATH, "/mcp?key=1")], "a query", "a query"),
            (&[(ADDRESS, "a.example.org\nx")], "control character", "two lines"),
            (&[(ADDRESS, "a.example.org"), ("env", "${env:TOKEN}")], "`${`", "a reference"),
            (&[(ADDRESS, "a.example.org"), ("env", &long)], "longer than 256", "a long label"),
            (&[(ADDRESS, "a.example.org"), ("€", "1")], "no letter", "a label without a name"),
            (&[(ADDRESS, "a.example.org"), (NAME, "\u{1b}[31m")], "control character", "what a terminal would obey"),
        ];
        for (labels, expected, sentence) in rows {
            let Refused { id, why } = target(&source(&["*.example.org"]), listed(labels)).unwrap_err();
            assert!(why.contains(expected), "{sentence}: {why}");
            let address = labels.first().map_or("", |(_, address)| address);
            let named = match () {
                () if wide == address => id.clone().filter(|id| id.starts_with("prod-a.example.org--")),
                () if address.contains(['{', '\n']) || address.trim().is_empty() => None,
                () => Some(format!("prod-{}", address.trim_start_matches("u:p@").replace(':', "--"))),
            };
            assert_eq!(id, named, "{sentence}: what it is about");
            assert!(!why.contains(char::is_control), "{sentence}: {why}");
        }
    }

    #[test]
    fn what_is_not_seen_is_left_out_of_what_people_read() {
        let pairs =
            [(ADDRESS, "a"), (NAME, "Docs \u{202e}gnp\u{2066}"), ("team", "\u{feff}ops \u{1f469}\u{200d}\u{1f4bb}")];
        let seen = target(&source(&[]), listed(&pairs)).unwrap().unwrap();
        assert_eq!(seen.name.as_deref(), Some("Docs gnp"));
        assert_eq!(seen.labels["team"], "ops \u{1f469}\u{1f4bb}");
        let blank = [(ADDRESS, "a"), ("team", ""), ("env", " \u{2028}"), (NAME, "\u{200b} ")];
        let seen = target(&source(&[]), listed(&blank)).unwrap().unwrap();
        assert_eq!((seen.labels.len(), seen.name), (0, None), "what says nothing is left out");
        let Refused { why, .. } = target(&source(&["b"]), listed(&[(ADDRESS, "a/\u{202e}x/{b}")])).unwrap_err();
        assert!(!why.contains('\u{202e}'), "{why}");
    }

    #[test]
    fn numbers_mean_addresses_and_no_names() {
        let rows = [
            ("10.20.*", "10.20.1.2", true, "an address"),
            ("10.20.*", "10.21.1.2", false, "another"),
            ("10.20.*", "10.20.evil.example", false, "a name that begins so"),
            ("http://10.20.*", "10.20.evil.example", false, "nor with a scheme"),
            ("*.10", "evil.example", false, "an end"),
            ("*", "10.20.1.2", true, "anything"),
            ("*", "a.example.org", true, "anything else"),
            ("10.example.org", "10.example.org", true, "a name with a number"),
        ];
        for (pattern, host, is_watched, sentence) in rows {
            let source = Source { has_credential: true, ..source(&[pattern]) };
            let scheme = if pattern.contains("://") { "http" } else { "https" };
            let seen = target(&source, listed(&[(ADDRESS, host), (SCHEME, scheme)]));
            assert_eq!(seen.is_ok(), is_watched, "{sentence}: {seen:?}");
        }
    }

    #[test]
    fn a_credential_goes_in_the_clear_to_nobody_but_whom_the_file_names_so() {
        let rows = [
            (true, "*.example.org", "http", false, "a credential over plain HTTP"),
            (true, "*.example.org", "https", true, "a credential over TLS"),
            (true, "http://*.example.org", "http", true, "a host that is named so"),
            (true, "http://*.example.org", "https", true, "TLS is as good there"),
            (true, "http://b.example.org", "http", false, "another host that is"),
            (false, "*.example.org", "http", true, "nothing to be seen"),
        ];
        for (has_credential, hosts, scheme, is_watched, sentence) in rows {
            let source = Source { has_credential, ..source(&[hosts, "a.example.org"]) };
            let seen = target(&source, listed(&[(ADDRESS, "a.example.org"), (SCHEME, scheme)]));
            assert_eq!(seen.is_ok(), is_watched, "{sentence}: {seen:?}");
        }
    }
}
