//! `discover:`: lists of servers that others keep, and the template by which each becomes a monitor.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::monitors;
use crate::config::check::process::networks;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::discovered::{DISCOVER, SOURCES_MAX};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::discovery::relabel::{Action, Relabel};
use crate::domain::discovery::{From, PLAIN, Source};

/// Characters of a source's id; what names a server needs room behind it.
const ID_CHARS_MAX: usize = 40;
/// Hosts, globs and rules of one source.
const ITEMS_MAX: usize = 100;
const EVERY_DEFAULT: Duration = Duration::from_secs(60);
const EVERY: RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_secs(24 * 3600);
/// Registries ask to be read about hourly ("MCP Registry Aggregators").
const REGISTRY_EVERY_DEFAULT: Duration = Duration::from_secs(3600);
const REGISTRY_EVERY: RangeInclusive<Duration> = Duration::from_secs(5 * 60)..=Duration::from_secs(24 * 3600);
/// Where a list may be.
const PLACES: [&str; 3] = ["http_sd", "file_sd", "registry"];
const GONE_AFTER_DEFAULT: Duration = Duration::from_secs(24 * 3600);
const GONE_AFTER: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 3600);
/// What is said of single servers of one source.
const SINGLE_MAX: usize = 10_000;
/// Keys of a monitor that a list gives, or that stand for one server alone.
const NOT_BESIDES: [&str; 6] = ["url", "name", "command", "args", "env", "replicas_of"];
/// What lets its bearer in somewhere.
const CREDENTIALS: [&str; 2] = ["auth", "client_certificate"];

/// Everything that `discover:` says.
#[derive(Debug, Default)]
pub(in crate::config) struct DiscoverRead<'n, 'a> {
    /// The sources, in order of the file.
    pub sources: Vec<Source>,
    /// The template of each, by its id.
    pub templates: HashMap<String, Fields<'n, 'a>>,
    /// What single monitors have besides, by their ids.
    pub single: BTreeMap<String, Single<'n, 'a>>,
}

/// What a person says of one listed server.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct Single<'n, 'a> {
    /// Everything that stands there.
    pub fields: Fields<'n, 'a>,
    /// The source under which it stands, by its place in the file.
    pub source: usize,
}

/// Reads `discover: { folder, from: […] }`.
pub(in crate::config) fn discover<'n, 'a>(
    checker: &mut Checker<'_>,
    section: Option<&'n MapEntry<'a>>,
) -> DiscoverRead<'n, 'a> {
    let mut found = DiscoverRead::default();
    let Some(section) = section else { return found };
    let Some(fields) = checker.fields("'discover'", &section.value, DISCOVER) else { return found };
    if let Some(entry) = fields.get("folder") {
        checker.text("'folder'", &entry.value);
    }
    let Some(from) = fields.get("from") else {
        let mend = "a list of sources, such as `- { id: prod, file_sd: [targets/*.json] }`";
        checker.missing("'discover'", section.place, "from", mend);
        return found;
    };
    let items = checker.list("'from'", &from.value).unwrap_or_default();
    if let Some(item) = items.get(SOURCES_MAX) {
        let diagnostic = Diagnostic::new(item.place, format!("more than {SOURCES_MAX} sources"));
        checker.report(diagnostic.help("let one list name the servers of several"));
    }
    let mut places: HashMap<String, TextSpan> = HashMap::new();
    for item in items.iter().take(SOURCES_MAX) {
        let what = Checker::named("source", item);
        let Some(fields) = checker.fields(&what, item, "discover.from") else { continue };
        let Some((source, template, single)) = source(checker, &what, (item, fields)) else { continue };
        if let Some(first) = places.insert(source.id.clone(), item.place) {
            let diagnostic = Diagnostic::new(item.place, format!("{what} is declared twice")).note(first, "here too");
            checker.report(diagnostic.help("give each source its own id"));
            continue;
        }
        let alike = |other: &&Source| prefixes(&other.id, &source.id) || prefixes(&source.id, &other.id);
        if let Some(other) = found.sources.iter().find(alike) {
            let message = format!("{what} and {} would give two servers one id", quoted(&other.id));
            let diagnostic = Diagnostic::new(item.place, message).note(places[&other.id], "this one");
            checker
                .report(diagnostic.help("ids of its monitors begin with its own and a dash: write `_` for the dash"));
        }
        for (id, fields) in single {
            found.single.insert(id, Single { fields, source: found.sources.len() });
        }
        found.templates.extend(template.map(|template| (source.id.clone(), template)));
        found.sources.push(source);
    }
    found
}

