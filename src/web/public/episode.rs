//! Incidents as the public hears of them: those of one component that are of one kind and touch each other are one.
//!
//! Behind one outage stand several incidents, of several monitors and signals; whoever reads a status page wants to know
//! what did not work, and from when to when.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::status_page::Component;
use crate::store::read::public::PublicIncident;
use crate::web::public::words::{PublicState, told};

/// Something that was wrong with a component, from its first incident's opening to its last one's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Episode {
    /// The place of its component on the page, from 0.
    pub component: usize,
    /// Whether it was planned, or else what it was.
    pub state: PublicState,
    /// What is said of it, one sentence.
    pub said: &'static str,
    pub from: DateTime<Utc>,
    /// None while it goes on.
    pub until: Option<DateTime<Utc>>,
    /// The id of its first incident, by which it is known; never shown.
    pub first: String,
    /// How many of the component's monitors it was about, and how many there are.
    pub affected: (usize, usize),
    monitors: Vec<String>,
}

/// The episodes that incidents amount to, the newest first.
pub(crate) fn episodes(components: &[Component], incidents: &[PublicIncident]) -> Vec<Episode> {
    let mut all: Vec<Episode> = components
        .iter()
        .enumerate()
        .flat_map(|(place, component)| of_component(place, component, incidents))
        .collect();
    all.sort_by(|one, other| (other.from, one.component).cmp(&(one.from, other.component)));
    all
}

fn of_component(place: usize, component: &Component, incidents: &[PublicIncident]) -> Vec<Episode> {
    let behind: std::collections::HashSet<&str> = component.monitors.iter().map(|id| id.as_str()).collect();
    let mut kinds: BTreeMap<PublicState, Vec<Episode>> = BTreeMap::new();
    // The oldest first, so that each either touches the latest of its kind or begins a new one.
    for incident in incidents.iter().rev().filter(|incident| behind.contains(incident.monitor.as_str())) {
        let Some((state, said)) = told(incident.signal, incident.reason, incident.severity) else { continue };
        let state = if incident.is_planned { PublicState::Maintenance } else { state };
        let all = kinds.entry(state).or_default();
        let last = all.last_mut().filter(|last| last.until.is_none_or(|until| incident.began_at <= until));
        match last {
            Some(last) => last.join(incident),
            None => all.push(Episode {
                component: place,
                state,
                said: if incident.is_planned { "Part of a planned maintenance." } else { said },
                from: incident.began_at,
                until: incident.resolved_at,
                first: incident.id.clone(),
                affected: (1, component.monitors.len()),
                monitors: vec![incident.monitor.as_str().to_owned()],
            }),
        }
    }
    kinds.into_values().flatten().collect()
}

impl Episode {
    fn join(&mut self, incident: &PublicIncident) {
        self.until = self.until.zip(incident.resolved_at).map(|(one, other)| one.max(other));
        if !self.monitors.iter().any(|known| known == incident.monitor.as_str()) {
            self.monitors.push(incident.monitor.as_str().to_owned());
            self.affected.0 = self.monitors.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::MonitorId;
    use crate::domain::reason::FailureReason as R;
    use crate::domain::reason::Severity;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-11-25T10:{minute:02}:00Z").parse().unwrap()
    }

    fn incident(id: &str, monitor: &str, reason: R, (from, until): (u32, Option<u32>)) -> PublicIncident {
        PublicIncident {
            id: id.to_owned(),
            monitor: MonitorId::new(monitor),
            signal: reason.facts().signal,
            severity: Severity::Page,
            reason,
            began_at: at(from),
            resolved_at: until.map(at),
            is_planned: false,
        }
    }

    #[test]
    fn what_touches_is_one_and_what_does_not_is_two() {
        let component = |name: &str, ids: &[&str]| Component {
            name: name.to_owned(),
            description: String::new(),
            group: String::new(),
            monitors: ids.iter().map(|id| MonitorId::new(id)).collect(),
            line: 1,
        };
        let components = [component("Search", &["a", "b", "c"]), component("Wiki", &["w"])];
        let mut planned = incident("i6", "w", R::ConnectionRefused, (50, Some(55)));
        planned.is_planned = true;
        let mut incidents = [
            incident("i1", "a", R::ConnectionRefused, (0, Some(10))),
            incident("i2", "b", R::Timeout, (5, Some(20))),
            incident("i3", "a", R::ConnectionRefused, (30, None)),
            incident("i4", "a", R::WrongResults, (6, Some(9))),
            incident("i5", "other", R::WrongResults, (6, Some(9))),
            planned,
            incident("i7", "w", R::CertificateExpiring, (1, None)),
        ];
        incidents.sort_by_key(|incident| std::cmp::Reverse(incident.began_at));
        let found = episodes(&components, &incidents);
        let said: Vec<String> = found
            .iter()
            .map(|one| {
                let until = one.until.map_or("open".to_owned(), |until| until.format("%M").to_string());
                let (from, (n, of)) = (one.from.format("%M"), one.affected);
                format!("{} {} {from}-{until} {n}/{of} {}", one.component, one.state.word(), one.first)
            })
            .collect();
        let expected = [
            "1 maintenance 50-55 1/1 i6",
            "0 down 30-open 1/3 i3",
            "0 answers may be wrong 06-09 1/3 i4",
            "0 down 00-20 2/3 i1",
        ];
        assert_eq!(said, expected, "nobody hears of a certificate, or of a monitor that is not shown");
    }
}
