//! Maintenance that is on or ahead, as far as it is about something that is shown: its components and its times.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::fleet::Fleet;
use crate::domain::maintenance::{MaintenanceWindow, Stretch};
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::status_page::{Component, StatusPage};
use crate::web::public::component_now::covers_all;

/// How far ahead maintenance is told.
pub(crate) const AHEAD: TimeDelta = TimeDelta::days(7);
/// Runs of one window that are told: one a day, and one more.
const RUNS_MAX: usize = 8;
/// Runs of all windows that are told, the soonest.
const SHOWN_MAX: usize = 50;

/// One run of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaintenanceRun {
    /// The first instant of it.
    pub from: DateTime<Utc>,
    /// The first instant after it.
    pub to: DateTime<Utc>,
    /// Places of its components on the page, from 0.
    pub components: Vec<usize>,
}

/// What is on or ahead, the soonest first.
pub(crate) fn ahead(fleet: &Fleet, page: &StatusPage, now: DateTime<Utc>) -> Vec<MaintenanceRun> {
    let shown: HashSet<&MonitorId> = page.monitors().into_iter().collect();
    let shown = fleet.monitors.iter().filter(|monitor| shown.contains(&monitor.id));
    let shown: HashMap<&MonitorId, &Monitor> = shown.map(|monitor| (&monitor.id, &**monitor)).collect();
    let mut all: Vec<MaintenanceRun> = Vec::new();
    for window in &fleet.maintenance {
        let runs = runs(window, now);
        if runs.is_empty() {
            continue;
        }
        let fits = |(_, component): &(usize, &Component)| is_about(window, component, &shown);
        let components: Vec<usize> = page.components.iter().enumerate().filter(fits).map(|(at, _)| at).collect();
        if !components.is_empty() {
            all.extend(runs.into_iter().map(|Stretch { from, to }| MaintenanceRun {
                from,
                to,
                components: components.clone(),
            }));
        }
    }
    all.sort_by(|one, other| (one.from, one.to, &one.components).cmp(&(other.from, other.to, &other.components)));
    all.dedup();
    all.truncate(SHOWN_MAX);
    all
}

fn runs(window: &MaintenanceWindow, now: DateTime<Utc>) -> Vec<Stretch> {
    let next = window.next_after(now, RUNS_MAX).into_iter().filter(|run| run.from - now <= AHEAD);
    window.run_at(now).into_iter().chain(next).collect()
}

fn is_about(window: &MaintenanceWindow, component: &Component, shown: &HashMap<&MonitorId, &Monitor>) -> bool {
    let behind = component.monitors.iter().filter_map(|id| shown.get(id));
    behind.into_iter().any(|monitor| covers_all(window, monitor.id.as_str(), &monitor.labels))
}
