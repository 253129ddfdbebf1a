//! All files as one document: which section may stand where, and how the same section of several files comes together.
//!
//! The first file may hold everything. An included one holds what a team declares: monitors, receivers, routes,
//! runbooks, and includes of its own; what is one for the whole Serin stands in the first. Lists are put one behind the
//! other in the order of the files, but the routes of an included file come before those of the file that includes it,
//! so that a last route without `match` stays the last. A name that two files declare is a fault that names both.

use std::sync::Arc;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::coverage;
use crate::config::check::discover;
use crate::config::check::discovered;
use crate::config::check::drills;
use crate::config::check::including;
use crate::config::check::keys;
use crate::config::check::maintenance;
use crate::config::check::monitors::{self, MonitorsRead};
use crate::config::check::process;
use crate::config::check::process::ProcessSettings;
use crate::config::check::receivers;
use crate::config::check::routes;
use crate::config::check::runbooks;
use crate::config::check::shape::ValueShape;
use crate::config::check::status_page;
use crate::config::check::users::UsersRead;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::discovered as read_discovered;
use crate::config::read::node::{MapEntry, Node, NodeValue, Tree};
use crate::config::read::source::ConfigSource;
use crate::domain::discovery::Discovery;
use crate::domain::fleet::{Fleet, Provenance};
use crate::domain::fleet_files::FleetFileKind;

/// Keys starting with `x-`; each key of the file is compared with each of them.
const EXTENSIONS_MAX: usize = 200;

