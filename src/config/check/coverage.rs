//! Whether anybody hears of what may happen, once routes and monitors were read.

use std::collections::BTreeSet;

use crate::config::check::checker::Checker;
use crate::config::check::monitors::MonitorsRead;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::domain::monitor::Monitor;
use crate::domain::paging::audience::{subject, topics};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::{Match, Route, hearers};
use crate::domain::signal::Signal;
use crate::domain::wording::counted;

/// Warns of what is told to nobody, and of labels that no monitor carries. `refuses`: pages that reach nobody are a fault.
pub(in crate::config) fn coverage(
    checker: &mut Checker<'_>,
    routes: &[(Route, TextSpan)],
    monitors: &MonitorsRead,
    (top, refuses): (TextSpan, bool),
) {
    if !routes.iter().any(|(route, _)| route.matches == Match::default()) {
        let place = routes.last().map_or(top, |(_, place)| *place);
        let (message, mend) = if routes.is_empty() {
            ("nobody is notified of anything: there is no route", "declare `receivers`, and `routes` that lead to them")
        } else {
            (
                "what no route matches is told to nobody",
                "end `routes` with one that has no `match`, such as `- { to: [mail] }`",
            )
        };
        let is_fault = refuses && routes.is_empty();
        let diagnostic = if is_fault { Diagnostic::new(place, message) } else { Diagnostic::warning(place, message) };
        checker.report(diagnostic.help(mend));
        if !routes.is_empty() {
            unheard_pages(checker, routes, monitors, refuses);
        }
    }
    let carried: BTreeSet<(&str, &str)> = monitors
        .list
        .iter()
        .flat_map(|monitor| monitor.labels.iter())
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    for (route, place) in routes {
        for (key, value) in
            route.matches.labels.iter().filter(|(key, value)| !carried.contains(&(key.as_str(), value.as_str())))
        {
            let diagnostic = Diagnostic::warning(
                *place,
                format!("no monitor carries the label {}", quoted(&format!("{key}: {value}"))),
            );
            checker.report(diagnostic.help("so this route matches nothing: is it spelled as in `monitors`?"));
        }
    }
}

/// Monitors of which something pages and reaches nobody, in one line.
fn unheard_pages(checker: &mut Checker<'_>, routes: &[(Route, TextSpan)], monitors: &MonitorsRead, refuses: bool) {
    let routes = || routes.iter().map(|(route, _)| route);
    let unheard = |monitor: &Monitor| {
        let pages = topics(monitor).into_iter().filter(|(_, severity)| *severity == Severity::Page);
        let mut nobody =
            pages.filter(|(topic, severity)| hearers(routes(), subject(monitor, *topic, *severity)).is_empty());
        nobody.next().map(|(topic, _)| (topic, nobody.next().is_some()))
    };
    let mut all = monitors.list.iter().filter_map(|monitor| Some((monitor, unheard(monitor)?)));
    let Some((monitor, (topic, is_one_of_several))) = all.next() else { return };
    let others = all.count();
    let signal = topic.signal.map_or("a restart", Signal::slug);
    let reason = topic.reason.map_or("", FailureReason::slug);
    let further = if is_one_of_several { ", nor others of its reasons" } else { "" };
    let as_well = if others > 0 {
        format!(", and of {}", counted(others, "other monitor", "other monitors"))
    } else {
        String::new()
    };
    let message = format!(
        "pages of '{}' reach nobody: no route hears {reason} ({signal}){further}{as_well}",
        monitor.id.as_str()
    );
    let place = monitors.places.get(monitor.id.as_str()).copied().unwrap_or_default();
    let diagnostic = if refuses { Diagnostic::new(place, message) } else { Diagnostic::warning(place, message) };
    checker
        .report(diagnostic.help(format!("`serin route test --monitor {}` shows who hears what", monitor.id.as_str())));
}
