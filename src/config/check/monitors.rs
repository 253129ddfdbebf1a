//! `defaults:` and `monitors:`: where, how often, what is asked and by which rules it is judged.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::config::check::auth;
use crate::config::check::canaries::{self, CanaryDefaults};
use crate::config::check::caps;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::definition;
use crate::config::check::depends_on::{self, Parents};
use crate::config::check::layers::Layers;
use crate::config::check::network_path;
use crate::config::check::reach;
use crate::config::check::replicas;
use crate::config::check::routes::labels;
use crate::config::check::rules::{EVERY, RuleBasis, RuleFields, rules};
use crate::config::check::runbooks;
use crate::config::check::search;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::monitor::{Likeness, Monitor, MonitorId, Original};
use crate::domain::runbooks::RunbooksByReason;
use crate::domain::search::Fresh;
use crate::domain::secret::Address;
use crate::domain::wording::as_written;

/// What one Serin is built for (DESIGN §10).
pub(super) const MONITORS_MAX: usize = 50_000;
/// Canaries of a whole fleet; an alias could otherwise multiply one list by every monitor.
pub(super) const FLEET_CANARIES_MAX: usize = 1_000_000;
/// Each one is a request in every beat.
const HEALTH_MAX: usize = 8;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// A whole beat, where nothing is written: this, or ¾ of `every` where that is less.
const BUDGET_DEFAULT: Duration = Duration::from_secs(45);
const CALL_MIN: Duration = Duration::from_millis(50);
const CALL_MAX: Duration = Duration::from_secs(600);

/// What `defaults:` says, for every monitor to look into.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct Defaults<'n, 'a> {
    fields: Option<Fields<'n, 'a>>,
    search: Option<Fields<'n, 'a>>,
    caps: Option<Fields<'n, 'a>>,
    rules: RuleFields<'n, 'a>,
}

#[derive(Debug, Default)]
pub(in crate::config) struct MonitorsRead {
    /// In the order of the files.
    pub list: Vec<Arc<Monitor>>,
    /// Every id in the files, also of a monitor that is faulty.
    pub places: HashMap<String, TextSpan>,
    /// The runbooks of those that declare some.
    pub runbooks: BTreeMap<MonitorId, RunbooksByReason>,
}

/// Looks at the keys of `defaults:`; what they say is read for each monitor that takes it from there.
pub(in crate::config) fn defaults<'n, 'a>(checker: &mut Checker<'_>, node: Option<&'n Node<'a>>) -> Defaults<'n, 'a> {
    let Some(fields) = node.and_then(|node| checker.fields("'defaults'", node, "defaults")) else {
        return Defaults::default();
    };
    let search = fields.get("search");
    let search = search.and_then(|entry| checker.fields("'search' of 'defaults'", &entry.value, "monitors.search"));
    let caps = fields.get("caps");
    let caps = caps.and_then(|entry| checker.fields("'caps' of 'defaults'", &entry.value, "monitors.caps"));
    if search.is_some() {
        // Looked at here too: where every monitor has its own, nobody else would.
        search::answers(checker, Layers::new(search, None));
    }
    let rules = RuleFields::read(checker, "'defaults'", fields.get("rules").map(|entry| &*entry.value));
    Defaults { fields: Some(fields), search, caps, rules }
}

