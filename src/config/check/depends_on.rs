//! `depends_on:`, and once every monitor was read: that each one named is there, and none depends on itself.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::check::checker::{Checker, similar};
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::MapEntry;
use crate::domain::depends_on::Parent;
use crate::domain::monitor::{Monitor, MonitorId};

/// Each is looked at whenever the monitor fails.
const PARENTS_MAX: usize = 16;

/// What a monitor depends on, and where the file says so.
pub(in crate::config) type Parents = Vec<(Parent, TextSpan)>;

/// Reads one monitor's `depends_on`: ids of monitors and addresses.
pub(in crate::config) fn parents(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Parents {
    let items = checker.list(format_args!("'depends_on' of {what}"), &entry.value).unwrap_or_default();
    if let Some(item) = items.get(PARENTS_MAX) {
        let message = format!("{what} depends on more than {PARENTS_MAX}");
        let mend = "name what they depend on themselves, or the few that fail";
        checker.report(Diagnostic::new(item.place, message).help(mend));
    }
    let mut found: Parents = Vec::new();
    for item in items.iter().take(PARENTS_MAX) {
        let Some(text) = checker.literal("what it depends on", item) else { continue };
        let parent = if text.contains("://") || text.starts_with("${") {
            checker.address("what it depends on", item).map(|address| Parent::Address(Box::new(address)))
        } else {
            Some(Parent::Monitor(text))
        };
        let Some(parent) = parent else { continue };
        if let Some((_, first)) = found.iter().find(|(known, _)| *known == parent) {
            let diagnostic = Diagnostic::new(item.place, format!("{what} depends twice on {}", quoted(parent.name())));
            checker.report(diagnostic.note(*first, "named here already").help("leave one out"));
        } else {
            found.push((parent, item.place));
        }
    }
    found
}

/// Says which monitors are not there, and which depend on themselves by way of others. `written`: where each monitor names
/// what it depends on; `ids`: the place of every id, also of a faulty monitor's.
pub(in crate::config) fn depends_on(
    checker: &mut Checker<'_>,
    list: &[Arc<Monitor>],
    ids: &HashMap<String, TextSpan>,
    written: &HashMap<MonitorId, Parents>,
) {
    // In the order of the file, so that what is said is said in one order.
    for (monitor, parents) in list.iter().filter_map(|monitor| Some((monitor, written.get(&monitor.id)?))) {
        for (parent, place) in parents {
            let Parent::Monitor(id) = parent else { continue };
            if !ids.contains_key(id) {
                let message = format!("monitor '{}' depends on {}, which no file declares", monitor.id, quoted(id));
                let mend = match similar(id, ids.keys().map(String::as_str)) {
                    Some(known) => format!("did you mean '{known}'?"),
                    None => {
                        "name another monitor by its id, or an address such as https://db.example.org/health".to_owned()
                    }
                };
                checker.report(Diagnostic::new(*place, message).help(mend));
            }
        }
    }
    circles(checker, list, written);
}

/// A circle holds each of its monitors back by the others, for ever.
fn circles(checker: &mut Checker<'_>, list: &[Arc<Monitor>], written: &HashMap<MonitorId, Parents>) {
    let next = |id: &str| {
        let parents = written.get(&MonitorId::new(id)).map(Vec::as_slice).unwrap_or_default();
        parents.iter().filter_map(|(parent, place)| match parent {
            Parent::Monitor(id) => Some((id.clone(), *place)),
            Parent::Address(_) => None,
        })
    };
    let mut clear: HashMap<String, bool> = HashMap::new();
    for monitor in list {
        // Depth first without recursion: the way so far, and what is left to look at from each of its places.
        let mut way: Vec<(String, TextSpan)> = Vec::new();
        let mut left = vec![vec![(monitor.id.to_string(), TextSpan::default())]];
        while let Some(here) = left.last_mut() {
            let Some((id, place)) = here.pop() else {
                left.pop();
                if let Some((done, _)) = way.pop() {
                    clear.insert(done, true);
                }
                continue;
            };
            if let Some(from) = way.iter().position(|(known, _)| *known == id) {
                let names: Vec<&str> = way[from..].iter().map(|(id, _)| id.as_str()).chain([id.as_str()]).collect();
                let message = format!("monitors depend on each other in a circle: {}", names.join(" → "));
                let mut diagnostic =
                    Diagnostic::new(place, message).help("leave one of them out: what is a circle is down together");
                for (id, place) in way.get(from + 1..).unwrap_or_default() {
                    diagnostic = diagnostic.note(*place, format!("'{id}' is depended on here"));
                }
                checker.report(diagnostic);
                continue;
            }
            if clear.contains_key(&id) {
                continue;
            }
            left.push(next(&id).collect());
            way.push((id, place));
        }
    }
}
