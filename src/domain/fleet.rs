//! What monitors.yaml declares, once it has been checked: monitors, receivers, routes, runbooks.
//!
//! Every value in here is valid by construction of `config`; nothing downstream checks again.
//! The file is long because it is a vocabulary: some thirty small types, most lines of which say what a field means.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::Route;

/// Everything one monitors.yaml declares.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fleet {
    /// Where this fleet was declared and at which commit.
    pub provenance: Provenance,
    /// The monitors, in the order of the file; ids are unique.
    pub monitors: Vec<Arc<Monitor>>,
    /// The receivers by name, in the order of the file.
    pub receivers: Vec<Arc<Receiver>>,
    /// The routes, first match wins.
    pub routes: Vec<Route>,
    /// Names of receivers that hear of Serin's own trouble, directly and without database or outbox.
    pub internal: Vec<String>,
    /// Runbook addresses.
    pub runbooks: Runbooks,
    /// Networks in private space that receivers may be reached in.
    pub allow_private: Vec<Network>,
    /// Addresses by which Serin knows its own uplink; empty: it is taken for granted.
    pub control: Vec<Control>,
    /// The sign of life that somebody outside waits for.
    pub heartbeat: Option<Heartbeat>,
    /// The mail server, where a receiver needs one.
    pub smtp: Option<Smtp>,
    /// How long what is remembered is kept.
    pub retention: Retention,
    /// Address people reach the pages under, without a trailing slash; links in pages start here.
    pub public_url: String,
}

/// An address that answers while our own network is well, and by what its answer is told from that of a gateway which
/// answers in its place. Without either, any answer will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Where it is.
    pub address: Address,
    /// The status its answer has.
    pub status: Option<u16>,
    /// What its body contains.
    pub contains: Option<String>,
}

/// How long what is remembered is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Every beat and every answer, in hourly packs.
    pub beats: TimeDelta,
    /// Daily percentiles and uptime, and what probes cost a server.
    pub days: TimeDelta,
    /// What was said over the wire when a probe failed.
    pub transcripts: TimeDelta,
    /// Incidents that ended, with all that was told of them.
    pub incidents: TimeDelta,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            beats: TimeDelta::days(35),
            days: TimeDelta::days(400),
            transcripts: TimeDelta::days(30),
            incidents: TimeDelta::days(400),
        }
    }
}

impl Fleet {
    /// The monitor with this id.
    pub fn monitor(&self, id: &MonitorId) -> Option<&Arc<Monitor>> {
        self.monitors.iter().find(|monitor| monitor.id == *id)
    }

    /// The receiver with this name.
    pub fn receiver(&self, name: &str) -> Option<&Arc<Receiver>> {
        self.receivers.iter().find(|receiver| receiver.name == name)
    }
}

/// Where a fleet came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    /// The file's name as a page shows it, such as `monitors.yaml`.
    pub file: String,
    /// The files it includes, in the order in which their lines are numbered.
    pub included: Vec<IncludedFile>,
    /// SHA-256 over the bytes of all files, lowercase hex.
    pub hash: String,
    /// The git commit, with `-dirty` behind it where a file differs from it; none outside git.
    pub commit: Option<String>,
}

/// A file that another one includes. Lines are numbered through all files, from 1 in the first one, so that a
/// declaration needs no more than its line to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// The file's name as a page shows it, such as `teams/docs.yaml`.
    pub file: String,
    /// The number of its first line.
    pub first_line: u32,
}

impl Provenance {
    /// The file in which a declaration stands, and the line there, from 1.
    pub fn place(&self, line: u32) -> (&str, u32) {
        let nth = self.included.partition_point(|included| included.first_line <= line);
        match nth.checked_sub(1).and_then(|nth| self.included.get(nth)) {
            Some(included) => (&included.file, line - included.first_line + 1),
            None => (&self.file, line),
        }
    }

    /// The same as one text, such as `teams/docs.yaml:7`.
    pub fn shown(&self, line: u32) -> String {
        let (file, line) = self.place(line);
        format!("{file}:{line}")
    }

    /// The rule on a line.
    pub fn rule(&self, line: u32) -> RulePlace {
        let (file, line) = self.place(line);
        RulePlace { file: file.to_owned(), line, commit: self.commit.clone() }
    }
}

/// A monitor's identity: history follows the id, the name may change.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(Arc<str>);

impl MonitorId {
    /// Takes any text; `config` has checked its shape (`[a-z0-9][a-z0-9._-]*`, 64 at most).
    pub fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    /// The id as written.
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
        write!(f, "{:?}", &*self.0)
    }
}

