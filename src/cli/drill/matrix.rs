//! What was measured: cells, and the matrix they make.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::cli::drill::shape::Shape;
use crate::cli::drill::watcher::Told;
use crate::domain::reason::{FailureReason, Severity};

/// What came of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// The reason was told that should be, or one that means the same outside, so many beats after the onset.
    Right {
        /// From 1.
        beats: u32,
    },
    /// Somebody was told, by another reason.
    Otherwise,
    /// Nobody was told, and an expected source had lost its rank.
    Missed,
    /// Nobody was told more than a change, and every expected source kept its rank.
    Unseen,
    /// It harms nobody, and nobody was woken.
    Quiet,
    /// It harms nobody, and somebody was woken.
    Woken,
}

impl Naming {
    const fn slug(self) -> &'static str {
        match self {
            Self::Right { .. } => "right",
            Self::Otherwise => "otherwise",
            Self::Missed => "missed",
            Self::Unseen => "unseen",
            Self::Quiet => "quiet",
            Self::Woken => "woken",
        }
    }

    const fn is_right(self) -> bool {
        matches!(self, Self::Right { .. } | Self::Quiet)
    }
}

/// One trial.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) case: &'static str,
    pub(super) shape: Shape,
    /// Whether answers were remembered.
    pub(super) cache: bool,
    pub(super) seed: u64,
    pub(super) expected: &'static [FailureReason],
    /// What was told from the onset on, until the right reason was among it.
    pub(super) told: Vec<Told>,
    pub(super) named: Naming,
    /// What was told before anything was broken.
    pub(super) false_pages: Vec<Told>,
    /// Beats from the mend to the end of what was told; none: it did not end, or nothing was told.
    pub(super) resolved: Option<u32>,
    pub(super) is_of_nine: bool,
    pub(super) note: &'static str,
}

impl Cell {
    /// Whether it is as it should be.
    pub(super) fn is_right(&self) -> bool {
        self.named.is_right()
    }

    /// Whether somebody was woken, and nothing was broken.
    pub(super) fn woke_for_nothing(&self) -> bool {
        self.named == Naming::Woken || self.false_pages.iter().any(|told| told.severity == Severity::Page)
    }

    /// One line of the long matrix.
    pub(super) fn line(&self) -> String {
        let cache = if self.cache { "on" } else { "off" };
        let beats = match self.named {
            Naming::Right { beats } => beats.to_string(),
            _ => "–".to_owned(),
        };
        let resolved = self.resolved.map_or("–".to_owned(), |beats| beats.to_string());
        let false_pages = told(&self.false_pages);
        format!(
            "{:<24} {:<9} {cache:<3} {:>4}  {:<9} {:<26} {:<44} {beats:>3} {:<2} {resolved:>3}",
            self.case,
            self.shape.slug(),
            self.seed,
            self.named.slug(),
            words(self.expected),
            told(&self.told),
            if self.false_pages.is_empty() { "0" } else { false_pages.as_str() },
        )
    }

    fn json(&self) -> Value {
        let told = |told: &[Told]| -> Vec<Value> {
            let one = |told: &Told| {
                json!({"beat": told.beat, "signal": told.signal.slug(), "reason": told.reason.slug(),
                    "or_else": told.or_else, "severity": told.severity.slug(), "summary": told.summary,
                    "evidence": told.evidence.iter().map(|one| (one.key.clone(), one.value.clone().into())).collect::<Map<_, _>>()})
            };
            told.iter().map(one).collect()
        };
        let beats = if let Naming::Right { beats } = self.named { Some(beats) } else { None };
        let expected: Vec<&str> = self.expected.iter().map(|reason| reason.slug()).collect();
        json!({"fault": self.case, "shape": self.shape.slug(), "cache": self.cache, "seed": self.seed,
            "expected": expected, "result": self.named.slug(), "told": told(&self.told), "beats": beats,
            "false_pages": told(&self.false_pages), "resolved_beats": self.resolved, "of_nine": self.is_of_nine,
            "note": self.note})
    }
}

/// The head of the long matrix.
pub(super) fn head() -> String {
    format!(
        "{:<24} {:<9} {:<3} {:>4}  {:<9} {:<26} {:<44} beats false resolved",
        "fault", "shape", "cache", "seed", "result", "expected", "told as (beat)"
    )
}

fn words(reasons: &[FailureReason]) -> String {
    reasons.first().map_or_else(|| "nothing".to_owned(), |first| first.slug().to_owned())
}

/// Such as `wrong_results (3), vector_arm_down (5)`.
fn told(told: &[Told]) -> String {
    let one = |told: &Told| {
        let how = if told.severity == Severity::Page { "" } else { told.severity.slug() };
        let gap = if how.is_empty() { "" } else { " " };
        let or_else = told.or_else.as_ref().map(|other| format!(" or {other}")).unwrap_or_default();
        format!("{}{or_else}{gap}{how} ({})", told.reason.slug(), told.beat)
    };
    if told.is_empty() { "–".to_owned() } else { told.iter().map(one).collect::<Vec<_>>().join(", ") }
}

