//! What a monitor's page says of its tools: what is accepted, what differs, and every list there was.

use chrono::{DateTime, Utc};

use crate::domain::context::{BOUNDS, Spread};
use crate::domain::tools::{ChangeClass, Instruction, ToolChange};
use crate::domain::wording::counted;
use crate::live::monitor_view::{MonitorView, ToolsView};
use crate::store::write::listing::ListingLine;
use crate::web::draw::glyph::Glyph;
use crate::web::format::{self, Timestamp};
use crate::web::tools::Locked;

/// Names shown of one list.
const NAMES_MAX: usize = 60;
/// Changes shown of one list of the past; the API has them all.
const PAST_CHANGES_MAX: usize = 20;
/// Characters of a hash that tell lists apart for a person.
const HASH_CHARS: usize = 12;

#[derive(Debug)]
pub(crate) struct ToolsPart {
    /// What is seen and accepted; none before the first list.
    pub now: Option<CurrentListing>,
    /// Every list there was, the latest first.
    pub past: Vec<PastListing>,
    /// Tokens of answers since Serin started, by bucket; empty where none was counted.
    pub answers: Vec<ToolsBar>,
    /// The same in one line.
    pub answers_said: String,
}

/// One bucket of a histogram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolsBar {
    /// Such as `up to 500`.
    pub name: String,
    pub count: String,
    /// Length of its bar, of 1,000.
    pub width: u64,
}

#[derive(Debug)]
pub(crate) struct CurrentListing {
    /// Names, and whether it is the one that searches.
    pub names: Vec<(String, bool)>,
    pub more: usize,
    /// The whole hash, which the form sends along.
    pub hash: String,
    pub short: String,
    pub seen: Timestamp,
    /// Tokens of the list in words; empty where they were not counted.
    pub tokens: String,
    /// Who accepted what is accepted, and when.
    pub accepted: Option<(String, Timestamp)>,
    /// How it differs from what is accepted; none where it does not.
    pub differs: Option<ListingDiff>,
    /// Calls of canaries that no longer fit, in words; empty where all do.
    pub calls: String,
    pub broken: Vec<(String, String)>,
    /// Texts that read like instructions, accepted or not.
    pub instructions: Vec<Instruction>,
    /// The lock that holds what is accepted, and what to commit there; none where a person accepts here.
    pub locked: Option<Locked>,
}

#[derive(Debug)]
pub(crate) struct ListingDiff {
    /// Such as `12 tools accepted, 3 now`.
    pub count: String,
    pub changes: Vec<ChangeLine>,
    pub more: u32,
}

#[derive(Debug)]
pub(crate) struct ChangeLine {
    pub class: &'static str,
    pub glyph: Glyph,
    pub tool: String,
    pub what: String,
}

#[derive(Debug)]
pub(crate) struct PastListing {
    /// The beginning of its hash.
    pub short: String,
    pub first: Timestamp,
    /// When it was last written down.
    pub last: Timestamp,
    /// Such as `7 tools`, with its tokens where they were counted.
    pub size: String,
    pub accepted: Option<(String, Timestamp)>,
    /// Such as `3 changes against 5e1b0c77aa42`; empty for a first list without anything to say.
    pub story: String,
    pub changes: Vec<ChangeLine>,
}

/// Works the part out of the live view and the store's lines.
pub(crate) fn tell(
    view: &MonitorView,
    locked: Option<Locked>,
    history: Vec<ListingLine>,
    at: DateTime<Utc>,
) -> ToolsPart {
    ToolsPart {
        now: view.tools.as_ref().map(|tools| now(tools, locked, at)),
        past: history.into_iter().map(|line| past(line, at)).collect(),
        answers: bars(view.answer_tokens),
        answers_said: match view.answer_tokens.count() {
            0 => String::new(),
            n => format!(
                "{} answers counted since Serin started, {} tokens each on average",
                format::count(n),
                format::count(view.answer_tokens.sum / n)
            ),
        },
    }
}