/// A value from the environment or a secrets file. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a resolved value.
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
    /// As written, `${…}` unresolved, userinfo and query masked: for pages, metrics, mail and logs.
    pub shown: String,
    /// Resolved and complete, for the connection only.
    pub resolved: Secret,
}

/// A sign of life, sent to somebody outside who raises the alarm when it stays away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Where to. Whoever knows it can pretend to be us, so it is shown nowhere.
    pub url: Address,
    /// Time between two.
    pub every: Duration,
    /// Whether it is a POST; else a GET.
    pub post: bool,
}

/// One MCP server under watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    /// Identity.
    pub id: MonitorId,
    /// The name people read.
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
    /// The server's own health addresses.
    pub health: Vec<Address>,
    /// How its search tool is called and read.
    pub search: Search,
    /// Searches whose right answer is known.
    pub canaries: Vec<Canary>,
    /// Time between scheduled beats.
    pub every: Duration,
    /// Limit on one call.
    pub timeout: Duration,
    /// Limit on a whole beat.
    pub probe_budget: Duration,
    /// When its signals open and close.
    pub rules: Rules,
    /// The line on which this monitor starts, numbered through all files; see [`Provenance::place`].
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
            health: Vec::new(),
            search: Search {
                tool: None,
                query: "query".to_owned(),
                arguments: BTreeMap::new(),
                results: None,
                fields: SearchFields::default(),
                per_beat: 0,
            },
            canaries: Vec::new(),
            every: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            probe_budget: Duration::from_secs(45),
            rules: Rules::standard(1),
            line: 1,
            definition_hash: String::new(),
        }
    }

    /// The most requests this monitor sends on a day without trouble; suspect beats, re-checks and
    /// canaries asked outside the round come on top.
    ///
    /// A beat of the older era, which is the dearer one: opening (2), tools/list (1), one a canary
    /// asked, one a health address, closing the session (1). Once an hour the sources are listed.
    pub fn calls_per_day(&self) -> u64 {
        const DAY_MS: u128 = 24 * 3600 * 1000;
        const SOURCE_LISTINGS: u64 = 24;
        let beats = DAY_MS.div_ceil(self.every.as_millis().max(1));
        u64::try_from(beats).unwrap_or(u64::MAX).saturating_mul(self.calls_per_beat()).saturating_add(SOURCE_LISTINGS)
    }

    /// The most requests of one beat without trouble.
    pub fn calls_per_beat(&self) -> u64 {
        const OPENING_LISTING_CLOSING: u64 = 4;
        OPENING_LISTING_CLOSING + u64::from(self.per_beat()) + self.health.len() as u64
    }

    /// Whether the server is on this very machine, so that no network lies between.
    pub fn is_local(&self) -> bool {
        let url = self.url.resolved.expose();
        let host = url.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        let name = if host.starts_with('[') { &host } else { host.split(':').next().unwrap_or_default() };
        let in_127 = name.starts_with("127.") && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        self.reach.program.is_some() || in_127 || name == "localhost" || name.starts_with("[::1]")
    }

    /// Canaries asked in one beat; never more than there are.
    pub fn per_beat(&self) -> u32 {
        self.search.per_beat.min(u32::try_from(self.canaries.len()).unwrap_or(u32::MAX))
    }
}

/// How a monitor's server is reached. Everything empty: over HTTP, era and transport found by the probe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reach {
    /// The transport, where the file fixes it.
    pub transport: Option<Transport>,
    /// The era, where the file fixes it.
    pub era: Option<Era>,
    /// The program that is the server, for stdio; `url` then only shows it.
    pub program: Option<Program>,
    /// Whether both eras are asked once a day and have to give the same tools.
    pub cross_check: bool,
    /// Whether sessions are closed; none: each is, but where that may bring the server down.
    pub close_sessions: Option<bool>,
    /// The proxy that connections go through: `http`, `https`, `socks5` or `socks5h`. Never taken from the environment.
    pub proxy: Option<Address>,
    /// A file of PEM certificates trusted for this server besides the machine's own.
    pub ca: Option<String>,
    /// Our own certificate, for servers that ask for one.
    pub client_certificate: Option<ClientCertificate>,
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
    pub oauth: Option<OAuth>,
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
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: Secret,
    /// What is asked for; empty: what the server's challenge names.
    pub scope: Option<String>,
}

/// A secret shared with owners of servers, by which they know our probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeIdentity {
    /// Names the secret, so that it can be rotated.
    pub key: String,
    /// The secret.
    pub secret: Secret,
}

