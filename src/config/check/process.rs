//! `serin:`, what the process itself needs.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use ipnet::IpNet;
use lettre::message::Mailbox;
use url::Url;

use crate::config::check::addresses::is_loopback;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::control;
use crate::config::check::heartbeat;
use crate::config::check::logging::{self, Log};
use crate::config::check::oidc;
use crate::config::check::retention::retention;
use crate::config::check::users::{self, UsersRead};
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::database_address::DatabaseAddress;
use crate::domain::fleet::{Control, Heartbeat, Retention};
use crate::domain::monitor::ProbeIdentity;
use crate::domain::network::Network;
use crate::domain::receiver::{Smtp, SmtpTls};
use crate::domain::secret::Secret;
use crate::domain::sign_in::SignIn;

/// The part of `serin:` that is read once, at start.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessSettings {
    /// Where the pages are served.
    pub listen: SocketAddr,
    /// Peers that speak for many people, so that no cap on one peer's connections holds for them.
    pub trusted_proxies: Vec<IpNet>,
    /// Where the database is; none where a reference in its address is not set.
    pub database: Option<DatabaseAddress>,
    /// The token for the API and for signing in; demanded where `listen` is no loopback address.
    pub token: Option<Secret>,
    /// What is logged; this part may change while the process lives.
    pub log: Log,
    /// Whether a file is refused in which a page reaches nobody.
    pub refuses_unrouted: bool,
}

/// Pages are served here where the file says nothing: for this machine only.
pub(crate) const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
const DATABASE_DEFAULT: &str = "serin.db";
/// A token below this can be guessed: there is no limit to how often a right one may be tried.
const TOKEN_CHARS_MIN: usize = 16;
/// A signing secret below this can be guessed.
const IDENTITY_SECRET_MIN: usize = 16;
/// What `unrouted` may say, and whether the file is refused then.
const UNROUTED: [(&str, bool); 2] = [("warn", false), ("error", true)];
/// Networks and names in one list; more is a mistake.
const LIST_ITEMS_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::config) struct ProcessSection {
    /// What is read once, at start.
    pub settings: ProcessSettings,
    /// Address people reach the pages under, without a trailing slash.
    pub public_url: String,
    /// Whether the file names it, so that links in messages lead people somewhere.
    pub is_public: bool,
    pub smtp: Option<Smtp>,
    /// Receivers of Serin's own trouble; not looked up yet.
    pub internal: Vec<(String, TextSpan)>,
    /// Networks that receivers may be reached in.
    pub allow_private: Vec<Network>,
    /// Addresses by which Serin knows its own uplink.
    pub control: Vec<Control>,
    /// How long what is remembered is kept.
    /// Which share of the fleet goes down by one cause, in 0–1, where the file says so.
    pub common_cause: Option<f64>,
    pub retention: Retention,
    /// By what owners of servers know our probes.
    pub identity: Option<Arc<ProbeIdentity>>,
    /// The sign of life that somebody outside waits for.
    pub heartbeat: Option<Heartbeat>,
    /// Who signs in by name.
    pub sign_in: SignIn,
}

impl ProcessSection {
    /// Whether others than those on this machine come, and nobody signs in.
    pub(in crate::config) fn is_open_to_all(&self) -> bool {
        let host = url::Url::parse(&self.public_url).ok();
        let is_here = host.as_ref().and_then(url::Url::host).is_none_or(|host| match host {
            url::Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        });
        self.settings.token.is_none() && !self.sign_in.is_declared() && self.is_public && !is_here
    }
}

