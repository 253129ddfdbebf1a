//! The API of MCP registries (`/v0.1/servers`, "Generic Registry API Specification" of modelcontextprotocol/registry): pages
//! by a cursor, and after the first time no more than what was updated since.
//!
//! A registry is hostile as any list is, and somebody else's machine: pages, bytes and time have an end, and one page is asked
//! for after the other.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::Deserialize;
use url::Url;

use crate::daemon::discovery::at_most::AtMost;
use crate::domain::discovery::relabel::Labels;
use crate::domain::discovery::target::{ADDRESS, ID, NAME};
use crate::net::document::Documents;

/// Servers of a page, as many as the official registry gives at once.
const PAGE: &str = "100";
/// Items of a page that are read, whatever was asked for.
const PAGE_MAX: usize = 1_000;
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Pages of one reading.
const PAGES_MAX: usize = 1_000;
/// One reading, from its first page to its last.
const WITHIN: Duration = Duration::from_secs(600);
/// Bytes of all labels.
const LABEL_BYTES_MAX: usize = 64 * 1024 * 1024;
/// As many as one Serin watches.
const SERVERS_MAX: usize = 50_000;
/// Clocks differ, and a page takes its time: what was updated shortly before is asked for once more.
const OVERLAP: TimeDelta = TimeDelta::minutes(5);
/// How often all of it is read: what an update does not say is seen then.
const WHOLE_EVERY: TimeDelta = TimeDelta::hours(24);

/// What a registry has said so far.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// The labels of the addresses of each server, by its name in the registry.
    by_name: BTreeMap<String, Vec<Labels>>,
    /// When the newest reading began; none: there was none.
    read_at: Option<DateTime<Utc>>,
    /// When the newest reading of all of it did.
    whole_at: Option<DateTime<Utc>>,
}

/// Reads what is new, and gives all servers that can be reached over the network. `asked`: the address without
/// `/v0.1/servers`, the token, and a part of names.
///
/// # Errors
/// Why it cannot be read, with the page; what is known stays as it was.
pub(super) async fn read(
    documents: &Documents,
    asked: (&str, Option<&str>, Option<&str>),
    servers: &mut Servers,
    now: DateTime<Utc>,
) -> Result<Vec<Labels>, String> {
    let is_whole = servers.whole_at.is_none_or(|at| now - at >= WHOLE_EVERY);
    let since = servers.read_at.filter(|_| !is_whole).map(|at| at - OVERLAP);
    let pages = tokio::time::timeout(WITHIN, pages(documents, asked, since)).await;
    let entries = pages.map_err(|_| format!("it takes longer than {} minutes", WITHIN.as_secs() / 60))??;
    if is_whole {
        (servers.by_name, servers.whole_at) = (BTreeMap::new(), Some(now));
    }
    servers.read_at = Some(now);
    for (name, addresses) in entries {
        match addresses {
            Some(addresses) => servers.by_name.insert(name, addresses),
            None => servers.by_name.remove(&name),
        };
    }
    if servers.by_name.len() > SERVERS_MAX {
        return Err(format!("it lists more than {SERVERS_MAX} servers; `search` narrows it"));
    }
    if servers.by_name.iter().map(|(name, addresses)| bytes_of(name, Some(addresses))).sum::<usize>() > LABEL_BYTES_MAX
    {
        let most = LABEL_BYTES_MAX / 1024 / 1024;
        // What it said so far is forgotten, and asked for anew: it may have become less.
        *servers = Servers::default();
        return Err(format!("more than {most} MiB of labels; `search` narrows it"));
    }
    Ok(servers.by_name.values().flatten().cloned().collect())
}

fn bytes_of(name: &str, addresses: Option<&Vec<Labels>>) -> usize {
    let labels = addresses.into_iter().flatten().flatten();
    name.len() + labels.map(|(name, value)| name.len() + value.len()).sum::<usize>()
}

/// A server's name with the labels of each of its addresses; none where it has none any more.
type Listed = (String, Option<Vec<Labels>>);

