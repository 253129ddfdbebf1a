//! `serin check --links`: whether a page's runbook leads anywhere before somebody is paged by it.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::stream;
use serde::Serialize;

use crate::deliver::link::LinkFollower;
use crate::domain::fleet::Fleet;
use crate::domain::paging::audience::topics;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::runbooks::{PLACEHOLDERS, Runbook, RunbookWanted};
use crate::domain::wording::counted;

/// Addresses fetched in one check: with ten seconds for each and [`AT_ONCE`], two minutes at most.
const LINKS_MAX: usize = 200;
/// Fetched at the same time.
const AT_ONCE: usize = 16;

/// One address, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LinkFound {
    /// The address without what is behind `#`, which is never sent.
    pub url: String,
    /// The file that declares it.
    pub file: String,
    /// Its line there.
    pub line: u32,
    /// Whether a rule that wakes somebody leads to it.
    pub pages: bool,
    /// One of those who are sent there, such as `docs, timeout`.
    pub example: String,
    /// Why it leads nowhere; none: it leads to a page.
    pub trouble: Option<String>,
}

/// What a check of the links found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct LinksFound {
    /// Each address once, those that page first.
    pub links: Vec<LinkFound>,
    /// Addresses beyond those that one check fetches.
    pub left_out: usize,
    /// Runbooks whose path names the incident, so that there is nothing to fetch before there is one.
    pub need_an_incident: usize,
}

/// Fetches every runbook that the file leads to, each address once.
///
/// # Errors
/// Where no HTTP client can be built.
pub(crate) async fn check(fleet: &Fleet) -> anyhow::Result<LinksFound> {
    let mut found = wanted(fleet);
    let follower = LinkFollower::new(&fleet.allow_private)?;
    let follower = &follower;
    let follow = |link: LinkFound| async move {
        let trouble = follower.follow(&link.url).await;
        LinkFound { trouble, ..link }
    };
    let links = std::mem::take(&mut found.links);
    found.links = stream::iter(links.into_iter().map(follow)).buffered(AT_ONCE).collect().await;
    Ok(found)
}

/// What is to be fetched.
fn wanted(fleet: &Fleet) -> LinksFound {
    let mut links: BTreeMap<String, LinkFound> = BTreeMap::new();
    let mut by_incident: Vec<&Runbook> = Vec::new();
    let mut note = |wanted: RunbookWanted<'_>, pages: bool| {
        let Some(runbook) = fleet.runbooks.find(wanted) else { return };
        if runbook.url.split(['?', '#']).next().is_some_and(|path| path.contains(PLACEHOLDERS[2])) {
            if !by_incident.contains(&runbook) {
                by_incident.push(runbook);
            }
            return;
        }
        let whole = wanted.put_into(&runbook.url);
        let url = whole.split('#').next().unwrap_or_default().to_owned();
        let (file, line) = fleet.provenance.place(runbook.line);
        let monitor = wanted.monitor.map_or_else(|| "Serin itself".to_owned(), ToString::to_string);
        let example = format!("{monitor}, {}", wanted.reason.slug());
        let link = links.entry(url.clone()).or_insert_with(|| LinkFound {
            url,
            file: file.to_owned(),
            line,
            pages,
            example: example.clone(),
            trouble: None,
        });
        if pages && !link.pages {
            (link.file, link.line, link.pages, link.example) = (file.to_owned(), line, true, example);
        }
    };
    for monitor in &fleet.monitors {
        for (topic, severity) in topics(monitor) {
            let Some(reason) = topic.reason else { continue };
            note(RunbookWanted::for_monitor(reason, monitor), severity == Severity::Page);
        }
    }
    for reason in [FailureReason::MonitorInternal, FailureReason::MonitorUplink] {
        note(RunbookWanted::of(reason), !fleet.internal.is_empty());
    }
    let need_an_incident = by_incident.len();
    let mut links: Vec<LinkFound> = links.into_values().collect();
    links.sort_by_key(|link| !link.pages);
    let left_out = links.len().saturating_sub(LINKS_MAX);
    links.truncate(LINKS_MAX);
    LinksFound { links, left_out, need_an_incident }
}

impl LinksFound {
    /// Whether nobody who is paged is led nowhere.
    pub(crate) fn is_right(&self) -> bool {
        !self.links.iter().any(|link| link.pages && link.trouble.is_some())
    }

    /// What is wrong: one text an address, with the place and the mend.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let said = |link: &LinkFound| {
            let trouble = link.trouble.as_ref()?;
            let LinkFound { url, file, line, example, .. } = link;
            let kind = if link.pages { "error" } else { "warning" };
            Some(format!(
                "{kind}: {file}:{line}: the runbook {url} leads nowhere: {trouble}\n  led there: {example}\n  help: correct the \
                 address, or leave it out: Serin's own page for the reason stands in"
            ))
        };
        self.links.iter().filter_map(said).collect()
    }

    /// One line about all of them.
    pub(crate) fn summary(&self) -> String {
        let lost = self.links.iter().filter(|link| link.trouble.is_some()).count();
        let mut said = format!("{} fetched", counted(self.links.len(), "runbook address", "runbook addresses"));
        said.push_str(&if lost == 0 { ", none leads nowhere".to_owned() } else { format!(", {lost} lead nowhere") });
        if self.left_out > 0 {
            said.push_str(&format!("; {} more than one check fetches", self.left_out));
        }
        if self.need_an_incident > 0 {
            said.push_str(&format!("; {} more not fetched, since the path names the incident", self.need_an_incident));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::monitor::Monitor;
    use crate::domain::runbooks::{Runbooks, RunbooksByReason};
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn each_address_is_wanted_once_and_those_that_page_first() {
        let runbook = |url: &str, line| Runbook { url: url.to_owned(), line };
        let address = |url: &str| Address { shown: url.to_owned(), resolved: Secret::new(url) };
        let monitors = ["docs", "wiki"].map(|id| Arc::new(Monitor::undeclared(id, address("https://h/mcp")))).to_vec();
        let reasons = BTreeMap::from([
            (FailureReason::LatencyElevated, runbook("https://r/slow", 2)),
            (FailureReason::Timeout, runbook("https://r/{monitor}", 3)),
            (FailureReason::HttpError, runbook("https://r/of/{incident}", 4)),
        ]);
        let all =
            RunbooksByReason { reasons, default: Some(runbook("https://r/all#{reason}", 5)), ..Default::default() };
        let runbooks = Runbooks { all, ..Runbooks::default() };
        let found = wanted(&Fleet { monitors, runbooks, ..Fleet::default() });
        let said: Vec<_> =
            found.links.iter().map(|link| format!("{} {} {}", link.url, link.line, link.pages)).collect();
        assert_eq!(
            said,
            ["https://r/all 5 true", "https://r/docs 3 true", "https://r/wiki 3 true", "https://r/slow 2 false"]
        );
        assert_eq!((found.need_an_incident, found.left_out), (1, 0));
    }
}