/// Checks all files together; the first of `trees` is the one that includes the others.
pub(in crate::config) fn document(
    checker: &mut Checker<'_>,
    trees: &[Tree<'_>],
    source: &ConfigSource,
    users: Option<UsersRead<'_, '_>>,
) -> Option<(ProcessSettings, Fleet)> {
    let files: Vec<Option<Fields<'_, '_>>> =
        trees.iter().enumerate().map(|(nth, tree)| sections(checker, nth, tree)).collect();
    let first = *files.first()?;
    let first = first?;
    for (nth, fields) in files.iter().enumerate() {
        if let Some(entry) = fields.and_then(|fields| fields.get("include")) {
            including::include(checker, entry, nth, &source.findings);
        }
    }
    let everywhere = |key| files.iter().filter_map(move |fields| fields.and_then(|fields| fields.get(key)));
    let node = |key| first.get(key).map(|entry| &*entry.value);
    let process = process::process(checker, node("serin"), users);
    let mut runbooks = runbooks::runbooks(checker, everywhere("runbooks"));
    let has_smtp = match node("serin").map(|node| &node.value) {
        Some(NodeValue::Map(entries)) => entries.iter().any(|entry| entry.key == "smtp"),
        _ => false,
    };
    let receivers = receivers::receivers(checker, everywhere("receivers"), has_smtp);
    let defaults = monitors::defaults(checker, node("defaults"));
    let (folder, _) = trees.first().map(|tree| read_discovered::named(&tree.root)).unwrap_or_default();
    let discover = discover::discover(checker, first.get("discover"));
    let of_a_list = |nth: usize| {
        let file = nth.checked_sub(1).and_then(|nth| source.included.get(nth))?;
        let id = file.path.file_stem().filter(|_| file.kind == FleetFileKind::Discovered)?.to_str()?;
        discover.sources.iter().find(|source| source.id == id)
    };
    let sections = files.iter().enumerate();
    let sections = sections.filter_map(|(nth, fields)| Some((fields.as_ref()?.get("monitors")?, of_a_list(nth))));
    let (listed, declared): (Vec<_>, Vec<_>) = sections.partition(|(_, of)| of.is_some());
    let declared: Vec<&MapEntry<'_>> = declared.into_iter().map(|(entry, _)| entry).collect();
    let others = first.get("discover").is_some();
    let mut monitors = monitors::monitors(checker, &declared, &defaults, others);
    if declared.is_empty() && !others {
        let mend = "a list with at least one monitor: `- { id: docs, url: … }`";
        match first.get("include") {
            Some(entry) => checker.report(Diagnostic::new(entry.place, "no file declares 'monitors'").help(mend)),
            None => checker.missing("the file", TOP, "monitors", mend),
        }
    }
    let in_order = routes_in_order(&files, source);
    let routes = routes::routes(checker, &in_order, &receivers, &monitors.places);
    let maintenance = maintenance::maintenance(checker, first.get("maintenance"), &monitors.places);
    let drills = drills::drills(checker, first.get("drills"), &receivers, &routes);
    let status_page = status_page::status_page(checker, first.get("status"), &monitors.list, &monitors.places);
    if let Some(entry) = first.get("status").filter(|_| process.is_open_to_all()) {
        let message = "everybody who reads the status page may see and do everything, since nobody has to sign in";
        let mend = "add `token: ${env:SERIN_TOKEN}`, `users` or `oidc` to `serin`";
        checker.report(Diagnostic::new(entry.place, message).help(mend));
    }
    for (name, place) in &process.internal {
        receivers.known(checker, "'internal' notifies", name, *place);
    }
    if checker.found.errors() == 0 {
        let top = first.get("routes").or(declared.first().copied()).map(|entry| entry.place).unwrap_or_default();
        coverage::coverage(checker, &routes, &monitors, (top, process.settings.refuses_unrouted));
        receivers.unused(checker, &routes, &process.internal);
    }
    // Last, and named by nothing above: what comes and goes by itself may not decide whether the file is right.
    let (sources, left_out) = discovered::discovered(checker, &mut monitors, &listed, (&defaults, &discover));
    for monitor in &mut monitors.list {
        Arc::make_mut(monitor).identity.clone_from(&process.identity);
    }
    let MonitorsRead { list, runbooks: own, .. } = monitors;
    runbooks.monitors = own;
    let fleet = Fleet {
        provenance: Provenance::default(),
        monitors: list,
        receivers: receivers.list,
        routes: routes.into_iter().map(|(route, _)| route).collect(),
        common_cause: Some(process.common_cause.unwrap_or(COMMON_CAUSE_SHARE)),
        maintenance,
        drills,
        status_page,
        discovery: Discovery { folder, sources, left_out },
        internal: process.internal.into_iter().map(|(name, _)| name).collect(),
        runbooks,
        allow_private: process.allow_private,
        control: process.control,
        retention: process.retention,
        heartbeat: process.heartbeat,
        smtp: process.smtp,
        sign_in: process.sign_in,
        public_url: process.public_url,
        is_public: process.is_public,
    };
    Some((process.settings, fleet))
}

/// Which share of a fleet goes down by one cause, where the file says nothing.
const COMMON_CAUSE_SHARE: f64 = 0.3;
/// Where the first file starts.
const TOP: TextSpan = TextSpan { start: 0, end: 0, line: 1 };

/// The sections of one file, each in a file that may hold it.
fn sections<'n, 'a>(checker: &mut Checker<'_>, nth: usize, tree: &'n Tree<'a>) -> Option<Fields<'n, 'a>> {
    let what = if nth == 0 { "the file" } else { "an included file" };
    let entries = checker.map(what, &tree.root)?;
    let extensions = entries.iter().filter(|entry| holds_anchors(checker, tree, entry)).take(EXTENSIONS_MAX);
    let anchors: Vec<&str> = extensions.map(|entry| &*entry.key).collect();
    let fields = checker.fields_and(what, &tree.root, "", &anchors)?;
    if nth == 0 || fields.get("version").is_some() {
        version(checker, fields.get("version"));
    }
    if nth > 0 {
        let alone =
            |entry: &&MapEntry<'_>| keys::known("").contains(&&*entry.key) && !keys::INCLUDED.contains(&&*entry.key);
        for entry in entries.iter().filter(alone) {
            let diagnostic = Diagnostic::new(entry.place, format!("{} stands in an included file", quoted(&entry.key)));
            checker.report(diagnostic.help(format!(
                "move it into the file that Serin is started with; an included one holds {}",
                keys::INCLUDED.join(", ")
            )));
        }
    }
    Some(fields)
}

/// Every file's routes, those of the files it includes before its own.
fn routes_in_order<'n, 'a>(files: &[Option<Fields<'n, 'a>>], source: &ConfigSource) -> Vec<&'n MapEntry<'a>> {
    fn visit<'n, 'a>(
        nth: usize,
        files: &[Option<Fields<'n, 'a>>],
        source: &ConfigSource,
        found: &mut Vec<&'n MapEntry<'a>>,
    ) {
        let included = source.included.iter().enumerate().filter(|(_, file)| file.by == nth);
        included.for_each(|(at, _)| visit(at + 1, files, source, found));
        found.extend(files.get(nth).and_then(|fields| fields.and_then(|fields| fields.get("routes"))));
    }
    let mut found = Vec::new();
    visit(0, files, source, &mut found);
    found
}

/// Whether a key starting with `x-` is there for its anchors, and one of them is used; else it would be ignored in silence.
fn holds_anchors(checker: &mut Checker<'_>, tree: &Tree<'_>, entry: &MapEntry<'_>) -> bool {
    if !entry.key.starts_with("x-") {
        return false;
    }
    let Node { place, .. } = &*entry.value;
    if !tree.referred.iter().any(|used| place.start <= used.start && used.end <= place.end) {
        let diagnostic = Diagnostic::new(entry.place, format!("nothing refers to an anchor in {}", quoted(&entry.key)));
        checker.report(diagnostic.help("keys starting with `x-` hold `&anchors` for use elsewhere; leave it out"));
    }
    true
}

fn version(checker: &mut Checker<'_>, entry: Option<&MapEntry<'_>>) {
    let Some(entry) = entry else {
        checker.missing("the file", TOP, "version", "start with `version: 1`");
        return;
    };
    checker.ask(entry.value.place, || ValueShape::Whole(1..=1));
    let Some((text, plain)) = checker.scalar("'version'", &entry.value) else { return };
    if text != "1" || !plain {
        let message = format!("this Serin reads version 1 of the file, and this is version {}", quoted(text));
        checker.report(
            Diagnostic::new(entry.value.place, message)
                .help("write `version: 1`, or run the Serin that the file is for"),
        );
    }
}
