//! What people want to hear nothing of just now: silences that somebody made, and maintenance windows of the file.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::fleet::Fleet;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::Monitor;
use crate::domain::paging::hold::HoldKind;
use crate::domain::paging::silence::Silence;
use crate::domain::route::{Match, Subject, fits};
use crate::domain::signal::Signal;

/// Runs of windows that start within this are in the book already, so that no beat comes before them.
pub(crate) const AHEAD: TimeDelta = TimeDelta::minutes(10);

/// One stretch in which nobody is told of what matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Quiet {
    /// A silence or a window.
    pub kind: HoldKind,
    /// Which one: the id of a silence, `file:line@commit` of a window.
    pub by: String,
    /// What it keeps quiet.
    pub matches: Match,
    /// Since when, UTC.
    pub from: DateTime<Utc>,
    /// When it ends by itself, UTC; none where it ends with an incident.
    pub until: Option<DateTime<Utc>>,
}

/// All that is quiet now or soon, sorted so that thousands of silences cost a decision little.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QuietBook {
    all: Vec<Quiet>,
    of_monitor: HashMap<String, Vec<usize>>,
    of_label: HashMap<String, HashMap<String, Vec<usize>>>,
    others: Vec<usize>,
}

impl QuietBook {
    /// What silences and the windows of a fleet keep quiet from now on.
    pub fn new(silences: &[Silence], fleet: &Fleet, now: DateTime<Utc>) -> Self {
        let of_silence = |silence: &Silence| Quiet {
            kind: HoldKind::Silence,
            by: silence.id.clone(),
            matches: silence.matches.clone(),
            from: silence.from,
            until: silence.until,
        };
        let silences = silences.iter().filter(|silence| silence.is_live(now)).map(of_silence);
        let by = |window: &MaintenanceWindow| fleet.provenance.rule(window.line).written();
        Self::of(silences.chain(runs(&fleet.maintenance, by, now)).collect())
    }

    /// What windows alone keep quiet within the next [`AHEAD`]; each goes by its line.
    pub(crate) fn of_windows(windows: &[MaintenanceWindow], now: DateTime<Utc>) -> Self {
        Self::of(runs(windows, |window| format!("line {}", window.line), now).collect())
    }

    /// A book of these.
    pub fn of(all: Vec<Quiet>) -> Self {
        let mut book = Self { all, ..Self::default() };
        for (at, quiet) in book.all.iter().enumerate() {
            if !quiet.matches.monitor.is_empty() {
                for monitor in &quiet.matches.monitor {
                    book.of_monitor.entry(monitor.clone()).or_default().push(at);
                }
            } else if let Some((key, value)) = quiet.matches.labels.first_key_value() {
                book.of_label.entry(key.clone()).or_default().entry(value.clone()).or_default().push(at);
            } else {
                book.others.push(at);
            }
        }
        book
    }

    /// Until when a maintenance window keeps a monitor's availability quiet at a moment, whatever the reason would be, UTC;
    /// none where none does.
    pub fn maintenance_until(&self, monitor: &Monitor, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let severity = monitor.rules.availability.severity;
        let subject = Subject { signal: Some(Signal::Availability), ..Subject::of(monitor, severity, None) };
        let holding = self.holding(subject, at);
        holding.into_iter().filter(|quiet| quiet.kind == HoldKind::Window).filter_map(|quiet| quiet.until).max()
    }

    /// Whatever keeps this quiet now, in the order of the book.
    pub(crate) fn holding(&self, subject: Subject<'_>, now: DateTime<Utc>) -> Vec<&Quiet> {
        let of_labels = subject.labels.iter().filter_map(|(key, value)| self.of_label.get(key)?.get(value)).flatten();
        let of_monitor = self.of_monitor.get(subject.monitor).into_iter().flatten();
        let mut found: Vec<usize> = of_monitor.chain(of_labels).chain(&self.others).copied().collect();
        found.sort_unstable();
        found.dedup();
        let all = found.into_iter().map(|at| &self.all[at]);
        all.filter(|quiet| quiet.is_on(now) && fits(&quiet.matches, subject)).collect()
    }

    /// The next moment at which something begins or ends by itself.
    pub fn next_edge(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let edges = self.all.iter().flat_map(|quiet| [Some(quiet.from), quiet.until]);
        edges.flatten().filter(|at| *at > now).min()
    }

    /// Those that are on now, as one compares them.
    pub fn on(&self, now: DateTime<Utc>) -> Vec<&Quiet> {
        self.all.iter().filter(|quiet| quiet.is_on(now)).collect()
    }

