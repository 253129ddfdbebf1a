//! `routes:`: who hears of what.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::{Checker, Fields, similar};
use crate::config::check::grouping;
use crate::config::check::process::names;
use crate::config::check::reach::flag;
use crate::config::check::receivers::Receivers;
use crate::config::read::diagnostic::{DIAGNOSTICS_SHOWN_MAX, Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node, NodeValue};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::{Escalation, Match, Route, overlap};
use crate::domain::signal::Signal;

/// Each route is compared with those above it.
const ROUTES_MAX: usize = 1_000;
/// Steps of an escalation; beyond, nobody is left to be told.
const STEPS_MAX: usize = 16;
/// How soon and how late somebody may be reminded or told.
const FOLLOW_UP: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(7 * 86_400);

/// Reads the `routes:` of all files, in the order given. `known` holds every monitor id, also of faulty monitors.
pub(in crate::config) fn routes(
    checker: &mut Checker<'_>,
    sections: &[&MapEntry<'_>],
    receivers: &Receivers,
    known: &HashMap<String, TextSpan>,
) -> Vec<(Route, TextSpan)> {
    let lists = sections.iter().filter_map(|section| checker.list("'routes'", &section.value));
    let items: Vec<_> = lists.flatten().collect();
    if let Some(item) = items.get(ROUTES_MAX) {
        checker.report(Diagnostic::new(item.place, format!("more than {ROUTES_MAX} routes")).help("match by labels"));
    }
    let mut found: Vec<(Route, TextSpan)> = Vec::new();
    for (at, item) in items.iter().take(ROUTES_MAX).enumerate() {
        let errors = checker.found.errors();
        let Some(route) = route(checker, at + 1, item, receivers, known) else { continue };
        // A route with a fault in it matches more than it says; calling others unreachable because of it would mislead.
        if checker.found.errors() > errors {
            continue;
        }
        let ends = |above: &Route| !above.goes_on && catches_all_of(&above.matches, &route.matches);
        if let Some((_, above)) = found.iter().find(|(above, _)| ends(above)) {
            let diagnostic = Diagnostic::new(
                item.place,
                format!("route {} can never match: an earlier one catches all of it", at + 1),
            );
            checker.report(diagnostic.note(*above, "this one").help("put the narrower route first"));
        }
        one_fallback_each(checker, &found, (&route, item.place));
        found.push((route, item.place));
    }
    found
}

/// Where a route goes on to another that names the same receiver, both have to name one fallback for it.
fn one_fallback_each(checker: &mut Checker<'_>, above: &[(Route, TextSpan)], (route, place): (&Route, TextSpan)) {
    let clash = |(earlier, _): &&(Route, TextSpan)| {
        let differ = earlier.fallback.is_some() && route.fallback.is_some() && earlier.fallback != route.fallback;
        let share = || earlier.to.iter().any(|name| route.to.contains(name));
        earlier.goes_on && differ && share() && overlap(&earlier.matches, &route.matches)
    };
    let Some((earlier, first)) = above.iter().find(clash) else { return };
    let both = |route: &Route| quoted(route.fallback.as_deref().unwrap_or_default());
    let receiver = earlier.to.iter().find(|name| route.to.contains(name)).map(String::as_str).unwrap_or_default();
    let message = format!("{} falls back to {} here, and to {} above", quoted(receiver), both(route), both(earlier));
    let mend = "name one fallback for it, or leave `continue` out";
    checker.report(Diagnostic::new(place, message).note(*first, "this route goes on to it").help(mend));
}

fn route(
    checker: &mut Checker<'_>,
    number: usize,
    node: &Node<'_>,
    receivers: &Receivers,
    known: &HashMap<String, TextSpan>,
) -> Option<Route> {
    let what = format!("route {number}");
    let fields = checker.fields(&what, node, "routes")?;
    let matches = fields
        .get("match")
        .map(|entry| matching(checker, (&what, "routes.match"), &entry.value, known))
        .unwrap_or_default();
    let to = fields.get("to").map(|entry| names(checker, "to", &entry.value)).unwrap_or_default();
    let told_nobody =
        fields.get("to").is_none_or(|entry| matches!(&entry.value.value, NodeValue::List(items) if items.is_empty()));
    if told_nobody {
        checker.missing(&what, node.place, "to", "name at least one receiver, such as `to: [oncall]`");
    }
    for (name, place) in &to {
        receivers.known(checker, &format!("{what} notifies"), name, *place);
    }
    let fallback = fields.get("fallback").and_then(|entry| {
        let name = checker.text("a receiver's name", &entry.value)?;
        receivers.known(checker, &format!("{what} falls back to"), &name, entry.value.place);
        if let Some((_, first)) = to.iter().find(|(told, _)| *told == name) {
            let diagnostic =
                Diagnostic::new(entry.value.place, format!("{what} falls back to a receiver that it tells anyway"));
            checker.report(diagnostic.note(*first, "told here").help("name another receiver"));
        }
        Some(name)
    });
    let goes_on = fields.get("continue").and_then(|entry| flag(checker, "'continue'", entry)).unwrap_or(false);
    let remind = fields.get("remind").and_then(|entry| checker.duration("'remind'", &entry.value, FOLLOW_UP));
    let escalate = fields.get("escalate").map(|entry| escalations(checker, &what, &entry.value, receivers));
    let to = to.into_iter().map(|(name, _)| name).collect();
    let escalate = escalate.unwrap_or_default();
    let group = fields.get("group").and_then(|entry| grouping::group(checker, &what, entry));
    let digest = fields.get("digest").and_then(|entry| grouping::digest(checker, &what, entry));
    Some(Route { matches, to, fallback, goes_on, remind, escalate, group, digest, line: node.place.line })
}

/// Who is told where nobody took it, by time.
fn escalations(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, receivers: &Receivers) -> Vec<Escalation> {
    let what = format!("'escalate' of {what}");
    let items = checker.list(&what, node).unwrap_or_default();
    if let Some(item) = items.get(STEPS_MAX) {
        let diagnostic = Diagnostic::new(item.place, format!("{what} has more than {STEPS_MAX} steps"));
        checker.report(diagnostic.help("name several receivers in one step"));
    }
    let mut found = Vec::new();
    for item in items.iter().take(STEPS_MAX) {
        let Some(fields) = checker.fields(format_args!("a step of {what}"), item, "routes.escalate") else { continue };
        let after = match fields.get("after") {
            Some(entry) => checker.duration("'after'", &entry.value, FOLLOW_UP),
            None => {
                checker.missing("a step", item.place, "after", "how long nobody took it, such as `after: 15m`");
                None
            }
        };
        let to = fields.get("to").map(|entry| names(checker, "to", &entry.value)).unwrap_or_default();
        if to.is_empty() {
            checker.missing("a step", item.place, "to", "name at least one receiver, such as `to: [lead]`");
        }
        for (name, place) in &to {
            receivers.known(checker, &what, name, *place);
        }
        let to: Vec<String> = to.into_iter().map(|(name, _)| name).collect();
        found.extend(after.filter(|_| !to.is_empty()).map(|after| Escalation { after, to }));
    }
    found
}

/// What has to fit, read where the keys of `section` may stand. `known` holds every monitor id.
pub(in crate::config) fn matching(
    checker: &mut Checker<'_>,
    (what, section): (&str, &str),
    node: &Node<'_>,
    known: &HashMap<String, TextSpan>,
) -> Match {
    let Some(fields) = checker.fields(format_args!("the match of {what}"), node, section) else {
        return Match::default();
    };
    let severities: Vec<_> = Severity::ALL.iter().map(|severity| (severity.slug(), *severity)).collect();
    let signals: Vec<_> = Signal::ALL.iter().map(|signal| (signal.slug(), *signal)).collect();
    let reasons: Vec<_> = FailureReason::ALL.iter().map(|reason| (reason.slug(), *reason)).collect();
    let monitor = some_of(checker, fields, "monitor", |checker, node| {
        let id = checker.text("a monitor's id", node)?;
        if !known.contains_key(&id) {
            let diagnostic = Diagnostic::new(node.place, format!("{what} matches unknown monitor {}", quoted(&id)));
            // Looked for among all monitors, so only as long as somebody may read it.
            let few = checker.found.errors() < DIAGNOSTICS_SHOWN_MAX;
            checker.report(match similar(&id, known.keys().map(String::as_str).filter(|_| few)) {
                Some(word) => diagnostic
                    .note(known[word], "a similar id is declared here")
                    .help(format!("did you mean '{word}'?")),
                None => diagnostic.help("declare it under `monitors`"),
            });
        }
        Some(id)
    });
    Match {
        severity: some_of(checker, fields, "severity", |checker, node| checker.choice("a severity", node, &severities)),
        signal: some_of(checker, fields, "signal", |checker, node| checker.choice("a signal", node, &signals)),
        reason: some_of(checker, fields, "reason", |checker, node| checker.choice("a failure reason", node, &reasons)),
        labels: fields.get("labels").map(|entry| labels(checker, what, &entry.value)).unwrap_or_default(),
        monitor,
    }
}

/// One value, or several of which one has to fit.
fn some_of<'e, T>(
    checker: &mut Checker<'e>,
    fields: Fields<'_, '_>,
    key: &str,
    mut read: impl FnMut(&mut Checker<'e>, &Node<'_>) -> Option<T>,
) -> Vec<T> {
    const VALUES_MAX: usize = 1_000;
    let Some(entry) = fields.get(key) else { return Vec::new() };
    match &entry.value.value {
        NodeValue::List(items) if items.is_empty() || items.len() > VALUES_MAX => {
            let diagnostic = Diagnostic::new(entry.place, format!("'{key}' matches {} values", items.len()));
            checker.report(diagnostic.help(format!("leave it out to match everything, or name up to {VALUES_MAX}")));
            Vec::new()
        }
        NodeValue::List(items) => items.iter().filter_map(|item| read(checker, item)).collect(),
        _ => read(checker, &entry.value).into_iter().collect(),
    }
}

