//! tools/list against the accepted baseline: what changed, and how much it matters.

use crate::domain::fleet::ContractRule;
use crate::domain::observation::Stage;
use crate::domain::observation::{CrossCheck, ToolSeen, ToolsSeen};
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::protocol::Era;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// Changed tools that a finding names.
const NAMED_TOOLS_MAX: usize = 8;
/// Equal lists in a row that make a first baseline.
const STABLE_AFTER: u32 = 2;

/// The tools that were accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Hash over all of them.
    pub hash: String,
    /// The tools, sorted by name.
    pub tools: Vec<ToolSeen>,
}

/// What is remembered of a server's tools between beats.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolsStanding {
    /// The accepted tools; none until a list was stable.
    pub baseline: Option<Baseline>,
    candidate: Option<(String, u32)>,
}

impl ToolsStanding {
    /// Takes in a list while there is no baseline; true when it has just become the baseline.
    pub fn settle(&mut self, seen: &ToolsSeen) -> bool {
        if self.baseline.is_some() {
            return false;
        }
        let times = match &self.candidate {
            Some((hash, times)) if *hash == seen.hash => times + 1,
            _ => 1,
        };
        self.candidate = Some((seen.hash.clone(), times));
        if times < STABLE_AFTER {
            return false;
        }
        self.baseline = Some(Baseline { hash: seen.hash.clone(), tools: seen.tools.clone() });
        self.candidate = None;
        true
    }
}

/// How a list differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeClass {
    /// A tool is gone; a declared call that no longer fits is found by `classify`.
    Breaking,
    /// Anything else that is not only text.
    Compatible,
    /// Only texts differ.
    Wording,
}

impl ChangeClass {
    /// The word used in YAML and evidence.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Compatible => "compatible",
            Self::Wording => "wording",
        }
    }

    const fn severity(self, rule: &ContractRule) -> Severity {
        match self {
            Self::Breaking => rule.breaking,
            Self::Compatible => rule.compatible,
            Self::Wording => rule.wording,
        }
    }
}

/// What the list says against the baseline; none where they are equal.
pub fn compare(baseline: &Baseline, seen: &ToolsSeen, rule: &ContractRule) -> Option<Finding> {
    if baseline.hash == seen.hash {
        return None;
    }
    let (gone, added, reshaped, reworded) = differences(&baseline.tools, &seen.tools);
    let class = match () {
        () if !gone.is_empty() => ChangeClass::Breaking,
        () if added.is_empty() && reshaped.is_empty() && !reworded.is_empty() => ChangeClass::Wording,
        () => ChangeClass::Compatible,
    };
    let groups = [("gone", gone), ("added", added), ("schema_changed", reshaped), ("wording_changed", reworded)];
    let mut evidence = vec![
        Evidence::new("class", class.slug()),
        Evidence::new("tools", format!("{} before, {} now", baseline.tools.len(), seen.tools.len())),
    ];
    let mut parts = Vec::new();
    for (word, names) in groups.into_iter().filter(|(_, names)| !names.is_empty()) {
        let shown = names.iter().take(NAMED_TOOLS_MAX).copied().collect::<Vec<_>>().join(", ");
        parts.push(format!("{} {}", names.len(), word.replace('_', " ")));
        evidence.push(Evidence::new(word, shown));
    }
    Some(Finding {
        signal: Signal::Contract,
        reason: if class == ChangeClass::Breaking { FailureReason::ToolMissing } else { FailureReason::SchemaDrift },
        severity: Some(class.severity(rule)),
        stage: Stage::Tools,
        summary: format!("tools changed ({}): {}", class.slug(), parts.join(", ")),
        evidence,
    })
}