    /// Whether nothing is quiet, now or soon.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a silence or window of this name is in it.
    pub fn has(&self, by: &str) -> bool {
        self.all.iter().any(|quiet| quiet.by == by)
    }
}

/// The runs of windows that are on or near.
fn runs<'a>(
    windows: &'a [MaintenanceWindow],
    by: impl Fn(&MaintenanceWindow) -> String + 'a,
    now: DateTime<Utc>,
) -> impl Iterator<Item = Quiet> + 'a {
    windows.iter().flat_map(move |window| {
        let by = by(window);
        let runs = window.run_at(now).into_iter().chain(window.next_after(now, 1));
        runs.filter(move |run| run.from <= now + AHEAD).map(move |run| Quiet {
            kind: HoldKind::Window,
            by: by.clone(),
            matches: window.matches.clone(),
            from: run.from,
            until: Some(run.to),
        })
    })
}

impl Quiet {
    fn is_on(&self, now: DateTime<Utc>) -> bool {
        self.from <= now && self.until.is_none_or(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::maintenance::{Stretch, WindowRuns};
    use crate::domain::reason::{FailureReason, Severity};
    use crate::domain::secret::{Address, Secret};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn what_holds_is_found_however_it_is_named() {
        let label = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let quiet = |by: &str, matches, from, until: Option<i64>| Quiet {
            kind: HoldKind::Silence,
            by: by.to_owned(),
            matches,
            from: at(from),
            until: until.map(at),
        };
        let of_docs = || Match { monitor: vec!["docs".to_owned(), "wiki".to_owned()], ..Match::default() };
        let book = QuietBook::of(vec![
            quiet("everything", Match { severity: vec![Severity::Page], ..Match::default() }, 0, None),
            quiet("docs", of_docs(), 0, Some(100)),
            quiet("docs, soon", of_docs(), 50, Some(60)),
            quiet("team", Match { labels: label("team", "docs"), ..Match::default() }, 0, None),
            quiet("other team", Match { labels: label("team", "search"), ..Match::default() }, 0, None),
            quiet("docs tickets", Match { severity: vec![Severity::Ticket], ..of_docs() }, 0, None),
        ]);
        let (team, none) = (label("team", "docs"), BTreeMap::new());
        let rows = [
            ("docs", Severity::Page, &team, 10, vec!["everything", "docs", "team"], "by monitor, label and severity"),
            ("docs", Severity::Ticket, &none, 10, vec!["docs", "docs tickets"], "every part has to fit"),
            ("wiki", Severity::Page, &none, 55, vec!["everything", "docs", "docs, soon"], "from its first instant"),
            ("wiki", Severity::Page, &none, 100, vec!["everything"], "and not at its end"),
            ("blog", Severity::Notice, &none, 10, vec![], "nothing fits"),
        ];
        for (monitor, severity, labels, second, expected, sentence) in rows {
            let subject = Subject { severity, signal: None, reason: None, labels, monitor };
            let found: Vec<&str> = book.holding(subject, at(second)).iter().map(|quiet| &*quiet.by).collect();
            assert_eq!(found, expected, "{sentence}");
        }
        let edges = [(0, Some(50)), (50, Some(60)), (60, Some(100)), (100, None)];
        for (now, edge) in edges {
            assert_eq!(book.next_edge(at(now)), edge.map(at));
        }
    }

    #[test]
    fn a_monitor_is_in_maintenance_where_a_window_keeps_an_outage_quiet_whatever_its_reason() {
        let monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("http://d/") });
        let at = |minute: i64| DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap();
        let rows = [
            (Match::default(), 5, true, "all of it"),
            (Match { signal: vec![Signal::Availability], ..Match::default() }, 5, true, "outages"),
            (Match { signal: vec![Signal::Quality], ..Match::default() }, 5, false, "only what is wrong"),
            (Match { severity: vec![Severity::Ticket], ..Match::default() }, 5, false, "nothing that wakes somebody"),
            (Match { reason: vec![FailureReason::Timeout], ..Match::default() }, 5, false, "one reason of many"),
            (Match { monitor: vec!["wiki".to_owned()], ..Match::default() }, 5, false, "another monitor"),
            (Match::default(), 10, false, "and not after its end"),
        ];
        for (matches, minute, expected, sentence) in rows {
            let runs = WindowRuns::Once(Stretch { from: at(0), to: at(10) });
            let window = MaintenanceWindow { name: String::new(), matches, runs, line: 3 };
            let fleet = Fleet { maintenance: vec![window], ..Fleet::default() };
            let book = QuietBook::new(&[], &fleet, at(1));
            assert_eq!(book.maintenance_until(&monitor, at(minute)), expected.then(|| at(10)), "{sentence}");
        }
    }
}
