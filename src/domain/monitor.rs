//! One server under watch, as the file declares it: where it is, how it is reached and let into, what it is asked. Its parts
//! are read together with it, which is why they stay in this file.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::depends_on::Parent;
use crate::domain::discovery::Discovered;
use crate::domain::near_miss::NearMiss;
use crate::domain::pinned::{Pinned, PinnedCanary};
use crate::domain::protocol::{Era, Transport};
use crate::domain::rules::Rules;
use crate::domain::search::Search;
use crate::domain::secret::{Address, Secret};
use crate::domain::source_pattern::SourcePattern;
use crate::domain::wanted::{ExpectedText, Wanted};

/// A monitor's identity: history follows the id, the name may change.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(Arc<str>);

impl MonitorId {
    /// Takes any text; `config` has checked its shape (`[a-z0-9][a-z0-9._-]*`, 64 at most).
    pub fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    /// The text of the file, `[a-z0-9][a-z0-9._-]*`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MonitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MonitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// One MCP server under watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    /// The id of the file: its key everywhere, never changed by a reload.
    pub id: MonitorId,
    /// `name` of the file, else the id.
    pub name: String,
    /// Where the server answers MCP.
    pub url: Address,
    /// Labels, for routes and filters.
    pub labels: BTreeMap<String, String>,
    /// How the server is reached, where the file says more than its address.
    pub reach: Reach,
    /// What we show to be let in.
    pub auth: Auth,
    /// What its probes may cost the server.
    pub caps: Caps,
    /// By what owners know our probes; one for the whole fleet.
    pub identity: Option<Arc<ProbeIdentity>>,
    /// The list that names it; none where a person wrote it down.
    pub discovered: Option<Box<Discovered>>,
    /// The server's own health addresses.
    pub health: Vec<Address>,
    /// How its search tool is called and read.
    pub search: Search,
    /// Searches whose right answer is known.
    pub canaries: Vec<Canary>,
    /// Those of them that look alike and have to be answered otherwise.
    pub near_misses: Vec<NearMiss>,
    /// Time between scheduled beats.
    pub every: Duration,
    /// No single call of a probe may take longer.
    pub timeout: Duration,
    /// Limit on a whole beat.
    pub probe_budget: Duration,
    /// When its signals open and close.
    pub rules: Rules,
    /// Whether its server has to answer as another one does.
    pub likeness: Likeness,
    /// What its server cannot work without.
    pub depends_on: Vec<Parent>,
    /// What the lock file beside its file says of it; none where it says nothing.
    pub pinned: Option<Arc<Pinned>>,
    /// The line on which this monitor starts, numbered through all files; see [`crate::domain::fleet::Provenance::place`].
    pub line: u32,
    /// Changes exactly when something about this monitor changes; lowercase hex.
    pub definition_hash: String,
}

impl Monitor {
    /// A server of which only the address is known: no canaries, no health addresses, the standard rules.
    pub fn undeclared(id: &str, url: Address) -> Self {
        Self {
            id: MonitorId::new(id),
            name: id.to_owned(),
            url,
            labels: BTreeMap::new(),
            reach: Reach::default(),
            auth: Auth::default(),
            caps: Caps::default(),
            identity: None,
            discovered: None,
            health: Vec::new(),
            search: Search::default(),
            canaries: Vec::new(),
            near_misses: Vec::new(),
            every: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            probe_budget: Duration::from_secs(45),
            rules: Rules::standard(1),
            likeness: Likeness::Alone,
            depends_on: Vec::new(),
            pinned: None,
            line: 1,
            definition_hash: String::new(),
        }
    }

    /// Name and port of the server's host as the address has them, in small letters; empty for a program.
    pub fn host_and_port(&self) -> String {
        let url = self.url.resolved.expose();
        let host = url.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
        host.rsplit('@').next().unwrap_or_default().to_ascii_lowercase()
    }

    /// Whether the server is on this very machine, so that no network lies between.
    pub fn is_local(&self) -> bool {
        let host = self.host_and_port();
        let name = if host.starts_with('[') { &*host } else { host.split(':').next().unwrap_or_default() };
        let in_127 = name.starts_with("127.") && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        self.reach.program.is_some() || in_127 || name == "localhost" || name.starts_with("[::1]")
    }

    /// The monitor of whose server its own is declared a replica.
    pub fn original(&self) -> Option<&Original> {
        if let Likeness::ReplicaOf(original) = &self.likeness { Some(original) } else { None }
    }