/// How many are right, of how many.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    right: usize,
    of: usize,
}

impl Score {
    fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.of += 1;
    }
}

/// What it all comes to, in a few lines.
pub(super) fn sum(cells: &[Cell]) -> String {
    let mut text = String::new();
    for cache in [true, false] {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.cache == cache).collect();
        if cells.is_empty() {
            continue;
        }
        let (mut faults, mut benign, mut nine) = (Score::default(), Score::default(), Score::default());
        let (mut unseen, mut told_early) = (0, 0);
        for cell in &cells {
            match cell.named {
                Naming::Quiet | Naming::Woken => benign.add(cell.is_right()),
                Naming::Unseen => unseen += 1,
                _ => faults.add(cell.is_right()),
            }
            if cell.is_of_nine {
                nine.add(cell.is_right());
            }
            told_early += cell.false_pages.len();
        }
        let on = if cache { "on" } else { "off" };
        // Writing to a String cannot fail.
        let _written = writeln!(
            text,
            "cache {on}: {} of {} faults named rightly, {unseen} unseen from outside; of the nine {} of {}; {} of {} \
             harmless changes woke nobody; {told_early} told while all was well",
            faults.right, faults.of, nine.right, nine.of, benign.right, benign.of
        );
    }
    text
}

/// What would make visible what nobody outside saw.
pub(super) fn unseen(cells: &[Cell]) -> String {
    let mut notes: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.named == Naming::Unseen) {
        notes.entry((cell.case, cell.note)).or_default().insert(cell.shape.slug());
    }
    let line = |((case, note), shapes): (&(&str, &str), &BTreeSet<&str>)| {
        let shapes = shapes.iter().copied().collect::<Vec<_>>().join(", ");
        let note = if note.is_empty() { "no expected source lost its rank" } else { note };
        format!("unseen: {case} ({shapes}): {note}\n")
    };
    notes.iter().map(line).collect()
}

/// Every cell, and nothing else.
pub(super) fn as_json(cells: &[Cell]) -> Value {
    json!({"cells": cells.iter().map(Cell::json).collect::<Vec<_>>()})
}

/// The matrix as a table of Markdown: a line a fault, a column a shape.
pub(super) fn markdown(cells: &[Cell], cache: bool) -> String {
    let mut rows: BTreeMap<(usize, &str), Vec<&Cell>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.cache == cache) {
        let place = order.iter().position(|known| *known == cell.case).unwrap_or_else(|| {
            order.push(cell.case);
            order.len() - 1
        });
        rows.entry((place, cell.case)).or_default().push(cell);
    }
    let shapes = Shape::ALL.map(Shape::slug).join(" | ");
    let mut table = format!("| fault | should be told as | {shapes} | note |\n|---|---|---|---|---|---|---|\n");
    for ((_, case), cells) in rows {
        let expected = cells.first().map_or_else(String::new, |cell| words(cell.expected));
        let columns = Shape::ALL.map(|shape| column(&cells, shape)).join(" | ");
        let note = cells.first().map_or("", |cell| cell.note);
        let _written = writeln!(table, "| {case} | {expected} | {columns} | {note} |");
    }
    table
}

/// One fault on one shape, over all seeds: `3 of 3 in 4`, or what it was told as instead.
fn column(cells: &[&Cell], shape: Shape) -> String {
    let cells: Vec<&&Cell> = cells.iter().filter(|cell| cell.shape == shape).collect();
    if cells.is_empty() {
        return "–".to_owned();
    }
    let mut beats: Vec<u32> = Vec::new();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for cell in &cells {
        match cell.named {
            Naming::Right { beats: after } => beats.push(after),
            Naming::Quiet => *others.entry("quiet".to_owned()).or_default() += 1,
            Naming::Unseen => *others.entry("unseen".to_owned()).or_default() += 1,
            Naming::Missed => *others.entry("**missed**".to_owned()).or_default() += 1,
            Naming::Otherwise | Naming::Woken => {
                let reason = cell.told.last().map_or("", |told| told.reason.slug());
                *others.entry(format!("**{reason}**")).or_default() += 1;
            }
        }
    }
    beats.sort_unstable();
    let mut parts = Vec::new();
    if !beats.is_empty() {
        let median = beats[beats.len() / 2];
        let of = if cells.len() == 1 { String::new() } else { format!("{} of {} ", beats.len(), cells.len()) };
        parts.push(format!("{of}in {median}"));
    }
    parts
        .extend(others.into_iter().map(|(what, many)| if cells.len() == 1 { what } else { format!("{what} ×{many}") }));
    parts.join(", ")
}