/// What probes may cost a server on a day; none: no cap. Beats that no longer fit are not made, and the page says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// Requests a day.
    pub requests_per_day: Option<u64>,
    /// Bytes a day, both directions.
    pub bytes_per_day: Option<u64>,
}

/// How a monitor's search tool is called, and where its answers keep what we judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The tool's name; none: found among the usual names (`search_documents`, `search`, `query`, …).
    pub tool: Option<String>,
    /// The argument that takes the question.
    pub query: String,
    /// Further arguments, each value as JSON text.
    pub arguments: BTreeMap<String, String>,
    /// JSON pointer to the list of results; none: found by shape.
    pub results: Option<String>,
    /// JSON pointers inside one result (`source`, `content`, `score`), and `total` inside the answer.
    pub fields: SearchFields,
    /// Canaries asked in one beat.
    pub per_beat: u32,
}

/// Where a result keeps its parts; an empty one is found among the usual names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchFields {
    /// Pointer to the source's name, relative to one result.
    pub source: Option<String>,
    /// Pointer to the text, relative to one result.
    pub content: Option<String>,
    /// Pointer to the score, relative to one result.
    pub score: Option<String>,
    /// Pointer to the count of all results, relative to the answer.
    pub total: Option<String>,
}

/// A search whose right answer is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Canary {
    /// Identity within the monitor.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// What it isolates.
    pub kind: CanaryKind,
    /// Sources any of which is the right answer; empty for a negative canary.
    pub expect: Vec<String>,
    /// The rank, from 1, within which the source has to be.
    pub within: u32,
    /// For a negative canary: scores up to here are no hit; none: any result is one.
    pub max_score: Option<f64>,
    /// The line of the file on which it stands, from 1.
    pub line: u32,
    /// Changes exactly when something about this canary changes; lowercase hex.
    pub definition_hash: String,
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
}

impl CanaryKind {
    /// Every kind, in the order pages show them.
    pub const ALL: [Self; 4] = [Self::Keyword, Self::Meaning, Self::Mixed, Self::Negative];

    /// The word used in YAML, table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Meaning => "meaning",
            Self::Mixed => "mixed",
            Self::Negative => "negative",
        }
    }
}

/// When each signal of a monitor opens and closes (DESIGN §4).
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Transport, protocol, handshake and tools faults.
    pub availability: StreakRule,
    /// Credentials and certificates.
    pub access: StreakRule,
    /// The share of failed search calls.
    pub errors: ErrorsRule,
    /// P95 of search calls.
    pub latency: LatencyRule,
    /// tools/list against the baseline.
    pub contract: ContractRule,
    /// The server's own word.
    pub health: StreakRule,
    /// Canary answers.
    pub quality: QualityRule,
    /// Age of the newest index; none: not judged.
    pub freshness: Option<FreshnessRule>,
    /// Tokens of tools and answers; none: not judged.
    pub context: Option<ContextRule>,
}

impl Rules {
    /// The defaults of DESIGN §4, as if declared on `line`.
    pub const fn standard(line: u32) -> Self {
        Self {
            availability: StreakRule::standard(Duration::from_secs(45), line),
            access: StreakRule::standard(Duration::ZERO, line),
            errors: ErrorsRule {
                share: 0.05,
                window: Duration::from_secs(30 * 60),
                min_bad: 3,
                severity: Severity::Page,
                line,
            },
            latency: LatencyRule {
                p95: Duration::from_millis(800),
                window: Duration::from_secs(20 * 60),
                window_derived: true,
                sustained: Duration::from_secs(20 * 60),
                min_samples: 20,
                severity: Severity::Ticket,
                line,
            },
            contract: ContractRule {
                breaking: Severity::Page,
                compatible: Severity::Notice,
                wording: Severity::Ticket,
                line,
            },
            health: StreakRule::standard(Duration::ZERO, line),
            quality: QualityRule { within: 5, after: 3, severity: Severity::Page, line },
            freshness: None,
            context: None,
        }
    }
}

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePlace {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The commit, where the file is in git.
    pub commit: Option<String>,
}

/// Opens after so many bad beats in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreakRule {
    /// Bad beats in a row.
    pub after: u32,
    /// Good beats in a row that end it.
    pub recover_after: u32,
    /// Covered time from the first bad beat before anybody is told.
    pub page_after: Duration,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

impl StreakRule {
    const fn standard(page_after: Duration, line: u32) -> Self {
        Self { after: 3, recover_after: 2, page_after, severity: Severity::Page, line }
    }
}

