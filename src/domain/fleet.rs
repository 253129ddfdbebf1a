//! What monitors.yaml declares, once it has been checked: monitors, receivers, routes, runbooks.
//!
//! Every value in here is valid by construction of `config`; nothing downstream checks again.
//! Beside it: `monitor` (one server under watch), `rules` (when its signals open and close), `receiver`, `route`, `runbooks`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use crate::domain::discovery::Discovery;
use crate::domain::drills::ScheduledDrill;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::network::Network;
use crate::domain::reason::FailureReason;
use crate::domain::receiver::{Receiver, Smtp};
use crate::domain::route::Route;
use crate::domain::rules::RulePlace;
use crate::domain::runbooks::{RunbookWanted, Runbooks};
use crate::domain::secret::Address;
use crate::domain::sign_in::SignIn;
use crate::domain::status_page::StatusPage;

/// Everything one monitors.yaml declares.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fleet {
    /// Where this fleet was declared and at which commit.
    pub provenance: Provenance,
    /// The monitors, in the order of the file; ids are unique.
    pub monitors: Vec<Arc<Monitor>>,
    /// The receivers by name, in the order of the file.
    pub receivers: Vec<Arc<Receiver>>,
    /// The routes, first match wins.
    pub routes: Vec<Route>,
    /// Which share of the fleet, in 0..=1, goes down by one cause where it does so together; none: each for itself.
    pub common_cause: Option<f64>,
    /// When what is expected to fail, in the order of the file.
    pub maintenance: Vec<MaintenanceWindow>,
    /// When receivers are told that nothing is wrong, in the order of the file.
    pub drills: Vec<ScheduledDrill>,
    /// What everybody may see; none: nothing.
    pub status_page: Option<StatusPage>,
    /// Lists that others keep, whose servers are watched without being written down.
    pub discovery: Discovery,
    /// Names of receivers that hear of Serin's own trouble, directly and without database or outbox.
    pub internal: Vec<String>,
    /// Where messages send people: the team's own pages, else Serin's.
    pub runbooks: Runbooks,
    /// Networks in private space that receivers may be reached in.
    pub allow_private: Vec<Network>,
    /// Addresses by which Serin knows its own uplink; empty: it is taken for granted.
    pub control: Vec<Control>,
    /// The sign of life that somebody outside waits for.
    pub heartbeat: Option<Heartbeat>,
    /// The mail server, where a receiver needs one.
    pub smtp: Option<Smtp>,
    /// How long what is remembered is kept.
    pub retention: Retention,
    /// Who signs in by name, beside whoever has the token.
    pub sign_in: SignIn,
    /// Address people reach the pages under, without a trailing slash; links in pages start here.
    pub public_url: String,
    /// Whether the file declares it, so that a link in a message leads people somewhere.
    pub is_public: bool,
}

/// An address that answers while our own network is well, and by what its answer is told from that of a gateway which
/// answers in its place. Without either, any answer will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The URL that is asked.
    pub address: Address,
    /// The status its answer has.
    pub status: Option<u16>,
    /// Text its body has to contain; none: the status is enough.
    pub contains: Option<String>,
}

/// How long what is remembered is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Every beat and every answer, in hourly packs.
    pub beats: TimeDelta,
    /// Daily percentiles and uptime, and what probes cost a server.
    pub days: TimeDelta,
    /// What was said over the wire when a probe failed.
    pub transcripts: TimeDelta,
    /// Incidents that ended, with all that was told of them.
    pub incidents: TimeDelta,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            beats: TimeDelta::days(35),
            days: TimeDelta::days(400),
            transcripts: TimeDelta::days(30),
            incidents: TimeDelta::days(400),
        }
    }
}

impl Fleet {
    /// None where it is not declared, be it by a typing error or removed since.
    pub fn monitor(&self, id: &MonitorId) -> Option<&Arc<Monitor>> {
        self.monitors.iter().find(|monitor| monitor.id == *id)
    }

