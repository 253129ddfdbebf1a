//! At which rank a canary's source came over time, small enough for a hundred of them on one page.
//!
//! Told by place and shape: a line as high as the rank, a step where it came too far down, a bar below the axis where it did
//! not come at all, a dot on the axis where the call brought no answer, and a gap where nobody asked.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, Utc};

use crate::domain::wording::counted;
use crate::web::canary_past::{BoardCut, Came, CanaryTrack, WrongRun};

/// Width of the drawing; it is stretched to its frame.
const WIDTH: f64 = 240.0;
/// Height of the best rank, of the tenth and all below it, and of the axis.
const TOP: f64 = 3.0;
const BOTTOM: f64 = 17.0;
const AXIS: f64 = 21.0;
/// The rank from which on all are drawn alike.
const DEEPEST: u32 = 10;
/// Runs of wrong answers that carry a title of their own, the latest; a canary that flaps stays small all the same.
const TITLES_MAX: usize = 5;

/// Whether an answer is of a sort.
type Sort = fn(Came) -> bool;

/// The drawing.
#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "part/ranks.html")]
pub(crate) struct Ranks {
    /// The whole in words.
    pub summary: String,
    /// A path for each thing that came of it: class and outline.
    pub paths: Vec<(&'static str, String)>,
    /// Answers in a row that were wrong.
    pub runs: Vec<RanksRun>,
    /// Where an incident lies: its beginning and width.
    pub shade: Option<(f64, f64)>,
}

impl HtmlSafe for Ranks {}

/// Where a run of wrong answers lies, and what it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RanksRun {
    pub x: f64,
    pub width: f64,
    pub title: String,
}

