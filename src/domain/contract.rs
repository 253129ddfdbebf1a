//! tools/list against the accepted list: how loud a change is, and what is said of it.
//!
//! How loud follows from what it breaks. A call that our canaries make and that no longer fits pages; so does a text
//! that newly tells the model what to do, since an accepted list that turns against its readers is an attack until
//! somebody has looked. A breaking change that meets no known call is one step quieter.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::observation::{CrossCheck, Stage, ToolsSeen};
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::protocol::Era;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::ContractRule;
use crate::domain::signal::Signal;
use crate::domain::tools::{ChangeClass, Drift, GONE, Listing};
use crate::domain::wording::counted;

/// Changes that a finding names; the monitor's page shows them all.
const NAMED_CHANGES_MAX: usize = 12;
/// Equal lists in a row that make a first baseline.
const STABLE_AFTER: u32 = 2;

/// The list of tools that is held to be right, by whom it was accepted, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// They; shared with the beats that see the same ones.
    pub listing: Arc<Listing>,
    /// `first-stable`, or the name of the person who accepted it.
    pub accepted_by: String,
    /// When it was accepted, UTC.
    pub accepted_at: DateTime<Utc>,
}

/// Who accepts the first list that was stable.
pub const FIRST_STABLE: &str = "first-stable";

/// Who accepts what the lock file holds: it is the one truth for a monitor whose tools it names, from its loading on.
pub const LOCK: &str = "monitors.lock";

/// What is remembered of a server's tools between beats.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolsState {
    /// The accepted tools; none until a list was stable.
    pub baseline: Option<Baseline>,
    candidate: Option<(Arc<Listing>, u32)>,
}

impl ToolsState {
    /// Whether a list was ever seen: of a list that was not stable yet, since Serin started.
    pub const fn saw_a_list(&self) -> bool {
        self.baseline.is_some() || self.candidate.is_some()
    }

    /// Takes in a list while there is no baseline; true when it has just become the baseline, or completed one.
    pub fn settle(&mut self, seen: &ToolsSeen, now: DateTime<Utc>) -> bool {
        if let Some(baseline) = &mut self.baseline {
            if baseline.listing.hash == seen.hash {
                // One list, kept once.
                baseline.listing = Arc::clone(&seen.listing);
            }
            let is_completed = is_completed_by(&baseline.listing, seen) && baseline.listing.hash != seen.hash;
            if is_completed {
                baseline.listing = Arc::clone(&seen.listing);
            }
            return is_completed;
        }
        let times = match &self.candidate {
            Some((listing, times)) if listing.hash == seen.hash => times + 1,
            _ => 1,
        };
        self.candidate = Some((Arc::clone(&seen.listing), times));
        if times < STABLE_AFTER {
            return false;
        }
        self.accept(Arc::clone(&seen.listing), FIRST_STABLE, now);
        true
    }

    /// Makes a list the accepted one.
    pub fn accept(&mut self, listing: Arc<Listing>, by: &str, now: DateTime<Utc>) {
        self.baseline = Some(Baseline { listing, accepted_by: by.to_owned(), accepted_at: now });
        self.candidate = None;
    }
}

/// How loud a class of change is where no known call breaks.
pub fn severity(class: ChangeClass, rule: &ContractRule) -> Severity {
    match class {
        ChangeClass::Instruction => rule.breaking.max(Severity::Ticket),
        ChangeClass::Breaking => one_step_down(rule.breaking),
        ChangeClass::Compatible => rule.compatible,
        ChangeClass::Wording => rule.wording,
    }
}

const fn one_step_down(severity: Severity) -> Severity {
    match severity {
        Severity::Page => Severity::Ticket,
        Severity::Ticket | Severity::Notice => Severity::Notice,
    }
}

/// How a list differs from the baseline; none where they are equal.
pub fn drift(baseline: &Baseline, seen: &ToolsSeen) -> Option<Arc<Drift>> {
    let accepted = &baseline.listing;
    if accepted.hash == seen.hash || is_completed_by(accepted, seen) {
        return None;
    }
    let probed = seen.drift.as_ref().filter(|drift| drift.against == accepted.hash);
    Some(probed.map_or_else(|| Arc::new(Drift::by_hashes(&accepted.hash, &accepted.tools, &seen.tools)), Arc::clone))
}

/// Whether a list is the accepted one and says the server's instructions besides, which earlier versions did not keep.
fn is_completed_by(accepted: &Listing, seen: &ToolsSeen) -> bool {
    accepted.server_instructions.is_none() && seen.server_instructions.is_some() && accepted.tools == seen.tools
}

