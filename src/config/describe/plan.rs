//! What would be another way if one file took another's place: monitors, receivers, and whom a finding would reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::config::check::load::Loaded;
use crate::config::describe::changes;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::paging::audience::{Hearing, Topic, audience, named};
use crate::domain::reason::Severity;
use crate::domain::route::Route;

/// What one file would change in the place of another. Empty where nothing but lines and comments differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangePlan {
    /// Monitors that come.
    pub added: Vec<Planned>,
    /// Monitors that go.
    pub removed: Vec<Planned>,
    /// Monitors that stay, and the keys that change; a monitor that only moved is not among them.
    pub changed: Vec<(MonitorId, Vec<String>)>,
    /// Monitors that get another name.
    pub renamed: Vec<Renamed>,
    /// Monitors that go while another one comes at the same address.
    pub moved: Vec<Moved>,
    /// Sources of `discover` that come, by id.
    pub lists_added: Vec<String>,
    /// Sources that go, with all that they list.
    pub lists_removed: Vec<String>,
    /// Sources of which it is not known here what they list: a running Serin keeps that.
    pub lists_unknown: Vec<String>,
    /// Names of receivers that come.
    pub receivers_added: Vec<String>,
    /// Names of receivers that go.
    pub receivers_removed: Vec<String>,
    /// Receivers that stay, and the keys that change.
    pub receivers_changed: Vec<(String, Vec<String>)>,
    /// Whether the routes say something else, with or without an effect.
    pub routes_changed: bool,
    /// Other keys that change, such as `serin.public_url`.
    pub rest: Vec<String>,
    /// Whom findings would reach, where that changes: monitors of one group change alike.
    pub told: Vec<AudienceChange>,
}

/// The same id under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The same before and after, so that its history goes on.
    pub id: MonitorId,
    /// As pages call it now.
    pub from: String,
    /// As they would call it.
    pub to: String,
}

/// The same address under another id, so that the history ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its history stays where it is and is not continued.
    pub from: MonitorId,
    /// Its new id, which begins without a history.
    pub to: MonitorId,
}

/// Monitors whose findings reach others than before, all in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudienceChange {
    /// In the order of the new file, those that go last.
    pub monitors: Vec<MonitorId>,
    /// What changes for each of them.
    pub changes: Vec<TopicChange>,
}

/// Whom one kind of finding reaches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicChange {
    /// A signal, and a reason or class where routes or rules tell them apart.
    pub topic: Topic,
    /// Before; none: it was not judged.
    pub before: Option<Addressees>,
    /// After; none: it is not judged any more.
    pub after: Option<Addressees>,
}

/// How loud, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Addressees {
    /// As the monitor's rules have it.
    pub severity: Severity,
    /// Names of receivers in the order of the routes, each with who hears of it where it cannot be reached; empty: nobody
    /// is told.
    pub to: Vec<(String, Option<String>)>,
}

impl ChangePlan {
    /// Whether `serin plan` ends with 0.
    pub fn is_empty(&self) -> bool {
        *self == Self { lists_unknown: self.lists_unknown.clone(), ..Self::default() }
    }
}

/// A monitor that comes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its id.
    pub id: MonitorId,
    /// Its address, as it may be shown.
    pub url: String,
    /// The source of `discover` that lists it; none: it is written down.
    pub list: Option<String>,
}

/// Compares two files that were found valid. Paths in them have to start at the same folder, else they differ.
pub fn plan(old: &Loaded, new: &Loaded) -> ChangePlan {
    let mut plan = ChangePlan { rest: changes::rest(&old.fleet, &new.fleet), ..ChangePlan::default() };
    let settings = [
        ("serin.listen", old.settings.listen == new.settings.listen),
        ("serin.trusted_proxies", old.settings.trusted_proxies == new.settings.trusted_proxies),
        ("serin.database", old.settings.database == new.settings.database),
        ("serin.token", old.settings.token == new.settings.token),
        ("serin.log", old.settings.log == new.settings.log),
        ("serin.unrouted", old.settings.refuses_unrouted == new.settings.refuses_unrouted),
    ];
    plan.rest.extend(settings.into_iter().filter(|(_, same)| !same).map(|(key, _)| key.to_owned()));
    lists(&mut plan, old, new);
    let (old, new) = (&old.fleet, &new.fleet);
    let before: HashMap<&MonitorId, &Monitor> = old.monitors.iter().map(|one| (&one.id, &**one)).collect();
    let after: HashMap<&MonitorId, &Monitor> = new.monitors.iter().map(|one| (&one.id, &**one)).collect();
    let shown = |monitor: &Monitor| Planned {
        id: monitor.id.clone(),
        url: monitor.url.shown.clone(),
        list: monitor.discovered.as_ref().map(|of| of.source.clone()),
    };
    plan.removed = old.monitors.iter().filter(|one| !after.contains_key(&one.id)).map(|one| shown(one)).collect();
    plan.added = new.monitors.iter().filter(|one| !before.contains_key(&one.id)).map(|one| shown(one)).collect();
    for monitor in &new.monitors {
        let Some(was) = before.get(&monitor.id) else { continue };
        let keys =
            if was.definition_hash == monitor.definition_hash { Vec::new() } else { changes::monitor(was, monitor) };
        if was.name != monitor.name {
            let (from, to) = (was.name.clone(), monitor.name.clone());
            plan.renamed.push(Renamed { id: monitor.id.clone(), from, to });
        }
        let keys: Vec<String> = keys.into_iter().filter(|key| key != "name").collect();
        if !keys.is_empty() {
            plan.changed.push((monitor.id.clone(), keys));
        }
    }
    plan.moved = moved(&plan, &before, &after);
    receivers(&mut plan, old, new);
    let bare = |routes: &[Route]| routes.iter().map(|route| Route { line: 0, ..route.clone() }).collect::<Vec<_>>();
    plan.routes_changed = bare(&old.routes) != bare(&new.routes);
    plan.told = told(old, new, &before, &after);
    plan
}

