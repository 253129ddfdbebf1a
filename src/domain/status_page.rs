//! The public status page of the file: which components it shows, and which monitors each of them stands for.
//!
//! It is a list of what may be said, not of what may not: names in here were written to be read by everybody, and nothing
//! else of a monitor is shown with them.

use crate::domain::monitor::MonitorId;

/// What `status:` declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPage {
    /// The page's heading.
    pub title: String,
    /// Where the heading leads, with http or https; none: nowhere.
    pub home: Option<String>,
    /// What is shown, in the order of the file; names are unique.
    pub components: Vec<Component>,
}

/// One thing that people know by name, and the monitors that say how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The name that everybody reads.
    pub name: String,
    /// What it is, in a sentence; empty where nothing is said.
    pub description: String,
    /// The heading it stands under; empty: none.
    pub group: String,
    /// The monitors behind it, at least one, each once, in the order of the file.
    pub monitors: Vec<MonitorId>,
    /// The line of the file, from 1.
    pub line: u32,
}

impl StatusPage {
    /// Every monitor that is behind something, each once, in order of the components.
    pub fn monitors(&self) -> Vec<&MonitorId> {
        let mut seen = std::collections::HashSet::new();
        self.components.iter().flat_map(|component| &component.monitors).filter(|id| seen.insert(*id)).collect()
    }
}
