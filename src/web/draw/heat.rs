//! A heat map of hours: a row a day, a column an hour (UTC), colour by P95. An hour over the limit, one with few
//! samples and one with none each have a shape of their own.

use std::collections::HashMap;
use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::wording::counted;
use crate::store::packed::slices::LatencySlice;
use crate::web::format;
use crate::web::ranges::P95_SAMPLES_MIN;

const HOURS: u32 = 24;
/// Size of a cell in drawing units; the drawing is stretched to its frame.
const CELL: f64 = 10.0;
/// Space around a cell, and around one with few samples.
const GAP: f64 = 0.4;
const GAP_FEW: f64 = 2.6;
/// Shades below the limit.
const STEPS: usize = 4;
/// Hours that differ by less than this are all alike: noise gets no colours.
const SPREAD_MIN: f64 = 1.5;
/// From so many days on, rows are low.
const LOW_ROWS_FROM: u16 = 14;
/// Pixels of a high row and of a low one, as in the sheet of styles.
const ROW_PIXELS: [u16; 2] = [26, 16];

/// What a heat map is drawn from.
#[derive(Debug, Clone)]
pub(crate) struct HeatSource<'a> {
    pub hours: &'a [LatencySlice],
    pub first: DateTime<Utc>,
    pub days: u16,
    /// Hours after this one are still to come.
    pub now: DateTime<Utc>,
    /// The limit on P95 in milliseconds.
    pub limit_ms: f64,
}

/// A heat map, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "part/heat.html")]
pub(crate) struct Heat {
    /// The whole in words.
    pub summary: String,
    /// Height in drawing units.
    pub height: f64,
    /// Height on the page in pixels, a row for each day's label.
    pub pixels: u16,
    /// The class of its frame: `low` where there are many rows.
    pub rows_class: &'static str,
    pub cells: Vec<Cell>,
    /// Marks of hours over the limit.
    pub over: String,
    /// Marks of hours without a sample.
    pub none: String,
    /// Shades and their figures, the fastest first.
    pub keys: Vec<(&'static str, String)>,
    /// Whether some hour has few samples.
    pub has_few: bool,
    /// The same as a table: each day with its 24 hours.
    pub days: Vec<(String, Vec<String>)>,
}

impl HtmlSafe for Heat {}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub class: &'static str,
    pub x: f64,
    pub y: f64,
    pub size: f64,
    pub title: String,
}

/// Which figures have which shade.
#[derive(Debug, Clone, Copy)]
struct HeatScale {
    /// Upper ends of all shades but the last.
    ends: [f64; STEPS - 1],
    limit_ms: f64,
}

/// The heat map; none where no hour has a sample.
pub(crate) fn heat(source: &HeatSource<'_>) -> Option<Heat> {
    let scale = scale(source)?;
    let by_start: HashMap<DateTime<Utc>, &LatencySlice> = source.hours.iter().map(|hour| (hour.at, hour)).collect();
    let (mut cells, mut over, mut none, mut days) = (Vec::new(), String::new(), String::new(), Vec::new());
    for day in 0..source.days {
        let start = source.first + TimeDelta::days(i64::from(day));
        let mut row = Vec::with_capacity(HOURS as usize);
        for hour in 0..HOURS {
            let at = start + TimeDelta::hours(i64::from(hour));
            let (x, y) = (f64::from(hour) * CELL, f64::from(day) * CELL);
            let seen = by_start.get(&at);
            row.push(seen.map_or_else(|| if at > source.now { "" } else { "–" }.to_owned(), |seen| figure(seen)));
            match seen {
                Some(seen) => {
                    let cell = cell(seen, &scale, x, y);
                    if cell.class == "over" {
                        mark(&mut over, x + CELL * 0.3, y + CELL * 0.5, CELL * 0.4);
                    }
                    cells.push(cell);
                }
                None if at <= source.now => mark(&mut none, x + CELL / 2.0, y + CELL / 2.0, 0.0),
                None => {}
            }
        }
        days.push((start.format("%a %-d %b").to_string(), row));
    }
    let is_low = source.days >= LOW_ROWS_FROM;
    Some(Heat {
        pixels: source.days.saturating_mul(ROW_PIXELS[usize::from(is_low)]),
        summary: summary(source),
        height: f64::from(source.days) * CELL,
        rows_class: if is_low { "low" } else { "high" },
        keys: keys(&scale, &cells),
        has_few: source.hours.iter().any(is_few),
        cells,
        over,
        none,
        days,
    })
}

fn is_few(hour: &LatencySlice) -> bool {
    hour.n < P95_SAMPLES_MIN
}

/// Shades by equal ratios between the fastest hour and the slowest one within the limit.
fn scale(source: &HeatSource<'_>) -> Option<HeatScale> {
    let figures = || source.hours.iter().map(|hour| hour.p95_ms).filter(|ms| ms.is_finite());
    let low = figures().reduce(f64::min)?.max(f64::MIN_POSITIVE);
    let within = figures().filter(|ms| *ms <= source.limit_ms).fold(low, f64::max);
    let ratio = (within / low).max(SPREAD_MIN);
    let end = |step: f64| low * ratio.powf(step / 4.0);
    Some(HeatScale { ends: [end(1.0), end(2.0), end(3.0)], limit_ms: source.limit_ms })
}