/// The buckets from the first that holds anything to the last.
fn bars(spread: Spread) -> Vec<ToolsBar> {
    let most = spread.counts.iter().copied().max().unwrap_or_default().max(1);
    let holds = |count: &u64| *count > 0;
    let Some(first) = spread.counts.iter().position(holds) else { return Vec::new() };
    let last = spread.counts.iter().rposition(holds).unwrap_or(first);
    let name = |at: usize| match BOUNDS.get(at) {
        Some(bound) => format!("up to {}", format::count(u64::from(*bound))),
        None => "more".to_owned(),
    };
    let bar = |at: usize| {
        let count = spread.counts[at];
        ToolsBar { name: name(at), count: format::count(count), width: count * 1_000 / most }
    };
    (first..=last).map(bar).collect()
}

fn now(tools: &ToolsView, locked: Option<Locked>, at: DateTime<Utc>) -> CurrentListing {
    let seen = &tools.seen;
    let searches = |name: &str| seen.search_tool.as_deref() == Some(name);
    let names = seen.tools.iter().take(NAMES_MAX).map(|tool| (tool.name.clone(), searches(&tool.name)));
    let before = tools.accepted.as_ref().map_or(0, |accepted| accepted.listing.tools.len());
    CurrentListing {
        names: names.collect(),
        more: seen.tools.len().saturating_sub(NAMES_MAX),
        hash: seen.hash.clone(),
        short: short(&seen.hash),
        seen: Timestamp::new(tools.seen_at, at),
        tokens: seen.tokens.map(|tokens| format::count(tokens.into())).unwrap_or_default(),
        accepted: tools.accepted.as_ref().map(|one| (one.accepted_by.clone(), Timestamp::new(one.accepted_at, at))),
        differs: tools.drift().map(|drift| ListingDiff {
            count: format!("{} accepted, {} now", counted(before, "tool", "tools"), seen.tools.len()),
            changes: drift.changes.iter().map(line).collect(),
            more: drift.more,
        }),
        calls: seen.calls.said().unwrap_or_default(),
        broken: seen.calls.why.clone(),
        instructions: seen.instructions.clone(),
        locked,
    }
}

fn past(list: ListingLine, at: DateTime<Utc>) -> PastListing {
    let tokens = list.tokens.map(|tokens| format!(", {} tokens", format::count(tokens.into()))).unwrap_or_default();
    let count = list.drift.changes.len();
    let story = match (count, list.drift.against.as_str()) {
        (0, _) => String::new(),
        (_, "") => "the first list, with texts that read like instructions".to_owned(),
        (1, against) => format!("1 change against {}", short(against)),
        (_, against) => format!("{count} changes against {}", short(against)),
    };
    PastListing {
        short: short(&list.hash),
        first: Timestamp::new(list.first_seen, at),
        last: Timestamp::new(list.last_seen, at),
        size: format!("{}{tokens}", counted(list.tools, "tool", "tools")),
        accepted: list.accepted.map(|(by, when)| (by, Timestamp::new(when, at))),
        story,
        changes: list.drift.changes.iter().take(PAST_CHANGES_MAX).map(line).collect(),
    }
}

fn line(change: &ToolChange) -> ChangeLine {
    let name = match change.class {
        ChangeClass::Instruction => "wrong",
        ChangeClass::Breaking => "page",
        ChangeClass::Wording => "ticket",
        ChangeClass::Compatible => "notice",
    };
    ChangeLine {
        class: change.class.slug(),
        glyph: Glyph { name },
        tool: change.tool.clone(),
        what: change.what.clone(),
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(HASH_CHARS).collect()
}

/// What is said after somebody accepted, or tried to.
pub(crate) fn said(word: &str) -> Option<&'static str> {
    match word {
        "accepted" => Some("Accepted. The new list stands here as soon as it is written down."),
        "locked" => Some(
            "Accepted in your name. monitors.lock holds what is accepted: commit what stands below, and the incident ends when that lock is loaded.",
        ),
        "refused" => Some(
            "Not accepted: the tools have changed since you looked, nothing differs any more, or the list is too old.",
        ),
        "who" => Some("Not accepted: say who accepts."),
        _ => None,
    }
}
