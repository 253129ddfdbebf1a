//! Where a page tells a human to look: the team's own pages, else the one that Serin brings for the reason.
//!
//! What is nearest to the incident goes first: what its monitor declares, then what one of its labels does, then the
//! address of the reason, of the layer it belongs to, and the default. What a monitor declares may be by reason too.

use std::collections::BTreeMap;

use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::reason::{FailureReason, Layer};

/// What is put into an address: the failure reason, the id of the monitor, and that of the incident.
pub const PLACEHOLDERS: [&str; 3] = ["{reason}", "{monitor}", "{incident}"];

/// One address of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runbook {
    /// The address as it is written, with its [`PLACEHOLDERS`].
    pub url: String,
    /// The line of the file, from 1.
    pub line: u32,
}

/// Addresses by what failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunbooksByReason {
    /// Those of single reasons.
    pub reasons: BTreeMap<FailureReason, Runbook>,
    /// Those of all reasons of a layer that have none of their own.
    pub layers: BTreeMap<Layer, Runbook>,
    /// Used where neither says anything.
    pub default: Option<Runbook>,
}

impl RunbooksByReason {
    /// The reason's own, else its layer's, else the default.
    pub fn find(&self, reason: FailureReason) -> Option<&Runbook> {
        let layer = || self.layers.get(&reason.facts().layer);
        self.reasons.get(&reason).or_else(layer).or(self.default.as_ref())
    }

    /// Every address, each with the keys that lead to it, such as `layers.transport`.
    pub fn all(&self) -> impl Iterator<Item = (String, &Runbook)> {
        let reasons = self.reasons.iter().map(|(reason, runbook)| (reason.slug().to_owned(), runbook));
        let layers = self.layers.iter().map(|(layer, runbook)| (format!("layers.{}", layer.slug()), runbook));
        let default = self.default.iter().map(|runbook| ("default".to_owned(), runbook));
        default.chain(layers).chain(reasons)
    }
}

/// The addresses of one label, by its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRunbooks {
    /// The label's name.
    pub label: String,
    /// Its values that have one.
    pub values: BTreeMap<String, Runbook>,
}

/// All addresses that the file declares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runbooks {
    /// What single monitors declare.
    pub monitors: BTreeMap<MonitorId, RunbooksByReason>,
    /// By labels, in the order of the file: the first that a monitor carries counts.
    pub labels: Vec<LabelRunbooks>,
    /// For everything else.
    pub all: RunbooksByReason,
}

/// What a runbook is wanted for.
#[derive(Debug, Clone, Copy)]
pub struct RunbookWanted<'a> {
    /// What failed.
    pub reason: FailureReason,
    /// The id of the monitor; none where it is about none.
    pub monitor: Option<&'a MonitorId>,
    /// Its labels; empty where it is no longer declared.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// The id of the incident; none where there is none.
    pub incident: Option<&'a str>,
}

impl<'a> RunbookWanted<'a> {
    /// For a reason, whichever monitor has it.
    pub fn of(reason: FailureReason) -> Self {
        Self { reason, monitor: None, labels: None, incident: None }
    }

    /// For what a declared monitor may have.
    pub fn for_monitor(reason: FailureReason, monitor: &'a Monitor) -> Self {
        Self { reason, monitor: Some(&monitor.id), labels: Some(&monitor.labels), incident: None }
    }
}

impl Runbooks {
    /// The address that counts; none where the file says nothing, so that it is Serin's own page.
    pub fn find(&self, wanted: RunbookWanted<'_>) -> Option<&Runbook> {
        let own = wanted.monitor.and_then(|id| self.monitors.get(id)).and_then(|own| own.find(wanted.reason));
        let by_label = || {
            let carried = |one: &'_ LabelRunbooks| wanted.labels.and_then(|labels| labels.get(&one.label)).cloned();
            self.labels.iter().find_map(|one| one.values.get(&carried(one)?))
        };
        own.or_else(by_label).or_else(|| self.all.find(wanted.reason))
    }