impl HeatScale {
    fn class(&self, ms: f64) -> &'static str {
        const CLASSES: [&str; STEPS] = ["h1", "h2", "h3", "h4"];
        if ms > self.limit_ms {
            return "over";
        }
        CLASSES[self.ends.iter().filter(|end| ms > **end).count()]
    }
}

fn cell(hour: &LatencySlice, scale: &HeatScale, x: f64, y: f64) -> Cell {
    let gap = if is_few(hour) { GAP_FEW } else { GAP };
    let few = if is_few(hour) { ", too few for a bound on p95" } else { "" };
    let timeouts =
        if hour.censored > 0 { format!(", {}", counted(hour.censored, "timeout", "timeouts")) } else { String::new() };
    Cell {
        class: scale.class(hour.p95_ms),
        x: x + gap,
        y: y + gap,
        size: CELL - 2.0 * gap,
        title: format!(
            "{}–{} UTC: p95 {}, p50 {}, slowest {}, n = {}{few}{timeouts}",
            hour.at.format("%a %-d %b %H:%M"),
            (hour.at + TimeDelta::hours(1)).format("%H:%M"),
            format::millis(hour.p95_ms),
            format::millis(hour.p50_ms),
            format::millis(hour.max_ms),
            hour.n
        ),
    }
}

fn figure(hour: &LatencySlice) -> String {
    let figure = format::millis(hour.p95_ms);
    if is_few(hour) { format!("({figure})") } else { figure }
}

fn mark(path: &mut String, x: f64, y: f64, width: f64) {
    let written = write!(path, "M{x} {y}h{width}");
    debug_assert!(written.is_ok(), "a string takes every text");
}

/// What each shade that occurs stands for.
fn keys(scale: &HeatScale, cells: &[Cell]) -> Vec<(&'static str, String)> {
    let [first, second, third] = scale.ends.map(format::millis);
    let all = [
        ("h1", format!("to {first}")),
        ("h2", format!("to {second}")),
        ("h3", format!("to {third}")),
        ("h4", format!("over {third}")),
        ("over", format!("over the limit of {}", format::millis(scale.limit_ms))),
    ];
    all.into_iter().filter(|(class, _)| cells.iter().any(|cell| cell.class == *class)).collect()
}

fn summary(source: &HeatSource<'_>) -> String {
    let over = source.hours.iter().filter(|hour| hour.p95_ms > source.limit_ms).count();
    let by_p95 = |left: &&LatencySlice, right: &&LatencySlice| left.p95_ms.total_cmp(&right.p95_ms);
    let slowest = source.hours.iter().max_by(by_p95).map_or_else(String::new, |hour| {
        format!("; the slowest is {} UTC with p95 {}", hour.at.format("%a %-d %b %H:%M"), format::millis(hour.p95_ms))
    });
    format!(
        "p95 by hour over {}: {} with samples, {over} over the limit of {}{slowest}",
        counted(source.days, "day", "days"),
        counted(source.hours.len(), "hour", "hours"),
        format::millis(source.limit_ms)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64, n: u32, p95_ms: f64) -> LatencySlice {
        LatencySlice {
            at: DateTime::UNIX_EPOCH + TimeDelta::hours(hour),
            n,
            p50_ms: 90.0,
            p95_ms,
            max_ms: 900.0,
            censored: 0,
        }
    }

    fn drawn(hours: &[LatencySlice]) -> Option<Heat> {
        let now = DateTime::UNIX_EPOCH + TimeDelta::hours(30);
        heat(&HeatSource { hours, first: DateTime::UNIX_EPOCH, days: 2, now, limit_ms: 800.0 })
    }

    #[test]
    fn every_kind_of_hour_looks_different() {
        let hours =
            [hour(0, 120, 100.0), hour(1, 120, 190.0), hour(2, 120, 400.0), hour(3, 120, 799.0), hour(25, 12, 900.0)];
        let heat = drawn(&hours).unwrap();
        let seen: Vec<_> = heat.cells.iter().map(|cell| cell.class).collect();
        assert_eq!(seen, ["h1", "h2", "h3", "h4", "over"], "by equal ratios, and over the limit by itself");
        assert!(heat.cells[4].size < heat.cells[3].size / 1.5, "few samples are a small square");
        assert!(heat.cells[4].title.contains("too few"), "{}", heat.cells[4].title);
        assert_eq!(heat.over, "M13 15h4", "the hour over the limit carries a bar");
        assert_eq!(heat.none.matches('M').count(), 31 - 5, "hours of the past without a sample are dots");
        assert_eq!(
            (heat.days[1].1[1].as_str(), heat.days[1].1[2].as_str(), heat.days[1].1[7].as_str()),
            ("(900 ms)", "–", ""),
            "the table says the same"
        );
        assert_eq!(
            heat.summary,
            "p95 by hour over 2 days: 5 hours with samples, 1 over the limit of 800 ms; the slowest is Fri 2 Jan 01:00 UTC with p95 900 ms"
        );
    }

    #[test]
    fn noise_gets_no_colours() {
        let heat = drawn(&[hour(0, 120, 100.0), hour(1, 120, 104.0), hour(2, 120, 102.0)]).unwrap();
        assert!(heat.cells.iter().all(|cell| cell.class == "h1"), "{:?}", heat.cells);
        assert_eq!(heat.keys.len(), 1, "only shades that occur are explained");
        assert_eq!(drawn(&[]), None, "nothing measured, nothing drawn");
    }
}
