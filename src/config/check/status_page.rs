//! `status:`: what everybody may see, and under which names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::check::checker::Checker;
use crate::config::check::routes::matching;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::monitor::Monitor;
use crate::domain::route::Match;
use crate::domain::status_page::{Component, StatusPage};

/// More would be no page that somebody reads; its size and that of its feed follow from it.
const COMPONENTS_MAX: usize = 100;
/// Monitors behind all components together: the past of each is read for the page.
const MONITORS_MAX: usize = 1_000;
/// A heading or a name on a narrow screen.
const NAME_CHARS_MAX: usize = 80;
/// A sentence or two.
const DESCRIPTION_CHARS_MAX: usize = 300;
/// The heading where the file gives none.
const TITLE_DEFAULT: &str = "Status";

/// Reads `status:`. `known` holds every monitor id, also of faulty monitors, which are not among `monitors`.
pub(in crate::config) fn status_page(
    checker: &mut Checker<'_>,
    section: Option<&MapEntry<'_>>,
    monitors: &[Arc<Monitor>],
    known: &HashMap<String, TextSpan>,
) -> Option<StatusPage> {
    let section = section?;
    let fields = checker.fields("'status'", &section.value, "status")?;
    let title = fields.get("title").and_then(|entry| short(checker, "'title'", entry, NAME_CHARS_MAX));
    let home = fields.get("home").and_then(|entry| home(checker, entry));
    let shown = match fields.get("show") {
        Some(entry) => Some((entry, checker.list("'show'", &entry.value)?)),
        None => None,
    };
    let Some((entry, items)) = shown.filter(|(_, items)| !items.is_empty()) else {
        let mend = "name what everybody may see, such as `- { name: Search, match: { monitor: docs } }`";
        checker.missing("'status'", section.place, "show", mend);
        return None;
    };
    if let Some(item) = items.get(COMPONENTS_MAX) {
        let message = format!("the status page shows more than {COMPONENTS_MAX} components");
        checker.report(Diagnostic::new(item.place, message).help("join several monitors in one: `match` by a label"));
    }
    let mut found: Vec<(Component, TextSpan)> = Vec::new();
    for (at, item) in items.iter().take(COMPONENTS_MAX).enumerate() {
        let Some(component) = component(checker, at + 1, item, (monitors, known)) else { continue };
        let same = |other: &&(Component, TextSpan)| other.0.name.to_lowercase() == component.name.to_lowercase();
        if let Some((other, first)) = found.iter().find(same) {
            let message = format!("two components are called {}", quoted(&other.name));
            let diagnostic = Diagnostic::new(item.place, message).note(*first, "the other one");
            checker.report(diagnostic.help("give each a name of its own, or join their monitors in one"));
        }
        found.push((component, item.place));
    }
    let components: Vec<Component> = found.into_iter().map(|(component, _)| component).collect();
    let page = StatusPage { title: title.unwrap_or_else(|| TITLE_DEFAULT.to_owned()), home, components };
    let behind: usize = page.components.iter().map(|component| component.monitors.len()).sum();
    if behind > MONITORS_MAX {
        let message = format!("{behind} monitors are behind the status page, and {MONITORS_MAX} are the most");
        checker.report(Diagnostic::new(entry.place, message).help("show those that people ask for"));
    }
    Some(page)
}

fn component(
    checker: &mut Checker<'_>,
    number: usize,
    node: &Node<'_>,
    (monitors, known): (&[Arc<Monitor>], &HashMap<String, TextSpan>),
) -> Option<Component> {
    let what = format!("component {number}");
    let fields = checker.fields(&what, node, "status.show")?;
    let errors = checker.found.errors();
    let mut text =
        |key: &str, chars_max| fields.get(key).map(|entry| short(checker, &format!("'{key}'"), entry, chars_max));
    let (name, group) = (text("name", NAME_CHARS_MAX), text("group", NAME_CHARS_MAX));
    let description = text("description", DESCRIPTION_CHARS_MAX).flatten().unwrap_or_default();
    if name.is_none() {
        checker.missing(&what, node.place, "name", "the name that everybody may read, such as `name: Product search`");
    }
    let behind = match fields.get("match") {
        None => {
            checker.missing(&what, node.place, "match", "the monitors behind it, such as `match: { monitor: [docs] }`");
            Vec::new()
        }
        Some(entry) => {
            let wanted = matching(checker, (&what, "status.show.match"), &entry.value, known);
            if checker.found.errors() > errors {
                Vec::new()
            } else {
                matched(checker, &what, entry, (&wanted, monitors))
            }
        }
    };
    let group = group.flatten().unwrap_or_default();
    let (name, line) = (name.flatten()?, node.place.line);
    Some(Component { name, description, group, monitors: behind.iter().map(|one| one.id.clone()).collect(), line })
}

/// The monitors that a match is for: never all of them by leaving everything out, and never none.
fn matched<'m>(
    checker: &mut Checker<'_>,
    what: &str,
    entry: &MapEntry<'_>,
    (wanted, monitors): (&Match, &'m [Arc<Monitor>]),
) -> Vec<&'m Arc<Monitor>> {
    if wanted.monitor.is_empty() && wanted.labels.is_empty() {
        let diagnostic =
            Diagnostic::new(entry.place, format!("the match of {what} would show every monitor to everybody"));
        checker.report(diagnostic.help("name monitors, or labels that only those have which everybody may know of"));
        return Vec::new();
    }
    let fits = |one: &&Arc<Monitor>| wanted.may_fit(one.id.as_str(), &one.labels);
    let behind: Vec<_> = monitors.iter().filter(fits).collect();
    // A monitor with a fault of its own is not among those that could be found.
    if behind.is_empty() && checker.found.errors() == 0 {
        let diagnostic = Diagnostic::new(entry.place, format!("no monitor is behind {what}"));
        checker.report(diagnostic.help("look at the labels: all of them have to be a monitor's"));
    }
    behind
}

/// A text that is shown and stays short.
fn short(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>, chars_max: usize) -> Option<String> {
    let text = checker.text(what, &entry.value)?;
    if text.chars().nth(chars_max).is_some() {
        let diagnostic = Diagnostic::new(entry.value.place, format!("{what} is longer than {chars_max} characters"));
        checker.report(diagnostic.help("shorten it"));
        return None;
    }
    Some(text)
}

/// An address that a browser may be sent to from a page that everybody sees.
fn home(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<String> {
    let text = checker.text("'home'", &entry.value)?;
    let is_good = |url: &url::Url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    };
    let found = url::Url::parse(&text).ok().filter(is_good);
    if found.is_none() {
        let diagnostic =
            Diagnostic::new(entry.value.place, format!("'home' is no address of a page: {}", quoted(&text)));
        checker.report(diagnostic.help("such as `https://www.example.org`, without a user's name in it"));
    }
    found.map(String::from)
}