fn moved(
    plan: &ChangePlan,
    before: &HashMap<&MonitorId, &Monitor>,
    after: &HashMap<&MonitorId, &Monitor>,
) -> Vec<Moved> {
    let gone: HashMap<(&str, &str), &MonitorId> = plan
        .removed
        .iter()
        .filter_map(|one| before.get(&one.id))
        .map(|one| ((one.url.shown.as_str(), one.url.resolved.expose()), &one.id))
        .collect();
    let came = plan.added.iter().filter_map(|one| after.get(&one.id));
    came.filter_map(|one| {
        let from = gone.get(&(one.url.shown.as_str(), one.url.resolved.expose()))?;
        Some(Moved { from: (*from).clone(), to: one.id.clone() })
    })
    .collect()
}

fn lists(plan: &mut ChangePlan, old: &Loaded, new: &Loaded) {
    let ids = |loaded: &Loaded| -> BTreeSet<String> {
        loaded.fleet.discovery.sources.iter().map(|source| source.id.clone()).collect()
    };
    let (before, after) = (ids(old), ids(new));
    plan.lists_removed = before.difference(&after).cloned().collect();
    plan.lists_added = after.difference(&before).cloned().collect();
    plan.lists_unknown = before.intersection(&after).filter(|id| !new.lists.contains(id)).cloned().collect();
}

fn receivers(plan: &mut ChangePlan, old: &Fleet, new: &Fleet) {
    let name = |one: &std::sync::Arc<crate::domain::receiver::Receiver>| one.name.clone();
    plan.receivers_removed = old.receivers.iter().filter(|one| new.receiver(&one.name).is_none()).map(name).collect();
    plan.receivers_added = new.receivers.iter().filter(|one| old.receiver(&one.name).is_none()).map(name).collect();
    for receiver in &new.receivers {
        let Some(was) = old.receiver(&receiver.name) else { continue };
        let keys = changes::receiver(was, receiver);
        if !keys.is_empty() {
            plan.receivers_changed.push((receiver.name.clone(), keys));
        }
    }
}

/// Whom findings would reach, before and after; monitors that change alike together.
fn told(
    old: &Fleet,
    new: &Fleet,
    before: &HashMap<&MonitorId, &Monitor>,
    after: &HashMap<&MonitorId, &Monitor>,
) -> Vec<AudienceChange> {
    // Told apart where either file does so, else a line of one would have no counterpart in the other.
    let apart: BTreeSet<_> = named(&old.routes).into_iter().chain(named(&new.routes)).collect();
    let apart: Vec<_> = apart.into_iter().collect();
    let gone = old.monitors.iter().filter(|one| !after.contains_key(&one.id));
    let mut groups: Vec<AudienceChange> = Vec::new();
    let mut places: HashMap<Vec<TopicChange>, usize> = HashMap::new();
    for monitor in new.monitors.iter().chain(gone) {
        let heard = |by: &HashMap<&MonitorId, &Monitor>, routes: &[Route]| {
            by.get(&monitor.id).map(|one| by_topic(audience(one, routes, &apart))).unwrap_or_default()
        };
        let (was, is) = (heard(before, &old.routes), heard(after, &new.routes));
        let topics: BTreeSet<&Topic> = was.keys().chain(is.keys()).collect();
        let changes: Vec<TopicChange> = topics
            .into_iter()
            .filter(|topic| was.get(topic) != is.get(topic))
            .map(|topic| TopicChange { topic: *topic, before: was.get(topic).cloned(), after: is.get(topic).cloned() })
            .collect();
        if changes.is_empty() {
            continue;
        }
        let at = *places.entry(changes.clone()).or_insert_with(|| {
            groups.push(AudienceChange { monitors: Vec::new(), changes });
            groups.len() - 1
        });
        groups[at].monitors.push(monitor.id.clone());
    }
    groups
}

fn by_topic(heard: Vec<Hearing>) -> BTreeMap<Topic, Addressees> {
    heard.into_iter().map(|Hearing { topic, severity, to }| (topic, Addressees { severity, to })).collect()
}