/// Reads `serin:`, and the file of users that was found by it. Paths in it start where the file lies.
pub(in crate::config) fn process(
    checker: &mut Checker<'_>,
    node: Option<&Node<'_>>,
    users_read: Option<UsersRead<'_, '_>>,
) -> ProcessSection {
    let folder = checker.folder(node.map(|node| node.place).unwrap_or_default()).to_owned();
    let folder = folder.as_path();
    let fields = node.and_then(|node| checker.fields("serin", node, "serin"));
    let get = |key| fields.and_then(|fields| fields.get(key));
    let token = get("token").and_then(|entry| checker.secret("the token", &entry.value));
    let listen = get("listen").and_then(|entry| listen(checker, &entry.value)).unwrap_or(LISTEN_DEFAULT);
    let nobody_signs_in = ["token", "users", "oidc"].into_iter().all(|key| get(key).is_none());
    if let Some(entry) = get("listen").filter(|_| !listen.ip().is_loopback() && nobody_signs_in) {
        let message = "pages and API would be open to the network, since nobody has to sign in";
        let mend = "add `token: ${env:SERIN_TOKEN}`, `users` or `oidc` beside it, or listen on 127.0.0.1";
        checker.report(Diagnostic::new(entry.value.place, message).help(mend));
    }
    if let Some((token, entry)) = token.as_ref().zip(get("token"))
        && !listen.ip().is_loopback()
    {
        no_short_token(checker, token, entry.value.place);
    }
    let database = match get("database") {
        None => Some(DatabaseAddress::File(DATABASE_DEFAULT.into())),
        Some(entry) => database(checker, &entry.value),
    };
    let database = database.map(|address| address.within(folder));
    let trusted_proxies = get("trusted_proxies").map(|entry| proxies(checker, &entry.value)).unwrap_or_default();
    let log = get("log").map(|entry| logging::log(checker, entry)).unwrap_or_default();
    let refuses_unrouted = get("unrouted").and_then(|entry| checker.choice("'unrouted'", &entry.value, &UNROUTED));
    let refuses_unrouted = refuses_unrouted.unwrap_or(false);
    let is_public = get("public_url").is_some();
    let users = get("users").map(|entry| users::users(checker, entry, users_read));
    let sign_in = SignIn {
        users: users.map(|users| users.into_iter().map(Arc::new).collect()),
        provider: get("oidc").and_then(|entry| oidc::oidc(checker, entry, is_public)).map(Arc::new),
    };
    ProcessSection {
        settings: ProcessSettings { listen, trusted_proxies, database, token, log, refuses_unrouted },
        is_public,
        sign_in,
        public_url: public_url(checker, get("public_url"), get("listen"), listen),
        smtp: get("smtp").and_then(|entry| smtp(checker, entry, folder)),
        internal: get("internal").map(|entry| names(checker, "internal", &entry.value)).unwrap_or_default(),
        allow_private: get("allow_private").map(|entry| networks(checker, &entry.value)).unwrap_or_default(),
        control: get("control").map(|entry| control::control(checker, &entry.value)).unwrap_or_default(),
        common_cause: get("common_cause").and_then(|entry| checker.share("'common_cause'", &entry.value)),
        retention: get("retention").map(|entry| retention(checker, &entry.value)).unwrap_or_default(),
        identity: get("probe_identity").and_then(|entry| identity(checker, entry)).map(Arc::new),
        heartbeat: get("heartbeat").and_then(|entry| heartbeat::heartbeat(checker, entry)),
    }
}

fn no_short_token(checker: &mut Checker<'_>, token: &Secret, place: TextSpan) {
    let text = token.expose();
    if text.chars().count() < TOKEN_CHARS_MIN && text != "unset" {
        let message = format!(
            "the token is shorter than {TOKEN_CHARS_MIN} characters, and others than this machine may try to guess it"
        );
        checker.report(
            Diagnostic::new(place, message).help("make one with `openssl rand -base64 32`, or listen on 127.0.0.1"),
        );
    }
}