/// Opens when the share of failed calls in a window is too high.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorsRule {
    /// Failed ÷ asked, 0–1.
    pub share: f64,
    /// The window.
    pub window: Duration,
    /// Failed calls there must be at least.
    pub min_bad: u32,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when P95 stays above a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyRule {
    /// The limit on P95.
    pub p95: Duration,
    /// The sliding window P95 is taken over.
    pub window: Duration,
    /// Whether nobody wrote the window, so that its length follows from how often the server is asked.
    pub window_derived: bool,
    /// Covered time above the limit before it opens, and below it before it closes.
    pub sustained: Duration,
    /// Samples that the window has to hold.
    pub min_samples: u32,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// How loud each class of a contract change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractRule {
    /// A declared canary's call no longer fits, or a text turned into an instruction; one step quieter where a change
    /// could break a call and breaks none that is known.
    pub breaking: Severity,
    /// Anything else that is not only text.
    pub compatible: Severity,
    /// Only texts differ.
    pub wording: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when a canary's answer is wrong so many times in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QualityRule {
    /// Default rank for canaries that name none.
    pub within: u32,
    /// The canary's wrong answers in a row.
    pub after: u32,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when the index is older than it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshnessRule {
    /// The greatest age.
    pub older_than: Duration,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when tools or answers take too much of a model's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRule {
    /// Tokens that the list of tools may have; none: any number.
    pub tools_tokens: Option<u32>,
    /// Tokens that one answer may have; none: any number.
    pub answer_tokens: Option<u32>,
    /// How loud.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// A named destination.
#[derive(Debug, Clone, PartialEq)]
pub struct Receiver {
    /// The name routes use.
    pub name: String,
    /// How it is reached.
    pub channel: Channel,
    /// The line of the file on which it stands.
    pub line: u32,
    /// Changes exactly when something about this receiver changes; lowercase hex.
    pub definition_hash: String,
}

/// How a receiver is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Channel {
    /// An HTTP POST after Standard Webhooks.
    Webhook {
        /// Where to.
        url: Address,
        /// Signing secrets, the first one current; each as written (`whsec_…` or plain text). May be empty: unsigned.
        secrets: Vec<Secret>,
    },
    /// A plain-text mail.
    Email {
        /// Recipients, at least one.
        to: Vec<String>,
    },
}

/// The mail server.
#[derive(Debug, Clone, PartialEq)]
pub struct Smtp {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// How the connection is protected.
    pub tls: SmtpTls,
    /// User and password, where the server asks for them.
    pub login: Option<(String, Secret)>,
    /// The sender.
    pub from: String,
    /// A file of PEM certificates trusted besides the machine's own.
    pub ca: Option<String>,
}

/// How a connection to the mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpTls {
    /// STARTTLS, required.
    StartTls,
    /// TLS from the first byte.
    Tls,
    /// None; loopback only, which `config` holds.
    None,
}

/// Where a page tells a human to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runbooks {
    /// Used where a reason has none of its own; `{reason}` stands for the slug.
    pub default: Option<String>,
    /// By reason.
    pub by_reason: BTreeMap<FailureReason, String>,
}

impl Runbooks {
    /// The address for a reason: its own, else the default, else the runbook that Serin serves itself.
    pub fn url(&self, reason: FailureReason, public_url: &str) -> String {
        self.by_reason
            .get(&reason)
            .or(self.default.as_ref())
            .map(|url| url.replace("{reason}", reason.slug()))
            .unwrap_or_else(|| format!("{public_url}/runbooks/{}", reason.slug()))
    }
}

/// A block of addresses in CIDR form, such as `10.20.0.0/16`; `config` has checked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network(pub String);

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

    #[test]
    fn every_reason_has_a_runbook() {
        let own = BTreeMap::from([(FailureReason::Timeout, "https://own/slow".to_owned())]);
        let default = Some("https://books/mcp#{reason}".to_owned());
        let none = Runbooks::default();
        let both = Runbooks { default, by_reason: own };
        let rows = [
            (&both, FailureReason::Timeout, "https://own/slow", "its own comes first"),
            (&both, FailureReason::EmptyResults, "https://books/mcp#empty_results", "the default names the reason"),
            (
                &none,
                FailureReason::EmptyResults,
                "https://serin/runbooks/empty_results",
                "ours where the file has none",
            ),
        ];
        for (runbooks, reason, url, sentence) in rows {
            assert_eq!(runbooks.url(reason, "https://serin"), url, "{sentence}");
        }
    }
}
