//! Monitors that nobody writes down: a list of servers that somebody else keeps, and a template.
//!
//! Read: `relabel` (which of what is listed is watched, and under which labels), `target` (a listed server as a monitor:
//! its id and its address), `listing` (what of a list counts when it changes: what is new is taken, what is gone goes, and
//! what shrinks too fast is held).

pub mod listing;
pub mod relabel;
pub mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use url::{Host, Url};

use crate::domain::discovery::relabel::Relabel;
use crate::domain::network::Network;
use crate::domain::secret::{Address, Secret};
use crate::domain::wildcards;

/// Everything that `discover:` declares.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Discovery {
    /// The folder of the lists as they were last read well, relative to the file's own.
    pub folder: String,
    /// The sources, in the order of the file; ids are unique.
    pub sources: Vec<Source>,
    /// What was taken from lists and is not watched all the same, by the source; none of a source: all is watched.
    pub left_out: BTreeMap<String, LeftOut>,
}

/// Listed servers that are not watched: what they say cannot be, or the file in force has no place for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many those are.
    pub count: usize,
    /// The first of them, a line each with the id and why; [`LeftOut::NAMED_MAX`] at most.
    pub named: Vec<String>,
    /// The ids of all of them, as far as they are known.
    pub ids: BTreeSet<String>,
}

impl LeftOut {
    /// Lines kept of one source.
    pub const NAMED_MAX: usize = 20;

    /// One more.
    pub fn add(&mut self, id: Option<&str>, line: String) {
        self.count += 1;
        self.ids.extend(id.map(str::to_owned));
        if self.named.len() < Self::NAMED_MAX {
            self.named.push(line);
        }
    }
}

/// One list, and how it becomes monitors.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The name in the file; ids of its monitors begin with it.
    pub id: String,
    /// Where the list is.
    pub from: From,
    /// How often it is read.
    pub every: Duration,
    /// Hosts that a listed server may have, with `*` for any part; empty: any. One with `http://` before it may have a
    /// credential of the template in the clear.
    pub hosts: Vec<String>,
    /// Whether the template lets its bearer in somewhere.
    pub has_credential: bool,
    /// Networks in private space in which a listed server may be.
    pub allow_private: Vec<Network>,
    /// What becomes of labels, in order.
    pub relabel: Vec<Relabel>,
    /// Changes exactly when what each of its monitors has changes, or what is said of single ones.
    pub template: String,
    /// How long a server that fails stays watched after it is gone from the list.
    pub gone_after: Duration,
    /// The line of the file, from 1.
    pub line: u32,
}

/// Where a list is.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// An address that answers in the format of Prometheus' HTTP service discovery.
    HttpSd {
        /// Where it is.
        url: Address,
        /// Sent as `Authorization: Bearer …`.
        bearer: Option<Secret>,
    },
    /// A registry of MCP servers, by its API.
    Registry {
        /// Its address, without `/v0.1/servers`.
        url: Address,
        /// Sent as `Authorization: Bearer …`.
        bearer: Option<Secret>,
        /// A part of the names of the servers that are asked for; none: all.
        search: Option<String>,
    },
    /// Files in the format of Prometheus' file-based service discovery, by globs; they start where the file lies.
    FileSd(Vec<String>),
}

/// What a monitor that nobody wrote down came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// The source that lists it.
    pub source: String,
    /// Since when it is gone from that list, unix seconds; none: it is on it.
    pub gone_since: Option<i64>,
    /// Networks in private space in which it may be reached.
    pub allow_private: Vec<Network>,
}

/// Before a host to which a credential may go in the clear.
pub const PLAIN: &str = "http://";

impl Source {
    /// Whether this is the same list, of which the file changed nothing but the name, or what its template says.
    pub fn is_renamed(&self, before: &Self) -> bool {
        let Self { id, template, has_credential, line, .. } = self.clone();
        Self { id, template, has_credential, line, ..before.clone() } == *self
    }

    /// Why a listed server may not be at this address.
    pub fn refusal(&self, url: &Url) -> Option<&'static str> {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let is_ipv4 = matches!(url.host(), Some(Host::Ipv4(_)));
        let fits = |pattern: &str| (is_ipv4 || !is_of_numbers(pattern)) && wildcards::fits_name(pattern, &host);
        let is_named = self.hosts.iter().any(|pattern| fits(pattern.strip_prefix(PLAIN).unwrap_or(pattern)));
        let may_be_plain = self.hosts.iter().filter_map(|pattern| pattern.strip_prefix(PLAIN)).any(fits);
        match () {
            () if !self.hosts.is_empty() && !is_named => Some("its host is none of `hosts`: add it there"),
            () if self.has_credential && url.scheme() == "http" && !may_be_plain => Some(
                "the credential of the template would go to it in the clear: list it with https, or write `http://` before \
                 its host in `hosts`",
            ),
            () => None,
        }
    }
}

/// Whether a pattern means addresses: as one of names, `10.20.*` would fit the name `10.20.evil.example`.
fn is_of_numbers(pattern: &str) -> bool {
    pattern.contains(|c: char| c.is_ascii_digit())
        && pattern.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '*' | '?'))
}