/// Whether an id of one source's monitors may be one of the other's.
fn prefixes(one: &str, other: &str) -> bool {
    other.strip_prefix(one).is_some_and(|rest| rest.starts_with('-'))
}

fn source<'n, 'a>(
    checker: &mut Checker<'_>,
    what: &str,
    (item, fields): (&'n Node<'a>, Fields<'n, 'a>),
) -> Option<(Source, Option<Fields<'n, 'a>>, HashMap<String, Fields<'n, 'a>>)> {
    let id = match fields.get("id") {
        Some(entry) => {
            let id = checker.text("a source's id", &entry.value);
            let id = id.and_then(|id| checker.id("source", &id, entry.value.place));
            if id.as_ref().is_some_and(|id| id.len() > ID_CHARS_MAX) {
                let diagnostic = Diagnostic::new(entry.value.place, format!("{what} has a long id"));
                let help = format!("at most {ID_CHARS_MAX} characters: ids of its monitors begin with it");
                checker.report(diagnostic.help(help));
            }
            id
        }
        None => {
            checker.missing("a source", item.place, "id", "such as `id: prod`; ids of its monitors begin with it");
            None
        }
    };
    let from = place(checker, what, item, fields);
    let mut duration = |key: &str, range| {
        let entry = fields.get(key)?;
        checker.duration(format_args!("'{key}' of {what}"), &entry.value, range)
    };
    let (every_default, range) = match from {
        Some(From::Registry { .. }) => (REGISTRY_EVERY_DEFAULT, REGISTRY_EVERY),
        _ => (EVERY_DEFAULT, EVERY),
    };
    let every = duration("every", range).unwrap_or(every_default);
    let gone_after = duration("gone_after", GONE_AFTER).unwrap_or(GONE_AFTER_DEFAULT);
    let hosts = fields.get("hosts").map(|entry| hosts(checker, entry)).unwrap_or_default();
    let allow_private = fields.get("allow_private").map(|entry| networks(checker, &entry.value)).unwrap_or_default();
    let relabel = fields.get("relabel").map(|entry| relabel(checker, entry)).unwrap_or_default();
    if matches!(from, Some(From::Registry { .. })) && hosts.is_empty() {
        let diagnostic = Diagnostic::new(
            item.place,
            format!("{what} would have every server of the registry probed, strangers' too"),
        );
        checker.report(
            diagnostic
                .help("add `hosts`, such as `hosts: [\"*.example.org\"]`, or `[\"*\"]` for a registry of your own"),
        );
    }
    let template = fields.get("monitor").and_then(|entry| template(checker, what, entry, hosts.is_empty()));
    let single = fields.get("monitors").map(|entry| single(checker, (what, id.as_deref()), entry, hosts.is_empty()));
    let single = single.unwrap_or_default();
    let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
    let has_one = |fields: &Fields<'_, '_>| CREDENTIALS.iter().any(|key| fields.get(key).is_some());
    let has_credential = template.iter().chain(single.values()).any(has_one);
    let line = item.place.line;
    let template_known_later = String::new();
    let source = Source {
        id: id?,
        from: from?,
        every,
        hosts,
        has_credential,
        allow_private,
        relabel,
        template: template_known_later,
        gone_after,
        line,
    };
    Some((source, template, single))
}