/// Reads the `monitors:` of all files that people write. `others` says whether more come from elsewhere.
pub(in crate::config) fn monitors(
    checker: &mut Checker<'_>,
    sections: &[&MapEntry<'_>],
    defaults: &Defaults<'_, '_>,
    others: bool,
) -> MonitorsRead {
    let mut found = MonitorsRead::default();
    let errors = checker.found.errors();
    let items: Vec<_> =
        sections.iter().filter_map(|entry| checker.list("'monitors'", &entry.value)).flatten().collect();
    let is_empty = items.is_empty() && !others && checker.found.errors() == errors;
    if let Some(entry) = sections.first().filter(|_| is_empty) {
        let diagnostic = Diagnostic::new(entry.value.place, "no monitor is declared");
        checker.report(diagnostic.help("add one: `- { id: docs, url: https://docs.example.org/mcp }`"));
    }
    if let Some(item) = items.get(MONITORS_MAX) {
        let diagnostic = Diagnostic::new(item.place, format!("more than {MONITORS_MAX} monitors"));
        checker.report(diagnostic.help("split the fleet over several Serins"));
    }
    let mut canaries_left = FLEET_CANARIES_MAX;
    let (mut replicas, mut depends) = (HashMap::new(), HashMap::new());
    for item in items.iter().take(MONITORS_MAX) {
        let Some(fields) = checker.fields(&Checker::named("monitor", item), item, "monitors") else { continue };
        let id = identity(checker, fields, &mut found.places);
        let what = Checker::named("monitor", item);
        let Some(left) =
            canaries_left.checked_sub(canaries::count(checker, fields.get("canaries").map(|entry| &*entry.value)))
        else {
            let diagnostic =
                Diagnostic::new(item.place, format!("the fleet has more than {FLEET_CANARIES_MAX} canaries"));
            checker.report(diagnostic.help("24 canaries a monitor are a good set"));
            break;
        };
        canaries_left = left;
        let parents = fields.get("depends_on").map(|entry| depends_on::parents(checker, &what, entry));
        let parents = parents.unwrap_or_default();
        if let Some(monitor) = monitor(checker, &what, id, (fields, &parents), defaults) {
            if !parents.is_empty() {
                depends.insert(monitor.id.clone(), parents);
            }
            let named = fields.get("replicas_of").filter(|_| monitor.original().is_some());
            replicas.extend(named.map(|entry| (monitor.id.clone(), entry.value.place)));
            let own = fields.get("runbooks").map(|entry| runbooks::of_monitor(checker, &what, entry));
            found.runbooks.extend(own.map(|own| (monitor.id.clone(), own)));
            found.list.push(Arc::new(monitor));
        }
    }
    replicas::replicas(checker, &mut found.list, &found.places, &replicas);
    depends_on::depends_on(checker, &found.list, &found.places, &depends);
    found
}

/// The monitor's id, unless it is missing, ill-shaped or taken.
pub(super) fn identity(
    checker: &mut Checker<'_>,
    fields: Fields<'_, '_>,
    places: &mut HashMap<String, TextSpan>,
) -> Option<String> {
    let Some(entry) = fields.get("id") else {
        checker.missing("a monitor", fields.place, "id", "such as `id: docs`; history follows it");
        return None;
    };
    let id = checker.text("a monitor's id", &entry.value)?;
    let id = checker.id("monitor", &id, entry.value.place)?;
    if let Some(first) = places.get(&id) {
        let diagnostic = Diagnostic::new(entry.value.place, format!("monitor '{id}' is declared twice"));
        checker.report(diagnostic.note(*first, "first declared here").help("give each monitor its own id"));
    } else {
        places.insert(id.clone(), entry.value.place);
    }
    Some(id)
}

pub(super) fn monitor(
    checker: &mut Checker<'_>,
    what: &str,
    id: Option<String>,
    (fields, parents): (Fields<'_, '_>, &Parents),
    defaults: &Defaults<'_, '_>,
) -> Option<Monitor> {
    let reached = reach::reach(checker, what, fields, Layers::new(Some(fields), defaults.fields));
    let url = reached.as_ref().map(|(url, _)| url);
    let name = fields.get("name").and_then(|entry| checker.text(format_args!("the name of {what}"), &entry.value));
    let labels = fields.all("labels").flat_map(|entry| labels(checker, what, &entry.value)).collect();
    let auth = fields.get("auth").map(|entry| auth::auth(checker, what, &entry.value, url)).unwrap_or_default();
    let health = fields.get("health").map(|entry| health(checker, what, entry)).unwrap_or_default();
    let pace = pace(checker, Layers::new(Some(fields), defaults.fields));

    let canary_node = fields.get("canaries").map(|entry| &*entry.value);
    let canaries = canaries::count(checker, canary_node);
    let own_search = fields.get("search");
    let own_search = own_search
        .and_then(|entry| checker.fields(format_args!("'search' of {what}"), &entry.value, "monitors.search"));
    let read = search::search(checker, what, Layers::new(own_search, defaults.search), canaries);
    let own_caps = fields.get("caps");
    let own_caps =
        own_caps.and_then(|entry| checker.fields(format_args!("'caps' of {what}"), &entry.value, "monitors.caps"));
    let cap_layers = Layers::new(own_caps, defaults.caps);
    let own_rules = RuleFields::read(checker, what, fields.get("rules").map(|entry| &*entry.value));
    let basis = RuleBasis {
        every: pace.every,
        timeout: pace.timeout,
        per_beat: read.search.per_beat,
        passes_caches: canaries > 0 && read.search.fresh != Fresh::Off,
        canaries,
        health: health.len(),
        results_asked: read.results_asked,
        place: fields.place,
    };
    let rules = rules(checker, &own_rules, &defaults.rules, basis);
    let canary_defaults = CanaryDefaults { within: rules.quality.within, results_asked: read.results_asked };
    let (canaries, near_misses) = canaries::canaries(checker, what, canary_node, canary_defaults);
    let likeness = fields.get("replicas_of").map(|entry| likeness(checker, what, entry)).unwrap_or_default();
    let id = id?;
    let (url, mut reach) = reached?;
    network_path::network_path(checker, what, Layers::new(Some(fields), defaults.fields), &mut reach);
    let mut monitor = Monitor {
        name: name.unwrap_or_else(|| id.clone()),
        id: MonitorId::new(&id),
        url,
        labels,
        reach,
        auth,
        caps: caps::caps(checker, cap_layers),
        identity: None,
        discovered: None,
        health,
        search: read.search,
        canaries,
        near_misses,
        every: pace.every,
        timeout: pace.timeout,
        probe_budget: pace.probe_budget,
        rules,
        likeness,
        depends_on: parents.iter().map(|(parent, _)| parent.clone()).collect(),
        pinned: None,
        line: fields.place.line,
        definition_hash: String::new(),
    };
    caps::weigh(checker, &monitor, cap_layers);
    monitor.definition_hash = definition::of_monitor(&monitor).hash();
    Some(monitor)
}

/// Which monitor it is a replica of; what both ask is known once all monitors are.
fn likeness(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Likeness {
    let original = |id: String| {
        let id = MonitorId::new(&id);
        Likeness::ReplicaOf(Arc::new(Original { id, shared: BTreeMap::new(), round: Duration::ZERO }))
    };
    checker.text(format_args!("'replicas_of' of {what}"), &entry.value).map(original).unwrap_or_default()
}

fn health(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Vec<Address> {
    let items = checker.list(format_args!("'health' of {what}"), &entry.value).unwrap_or_default();
    if items.len() > HEALTH_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} has {} health addresses", items.len()));
        checker.report(diagnostic.help(format!("at most {HEALTH_MAX}: each one is asked in every beat")));
    }
    let mut found = Vec::new();
    for item in items.iter().take(HEALTH_MAX) {
        let Some(fields) = checker.fields("a health address", item, "monitors.health") else { continue };
        match fields.get("url") {
            Some(entry) => found.extend(checker.server_address("a health address", &entry.value)),
            None => checker.missing(
                "a health address",
                item.place,
                "url",
                "such as `- { url: https://docs.example.org/health }`",
            ),
        }
    }
    found
}

/// How often, and for how long.
struct Pace {
    every: Duration,
    timeout: Duration,
    probe_budget: Duration,
}

/// A limit that was written has to fit; one that was not follows from the others.
fn pace(checker: &mut Checker<'_>, layers: Layers<'_, '_>) -> Pace {
    const EVERY_DEFAULT: Duration = Duration::from_secs(60);
    let mut read = |key: &str, range| {
        let entry = layers.get(key)?;
        Some((checker.duration(format_args!("'{key}'"), &entry.value, range)?, entry.value.place))
    };
    let every = read("every", EVERY).map_or(EVERY_DEFAULT, |(every, _)| every);
    let timeout = read("timeout", CALL_MIN..=CALL_MAX);
    let budget = read("probe_budget", CALL_MIN..=CALL_MAX);
    let probe_budget = budget.map_or(BUDGET_DEFAULT.min(every * 3 / 4), |(budget, _)| budget);
    if let Some((budget, place)) = budget.filter(|(budget, _)| *budget > every) {
        let message =
            format!("a beat may take {} and the next one starts after {}", as_written(budget), as_written(every));
        checker.report(Diagnostic::new(place, message).help("at most as long as 'every'"));
    }
    // A timeout from `defaults` under a derived budget is cut in silence: it was not written for this monitor.
    let strict = layers.own("timeout").is_some() || budget.is_some();
    if let Some((timeout, place)) = timeout.filter(|(timeout, _)| strict && *timeout > probe_budget) {
        let message =
            format!("one call may take {}, and the whole beat {}", as_written(timeout), as_written(probe_budget));
        let mend = "lower 'timeout', or raise 'probe_budget' (without one it is ¾ of 'every', 45s at most)";
        checker.report(Diagnostic::new(place, message).help(mend));
    }
    let timeout = timeout.map_or(TIMEOUT_DEFAULT, |(timeout, _)| timeout).min(probe_budget);
    Pace { every, timeout, probe_budget }
}