    /// Whether some canary names sources that it must never see.
    pub fn forbids_sources(&self) -> bool {
        self.canaries.iter().any(|canary| !canary.forbid.is_empty())
    }

    /// Canaries asked in one beat; never more than there are.
    pub fn per_beat(&self) -> u32 {
        self.search.per_beat.min(u32::try_from(self.canaries.len()).unwrap_or(u32::MAX))
    }
}

/// Whether a server has to answer as another one does (`replicas_of`). Replicas form stars: an original is no replica.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Likeness {
    /// As no other.
    #[default]
    Alone,
    /// As this one others have to.
    Original,
    /// As that one.
    ReplicaOf(Arc<Original>),
}

/// The monitor that a replica is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Original {
    /// Its id.
    pub id: MonitorId,
    /// Canaries that both ask in the same words, by id, with their `definition_hash` there.
    pub shared: BTreeMap<String, String>,
    /// The time in which both have asked each of their canaries once.
    pub round: Duration,
}

/// How a monitor's server is reached. Everything empty: over HTTP, era and transport found by the probe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reach {
    /// The transport, where the file fixes it.
    pub transport: Option<Transport>,
    /// The era, where the file fixes it.
    pub era: Option<Era>,
    /// The program that is the server, for stdio; `url` then only shows it.
    pub program: Option<Box<Program>>,
    /// Whether both eras are asked once a day and have to give the same tools.
    pub cross_check: bool,
    /// Whether sessions are closed; none: each is, but where that may bring the server down.
    pub close_sessions: Option<bool>,
    /// The proxy that connections go through: `http`, `https`, `socks5` or `socks5h`. Never taken from the environment.
    pub proxy: Option<Box<Address>>,
    /// A file of PEM certificates trusted for this server besides the machine's own.
    pub ca: Option<String>,
    /// Our own certificate, for servers that ask for one.
    pub client_certificate: Option<Box<ClientCertificate>>,
}

/// A program that speaks MCP over its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable, as a path or a name to be found.
    pub command: String,
    /// Its arguments, resolved; `Monitor::url` shows them as written.
    pub args: Vec<Secret>,
    /// Variables it gets besides a short list of harmless ones of ours.
    pub env: Vec<(String, Secret)>,
    /// Whether it is kept running from beat to beat; else it is started for each one.
    pub keep: bool,
}

/// A client certificate for mutual TLS; both files are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// A PEM file with the chain.
    pub certificate: String,
    /// A PEM file with the private key.
    pub key: String,
}

/// What a probe shows to be let in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Auth {
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<Secret>,
    /// Further headers, sent with every MCP request to the monitor's own origin.
    pub headers: Vec<(String, Secret)>,
    /// A token got by client credentials.
    pub oauth: Option<Box<OAuth>>,
    /// When the static credential ends, where the file says so.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether the server has to refuse a caller without credentials.
    pub refuses_strangers: bool,
}

/// OAuth 2 client credentials. The secret goes to the declared issuer and to nobody else.
#[derive(Debug, Clone, PartialEq)]
pub struct OAuth {
    /// The authorization server, exactly as its metadata has to name itself.
    pub issuer: String,
    /// `client_id` as the issuer knows it (RFC 6749).
    pub client_id: String,
    /// Sent to the issuer's token endpoint and nowhere else.
    pub client_secret: Secret,
    /// What is asked for; empty: what the server's challenge names.
    pub scope: Option<String>,
}

/// A secret shared with owners of servers, by which they know our probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeIdentity {
    /// Names the secret, so that it can be rotated.
    pub key: String,
    /// Shared with the owner of the server; signs the header.
    pub secret: Secret,
}

/// What probes may cost a server on a day; none: no cap. Beats that no longer fit are not made, and the page says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// Cap on requests a day (UTC); none: no cap.
    pub requests_per_day: Option<u64>,
    /// Bytes a day, both directions.
    pub bytes_per_day: Option<u64>,
}