/// What the two eras of one server say against each other; none where they agree. A notice: callers of either era are
/// served, only not alike.
pub fn eras(check: &CrossCheck) -> Option<Finding> {
    if check.agrees() {
        return None;
    }
    let (own, other) = match check.own {
        Era::Modern => (Era::Modern, Era::Legacy),
        Era::Legacy => (Era::Legacy, Era::Modern),
    };
    let (only_own, only_other) = (format!("only_{}", own.slug()), format!("only_{}", other.slug()));
    let groups =
        [(&*only_own, &check.own_only), (&*only_other, &check.other_only), ("listed_differently", &check.changed)];
    let named = groups.into_iter().filter(|(_, names)| !names.is_empty());
    let evidence = named.map(|(word, names)| Evidence::new(word, names.join(", "))).collect();
    let count = check.own_only.len() + check.other_only.len() + check.changed.len();
    Some(Finding {
        signal: Signal::Contract,
        reason: FailureReason::SchemaDrift,
        severity: Some(Severity::Notice),
        stage: Stage::Tools,
        summary: format!("the {} and the {} era list different tools: {count} differ", own.slug(), other.slug()),
        evidence,
    })
}

type Names<'a> = Vec<&'a str>;

fn differences<'a>(before: &'a [ToolSeen], now: &'a [ToolSeen]) -> (Names<'a>, Names<'a>, Names<'a>, Names<'a>) {
    let find = |tools: &'a [ToolSeen], name: &str| tools.iter().find(|tool| tool.name == name);
    let gone = before.iter().filter(|tool| find(now, &tool.name).is_none()).map(|tool| tool.name.as_str()).collect();
    let (mut added, mut reshaped, mut reworded) = (Vec::new(), Vec::new(), Vec::new());
    for tool in now {
        match find(before, &tool.name) {
            None => added.push(tool.name.as_str()),
            Some(old) if old.shape_hash != tool.shape_hash => reshaped.push(tool.name.as_str()),
            Some(old) if old.full_hash != tool.full_hash => reworded.push(tool.name.as_str()),
            Some(_) => {}
        }
    }
    (gone, added, reshaped, reworded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(list: &[(&str, &str, &str)]) -> ToolsSeen {
        let tools: Vec<ToolSeen> = list
            .iter()
            .map(|(name, shape, full)| ToolSeen {
                name: (*name).to_owned(),
                full_hash: (*full).to_owned(),
                shape_hash: (*shape).to_owned(),
            })
            .collect();
        ToolsSeen { hash: format!("{list:?}"), tools, json: String::new(), search_tool: None, invalid_call: None }
    }

    #[test]
    fn a_change_has_a_class_and_the_class_a_severity() {
        let rule =
            ContractRule { breaking: Severity::Page, compatible: Severity::Notice, wording: Severity::Ticket, line: 1 };
        let before = tools(&[("search", "s1", "f1"), ("list", "s2", "f2")]);
        let baseline = Baseline { hash: before.hash.clone(), tools: before.tools.clone() };
        let rows = [
            (tools(&[("search", "s1", "f1"), ("list", "s2", "f2")]), None, "nothing changed"),
            (tools(&[("search", "s1", "f1")]), Some(("breaking", Severity::Page)), "a tool is gone"),
            (tools(&[("search", "s1", "x"), ("list", "s2", "f2")]), Some(("wording", Severity::Ticket)), "only a text"),
            (tools(&[("search", "x", "x"), ("list", "s2", "f2")]), Some(("compatible", Severity::Notice)), "a schema"),
            (
                tools(&[("search", "s1", "x"), ("list", "s2", "f2"), ("new", "s", "f")]),
                Some(("compatible", Severity::Notice)),
                "a text and a new tool",
            ),
        ];
        for (seen, expected, sentence) in rows {
            let found = compare(&baseline, &seen, &rule);
            let found = found.as_ref().map(|f| (f.evidence[0].value.as_str(), f.severity.unwrap()));
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn the_first_stable_list_becomes_the_baseline() {
        let (a, b) = (tools(&[("a", "s", "f")]), tools(&[("b", "s", "f")]));
        let mut standing = ToolsStanding::default();
        assert!(!standing.settle(&a), "once is not stable");
        assert!(!standing.settle(&b), "another list starts afresh");
        assert!(standing.settle(&b), "twice the same is");
        assert_eq!(standing.baseline.as_ref().unwrap().hash, b.hash);
        assert!(!standing.settle(&a), "a baseline never moves by itself");
    }
}