async fn pages(
    documents: &Documents,
    (base, bearer, search): (&str, Option<&str>, Option<&str>),
    since: Option<DateTime<Utc>>,
) -> Result<Vec<Listed>, String> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    let (mut cursor, mut cursors) = (None::<String>, HashSet::new());
    for page in 1..=PAGES_MAX {
        let at = |why: String| format!("page {page}: {why}");
        let url = address(base, search, since, cursor.as_deref()).map_err(at)?;
        let answer = documents.fetch(url.as_str(), bearer, PAGE_BYTES_MAX).await.map_err(at)?;
        let (listed, next) = parsed(&answer).map_err(at)?;
        for (name, addresses) in listed {
            bytes += bytes_of(&name, addresses.as_ref());
            all.push((name, addresses));
        }
        if bytes > LABEL_BYTES_MAX {
            return Err(at(format!("more than {} MiB of labels", LABEL_BYTES_MAX / 1024 / 1024)));
        }
        let Some(next) = next.filter(|next| !next.is_empty()) else { return Ok(all) };
        if !cursors.insert(next.clone()) {
            return Err(at("its cursor leads back to a page before it".to_owned()));
        }
        cursor = Some(next);
    }
    Err(format!("it has more than {PAGES_MAX} pages; `search` narrows it"))
}

fn address(
    base: &str,
    search: Option<&str>,
    since: Option<DateTime<Utc>>,
    cursor: Option<&str>,
) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|error| format!("its address is none: {error}"))?;
    let path = format!("{}/v0.1/servers", url.path().trim_end_matches('/'));
    url.set_path(&path);
    let mut query = url.query_pairs_mut();
    query.append_pair("limit", PAGE).append_pair("version", "latest");
    if let Some(search) = search {
        query.append_pair("search", search);
    }
    if let Some(since) = since {
        query.append_pair("updated_since", &since.to_rfc3339_opts(SecondsFormat::Secs, true));
        // What was deleted is an update as well.
        query.append_pair("include_deleted", "true");
    }
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    drop(query);
    Ok(url)
}

#[derive(Deserialize)]
struct Page {
    servers: AtMost<Entry, PAGE_MAX>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    server: Server,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    title: Option<String>,
    version: Option<String>,
    status: Option<String>,
    #[serde(default)]
    remotes: AtMost<Remote, 20>,
}

#[derive(Deserialize)]
struct Remote {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    #[serde(default)]
    headers: AtMost<Header, 50>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    #[serde(rename = "isRequired", default)]
    is_required: bool,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol.registry/official")]
    official: Option<Official>,
}

#[derive(Deserialize)]
struct Official {
    status: Option<String>,
    #[serde(rename = "isLatest")]
    is_latest: Option<bool>,
}

/// The servers of one page, and the cursor of the next.
fn parsed(bytes: &[u8]) -> Result<(Vec<Listed>, Option<String>), String> {
    let page: Page = serde_json::from_slice(bytes).map_err(|error| format!("it is no list of servers: {error}"))?;
    let AtMost(entries) = page.servers;
    Ok((entries.into_iter().filter_map(listed).collect(), page.metadata.and_then(|metadata| metadata.next_cursor)))
}