    /// Where to look when a monitor has a reason, be it declared or removed since; Serin's own page starts with `home`.
    pub fn runbook_url(
        &self,
        reason: FailureReason,
        monitor: &MonitorId,
        incident: Option<&str>,
        home: &str,
    ) -> String {
        // Asked for its labels only, and these count where some label has a runbook.
        let declared = if self.runbooks.labels.is_empty() { None } else { self.monitor(monitor) };
        let labels = declared.map(|monitor| &monitor.labels);
        self.runbooks.url(RunbookWanted { reason, monitor: Some(monitor), labels, incident }, home)
    }

    /// Who hears of what a receiver cannot be told; the file has no two for one.
    pub fn fallback(&self, receiver: &str) -> Option<&str> {
        let named = |route: &&Route| route.fallback.is_some() && route.to.iter().any(|name| name == receiver);
        self.routes.iter().find(named).and_then(|route| route.fallback.as_deref())
    }

    /// Whom these drills tell: those they name, and where one names nobody all that some route can reach. Each once, in the
    /// order of the file.
    pub fn drilled<'a>(&'a self, drills: impl IntoIterator<Item = &'a ScheduledDrill>) -> Vec<&'a Arc<Receiver>> {
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for drill in drills {
            match drill.to.is_empty() {
                true => told.extend(self.routes.iter().flat_map(Route::reached)),
                false => told.extend(drill.to.iter().map(String::as_str)),
            }
        }
        self.receivers.iter().filter(|receiver| told.contains(receiver.name.as_str())).collect()
    }

    /// None where it is not declared any more.
    pub fn receiver(&self, name: &str) -> Option<&Arc<Receiver>> {
        self.receivers.iter().find(|receiver| receiver.name == name)
    }
}

/// Where a fleet came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    /// The file's name as a page shows it, such as `monitors.yaml`.
    pub file: String,
    /// The files it includes, in the order in which their lines are numbered.
    pub included: Vec<IncludedFile>,
    /// SHA-256 over the bytes of all files, lowercase hex.
    pub hash: String,
    /// The same without the lists that Serin keeps itself: what people declare.
    pub declared: String,
    /// The git commit, with `-dirty` behind it where a file differs from it; none outside git.
    pub commit: Option<String>,
}

/// A file that another one includes. Lines are numbered through all files, from 1 in the first one, so that a
/// declaration needs no more than its line to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// The file's name as a page shows it, such as `teams/docs.yaml`.
    pub file: String,
    /// The number of its first line.
    pub first_line: u32,
}

impl Provenance {
    /// The file in which a declaration stands, and the line there, from 1.
    pub fn place(&self, line: u32) -> (&str, u32) {
        let nth = self.included.partition_point(|included| included.first_line <= line);
        match nth.checked_sub(1).and_then(|nth| self.included.get(nth)) {
            Some(included) => (&included.file, line - included.first_line + 1),
            None => (&self.file, line),
        }
    }

    /// The same as one text, such as `teams/docs.yaml:7`.
    pub fn shown(&self, line: u32) -> String {
        let (file, line) = self.place(line);
        format!("{file}:{line}")
    }

    /// The rule on a line.
    pub fn rule(&self, line: u32) -> RulePlace {
        let (file, line) = self.place(line);
        RulePlace { file: file.to_owned(), line, commit: self.commit.clone() }
    }
}

/// A sign of life, sent to somebody outside who raises the alarm when it stays away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Where to. Whoever knows it can pretend to be us, so it is shown nowhere.
    pub url: Address,
    /// Time between two heartbeats.
    pub every: Duration,
    /// Whether it is a POST; else a GET.
    pub post: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receivers_fallback_is_that_of_any_route_that_names_one() {
        let route = |to: &[&str], fallback: Option<&str>| Route {
            to: to.iter().map(|name| (*name).to_owned()).collect(),
            fallback: fallback.map(str::to_owned),
            ..Route::default()
        };
        let routes = vec![route(&["log", "oncall"], None), route(&["oncall"], Some("mail")), route(&["mail"], None)];
        let fleet = Fleet { routes, ..Fleet::default() };
        let rows = [
            ("oncall", Some("mail"), "one route has none, the other has one"),
            ("log", None, "no route has one"),
            ("mail", None, "a fallback has none of its own"),
            ("nobody", None, "no route names it"),
        ];
        for (receiver, expected, sentence) in rows {
            assert_eq!(fleet.fallback(receiver), expected, "{sentence}");
        }
    }
}