    /// The address with everything put in; what is not known is left out. Serin's own page starts with `public_url`.
    pub fn url(&self, wanted: RunbookWanted<'_>, public_url: &str) -> String {
        match self.find(wanted) {
            Some(runbook) => wanted.put_into(&runbook.url),
            None => format!("{public_url}/runbooks/{}", wanted.reason.slug()),
        }
    }
}

impl RunbookWanted<'_> {
    /// An address with its [`PLACEHOLDERS`] filled. Ids need no escape: `config` and we make them of letters and digits.
    pub fn put_into(&self, url: &str) -> String {
        let monitor = self.monitor.map(MonitorId::as_str).unwrap_or_default();
        let [reason, of_monitor, incident] = PLACEHOLDERS;
        url.replace(reason, self.reason.slug())
            .replace(of_monitor, monitor)
            .replace(incident, self.incident.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runbook(url: &str) -> Runbook {
        Runbook { url: url.to_owned(), line: 1 }
    }

    fn by_reason(
        reason: Option<(FailureReason, &str)>,
        layer: Option<&str>,
        default: Option<&str>,
    ) -> RunbooksByReason {
        RunbooksByReason {
            reasons: reason.into_iter().map(|(reason, url)| (reason, runbook(url))).collect(),
            layers: layer.into_iter().map(|url| (Layer::Retrieval, runbook(url))).collect(),
            default: default.map(runbook),
        }
    }

    #[test]
    fn what_is_nearest_goes_first() {
        type Labels = &'static [(&'static str, &'static str)];
        use FailureReason::{EmptyResults, Timeout, WrongResults};
        let wiki = by_reason(Some((EmptyResults, "wiki/empty")), None, None);
        let label = |label: &str, value: &str, url: &str| LabelRunbooks {
            label: label.to_owned(),
            values: BTreeMap::from([(value.to_owned(), runbook(url))]),
        };
        let runbooks = Runbooks {
            monitors: BTreeMap::from([(MonitorId::new("wiki"), wiki)]),
            labels: vec![label("env", "prod", "env/{monitor}"), label("team", "docs", "team/docs")],
            all: by_reason(
                Some((WrongResults, "own/wrong?{monitor}")),
                Some("layer/{reason}"),
                Some("rest/{reason}?{incident}"),
            ),
        };
        let both: Labels = &[("team", "docs"), ("env", "prod")];
        let rows: [(&str, Labels, FailureReason, &str, &str); 8] = [
            ("wiki", both, EmptyResults, "wiki/empty", "the monitor's own, before its labels"),
            ("wiki", both, Timeout, "env/wiki", "where it says nothing of the reason, its label"),
            ("docs", both, Timeout, "env/docs", "of two labels the one that stands first in the file"),
            ("docs", &[("team", "docs")], WrongResults, "team/docs", "a label before the reason"),
            ("docs", &[("team", "search")], WrongResults, "own/wrong?docs", "another value is another label"),
            ("docs", &[], WrongResults, "own/wrong?docs", "the reason before its layer"),
            ("docs", &[], EmptyResults, "layer/empty_results", "the layer before the default"),
            ("docs", &[], Timeout, "rest/timeout?i1", "and then the default"),
        ];
        for (monitor, labels, reason, expected, sentence) in rows {
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let id = MonitorId::new(monitor);
            let wanted = RunbookWanted { reason, monitor: Some(&id), labels: Some(&labels), incident: Some("i1") };
            assert_eq!(runbooks.url(wanted, "https://serin"), expected, "{sentence}");
        }
        let nobody = RunbookWanted::of(Timeout);
        assert_eq!(runbooks.url(nobody, ""), "rest/timeout?", "what is not known is left out");
        assert_eq!(Runbooks::default().url(nobody, "https://serin"), "https://serin/runbooks/timeout", "else ours");
    }
}
