//! `runbooks:` of a file and of a monitor: where a page tells a human to look.

use std::collections::{BTreeMap, HashMap};

use crate::config::check::checker::{Checker, similar};
use crate::config::check::keys;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::MapEntry;
use crate::domain::reason::{FailureReason, Layer};
use crate::domain::runbooks::{LabelRunbooks, PLACEHOLDERS, Runbook, Runbooks, RunbooksByReason};

/// Labels that lead to a runbook; each is looked for in turn whenever somebody is paged.
const LABELS_MAX: usize = 64;
/// Values of one of them, such as the teams of a large house.
const VALUES_MAX: usize = 10_000;

/// What is named already, by the keys that lead to it.
type Places = HashMap<String, TextSpan>;

/// Reads the `runbooks:` of all files; what monitors declare is theirs.
pub(in crate::config) fn runbooks<'n, 'a: 'n>(
    checker: &mut Checker<'_>,
    sections: impl Iterator<Item = &'n MapEntry<'a>>,
) -> Runbooks {
    let mut found = Runbooks::default();
    let mut places = Places::new();
    for section in sections {
        checker.ask(section.value.place, || ValueShape::keys(known("runbooks")));
        for entry in checker.map("'runbooks'", &section.value).unwrap_or_default() {
            if entry.key == "labels" {
                labels(checker, entry, &mut found.labels, &mut places);
            } else {
                one(checker, "runbooks", entry, &mut found.all, &mut places);
            }
        }
    }
    found
}

/// Reads the `runbooks:` of a monitor.
pub(in crate::config) fn of_monitor(checker: &mut Checker<'_>, what: &str, section: &MapEntry<'_>) -> RunbooksByReason {
    let mut found = RunbooksByReason::default();
    checker.ask(section.value.place, || ValueShape::keys(known("monitors.runbooks")));
    let of = format!("'runbooks' of {what}");
    for entry in checker.map(&of, &section.value).unwrap_or_default() {
        one(checker, &of, entry, &mut found, &mut Places::new());
    }
    found
}

/// The keys of a section: those of the table, then every reason.
fn known(section: &str) -> impl Iterator<Item = &'static str> {
    keys::known(section).iter().copied().chain(FailureReason::ALL.iter().map(|reason| reason.slug()))
}

/// One key by which the reason decides: `default`, `layers` or a reason.
fn one(checker: &mut Checker<'_>, of: &str, entry: &MapEntry<'_>, into: &mut RunbooksByReason, places: &mut Places) {
    if entry.key == "layers" {
        let words = Layer::ALL.map(Layer::slug);
        let section = format!("'layers' of {of}");
        let Some(_) = checker.fields_among(&section, &entry.value, of, &words) else { return };
        for entry in checker.map(&section, &entry.value).unwrap_or_default() {
            let Some(layer) = Layer::from_slug(&entry.key) else { continue };
            no_second(checker, places, format!("layers.{}", entry.key), entry);
            into.layers.extend(runbook(checker, entry).map(|runbook| (layer, runbook)));
        }
        return;
    }
    no_second(checker, places, entry.key.to_string(), entry);
    if entry.key == "default" {
        into.default = runbook(checker, entry);
    } else if let Some(reason) = FailureReason::from_slug(&entry.key) {
        into.reasons.extend(runbook(checker, entry).map(|runbook| (reason, runbook)));
    } else {
        let section = if of == "runbooks" { "runbooks" } else { "monitors.runbooks" };
        let mend = match similar(&entry.key, known(section)) {
            Some(word) => format!("did you mean '{word}'?"),
            None if Layer::from_slug(&entry.key).is_some() => {
                format!("a layer stands below `layers`: `layers: {{ {}: … }}`", entry.key)
            }
            None => {
                "the reasons are listed in docs/reasons.md, such as `connection_refused`; `default` covers the rest"
                    .to_owned()
            }
        };
        let message = format!("{of} know no failure reason {}", quoted(&entry.key));
        checker.report(Diagnostic::new(entry.place, message).help(mend));
    }
}

/// `labels`: for each label its values, and their runbooks.
fn labels(checker: &mut Checker<'_>, section: &MapEntry<'_>, into: &mut Vec<LabelRunbooks>, places: &mut Places) {
    let entries = checker.map("'labels' of runbooks", &section.value).unwrap_or_default();
    if let Some(entry) = entries.get(LABELS_MAX) {
        let diagnostic = Diagnostic::new(entry.place, format!("more than {LABELS_MAX} labels have runbooks"));
        checker.report(diagnostic.help("give the rest to their monitors"));
    }
    for label in entries.iter().take(LABELS_MAX) {
        let what = format!("the label {} of runbooks", quoted(&label.key));
        let values = checker.map(&what, &label.value).unwrap_or_default();
        if let Some(entry) = values.get(VALUES_MAX) {
            let diagnostic = Diagnostic::new(entry.place, format!("{what} has more than {VALUES_MAX} values"));
            checker.report(diagnostic.help("write one address with `{monitor}` in it"));
        }
        let at = into.iter().position(|known| known.label == *label.key).unwrap_or_else(|| {
            into.push(LabelRunbooks { label: label.key.to_string(), values: BTreeMap::new() });
            into.len() - 1
        });
        for value in values.iter().take(VALUES_MAX) {
            no_second(checker, places, format!("labels.{}.{}", label.key, value.key), value);
            into[at].values.extend(runbook(checker, value).map(|runbook| (value.key.to_string(), runbook)));
        }
    }
}

/// Two files may both have runbooks, but not for the same.
fn no_second(checker: &mut Checker<'_>, places: &mut Places, path: String, entry: &MapEntry<'_>) {
    let shown = quoted(&path);
    if let Some(first) = places.insert(path, entry.place) {
        let diagnostic = Diagnostic::new(entry.place, format!("the runbook of {shown} is named twice"));
        checker.report(diagnostic.note(first, "first named here").help("keep one of the two"));
    }
}

fn runbook(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<Runbook> {
    let url = checker.link("a runbook", &entry.value)?;
    let rest = PLACEHOLDERS.iter().fold(url.clone(), |rest, one| rest.replace(one, ""));
    if rest.contains(['{', '}']) {
        let diagnostic = Diagnostic::new(entry.value.place, "a runbook's address has a placeholder that nobody fills");
        checker.report(diagnostic.help("`{reason}`, `{monitor}` and `{incident}` are put in"));
        return None;
    }
    // A host that hangs on what failed could be anybody's.
    if PLACEHOLDERS.iter().any(|one| url.split('/').nth(2).is_some_and(|host| host.contains(one))) {
        let diagnostic = Diagnostic::new(entry.value.place, "a runbook's address has a placeholder in its host");
        checker.report(diagnostic.help("put it into the path, the query or behind `#`"));
        return None;
    }
    Some(Runbook { url, line: entry.value.place.line })
}