/// What the list says against the baseline and our calls; none where nothing differs and every call fits.
///
/// `broken` is what `classify` found: a search tool that is gone, or calls that do not fit.
pub fn judge(
    baseline: Option<&Baseline>,
    seen: &ToolsSeen,
    broken: Option<&Finding>,
    rule: &ContractRule,
) -> Option<Finding> {
    let drift = baseline.and_then(|baseline| drift(baseline, seen));
    let Some((baseline, drift)) = baseline.zip(drift) else {
        return broken.map(|broken| Finding { severity: Some(rule.breaking), ..broken.clone() });
    };
    let mut evidence = Vec::new();
    // A change that breaks a call is breaking, whatever else it is.
    let class = drift.class().into_iter().chain(broken.map(|_| ChangeClass::Breaking)).min();
    evidence.extend(class.map(|class| Evidence::new("class", class.slug())));
    let calls = &seen.calls;
    let fit = match calls.known {
        0 => "no calls are known".to_owned(),
        known => format!("all {known} known calls still fit"),
    };
    evidence.push(Evidence::new("known_calls", calls.said().unwrap_or(fit)));
    let (before, now) = (baseline.listing.tools.len(), seen.tools.len());
    evidence.push(Evidence::new("tools", format!("{before} before, {now} now")));
    evidence.extend(broken.iter().flat_map(|broken| broken.evidence.iter().cloned()));
    for (number, change) in (1..).zip(drift.changes.iter().take(NAMED_CHANGES_MAX)) {
        evidence
            .push(Evidence::new(&format!("change.{number}"), format!("{}: {}", change.class.slug(), change.line())));
    }
    let unnamed = drift.changes.len().saturating_sub(NAMED_CHANGES_MAX) + drift.more as usize;
    if unnamed > 0 {
        evidence.push(Evidence::new("changes_more", format!("{unnamed}; the monitor's page shows more of them")));
    }
    let gone = drift.changes.iter().any(|change| change.what == GONE);
    let reason = if gone { FailureReason::ToolMissing } else { FailureReason::SchemaDrift };
    let loudest = ChangeClass::ALL.into_iter().filter(|class| drift.count(*class) > 0);
    let loudest = loudest.map(|class| severity(class, rule)).max().unwrap_or(rule.compatible);
    Some(Finding {
        signal: Signal::Contract,
        reason: broken.map_or(reason, |broken| broken.reason),
        severity: Some(if broken.is_some() { loudest.max(rule.breaking) } else { loudest }),
        stage: Stage::Tools,
        summary: summary(&drift, class, broken, (before, now)),
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

fn summary(drift: &Drift, class: Option<ChangeClass>, broken: Option<&Finding>, count: (usize, usize)) -> String {
    let mut said = match broken {
        Some(broken) => broken.summary.clone(),
        None => format!("tools changed ({})", class.map_or("unknown", ChangeClass::slug)),
    };
    if let Some(first) = drift.changes.first() {
        let others = drift.changes.len() - 1 + drift.more as usize;
        let others = if others > 0 { format!(", and {others} more") } else { String::new() };
        said.push_str(&format!(": {}{others}", first.line()));
    }
    let (before, now) = count;
    if now < before {
        said.push_str(&format!("; {} before, {now} now", counted(before, "tool", "tools")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tools::{KnownCalls, ToolChange, ToolSeen};

    const RULE: ContractRule =
        ContractRule { breaking: Severity::Page, compatible: Severity::Notice, wording: Severity::Ticket, line: 1 };

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn tools(list: &[(&str, &str, &str)]) -> ToolsSeen {
        let tools: Vec<ToolSeen> = list
            .iter()
            .map(|(name, shape, full)| ToolSeen {
                name: (*name).to_owned(),
                full_hash: (*full).to_owned(),
                shape_hash: (*shape).to_owned(),
            })
            .collect();
        let listing = Listing { hash: format!("{list:?}"), tools, ..Listing::default() };
        ToolsSeen { listing: Arc::new(listing), ..ToolsSeen::default() }
    }

    fn baseline(seen: &ToolsSeen) -> Baseline {
        Baseline { listing: Arc::clone(&seen.listing), accepted_by: FIRST_STABLE.to_owned(), accepted_at: now() }
    }

    fn said(found: &Finding, key: &str) -> String {
        found.evidence.iter().find(|said| said.key == key).map_or_else(String::new, |said| said.value.clone())
    }

    #[test]
    fn without_the_lists_hashes_tell_what_they_can() {
        let before = tools(&[("search", "s1", "f1"), ("list", "s2", "f2")]);
        let rows = [
            (tools(&[("search", "s1", "f1"), ("list", "s2", "f2")]), None, "nothing changed"),
            (
                tools(&[("search", "s1", "f1")]),
                Some(("breaking", Severity::Ticket)),
                "a tool that nobody calls is gone",
            ),
            (tools(&[("search", "s1", "x"), ("list", "s2", "f2")]), Some(("wording", Severity::Ticket)), "only a text"),
            (
                tools(&[("search", "x", "x"), ("list", "s2", "f2")]),
                Some(("breaking", Severity::Ticket)),
                "a schema changed, and nobody can say how",
            ),
            (
                tools(&[("search", "s1", "f1"), ("list", "s2", "f2"), ("new", "s", "f")]),
                Some(("compatible", Severity::Notice)),
                "a new tool",
            ),
        ];
        for (seen, expected, sentence) in rows {
            let found = judge(Some(&baseline(&before)), &seen, None, &RULE);
            let found = found.as_ref().map(|f| (f.evidence[0].value.as_str(), f.severity.unwrap()));
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn a_change_is_as_loud_as_what_it_breaks() {
        use ChangeClass as C;
        let before = tools(&[("search", "s1", "f1"), ("list", "s2", "f2")]);
        type Row<'a> = (&'a str, &'a [C], u32, ContractRule, Severity);
        let quiet = ContractRule { breaking: Severity::Notice, ..RULE };
        let rows: [Row<'_>; 7] = [
            ("a known call breaks", &[C::Breaking], 2, RULE, Severity::Page),
            ("no known call does", &[C::Breaking], 0, RULE, Severity::Ticket),
            ("a compatible change", &[C::Compatible], 0, RULE, Severity::Notice),
            ("texts too", &[C::Compatible, C::Wording], 0, RULE, Severity::Ticket),
            ("a text that turned into an instruction", &[C::Instruction, C::Wording], 0, RULE, Severity::Page),
            ("which is a ticket where nothing pages", &[C::Instruction], 0, quiet.clone(), Severity::Ticket),
            ("a rule may be quieter", &[C::Breaking], 2, quiet, Severity::Notice),
        ];
        for (sentence, classes, broken, rule, expected) in rows {
            let changes = classes.iter().map(|class| ToolChange::new(*class, "search", "x".to_owned())).collect();
            let mut seen = tools(&[("search", "s1", "x")]);
            seen.drift = Some(Arc::new(Drift::new(&before.hash, changes)));
            seen.calls = KnownCalls { known: 9, broken, why: Vec::new() };
            let finding = Finding {
                signal: Signal::Contract,
                reason: FailureReason::SchemaDrift,
                severity: None,
                stage: Stage::Tools,
                summary: "2 of 9 known calls break".to_owned(),
                evidence: Vec::new(),
            };
            let found = judge(Some(&baseline(&before)), &seen, (broken > 0).then_some(&finding), &rule).unwrap();
            assert_eq!(found.severity, Some(expected), "{sentence}");
            let calls = if broken > 0 { "2 of 9 known calls break" } else { "all 9 known calls still fit" };
            assert_eq!(said(&found, "known_calls"), calls, "{sentence}");
            assert!(found.summary.ends_with("; 2 tools before, 1 now"), "a falling count is told: {}", found.summary);
            assert_eq!(said(&found, "tools"), "2 before, 1 now", "{sentence}");
        }
    }

    #[test]
    fn what_an_earlier_version_accepted_is_completed_once() {
        let old = tools(&[("a", "s", "f")]);
        let with = |hash: &str, text: &str, list: &Listing| {
            let listing = Listing { hash: hash.to_owned(), server_instructions: Some(text.into()), ..list.clone() };
            ToolsSeen { listing: Arc::new(listing), ..ToolsSeen::default() }
        };
        let (seen, other) = (with("1", "Ask.", &old.listing), tools(&[("a", "s", "x")]));
        let mut state = ToolsState::default();
        state.accept(Arc::clone(&old.listing), "kim", now());
        assert_eq!(judge(state.baseline.as_ref(), &seen, None, &RULE), None, "they were there before, unseen");
        assert!(!state.settle(&with("2", "Ask.", &other.listing), now()), "other tools complete nothing");
        assert!(state.settle(&seen, now()), "the same tools do");
        let completed = state.baseline.clone().unwrap();
        assert_eq!((&*completed.listing.hash, &*completed.accepted_by), ("1", "kim"), "accepted by whoever did");
        let turned = with("3", "Obey.", &old.listing);
        assert!(!state.settle(&turned, now()), "and from then on they are held against");
        assert!(judge(state.baseline.as_ref(), &turned, None, &RULE).is_some());
    }

    #[test]
    fn the_first_stable_list_becomes_the_baseline() {
        let (a, b) = (tools(&[("a", "s", "f")]), tools(&[("b", "s", "f")]));
        let mut state = ToolsState::default();
        assert!(!state.settle(&a, now()), "once is not stable");
        assert!(!state.settle(&b, now()), "another list starts afresh");
        assert!(state.settle(&b, now()), "twice the same is");
        assert_eq!(state.baseline.as_ref().unwrap().listing.hash, b.hash);
        assert!(!state.settle(&a, now()), "a baseline never moves by itself");
        state.accept(Arc::clone(&a.listing), "kim", now());
        assert_eq!(state.baseline.unwrap().accepted_by, "kim", "a person moves it");
    }
}