/// Where the list is.
fn place(checker: &mut Checker<'_>, what: &str, item: &Node<'_>, fields: Fields<'_, '_>) -> Option<From> {
    let mut written = PLACES.into_iter().filter_map(|key| fields.get(key));
    let Some(place) = written.next() else {
        let mend = "where its list is: `http_sd: { url: … }`, `file_sd: [ … ]` or `registry: { url: … }`";
        checker.missing(what, item.place, "http_sd", mend);
        return None;
    };
    if let Some(second) = written.next() {
        let diagnostic = Diagnostic::new(second.place, format!("{what} has two lists"));
        checker.report(diagnostic.help("make two sources of it"));
        return None;
    }
    if place.key == "file_sd" {
        let globs = texts(checker, "'file_sd'", place);
        return (!globs.is_empty()).then_some(From::FileSd(globs));
    }
    let of = quoted(&place.key);
    let at = format!("discover.from.{}", place.key);
    let inner = checker.fields(format_args!("{of} of {what}"), &place.value, &at)?;
    let Some(url) = inner.get("url") else {
        checker.missing(&of, place.place, "url", "such as `url: https://lists.example.org/`");
        return None;
    };
    let url = checker.address("the address of a list", &url.value)?;
    let bearer = inner.get("bearer").map(|entry| checker.secret(format_args!("'bearer' of {of}"), &entry.value));
    let bearer = bearer.flatten();
    if place.key == "http_sd" {
        return Some(From::HttpSd { url, bearer });
    }
    let search = inner.get("search").and_then(|entry| checker.text("'search'", &entry.value));
    Some(From::Registry { url, bearer, search })
}

