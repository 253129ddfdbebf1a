//! Hours or days of a monitor in two rows: above, whether it was up; below, whether its answers were right. Small enough
//! for two hundred of them on one page.
//!
//! Neighbours that are alike are one dashed line, a dash a cell, so that a calm quarter of a year is one of twelve
//! characters. What is bad is taller, and has a shape of its own beside its colour: a low bar is good, a lower one was
//! not watched all the time, one with a gap had some trouble, a full block was bad, a thin line is maintenance, and a
//! dot is nothing at all: nobody looked, or nothing was asked.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::cell::Cell;
use crate::web::bars::{Grain, Past};
use crate::web::format;

/// Width of a cell; its dash is three of the four.
const STEP: usize = 4;
/// How far the lower row stands below the upper one.
const LOWER: f32 = 18.0;
/// A cell of which less than this share was watched is drawn low: it is good as far as anybody knows.
const WATCHED: f64 = 0.9;
/// A cell with at least this share of trouble is a bad one: 72 minutes of a day, 3 of an hour, one answer in twenty.
const BAD: f64 = 0.05;

/// Two rows of cells, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "part/bars.html")]
pub(crate) struct Bars {
    /// The whole in words.
    pub summary: String,
    /// Width of the drawing; its height is 34.
    pub width: usize,
    /// A path for each state that occurs: class and outline.
    pub paths: Vec<(&'static str, String)>,
}

impl HtmlSafe for Bars {}

/// How one cell of one row is drawn, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Apart,
    Good,
    /// Good, and watched in part only.
    Part,
    /// Some trouble.
    Short,
    Bad,
}

impl Mark {
    const ALL: [Self; 6] = [Self::None, Self::Apart, Self::Good, Self::Part, Self::Short, Self::Bad];

    const fn class(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Apart => "apart",
            Self::Good => "good",
            Self::Part => "part",
            Self::Short => "short",
            Self::Bad => "bad",
        }
    }

    /// Where its lines run, from the top of a row that is 16 high; how thick they are says the style.
    const fn lines(self) -> &'static [f32] {
        match self {
            Self::Good => &[12.0],
            Self::Part => &[14.0],
            Self::None | Self::Apart => &[13.0],
            Self::Short => &[5.0, 13.0],
            Self::Bad => &[8.0],
        }
    }
}

impl Bars {
    /// The bars of a stretch; without canaries the lower row is not drawn.
    pub(crate) fn new(past: &Past, has_canaries: bool) -> Self {
        let each = || past.cells.iter().zip(&past.due_s);
        let up: Vec<Mark> = each().map(|(cell, due)| of_up(*cell, *due)).collect();
        let right: Vec<Mark> = past.cells.iter().map(|cell| of_right(*cell)).collect();
        let rows: &[(&[Mark], f32)] = if has_canaries { &[(&up, 0.0), (&right, LOWER)] } else { &[(&up, 0.0)] };
        let paths = Mark::ALL.into_iter().filter_map(|mark| Some((mark.class(), outline(mark, rows)?))).collect();
        Self { summary: summary(past, has_canaries), width: past.cells.len() * STEP, paths }
    }
}

impl Bars {
    /// About how large they are on a page.
    pub(crate) fn bytes(&self) -> usize {
        let paths: usize = self.paths.iter().map(|(class, path)| class.len() + path.len() + 21).sum();
        115 + self.summary.len() + paths
    }
}

fn of_up(cell: Cell, due_s: u32) -> Mark {
    match (cell.uptime(), cell.apart_s) {
        (None, 0) => Mark::None,
        (None, _) => Mark::Apart,
        (Some(up), _) if 1.0 - up >= BAD => Mark::Bad,
        (Some(_), _) if cell.down_s > 0 => Mark::Short,
        (Some(_), apart) if f64::from(cell.seen_s() + apart) < WATCHED * f64::from(due_s) => Mark::Part,
        (Some(_), _) => Mark::Good,
    }
}

fn of_right(cell: Cell) -> Mark {
    match cell.right_share() {
        None => Mark::None,
        Some(right) if 1.0 - right >= BAD => Mark::Bad,
        Some(_) if cell.wrong() > 0 => Mark::Short,
        Some(_) => Mark::Good,
    }
}

/// All cells of one kind: a line for each run of neighbours. Each begins where the one before ended, so that a quarter of a
/// year that is bad every other day is short too.
fn outline(mark: Mark, rows: &[(&[Mark], f32)]) -> Option<String> {
    let mut path = String::new();
    let mut pen = (0, 0.0);
    for (marks, down) in rows {
        let mut x = 0;
        for run in marks.chunk_by(|one, other| one == other) {
            for line in mark.lines().iter().filter(|_| run[0] == mark) {
                let (at, width) = ((x * STEP, line + down), run.len() * STEP);
                let ahead = at.0.cast_signed() - usize::cast_signed(pen.0);
                let written = write!(path, "m{ahead} {}h{width}", at.1 - pen.1);
                debug_assert!(written.is_ok(), "a string takes every text");
                pen = (at.0 + width, at.1);
            }
            x += run.len();
        }
    }
    (!path.is_empty()).then_some(path)
}