/// Labels, of a monitor or of a match.
pub(in crate::config) fn labels(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> BTreeMap<String, String> {
    const LABELS_MAX: usize = 32;
    const LABEL_CHARS_MAX: usize = 256;
    let entries = checker.map(format_args!("'labels' of {what}"), node).unwrap_or_default();
    if let Some(entry) = entries.get(LABELS_MAX) {
        checker.report(
            Diagnostic::new(entry.place, format!("{what} has more than {LABELS_MAX} labels"))
                .help("keep those that routes use"),
        );
    }
    let mut found = BTreeMap::new();
    for entry in entries.iter().take(LABELS_MAX) {
        let Some(key) = checker.id("label", &entry.key, entry.place) else { continue };
        let Some(value) = checker.text("a label's value", &entry.value) else { continue };
        if value.chars().nth(LABEL_CHARS_MAX).is_some() {
            let diagnostic = Diagnostic::new(
                entry.value.place,
                format!("label '{key}' is longer than {LABEL_CHARS_MAX} characters"),
            );
            checker.report(diagnostic.help("shorten it"));
        }
        found.insert(key, value);
    }
    found
}

/// Whether everything that fits `narrow` fits `wide` too.
fn catches_all_of(wide: &Match, narrow: &Match) -> bool {
    fn within<T: PartialEq>(wide: &[T], narrow: &[T]) -> bool {
        wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(|one| wide.contains(one)))
    }
    within(&wide.severity, &narrow.severity)
        && within(&wide.signal, &narrow.signal)
        && within(&wide.reason, &narrow.reason)
        && within(&wide.monitor, &narrow.monitor)
        && wide.labels.iter().all(|(key, value)| narrow.labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_route_catches_what_a_narrower_one_would() {
        let page = Match { severity: vec![Severity::Page], ..Match::default() };
        let page_or_ticket = Match { severity: vec![Severity::Page, Severity::Ticket], ..Match::default() };
        let docs = Match { labels: BTreeMap::from([("team".to_owned(), "docs".to_owned())]), ..Match::default() };
        let rows = [
            (Match::default(), page.clone(), true, "everything holds pages"),
            (page.clone(), Match::default(), false, "pages are not everything"),
            (page_or_ticket.clone(), page.clone(), true, "one of two"),
            (page.clone(), page_or_ticket, false, "two of one"),
            (docs.clone(), page.clone(), false, "another dimension"),
            (page, docs.clone(), false, "nor the other way round"),
            (docs.clone(), docs, true, "the same again"),
        ];
        for (wide, narrow, expected, sentence) in rows {
            assert_eq!(catches_all_of(&wide, &narrow), expected, "{sentence}");
        }
    }
}