fn relabel(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Vec<Relabel> {
    let items = checker.list("'relabel'", &entry.value).unwrap_or_default();
    too_many(checker, entry, items.len());
    items.iter().take(ITEMS_MAX).filter_map(|item| rule(checker, item)).collect()
}

fn rule(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<Relabel> {
    let fields = checker.fields("a rule of 'relabel'", node, "discover.from.relabel")?;
    let words = &[("keep", 0), ("drop", 1), ("replace", 2)];
    let action = fields.get("action").map(|entry| checker.choice("'action'", &entry.value, words));
    let source_labels = fields.get("source_labels").map(|entry| texts(checker, "'source_labels'", entry));
    let mut text = |key: &str| fields.get(key).and_then(|entry| checker.literal(format_args!("'{key}'"), &entry.value));
    let (separator, target_label, replacement) = (text("separator"), text("target_label"), text("replacement"));
    let pattern = text("regex").unwrap_or_else(|| "(.*)".to_owned());
    let regex = match Relabel::whole(&pattern) {
        Ok(regex) => regex,
        Err(why) => {
            let place = fields.get("regex").map_or(node.place, |entry| entry.value.place);
            let why = why.lines().last().unwrap_or_default().to_owned();
            let diagnostic = Diagnostic::new(place, format!("{} is no pattern: {why}", quoted(&pattern)));
            checker
                .report(diagnostic.help("the syntax is that of the Rust crate regex, and it has to match the whole"));
            return None;
        }
    };
    let action = match action.unwrap_or(Some(2))? {
        0 => Action::Keep,
        1 => Action::Drop,
        _ => {
            let Some(target_label) = target_label else {
                checker.missing("a rule that replaces", node.place, "target_label", "the label that it sets");
                return None;
            };
            Action::Replace { target_label, replacement: replacement.unwrap_or_else(|| "$1".to_owned()) }
        }
    };
    let separator = separator.unwrap_or_else(|| ";".to_owned());
    Some(Relabel { action, source_labels: source_labels.unwrap_or_default(), separator, regex })
}

/// What each of its monitors has. A credential goes to nobody but the hosts that the file names.
fn template<'n, 'a>(
    checker: &mut Checker<'_>,
    what: &str,
    entry: &'n MapEntry<'a>,
    is_any_host: bool,
) -> Option<Fields<'n, 'a>> {
    // Its keys are those of a monitor, which are known already.
    checker.ask(entry.value.place, || ValueShape::Any);
    let asked = checker.asked.take();
    let fields = checker.fields(format_args!("'monitor' of {what}"), &entry.value, "monitors");
    checker.asked = asked;
    let fields = fields?;
    not_for_all(checker, fields, "id");
    of_the_list(checker, fields, is_any_host);
    Some(fields)
}

/// What single servers have besides, by the ids of their monitors.
fn single<'n, 'a>(
    checker: &mut Checker<'_>,
    (what, source): (&str, Option<&str>),
    entry: &'n MapEntry<'a>,
    is_any_host: bool,
) -> HashMap<String, Fields<'n, 'a>> {
    checker.ask(entry.value.place, || ValueShape::Any);
    let asked = checker.asked.take();
    let items = checker.list(format_args!("'monitors' of {what}"), &entry.value).unwrap_or_default();
    if let Some(item) = items.get(SINGLE_MAX) {
        checker.report(
            Diagnostic::new(item.place, format!("more than {SINGLE_MAX} single ones")).help("say it in `monitor`"),
        );
    }
    let (mut found, mut places) = (HashMap::new(), HashMap::new());
    for item in items.iter().take(SINGLE_MAX) {
        let Some(fields) = checker.fields(Checker::named("monitor", item).as_str(), item, "monitors") else { continue };
        of_the_list(checker, fields, is_any_host);
        let Some(id) = monitors::identity(checker, fields, &mut places) else { continue };
        let prefix = source.map(|source| format!("{source}-")).unwrap_or_default();
        if !id.starts_with(&prefix) {
            let message = format!("{what} never lists a monitor {}", quoted(&id));
            let help = format!("ids of its monitors begin with {}", quoted(&prefix));
            checker.report(Diagnostic::new(item.place, message).help(help));
        }
        found.insert(id, fields);
    }
    checker.asked = asked;
    found
}

/// Refuses what the list says of each server, and credentials where it may name any.
fn of_the_list(checker: &mut Checker<'_>, fields: Fields<'_, '_>, is_any_host: bool) {
    for key in NOT_BESIDES {
        not_for_all(checker, fields, key);
    }
    for key in CREDENTIALS.into_iter().filter_map(|key| fields.get(key)).filter(|_| is_any_host) {
        let message = format!("{} goes to whatever server the list names", quoted(&key.key));
        let mend = "add `hosts` to the source, such as `hosts: [\"*.example.org\"]`";
        checker.report(Diagnostic::new(key.place, message).help(mend));
    }
}

fn not_for_all(checker: &mut Checker<'_>, fields: Fields<'_, '_>, key: &str) {
    let Some(entry) = fields.get(key) else { return };
    let diagnostic = Diagnostic::new(entry.place, format!("{} is what the list says of each server", quoted(key)));
    checker.report(diagnostic.help("leave it out; `relabel` sets `__id__`, `__name__`, `__address__` and `__path__`"));
}

/// Hosts that a listed server may have. One that no host can fit would leave every server out, in silence.
fn hosts(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Vec<String> {
    let hosts = texts(checker, "'hosts'", entry);
    for host in &hosts {
        let bare = host.strip_prefix(PLAIN).unwrap_or(host);
        let is_ipv6 = bare.starts_with('[') && bare.ends_with(']');
        let may_stand = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '*' | '?') || (is_ipv6 && "[]:".contains(c))
        };
        if bare.is_empty() || !bare.chars().all(may_stand) {
            let diagnostic = Diagnostic::new(entry.value.place, format!("{} is no host", quoted(host)));
            let help = "a name or an address without port and path, such as `docs.example.org`, `*.example.org` or `10.20.*`; other letters as `xn--…`";
            checker.report(diagnostic.help(help));
        }
    }
    hosts
}

fn texts(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Vec<String> {
    let items = checker.list(what, &entry.value).unwrap_or_default();
    too_many(checker, entry, items.len());
    if items.is_empty() {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} names nothing"));
        checker.report(diagnostic.help("leave it out, or name something"));
    }
    items.iter().take(ITEMS_MAX).filter_map(|item| checker.text(format_args!("an item of {what}"), item)).collect()
}

fn too_many(checker: &mut Checker<'_>, entry: &MapEntry<'_>, count: usize) {
    if count > ITEMS_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("{} has {count} items", quoted(&entry.key)));
        checker.report(diagnostic.help(format!("at most {ITEMS_MAX}")));
    }
}