/// Such as `90 days: up 99.90 % of 97.00 % covered, right 98.00 % of 1 440 answers, worst day 12 Nov: down 3 h`.
fn summary(past: &Past, has_canaries: bool) -> String {
    let sum = past.sum();
    let (grain, many) = match past.grain {
        Grain::Hour => ("hour", "hours"),
        Grain::Day => ("day", "days"),
    };
    let up = match sum.uptime() {
        None => "nothing seen".to_owned(),
        Some(up) => format!("up {} of {} covered", format::share(up), format::share(past.coverage())),
    };
    let n = past.cells.len();
    let mut said = format!("{n} {}: {up}", if n == 1 { grain } else { many });
    if let Some(right) = sum.right_share().filter(|_| has_canaries) {
        said += &format!(", right {} of {} answers", format::share(right), format::count(u64::from(sum.asked)));
    }
    if let Some(worst) = worst(past) {
        said += &format!(", worst {worst}");
    }
    said
}

/// The cell that was down for longest, else the one with the most wrong answers; none where nothing was bad.
fn worst(past: &Past) -> Option<String> {
    let (place, cell) = past.cells.iter().enumerate().max_by_key(|(_, cell)| (cell.down_s, cell.wrong()))?;
    let at = past.begins(place);
    let when = match past.grain {
        Grain::Hour => format!("hour {} UTC", at.format("%H:%M")),
        Grain::Day => format!("day {}", at.format("%-d %b")),
    };
    match (cell.down_s, cell.wrong()) {
        (0, 0) => None,
        (0, wrong) => Some(format!("{when}: {} of {} answers wrong", count(wrong), count(cell.asked))),
        (down, _) => Some(format!("{when}: down {}", format::span(std::time::Duration::from_secs(u64::from(down))))),
    }
}

fn count(n: u32) -> String {
    format::count(u64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u32 = 86_400;

    fn past(cells: &[Cell]) -> Past {
        let from = "2026-11-10T00:00:00Z".parse().unwrap();
        Past { grain: Grain::Day, from, cells: cells.to_vec(), due_s: vec![DAY; cells.len()] }
    }

    fn day(up_s: u32, down_s: u32, apart_s: u32, (right, asked): (u32, u32)) -> Cell {
        Cell { up_s, down_s, apart_s, unknown_s: 0, asked, right }
    }

    #[test]
    fn a_cell_is_never_better_than_what_was_seen() {
        let rows = [
            (day(DAY, 0, 0, (10, 10)), Mark::Good, Mark::Good, "all of it up and right"),
            (day(DAY - 60, 60, 0, (99, 100)), Mark::Short, Mark::Short, "a minute down, one answer of a hundred wrong"),
            (day(DAY - 4320, 4320, 0, (19, 20)), Mark::Bad, Mark::Bad, "a twentieth of either"),
            (day(DAY / 2, 0, 0, (5, 5)), Mark::Part, Mark::Good, "half of it was not watched"),
            (day(DAY / 2, 0, DAY / 2, (5, 5)), Mark::Good, Mark::Good, "maintenance is no gap"),
            (day(0, 0, DAY, (0, 0)), Mark::Apart, Mark::None, "maintenance alone"),
            (Cell { unknown_s: DAY, ..Cell::default() }, Mark::None, Mark::None, "beats that showed nothing"),
            (Cell::default(), Mark::None, Mark::None, "nobody looked"),
        ];
        for (cell, up, right, sentence) in rows {
            assert_eq!((of_up(cell, DAY), of_right(cell)), (up, right), "{sentence}");
        }
    }

    #[test]
    fn neighbours_that_are_alike_are_one_line() {
        let good = day(DAY, 0, 0, (10, 10));
        let bars = Bars::new(&past(&[good, good, Cell::default(), good]), true);
        let expected = [("none", "m8 13h4m-4 18h4"), ("good", "m0 12h8m4 0h4m-16 18h8m4 0h4")];
        let paths: Vec<_> = bars.paths.iter().map(|(class, path)| (*class, path.as_str())).collect();
        assert_eq!((bars.width, paths), (16, expected.to_vec()));
        assert_eq!(Bars::new(&past(&[good]), false).paths[0].1, "m0 12h4", "without canaries there is one row");
    }

    #[test]
    fn it_says_how_much_was_seen_and_when_it_was_worst() {
        let rows = [
            (
                vec![day(DAY, 0, 0, (10, 10)), day(DAY / 2 - 10_800, 10_800, 0, (0, 10))],
                "2 days: up 91.66 % of 75.00 % covered, right 50.00 % of 20 answers, worst day 11 Nov: down 3 h",
            ),
            (
                vec![day(DAY, 0, 0, (8, 10)), day(DAY, 0, 0, (10, 10))],
                "2 days: up 100 % of 100 % covered, right 90.00 % of 20 answers, worst day 10 Nov: 2 of 10 answers wrong",
            ),
            (vec![day(DAY, 0, 0, (0, 0))], "1 day: up 100 % of 100 % covered"),
            (vec![Cell::default()], "1 day: nothing seen"),
        ];
        for (cells, said) in rows {
            assert_eq!(Bars::new(&past(&cells), true).summary, said);
        }
    }

    #[test]
    fn bars_stay_small() {
        let good = day(DAY, 0, 0, (1_440, 1_440));
        let calm = Bars::new(&past(&[good; 90]), true).render().unwrap();
        assert!(calm.len() < 260, "{} bytes: {calm}", calm.len());
        let changing =
            |n: u32| if n.is_multiple_of(2) { day(DAY / 2, DAY / 2, 0, (1, 2)) } else { day(DAY - 9, 9, 0, (99, 100)) };
        let restless = Bars::new(&past(&(0..90).map(changing).collect::<Vec<_>>()), true).render().unwrap();
        assert!(calm.len().abs_diff(Bars::new(&past(&[good; 90]), true).bytes()) < 20, "it knows how large it is");
        assert!(restless.len() < 2_200, "{} bytes", restless.len());
    }
}
