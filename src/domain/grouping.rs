//! What of a route goes to people together: one message instead of forty. How long what waits is `paging::gathering`'s.

use std::collections::BTreeMap;
use std::time::Duration;

/// `group:` of a route: what of it goes to people in one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// The labels that have to be alike; none: all of it goes together.
    pub by: Vec<String>,
    /// How long the first waits for others.
    pub wait: Duration,
    /// How long what is no new page waits behind the last message of the group.
    pub interval: Duration,
}

impl Default for Grouping {
    fn default() -> Self {
        Self { by: Vec::new(), wait: Duration::from_secs(30), interval: Duration::from_secs(300) }
    }
}

impl Grouping {
    /// The key of a monitor with these labels, such as `team=docs`; `to`: whom the route tells that groups.
    pub fn key(&self, labels: &BTreeMap<String, String>, to: &[String]) -> String {
        if self.by.is_empty() {
            return format!("all to {}", to.join(", "));
        }
        let part = |name: &String| format!("{name}={}", labels.get(name).map_or("", String::as_str));
        self.by.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_the_labels_that_the_route_names() {
        let labels = BTreeMap::from([("team".to_owned(), "docs".to_owned()), ("zone".to_owned(), "b".to_owned())]);
        let by = |names: &[&str]| {
            let by = names.iter().map(|name| (*name).to_owned()).collect();
            Grouping { by, ..Grouping::default() }.key(&labels, &["chat".to_owned()])
        };
        assert_eq!(by(&["zone", "team"]), "zone=b, team=docs");
        assert_eq!(by(&["store"]), "store=", "who has no such label is with those who have none");
        assert_eq!(by(&[]), "all to chat");
    }
}