impl Ranks {
    /// Of one canary over a range.
    pub(crate) fn new(track: &CanaryTrack, cut: &BoardCut) -> Self {
        let step = WIDTH / cut.columns().max(1) as f64;
        let wanted: [(&'static str, Sort); 4] = [
            ("right", |came| matches!(came, Came::Right(_))),
            ("late", |came| matches!(came, Came::Late(_))),
            ("failed", |came| came == Came::Failed),
            ("lost", |came| came == Came::Lost),
        ];
        let paths = wanted.into_iter().filter_map(|(class, is)| Some((class, outline(&track.columns, step, is)?)));
        let latest = track.wrong.len().saturating_sub(TITLES_MAX);
        Self {
            summary: summary(track, cut),
            paths: paths.collect(),
            runs: track.wrong[latest..].iter().map(|run| drawn(run, cut, step)).collect(),
            shade: None,
        }
    }

    /// The same with an incident's time shaded.
    pub(crate) fn shaded(self, since: DateTime<Utc>, end: DateTime<Utc>, cut: &BoardCut) -> Self {
        let [left, right] = [since, end].map(|at| cut.share(at, cut.column) * WIDTH);
        Self { shade: Some((round(left), round(right - left))), ..self }
    }
}

fn height(rank: u32) -> f64 {
    let below = f64::from(rank.clamp(1, DEEPEST) - 1) / f64::from(DEEPEST - 1);
    TOP + below * (BOTTOM - TOP)
}

/// One path over all columns of a sort; neighbours of one height are one stroke.
fn outline(columns: &[Option<Came>], step: f64, is: Sort) -> Option<String> {
    let mut path = String::new();
    let mut nth = 0;
    while nth < columns.len() {
        let Some(came) = columns[nth].filter(|came| is(*came)) else {
            nth += 1;
            continue;
        };
        let alike = columns[nth..].iter().take_while(|other| **other == Some(came)).count();
        let (x, width) = (round(nth as f64 * step), round(alike as f64 * step));
        let written = match came {
            Came::Right(rank) => write!(path, "M{x} {}h{width}", round(height(rank.unwrap_or(1)))),
            // From its height to the axis: it came, and too far down.
            Came::Late(rank) => write!(path, "M{x} {}h{width}V{AXIS}", round(height(rank))),
            Came::Failed => write!(path, "M{} {AXIS}h0", round(x + step / 2.0)),
            Came::Lost => write!(path, "M{x} 26h{width}"),
        };
        debug_assert!(written.is_ok(), "a string takes every text");
        nth += alike;
    }
    (!path.is_empty()).then_some(path)
}

fn drawn(run: &WrongRun, cut: &BoardCut, step: f64) -> RanksRun {
    let [first, last] = [run.first, run.last].map(|at| cut.place(at, cut.column) as f64 * step);
    RanksRun { x: round(first), width: round(last - first + step), title: said(run) }
}

fn said(run: &WrongRun) -> String {
    let wrong = counted(run.answers, "wrong answer", "wrong answers");
    format!("{wrong}, {}–{} UTC", run.first.format("%-d %b %H:%M:%S"), run.last.format("%H:%M:%S"))
}

fn summary(track: &CanaryTrack, cut: &BoardCut) -> String {
    let range = cut.said();
    if track.answers.asked == 0 {
        return format!("not asked in {range}");
    }
    let ranks = match track.ranks {
        None => String::new(),
        Some((best, worst)) if best == worst => format!(", at rank {best}"),
        Some((best, worst)) => format!(", at ranks {best} to {worst}"),
    };
    let wrong = match track.wrong.last() {
        None => String::new(),
        Some(run) => format!("; last wrong {}: {}", day_and_clock(run.last), said(run)),
    };
    format!("{} of {} answers right in {range}{ranks}{wrong}", track.answers.right, track.answers.asked)
}

fn day_and_clock(at: DateTime<Utc>) -> String {
    at.format("%-d %b %H:%M UTC").to_string()
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::ranges::Range;

    fn ranks(columns: Vec<Option<Came>>) -> Ranks {
        let cut = BoardCut::new(Range::ThreeHours, "2026-11-21T12:00:00Z".parse().unwrap());
        Ranks::new(&CanaryTrack { columns, ..CanaryTrack::default() }, &cut)
    }

    #[test]
    fn what_is_lost_lies_below_the_axis_and_gaps_stay_gaps() {
        let right = Some(Came::Right(Some(1)));
        let drawn = ranks(vec![right, right, None, right, Some(Came::Right(Some(10))), Some(Came::Late(12))]);
        let step = 240.0 / 91.0;
        let at = |nth: f64| round(nth * step);
        let of = |drawn: &Ranks, class: &str| {
            drawn.paths.iter().find(|(known, _)| *known == class).map(|(_, path)| path.clone())
        };
        let expected = format!("M0 3h{}M{} 3h{}M{} 17h{}", at(2.0), at(3.0), at(1.0), at(4.0), at(1.0));
        assert_eq!(of(&drawn, "right"), Some(expected), "one stroke a run, and none where nobody asked");
        assert_eq!(of(&drawn, "late"), Some(format!("M{} 17h{}V21", at(5.0), at(1.0))));
        assert_eq!(of(&drawn, "lost"), None, "no path for what did not happen");
        let drawn = ranks(vec![Some(Came::Lost), Some(Came::Lost), Some(Came::Failed)]);
        assert_eq!(of(&drawn, "lost"), Some(format!("M0 26h{}", at(2.0))), "below the axis at 21");
        assert!(of(&drawn, "failed").is_some_and(|path| path.ends_with("h0")), "a dot");
    }

    #[test]
    fn a_canary_that_flaps_stays_small() {
        let columns = (0..101).map(|nth| Some(if nth % 2 == 0 { Came::Lost } else { Came::Right(Some(nth % 7 + 1)) }));
        let at = "2026-11-21T12:00:00Z".parse::<DateTime<Utc>>().unwrap();
        let run = WrongRun { first: at, last: at, answers: 1 };
        let track = CanaryTrack { columns: columns.collect(), wrong: vec![run; 50], ..CanaryTrack::default() };
        let drawn = Ranks::new(&track, &BoardCut::new(Range::Day, at)).render().unwrap();
        assert!(drawn.len() < 2_600, "{} bytes", drawn.len());
    }
}
