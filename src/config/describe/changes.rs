//! What differs between two declarations, by the keys that say it.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::check::definition;
use crate::domain::discovery::{Discovery, Source};
use crate::domain::drills::ScheduledDrill;
use crate::domain::fleet::Fleet;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::{Canary, Monitor, ProbeIdentity};
use crate::domain::near_miss::NearMiss;
use crate::domain::receiver::{Receiver, Smtp};
use crate::domain::runbooks::{LabelRunbooks, Runbooks};
use crate::domain::status_page::StatusPage;

/// The keys by which a monitor differs from what it was; its id is the same.
pub(crate) fn monitor(old: &Monitor, new: &Monitor) -> Vec<String> {
    let mut keys = Vec::new();
    for key in definition::of_monitor(new).differing(&definition::of_monitor(old)) {
        match key {
            // A program's address is its command and arguments, which have keys of their own.
            "url" if old.reach.program.is_some() && new.reach.program.is_some() => {}
            "labels" => keys.extend(labels(old, new)),
            "canaries" => keys.extend(canaries(&old.canaries, &new.canaries)),
            "canaries.pair" => keys.extend(pairs(&old.near_misses, &new.near_misses)),
            key => keys.push(key.to_owned()),
        }
    }
    keys
}

fn labels(old: &Monitor, new: &Monitor) -> Vec<String> {
    let (old, new) = (&old.labels, &new.labels);
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    names.filter(|name| old.get(*name) != new.get(*name)).map(|name| format!("labels.{name}")).collect()
}

/// Canaries by id: one that came or went is named, one that stayed by its keys.
fn canaries(old: &[Canary], new: &[Canary]) -> Vec<String> {
    let before: BTreeMap<&str, &Canary> = old.iter().map(|canary| (canary.id.as_str(), canary)).collect();
    let after: BTreeMap<&str, &Canary> = new.iter().map(|canary| (canary.id.as_str(), canary)).collect();
    let mut keys = Vec::new();
    for id in before.keys().chain(after.keys().filter(|id| !before.contains_key(*id))) {
        match (before.get(id), after.get(id)) {
            (Some(old), Some(new)) => {
                let inside = definition::of_canary(new).differing(&definition::of_canary(old));
                keys.extend(inside.into_iter().map(|key| format!("canaries.{id}.{key}")));
            }
            _ => keys.push(format!("canaries.{id}")),
        }
    }
    if keys.is_empty() { vec!["canaries (their order)".to_owned()] } else { keys }
}

/// Canaries that name another one now, by id.
fn pairs(old: &[NearMiss], new: &[NearMiss]) -> BTreeSet<String> {
    let gone = old.iter().filter(|pair| !new.contains(pair));
    let come = new.iter().filter(|pair| !old.contains(pair));
    gone.chain(come).map(|pair| format!("canaries.{}.pair", pair.canary)).collect()
}

/// The keys by which a receiver differs from what it was; its name is the same.
pub(in crate::config) fn receiver(old: &Receiver, new: &Receiver) -> Vec<String> {
    let (was, is) = (old.channel.key(), new.channel.key());
    if was != is {
        return vec![format!("{was}, now {is}")];
    }
    let keys = definition::of_receiver(new).differing(&definition::of_receiver(old));
    keys.into_iter().map(str::to_owned).collect()
}

#[derive(Default)]
struct Changed(Vec<String>);

impl Changed {
    fn unless<T: PartialEq>(&mut self, key: &str, old: &T, new: &T) {
        if old != new {
            self.0.push(key.to_owned());
        }
    }
}

/// Where a source stands in the file is no part of it, nor is what its list names.
fn unplaced_sources(discovery: &Discovery) -> Discovery {
    let sources = discovery.sources.iter().map(|source| Source { line: 0, ..source.clone() });
    Discovery { sources: sources.collect(), left_out: BTreeMap::new(), ..discovery.clone() }
}

