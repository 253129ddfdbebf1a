//! How often a kind's canaries were right over time: a step a slice, as high as its share.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, Utc};

use crate::domain::quality::answers::Answers;
use crate::domain::wording::counted;
use crate::web::canary_past::BoardCut;
use crate::web::format;

/// Size of the drawing; it is stretched to its frame. All right is at the top, none right at the bottom.
const WIDTH: f64 = 240.0;
const TOP: f64 = 3.0;
const BOTTOM: f64 = 33.0;

/// The drawing.
#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "part/trend.html")]
pub(crate) struct Trend {
    /// The whole in words.
    pub summary: String,
    /// A stroke a slice.
    pub line: String,
    /// Every slice that was asked in: where it lies and what it came to.
    pub slices: Vec<TrendSlice>,
    /// Where an incident lies: its beginning and width.
    pub shade: Option<(f64, f64)>,
}

impl HtmlSafe for Trend {}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrendSlice {
    pub x: f64,
    pub width: f64,
    pub title: String,
}

impl Trend {
    /// Of the shares by slice of one kind.
    pub(crate) fn new(shares: &BTreeMap<usize, Answers>, cut: &BoardCut) -> Self {
        let step = WIDTH / (cut.place(cut.to, cut.slice) + 1) as f64;
        let mut line = String::new();
        let mut slices = Vec::new();
        for (nth, answers) in shares {
            let Some(share) = answers.share() else { continue };
            let (x, y) = (round(*nth as f64 * step), round(BOTTOM - share * (BOTTOM - TOP)));
            let written = write!(line, "M{x} {y}h{}", round(step));
            debug_assert!(written.is_ok(), "a string takes every text");
            slices.push(TrendSlice { x, width: round(step), title: said(*nth, *answers, cut) });
        }
        Self { summary: summary(shares, cut), line, slices, shade: None }
    }

    /// The same with an incident's time shaded.
    pub(crate) fn shaded(self, since: DateTime<Utc>, end: DateTime<Utc>, cut: &BoardCut) -> Self {
        let [left, right] = [since, end].map(|at| cut.share(at, cut.slice) * WIDTH);
        Self { shade: Some((round(left), round(right - left))), ..self }
    }
}

/// The slice whose share is the lowest, where any is not all right; of several the latest.
pub(crate) fn lowest(shares: &BTreeMap<usize, Answers>, cut: &BoardCut) -> Option<String> {
    let share = |answers: &Answers| answers.share().unwrap_or(1.0);
    let (nth, answers) = shares.iter().rev().min_by(|(_, one), (_, other)| share(one).total_cmp(&share(other)))?;
    (answers.right < answers.asked).then(|| said(*nth, *answers, cut))
}

/// Such as `21 Nov 14:00–15:00 UTC: 10 of 12 right`.
fn said(nth: usize, answers: Answers, cut: &BoardCut) -> String {
    let [start, end] = [nth, nth + 1].map(|nth| cut.start(nth, cut.slice));
    let (start, end) = (start.format("%-d %b %H:%M"), end.format("%H:%M UTC"));
    format!("{start}–{end}: {} of {} right", answers.right, answers.asked)
}

fn summary(shares: &BTreeMap<usize, Answers>, cut: &BoardCut) -> String {
    let of_slices = shares.values().map(|answers| answers.asked);
    let (Some(least), Some(most)) = (of_slices.clone().min(), of_slices.max()) else {
        return format!("none asked in {}", cut.said());
    };
    let n = if least == most { counted(most, "answer", "answers") } else { format!("{least} to {most} answers") };
    let lowest = lowest(shares, cut).map_or_else(|| "all right".to_owned(), |lowest| format!("lowest {lowest}"));
    format!("share of right answers over {}: {lowest}, {n} in {}", cut.said(), format::span(cut.slice))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::ranges::Range;

    #[test]
    fn a_slice_is_as_high_as_its_share_and_says_its_n() {
        let cut = BoardCut::new(Range::Day, "2026-11-21T12:00:00Z".parse().unwrap());
        let shares = BTreeMap::from([
            (0, Answers { asked: 12, right: 12 }),
            (3, Answers { asked: 10, right: 5 }),
            (24, Answers { asked: 4, right: 0 }),
        ]);
        let trend = Trend::new(&shares, &cut);
        assert_eq!(trend.line, "M0 3h9.6M28.8 18h9.6M230.4 33h9.6");
        assert_eq!(trend.slices[1].title, "20 Nov 15:00–16:00 UTC: 5 of 10 right");
        assert_eq!(
            trend.summary,
            "share of right answers over 24h: lowest 21 Nov 12:00–13:00 UTC: 0 of 4 right, 4 to 12 answers in 1 h"
        );
        assert_eq!(lowest(&BTreeMap::from([(0, Answers { asked: 2, right: 2 })]), &cut), None);
        assert_eq!(Trend::new(&BTreeMap::new(), &cut).summary, "none asked in 24h");
    }
}