/// A search whose right answer is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Canary {
    /// Unique within its monitor; results are kept by it.
    pub id: String,
    /// The text given to the search tool.
    pub query: String,
    /// Which part of retrieval it tests, such as meaning or exact words.
    pub kind: CanaryKind,
    /// Sources any of which is the right answer; empty for a negative canary.
    pub expect: Vec<String>,
    /// The rank, from 1, within which the source has to be.
    pub within: u32,
    /// For a negative canary: scores up to here are no hit; none: any result is one.
    pub max_score: Option<f64>,
    /// What the whole text of the answer has to hold, and may not; none: only its list of results is judged.
    pub text: Option<Box<ExpectedText>>,
    /// Sources that this caller must never see, at whatever rank; empty: none is forbidden.
    pub forbid: Vec<SourcePattern>,
    /// The same question in other words, each with the same right answer.
    pub also: Vec<String>,
    /// The line of the file on which it stands, from 1.
    pub line: u32,
    /// Changes exactly when something about this canary changes; lowercase hex.
    pub definition_hash: String,
}

impl Canary {
    /// What is pinned of it as it is declared, where its answers came from the index.
    pub fn pinned<'p>(&self, pinned: &'p Pinned) -> Option<&'p PinnedCanary> {
        let known = pinned.canaries.get(&self.id).filter(|_| pinned.reached_index)?;
        (known.definition_hash == self.definition_hash).then_some(known)
    }

    /// A search of which only the question is known: it expects nothing.
    pub fn undeclared(id: &str, query: &str, kind: CanaryKind) -> Self {
        Self {
            id: id.to_owned(),
            query: query.to_owned(),
            kind,
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        }
    }

    /// What it expects, in words.
    pub fn expected(&self) -> String {
        let listed = match (self.kind, self.max_score) {
            (CanaryKind::Negative, Some(limit)) => Some(format!("nothing scored above {limit}")),
            (CanaryKind::Negative, None) if self.text.is_none() => Some("nothing".to_owned()),
            (CanaryKind::Negative, None) => None,
            _ => (!self.expect.is_empty()).then(|| format!("{} within {}", self.expect.join(" or "), self.within)),
        };
        let shown = |wanted: &[Wanted]| wanted.iter().map(Wanted::shown).collect::<Vec<_>>();
        let text = self.text.as_deref();
        let (held, kept_out) = text.map(|text| (shown(&text.contains), shown(&text.not_contains))).unzip();
        let (held, kept_out) = (held.filter(|held| !held.is_empty()), kept_out.filter(|out| !out.is_empty()));
        let forbidden: Vec<&str> = self.forbid.iter().map(SourcePattern::as_str).collect();
        let parts = [
            listed,
            held.map(|held| held.join(" and ")),
            kept_out.map(|out| format!("without {}", out.join(" or "))),
            (!forbidden.is_empty()).then(|| format!("no source of {}", forbidden.join(" or "))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Whether an answer without a list of results can be judged, by its text; a text names no source that is forbidden.
    pub fn needs_no_list(&self, search: &Search) -> bool {
        let says_when_empty = search.said.as_ref().is_some_and(|said| said.empty.is_some());
        let is_judged = self.text.is_some() || self.kind == CanaryKind::Negative && says_when_empty;
        is_judged && self.expect.is_empty() && self.forbid.is_empty()
    }
}

/// What a canary isolates (RETRIEVAL §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CanaryKind {
    /// Asks with a token unique to the source: the lexical arm.
    Keyword,
    /// Shares no content stem with the source: the vector arm.
    Meaning,
    /// As a person would ask: both arms.
    Mixed,
    /// About what the corpus does not hold: thresholds and constant answers.
    Negative,
    /// The verbatim text of a stored chunk: holes in the index.
    Verbatim,
    /// A sentence out of an earlier answer, which no file declares: what is stored, and the lexical arm.
    Harvested,
}

impl CanaryKind {
    /// Every kind, in the order pages show them.
    pub const ALL: [Self; 6] =
        [Self::Keyword, Self::Meaning, Self::Mixed, Self::Verbatim, Self::Negative, Self::Harvested];

    /// The word used in YAML, table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Meaning => "meaning",
            Self::Mixed => "mixed",
            Self::Negative => "negative",
            Self::Verbatim => "self",
            Self::Harvested => "harvested",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_address() {
        let rows = [
            ("http://127.0.0.1:8080/mcp", true),
            ("http://user:x@localhost/mcp", true),
            ("http://[::1]:9000/mcp", true),
            ("http://127.example.org/mcp", false),
            ("http://localhost.example.org/mcp", false),
            ("https://docs.example.org/127.0.0.1", false),
        ];
        for (url, local) in rows {
            let monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new(url) });
            assert_eq!(monitor.is_local(), local, "{url}");
        }
    }
}