/// A key id and the secret it names.
fn identity(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<ProbeIdentity> {
    let fields = checker.fields("'probe_identity'", &entry.value, "serin.probe_identity")?;
    let (Some(key), Some(secret)) = (fields.get("key"), fields.get("secret")) else {
        let missing = if fields.get("key").is_some() { "secret" } else { "key" };
        let mend = "such as `{ key: ops-1, secret: \"${env:SERIN_PROBE_SECRET}\" }`";
        checker.missing("'probe_identity'", entry.place, missing, mend);
        return None;
    };
    let text = checker.text("the key of 'probe_identity'", &key.value)?;
    let name = checker.id("key", &text, key.value.place)?;
    let held = checker.secret("the secret of 'probe_identity'", &secret.value)?;
    if held.expose().len() < IDENTITY_SECRET_MIN && held.expose() != "unset" {
        let message = format!("the secret of 'probe_identity' is shorter than {IDENTITY_SECRET_MIN} bytes");
        checker.report(Diagnostic::new(secret.value.place, message).help("make one with `openssl rand -base64 32`"));
        return None;
    }
    Some(ProbeIdentity { key: name, secret: held })
}

/// Names of receivers with their places; each one once.
pub(in crate::config) fn names(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Vec<(String, TextSpan)> {
    let mut found: Vec<(String, TextSpan)> = Vec::new();
    let items = checker.list(format_args!("'{what}'"), node).unwrap_or_default();
    if items.len() > LIST_ITEMS_MAX {
        let message = format!("'{what}' names more than {LIST_ITEMS_MAX} receivers");
        checker.report(Diagnostic::new(node.place, message).help("let one receiver fan out"));
    }
    for item in items.iter().take(LIST_ITEMS_MAX) {
        let Some(name) = checker.text("a receiver's name", item) else { continue };
        match found.iter().find(|(known, _)| *known == name) {
            Some((_, first)) => {
                let diagnostic = Diagnostic::new(item.place, format!("receiver {} is named twice", quoted(&name)));
                checker.report(diagnostic.note(*first, "first named here").help("keep one of the two"));
            }
            None => found.push((name, item.place)),
        }
    }
    found
}

fn database(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<DatabaseAddress> {
    let what = "the database";
    let (written, _) = checker.scalar(what, node)?;
    checker.no_password(what, node.place, written)?;
    let text = checker.setting(what, node)?;
    match DatabaseAddress::parse(&text) {
        Ok(address) => Some(address),
        Err(why) => {
            let mend = "write a path, or `postgres://USER:${env:PASSWORD}@HOST:5432/DATABASE`";
            checker.report(Diagnostic::new(node.place, format!("the database's address is none: {why}")).help(mend));
            None
        }
    }
}

fn listen(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<SocketAddr> {
    let text = checker.setting("the listening address", node)?;
    let address = text.parse().ok();
    if address.is_none() {
        let diagnostic = Diagnostic::new(node.place, "'listen' takes an address and a port");
        checker.report(diagnostic.help("such as `127.0.0.1:8080`, or `\"[::1]:8080\"`; names are not looked up"));
    }
    address
}

fn public_url(
    checker: &mut Checker<'_>,
    written: Option<&MapEntry<'_>>,
    listening: Option<&MapEntry<'_>>,
    listen: SocketAddr,
) -> String {
    let own = format!("http://{listen}");
    let Some(entry) = written else {
        if let Some(place) = listening.map(|entry| entry.value.place).filter(|_| listen.ip().is_unspecified()) {
            let diagnostic =
                Diagnostic::warning(place, format!("links in messages will start with {own}, which leads nowhere"));
            checker.report(diagnostic.help("add `public_url: https://…`, the address people use"));
        }
        return own;
    };
    let Some(link) = checker.link("'public_url'", &entry.value) else { return own };
    let bare = Url::parse(&link).is_ok_and(|url| {
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
    });
    if !bare {
        let diagnostic = Diagnostic::new(
            entry.value.place,
            "'public_url' is what links start with, and this has a user, `?` or `#`",
        );
        checker.report(diagnostic.help("such as `https://serin.example.org`"));
    }
    link.trim_end_matches('/').to_owned()
}

fn smtp(checker: &mut Checker<'_>, entry: &MapEntry<'_>, folder: &Path) -> Option<Smtp> {
    const TLS: &[(&str, SmtpTls)] = &[("starttls", SmtpTls::StartTls), ("tls", SmtpTls::Tls), ("none", SmtpTls::None)];
    let fields = checker.fields("smtp", &entry.value, "serin.smtp")?;
    let host = match fields.get("host") {
        Some(host) => checker.setting("the mail server's host", &host.value),
        None => {
            checker.missing("smtp", entry.place, "host", "such as `host: smtp.example.org`");
            None
        }
    };
    let tls = fields.get("tls").and_then(|tls| checker.choice("'tls'", &tls.value, TLS)).unwrap_or(SmtpTls::StartTls);
    if let (SmtpTls::None, Some(host), Some(written)) = (tls, &host, fields.get("tls"))
        && !is_loopback(host)
    {
        let diagnostic = Diagnostic::new(written.value.place, "mail without TLS may only go to this machine");
        checker.report(diagnostic.help("use `starttls` or `tls`, or a host such as 127.0.0.1"));
    }
    let port_default = match tls {
        SmtpTls::StartTls => 587,
        SmtpTls::Tls => 465,
        SmtpTls::None => 25,
    };
    let port = fields.get("port").and_then(|port| checker.whole("'port'", &port.value, 1..=65_535));
    let ca = fields.get("ca").and_then(|ca| checker.setting("the path of 'ca'", &ca.value));
    let login = login(checker, fields);
    let from = sender(checker, fields, entry.place);
    Some(Smtp {
        host: host.unwrap_or_else(|| "unset.invalid".to_owned()),
        port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(port_default),
        tls,
        login,
        from: from.unwrap_or_else(|| "serin@unset.invalid".to_owned()),
        ca: ca.map(|ca| folder.join(ca).to_string_lossy().into_owned()),
    })
}

fn login(checker: &mut Checker<'_>, fields: Fields<'_, '_>) -> Option<(String, Secret)> {
    let (username, password) = (fields.get("username"), fields.get("password"));
    if let (Some(one), None) | (None, Some(one)) = (username, password) {
        let other = if username.is_some() { "password" } else { "username" };
        let diagnostic = Diagnostic::new(one.place, format!("'{}' of smtp stands without '{other}'", one.key));
        checker.report(diagnostic.help(format!("add '{other}', or leave both out")));
    }
    let username = username.and_then(|entry| checker.setting("the mail server's user", &entry.value));
    let password = password.and_then(|entry| checker.secret("the mail server's password", &entry.value));
    username.zip(password)
}

fn sender(checker: &mut Checker<'_>, fields: Fields<'_, '_>, place: TextSpan) -> Option<String> {
    let Some(entry) = fields.get("from") else {
        checker.missing("smtp", place, "from", "such as `from: serin@example.org`");
        return None;
    };
    mailbox(checker, "the sender", &entry.value)
}

/// A text that is a mail address, checked by what sends the mail.
pub(in crate::config) fn mailbox(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Option<String> {
    let text = checker.setting(what, node)?;
    if text.parse::<Mailbox>().is_err() {
        checker.report(
            Diagnostic::new(node.place, format!("{what} is no mail address")).help("such as `sre@example.org`"),
        );
        return None;
    }
    Some(text)
}

pub(in crate::config) fn networks(checker: &mut Checker<'_>, node: &Node<'_>) -> Vec<Network> {
    let items = checker.list("'allow_private'", node).unwrap_or_default();
    let mut found = Vec::new();
    for item in items.iter().take(LIST_ITEMS_MAX) {
        let Some(resolved) = checker.resolved("a network", item) else { continue };
        let Some(text) = resolved.value else { continue };
        let mend = match (text.parse::<IpNet>(), text.parse::<IpAddr>()) {
            (Ok(network), _) if network.addr() == network.network() => {
                found.push(Network(network.to_string()));
                continue;
            }
            (Ok(network), _) if text == resolved.written => format!("the network is `{}`", network.trunc()),
            (_, Ok(address)) if text == resolved.written => format!("for one address write `{}`", IpNet::from(address)),
            _ => "such as `10.20.0.0/16`".to_owned(),
        };
        checker.report(Diagnostic::new(item.place, format!("{} is no network", quoted(&resolved.written))).help(mend));
    }
    if items.len() > LIST_ITEMS_MAX {
        let message = format!("'allow_private' names more than {LIST_ITEMS_MAX} networks");
        checker.report(Diagnostic::new(node.place, message).help("name larger networks"));
    }
    found
}

/// Addresses and networks of proxies before the pages.
fn proxies(checker: &mut Checker<'_>, node: &Node<'_>) -> Vec<IpNet> {
    let items = checker.list("'trusted_proxies'", node).unwrap_or_default();
    if items.len() > LIST_ITEMS_MAX {
        let message = format!("'trusted_proxies' names more than {LIST_ITEMS_MAX} proxies");
        checker.report(Diagnostic::new(node.place, message).help("name larger networks"));
    }
    let mut found = Vec::new();
    for item in items.iter().take(LIST_ITEMS_MAX) {
        let Some(resolved) = checker.resolved("a proxy's address", item) else { continue };
        let Some(text) = resolved.value else { continue };
        let network = text.parse::<IpAddr>().map(IpNet::from).or_else(|_| text.parse::<IpNet>());
        let mend = match network {
            Ok(network) if network.prefix_len() == 0 => "the proxies' own addresses: this is everybody's".to_owned(),
            Ok(network) if network.addr() == network.network() => {
                found.push(network);
                continue;
            }
            Ok(network) if text == resolved.written => format!("the network is `{}`", network.trunc()),
            _ => "such as `127.0.0.1` or `10.20.0.0/24`; names are not looked up".to_owned(),
        };
        let message = format!("{} is no address or network of proxies", quoted(&resolved.written));
        checker.report(Diagnostic::new(item.place, message).help(mend));
    }
    found
}