/// None for an old version of a server.
fn listed(entry: Entry) -> Option<Listed> {
    let official = entry.meta.and_then(|meta| meta.official);
    if official.as_ref().is_some_and(|official| official.is_latest == Some(false)) {
        return None;
    }
    let Server { name, title, version, status, remotes: AtMost(remotes) } = entry.server;
    let status = official.and_then(|official| official.status).or(status).unwrap_or_else(|| "active".to_owned());
    if status == "deleted" {
        return Some((name, None));
    }
    // The same server over the older transport is no second one.
    let kind = ["streamable-http", "sse"].into_iter().find(|kind| remotes.iter().any(|remote| remote.kind == *kind));
    let remotes = remotes.into_iter().filter(|remote| Some(remote.kind.as_str()) == kind);
    let addresses = remotes.enumerate().map(|(nth, Remote { kind, url, headers: AtMost(headers) })| {
        let required = headers.into_iter().filter(|header| header.is_required).map(|header| header.name);
        let id = if nth == 0 { name.clone() } else { format!("{name} {url}") };
        let labels = [
            (ID, id),
            (NAME, title.clone().unwrap_or_else(|| name.clone())),
            ("__meta_registry_name", name.clone()),
            ("__meta_registry_version", version.clone().unwrap_or_default()),
            ("__meta_registry_status", status.clone()),
            ("__meta_registry_transport", kind),
            ("__meta_registry_headers", required.collect::<Vec<_>>().join(",")),
            (ADDRESS, url),
        ];
        labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Labels>()
    });
    let addresses: Vec<Labels> = addresses.collect();
    Some((name, Some(addresses)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, more: &str, meta: &str) -> String {
        format!(
            r#"{{"server":{{"name":"{name}","version":"1.0.0"{more}}},"_meta":{{"io.modelcontextprotocol.registry/official":{{{meta}}}}}}}"#
        )
    }

    fn page(entries: &[String]) -> String {
        format!(r#"{{"servers":[{}],"metadata":{{"count":1,"nextCursor":"c"}}}}"#, entries.join(","))
    }

    #[test]
    fn a_page_is_read_or_says_where_it_is_wrong() {
        let http = r#","remotes":[{"type":"streamable-http","url":"https://a/mcp"}]"#;
        let both =
            r#","remotes":[{"type":"sse","url":"https://a/sse"},{"type":"streamable-http","url":"https://a/mcp"}]"#;
        let two = r#","remotes":[{"type":"streamable-http","url":"https://a/mcp"},{"type":"streamable-http","url":"https://b/mcp"}]"#;
        let many = format!(r#","remotes":[{}]"#, vec![r#"{"type":"sse","url":"https://a"}"#; 21].join(","));
        let rows = [
            (page(&[]), Ok(0), "nothing"),
            (page(&[entry("a/x", http, "")]), Ok(1), "a server"),
            (page(&[entry("a/x", both, "")]), Ok(1), "one over two transports is one"),
            (page(&[entry("a/x", two, "")]), Ok(2), "one in two places is two"),
            (page(&[entry("a/x", r#","packages":[{}]"#, "")]), Ok(0), "one that is only installed"),
            (page(&[entry("a/x", r#","remotes":null"#, "")]), Ok(0), "one whose addresses are null"),
            (page(&[entry("a/x", http, r#""isLatest":false"#)]), Ok(0), "an old version"),
            (page(&[entry("a/x", http, r#""status":"deleted""#)]), Ok(0), "one that was deleted"),
            (page(&[entry("a/x", http, r#""status":"deprecated""#)]), Ok(1), "one that is about to go"),
            (page(&[entry("a/x", &many, "")]), Err("more than 20 items"), "too many addresses"),
            (page(&vec![entry("a/x", http, ""); 1_001]), Err("more than 1000 items"), "too many on a page"),
            ("[]".to_owned(), Err("no list of servers"), "a list of something else"),
            (r#"{"servers":[{"name":"flat"}]}"#.to_owned(), Err("missing field `server`"), "an older format"),
            (format!("{{\"servers\":{}", "[".repeat(100_000)), Err("line 1"), "nesting without an end"),
        ];
        for (text, expected, sentence) in rows {
            match (parsed(text.as_bytes()), expected) {
                (Ok((listed, next)), Ok(count)) => {
                    let addresses = listed.iter().flat_map(|(_, addresses)| addresses.iter().flatten()).count();
                    assert_eq!((addresses, next.as_deref()), (count, Some("c")), "{sentence}");
                }
                (Err(why), Err(word)) => assert!(why.contains(word), "{sentence}: {why}"),
                (seen, _) => panic!("{sentence}: {seen:?}"),
            }
        }
        let (listed, _) = parsed(page(&[entry("a/x", two, "")]).as_bytes()).unwrap();
        let ids: Vec<_> = listed[0].1.iter().flatten().map(|labels| labels[ID].as_str()).collect();
        assert_eq!(ids, ["a/x", "a/x https://b/mcp"], "each has an id of its own");
    }

    #[test]
    fn a_page_is_asked_for_by_what_is_known() {
        let since = DateTime::from_timestamp(1_700_000_000, 0);
        let rows = [
            (
                ("https://r.example.org", None, None, None),
                "https://r.example.org/v0.1/servers?limit=100&version=latest",
            ),
            (
                ("https://r.example.org/mcp/", Some("a b"), None, Some("x/y:1")),
                "https://r.example.org/mcp/v0.1/servers?limit=100&version=latest&search=a+b&cursor=x%2Fy%3A1",
            ),
            (
                ("https://r.example.org", None, since, None),
                "https://r.example.org/v0.1/servers?limit=100&version=latest&updated_since=2023-11-14T22%3A13%3A20Z&include_deleted=true",
            ),
        ];
        for ((base, search, since, cursor), expected) in rows {
            assert_eq!(address(base, search, since, cursor).unwrap().as_str(), expected);
        }
    }
}