/// The keys outside of monitors, receivers and routes by which a fleet differs from what it was.
pub(in crate::config) fn rest(old: &Fleet, new: &Fleet) -> Vec<String> {
    let Fleet {
        provenance: _,
        monitors,
        receivers: _,
        routes: _,
        common_cause,
        maintenance,
        drills,
        status_page,
        discovery,
        internal,
        runbooks,
        allow_private,
        control,
        retention,
        heartbeat,
        smtp,
        sign_in,
        public_url,
        // Follows from whether the address is declared.
        is_public: _,
    } = old;
    let mut keys = Changed::default();
    keys.unless("serin.public_url", public_url, &new.public_url);
    // Where a window stands in the file is no part of it.
    let unplaced = |windows: &[MaintenanceWindow]| -> Vec<MaintenanceWindow> {
        windows.iter().map(|window| MaintenanceWindow { line: 0, ..window.clone() }).collect()
    };
    keys.unless("maintenance", &unplaced(maintenance), &unplaced(&new.maintenance));
    keys.unless("serin.common_cause", common_cause, &new.common_cause);
    let unplaced = |drills: &[ScheduledDrill]| -> Vec<ScheduledDrill> {
        drills.iter().map(|drill| ScheduledDrill { line: 0, ..drill.clone() }).collect()
    };
    keys.unless("drills", &unplaced(drills), &unplaced(&new.drills));
    let unplaced = |page: &Option<StatusPage>| {
        page.clone().map(|mut page| {
            page.components.iter_mut().for_each(|component| component.line = 0);
            page
        })
    };
    keys.unless("discover", &unplaced_sources(discovery), &unplaced_sources(&new.discovery));
    keys.unless("status", &unplaced(status_page), &unplaced(&new.status_page));
    keys.unless("serin.internal", internal, &new.internal);
    keys.unless("serin.allow_private", allow_private, &new.allow_private);
    keys.unless("serin.control", control, &new.control);
    keys.unless("serin.retention", retention, &new.retention);
    keys.unless("serin.heartbeat", heartbeat, &new.heartbeat);
    keys.unless("serin.users", &sign_in.users, &new.sign_in.users);
    keys.unless("serin.oidc", &sign_in.provider, &new.sign_in.provider);
    match (smtp, &new.smtp) {
        (Some(Smtp { host, port, tls, login, from, ca }), Some(new)) => {
            keys.unless("serin.smtp.host", host, &new.host);
            keys.unless("serin.smtp.port", port, &new.port);
            keys.unless("serin.smtp.tls", tls, &new.tls);
            keys.unless("serin.smtp.username and password", login, &new.login);
            keys.unless("serin.smtp.from", from, &new.from);
            keys.unless("serin.smtp.ca", ca, &new.ca);
        }
        (old, new) => keys.unless("serin.smtp", old, new),
    }
    let identity = |fleet: &Fleet| -> Option<ProbeIdentity> {
        fleet.monitors.first().and_then(|monitor| monitor.identity.as_deref().cloned())
    };
    if !monitors.is_empty() && !new.monitors.is_empty() {
        keys.unless("serin.probe_identity", &identity(old), &identity(new));
    }
    let (old, new) = (written(runbooks), written(&new.runbooks));
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        keys.unless(key, &old.get(key), &new.get(key));
    }
    keys.0
}

/// Every runbook by the keys that lead to it; where it stands is no part of it. Of a label its place among the others
/// counts too.
fn written(runbooks: &Runbooks) -> BTreeMap<String, (usize, &str)> {
    let Runbooks { monitors, labels, all } = runbooks;
    let own = monitors.iter().flat_map(|(id, own)| {
        own.all().map(move |(key, runbook)| (format!("monitors.{id}.runbooks.{key}"), (0, &*runbook.url)))
    });
    let by_label = labels.iter().enumerate().flat_map(|(nth, LabelRunbooks { label, values })| {
        values.iter().map(move |(value, runbook)| (format!("runbooks.labels.{label}.{value}"), (nth, &*runbook.url)))
    });
    let rest = all.all().map(|(key, runbook)| (format!("runbooks.{key}"), (0, &*runbook.url)));
    own.chain(by_label).chain(rest).collect()
}
