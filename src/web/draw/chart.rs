//! Percentiles over time: median and P95 as steps, the limit, incidents shaded, and each point as a row of a table.
//!
//! A point stands at the end of what it is made of and holds until the next one: nothing rises before its cause.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::Incident;
use crate::domain::wording::counted;
use crate::store::packed::slices::LatencySlice;
use crate::store::read::latency::LatencyCut;
use crate::web::format;
use crate::web::ranges::{Cut, P95_SAMPLES_MIN};

/// Size of the drawing; it is stretched to its frame.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 240.0;
/// Labels along the time axis, first and last included.
const TICKS: i32 = 6;
/// A chart of less than this says clock times without their day: 24 hours and the slice they begin in.
const CLOCK_ALONE: TimeDelta = TimeDelta::hours(28);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Points that are read out and stand in the table: more than any range is cut into.
const POINTS_MAX: usize = 400;

/// What a chart is drawn from.
#[derive(Debug, Clone)]
pub(crate) struct ChartSource<'a> {
    pub cut: Cut,
    pub latency: &'a LatencyCut,
    /// The limit on P95 in milliseconds.
    pub limit_ms: f64,
    /// Incidents that were open in the stretch.
    pub incidents: &'a [Incident],
}

/// A chart, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Template)]
#[template(path = "part/chart.html")]
pub(crate) struct Chart {
    /// The whole in words.
    pub summary: String,
    pub p50: String,
    /// Empty where no window holds enough samples.
    pub p95: String,
    /// Slices in which calls ran into the timeout.
    pub censored: Vec<ChartMark>,
    /// Height of the limit in drawing units.
    pub limit_y: f64,
    pub shades: Vec<Shade>,
    /// Labels of the upright axis, the topmost first.
    pub heights: Vec<String>,
    /// Labels of the time axis: seconds since 1970, and the moment in words.
    pub times: Vec<(i64, String)>,
    /// Every point, the oldest first.
    pub points: Vec<ChartPoint>,
    /// Whether any call ran into the timeout.
    pub has_timeouts: bool,
    /// How long a slice of the median is, and a window of P95.
    pub lengths: [String; 2],
    /// Samples behind it all, and what the figures rest on.
    pub note: String,
    /// The limit in words.
    pub limit: String,
}

impl HtmlSafe for Chart {}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartMark {
    pub x: f64,
    pub x2: f64,
    pub y: f64,
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shade {
    pub x: i64,
    pub width: i64,
    pub title: String,
    pub href: String,
}

/// What is known at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartPoint {
    pub x: f64,
    /// The moment, in seconds since 1970: what a reader goes on at when the chart is drawn anew.
    pub seconds: i64,
    /// The moment in words.
    pub at: String,
    /// Of the slice that ends there; none where it holds no sample.
    pub p50: Option<PointFigure>,
    /// Of the window that ends there; none where it holds too few.
    pub p95: Option<PointFigure>,
    /// Calls that ran into the timeout in the slice.
    pub timeouts: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PointFigure {
    pub y: f64,
    pub said: String,
    pub n: u32,
}

/// The chart; none where nothing was measured.
pub(crate) fn chart(source: &ChartSource<'_>) -> Option<Chart> {
    let LatencyCut { fine, trailing, .. } = source.latency;
    if fine.is_empty() {
        return None;
    }
    let enough: Vec<_> = trailing.iter().filter(|window| window.n >= P95_SAMPLES_MIN).collect();
    let top = enough.iter().map(|window| window.p95_ms).chain(fine.iter().map(|slice| slice.p50_ms));
    let quarter = nice(top.fold(source.limit_ms * 1.1, f64::max) / 4.0);
    let y = |ms: f64| round(HEIGHT - (ms / (quarter * 4.0) * HEIGHT).min(HEIGHT));
    let points = points(source, &enough, y);
    let samples: u64 = fine.iter().map(|slice| u64::from(slice.n)).sum();
    let censored: u64 = fine.iter().map(|slice| u64::from(slice.censored)).sum();
    let [p50, p95] = [
        |point: &ChartPoint| point.p50.as_ref().map(|one| one.y),
        |point: &ChartPoint| point.p95.as_ref().map(|one| one.y),
    ];
    Some(Chart {
        summary: summary(source, samples, &enough),
        p50: steps(source, &points, p50),
        p95: steps(source, &points, p95),
        censored: censored_marks(source),
        limit_y: y(source.limit_ms),
        shades: source.incidents.iter().map(|incident| shade(source, incident)).collect(),
        heights: (0..=4).rev().map(|step| format::millis(quarter * f64::from(step))).collect(),
        times: times(source),
        has_timeouts: censored > 0,
        lengths: [source.cut.fine, source.cut.coarse].map(format::span),
        note: note(source, samples, censored, enough.len()),
        limit: format::millis(source.limit_ms),
        points,
    })
}

fn x_of(source: &ChartSource<'_>, at: DateTime<Utc>) -> f64 {
    let whole = micros(source.cut.to - source.cut.from).max(1.0);
    (micros(at - source.cut.from) / whole * WIDTH).clamp(0.0, WIDTH)
}

/// Slices and windows by the moment at which each ends, the oldest first.
fn points(source: &ChartSource<'_>, enough: &[&LatencySlice], y: impl Fn(f64) -> f64) -> Vec<ChartPoint> {
    let figure = |ms: f64, n: u32| PointFigure { y: y(ms), said: format::millis(ms), n };
    let mut points: BTreeMap<DateTime<Utc>, ChartPoint> = BTreeMap::new();
    let empty = |at: DateTime<Utc>| ChartPoint {
        x: round(x_of(source, at)),
        seconds: at.timestamp(),
        at: said_at(source, at),
        p50: None,
        p95: None,
        timeouts: 0,
    };
    for slice in &source.latency.fine {
        let end = end_of(source, slice);
        let point = points.entry(end).or_insert_with(|| empty(end));
        (point.p50, point.timeouts) = (Some(figure(slice.p50_ms, slice.n)), slice.censored);
    }
    for window in enough {
        points.entry(window.at).or_insert_with(|| empty(window.at)).p95 = Some(figure(window.p95_ms, window.n));
    }
    let skipped = points.len().saturating_sub(POINTS_MAX);
    points.into_values().skip(skipped).collect()
}

/// When a slice's figures are known; the one that is under way is as of now.
fn end_of(source: &ChartSource<'_>, slice: &LatencySlice) -> DateTime<Utc> {
    (slice.at + source.cut.fine).min(source.cut.to)
}

/// A line that holds each figure until the next point, and breaks where a point has none.
fn steps(source: &ChartSource<'_>, points: &[ChartPoint], y: impl Fn(&ChartPoint) -> Option<f64>) -> String {
    // Two slices without a point between them are a gap; a step is as long as a slice.
    let step = x_of(source, source.cut.from + source.cut.fine) * 2.5;
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    for point in points {
        let Some(y) = y(point) else {
            last = None;
            continue;
        };
        let x = point.x;
        let written = match last {
            Some((before, height)) if x - before <= step && (height - y).abs() < f64::EPSILON => write!(path, "H{x}"),
            Some((before, _)) if x - before <= step => write!(path, "H{x}V{y}"),
            // A length of nothing shows as a dot where no other point follows.
            _ => write!(path, "M{x} {y}h0"),
        };
        debug_assert!(written.is_ok(), "a string takes every text");
        last = Some((x, y));
    }
    path
}

fn censored_marks(source: &ChartSource<'_>) -> Vec<ChartMark> {
    let slices = source.latency.fine.iter().filter(|slice| slice.censored > 0);
    slices
        .map(|slice| ChartMark {
            x: round(x_of(source, slice.at)),
            x2: round(x_of(source, end_of(source, slice))),
            y: 4.0,
            title: format!(
                "{} of {} calls ran into the timeout in the {} before {}",
                slice.censored,
                slice.n,
                format::span(source.cut.fine),
                said_at(source, end_of(source, slice))
            ),
        })
        .collect()
}

fn shade(source: &ChartSource<'_>, incident: &Incident) -> Shade {
    let end = incident.resolved_at.unwrap_or(source.cut.to);
    let (left, right) = (x_of(source, incident.since()), x_of(source, end));
    #[expect(clippy::cast_possible_truncation, reason = "both are within 0 and 1000")]
    let (x, width) = (left as i64, ((right - left) as i64).max(3));
    // The day is named where it is not the one that the chart ends on.
    let said = |at: DateTime<Utc>| {
        let is_today = at.date_naive() == source.cut.to.date_naive();
        at.format(if is_today { "%H:%M UTC" } else { "%-d %b %H:%M UTC" }).to_string()
    };
    let until = incident.resolved_at.map_or_else(|| "now".to_owned(), said);
    Shade {
        x,
        width,
        title: format!(
            "{} {} ({}), {}–{until}",
            incident.signal.slug(),
            incident.severity.slug(),
            incident.reason,
            said(incident.since())
        ),
        href: format!("/incidents/{}", incident.id),
    }
}

/// Whether the clock alone tells moments apart.
fn is_of_one_day(source: &ChartSource<'_>) -> bool {
    source.cut.to - source.cut.from < CLOCK_ALONE
}

/// A moment in words, such as `14:05 UTC`, `Sat 14 Nov 14:00 UTC` or, of whole days, `Sat 14 Nov`: the day that is over then.
fn said_at(source: &ChartSource<'_>, at: DateTime<Utc>) -> String {
    match source.cut.fine {
        length if length >= DAY => (at - TimeDelta::milliseconds(1)).format("%a %-d %b").to_string(),
        length if length < Duration::from_mins(1) => at.format("%H:%M:%S UTC").to_string(),
        _ if is_of_one_day(source) => at.format("%H:%M UTC").to_string(),
        _ => at.format("%a %-d %b %H:%M UTC").to_string(),
    }
}

fn times(source: &ChartSource<'_>) -> Vec<(i64, String)> {
    let whole = source.cut.to - source.cut.from;
    let pattern = match source.cut.fine {
        _ if is_of_one_day(source) => "%H:%M",
        length if length >= DAY => "%-d %b",
        _ => "%-d %b %H:%M",
    };
    let moments = (0..TICKS).map(|tick| source.cut.from + whole * tick / (TICKS - 1));
    moments.map(|at| (at.timestamp(), at.format(pattern).to_string())).collect()
}

fn summary(source: &ChartSource<'_>, samples: u64, enough: &[&LatencySlice]) -> String {
    let worst = enough.iter().map(|window| window.p95_ms).fold(f64::NAN, f64::max);
    let said =
        if worst.is_nan() { "too few for p95".to_owned() } else { format!("highest p95 {}", format::millis(worst)) };
    format!(
        "Search durations: {}, {said}, limit {}",
        counted(samples, "sample", "samples"),
        format::millis(source.limit_ms)
    )
}

fn note(source: &ChartSource<'_>, samples: u64, censored: u64, enough: usize) -> String {
    let [slice, window] = [source.cut.fine, source.cut.coarse].map(format::span);
    let p95 = if enough == 0 {
        format!("p95 is not drawn: no {window} hold {P95_SAMPLES_MIN} samples")
    } else {
        format!("p95 over the {window} before each point, drawn where n ≥ {P95_SAMPLES_MIN}")
    };
    let timeouts = if censored == 0 { String::new() } else { format!(" · {censored} ran into the timeout") };
    format!("n = {} · median over the {slice} before each point · {p95}{timeouts}", format::count(samples))
}

/// The next round figure: 1, 2, 2.5 or 5 times a power of ten.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-3).log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

fn micros(length: TimeDelta) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a day in microseconds fits")]
    let micros = length.num_microseconds().unwrap_or(i64::MAX) as f64;
    micros
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::ranges::Grain;

    fn minute(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    fn slice(at: i64, n: u32, p95_ms: f64) -> LatencySlice {
        LatencySlice { at: minute(at), n, p50_ms: 100.0, p95_ms, max_ms: 900.0, censored: 0 }
    }

    fn drawn(cut: Cut, fine: &[LatencySlice], trailing: &[LatencySlice]) -> Chart {
        let latency = LatencyCut { fine: fine.to_vec(), coarse: Vec::new(), trailing: trailing.to_vec() };
        chart(&ChartSource { cut, latency: &latency, limit_ms: 800.0, incidents: &[] }).unwrap()
    }

    fn cut(length: TimeDelta, fine: Duration, coarse: Duration) -> Cut {
        Cut { grain: Grain::Beats, from: minute(0), to: minute(0) + length, fine, coarse }
    }

    #[test]
    fn p95_needs_its_samples_and_lines_break_at_gaps() {
        let [five, half] = [5, 30].map(Duration::from_mins);
        let fine = [slice(0, 10, 200.0), slice(5, 10, 200.0), slice(40, 10, 200.0)];
        let trailing = [slice(10, 20, 5_000.0), slice(45, 60, 300.0)];
        let chart = drawn(cut(TimeDelta::hours(1), five, half), &fine, &trailing);
        assert_eq!(chart.p95, "M750 168h0", "the window with 20 samples draws no p95");
        assert_eq!(chart.p50.matches('M').count(), 2, "the line breaks where nothing was measured");
        assert_eq!(chart.heights, ["1.00 s", "750 ms", "500 ms", "250 ms", "0.0 ms"]);
        assert!(chart.note.starts_with("n = 30 ·"), "{}", chart.note);
        let read: Vec<_> = chart.points.iter().map(|point| (&*point.at, point.p95.is_some())).collect();
        let expected = [("00:05 UTC", false), ("00:10 UTC", false), ("00:45 UTC", true)];
        assert_eq!(read, expected, "each point stands at the end of its slice");
    }

    #[test]
    fn nothing_rises_before_its_cause() {
        let five = Duration::from_mins(5);
        // Slow from minute 20 on: the slice that begins there is the first to know, and knows it at its end.
        let fine: Vec<_> = (0..12)
            .map(|n| LatencySlice { p50_ms: if n < 4 { 100.0 } else { 700.0 }, ..slice(n * 5, 10, 0.0) })
            .collect();
        let trailing: Vec<_> = (1..=12).map(|n| slice(n * 5, 60, if n < 5 { 120.0 } else { 750.0 })).collect();
        let chart = drawn(cut(TimeDelta::hours(1), five, Duration::from_mins(30)), &fine, &trailing);
        let rise = |path: &str| path.split('V').next().and_then(|flat| flat.rsplit('H').next()?.parse::<f64>().ok());
        let fault = 20.0 / 60.0 * WIDTH;
        for path in [&chart.p50, &chart.p95] {
            let x = rise(path).unwrap();
            assert!(x >= fault && x <= fault + 5.1 / 60.0 * WIDTH, "rises at {x}, the fault is at {fault}: {path}");
            assert!(!path.contains('L'), "a slope would begin before its end: {path}");
        }
    }

    #[test]
    fn long_charts_say_the_day() {
        let hours = |hours: u64| Duration::from_hours(hours);
        let rows = [
            (1, hours(1), "00:00", "01:00 UTC", "within a day the clock is enough"),
            (7, hours(1), "1 Jan 00:00", "Thu 1 Jan 01:00 UTC", "a week needs both"),
            (30, hours(24), "1 Jan", "Thu 1 Jan", "a month of whole days needs the day"),
        ];
        for (days, fine, tick, said, sentence) in rows {
            let chart = drawn(cut(TimeDelta::days(days), fine, fine), &[slice(0, 100, 300.0)], &[]);
            assert_eq!((&*chart.times[0].1, &*chart.points[0].at), (tick, said), "{sentence}");
        }
    }

    #[test]
    fn axes_end_at_round_figures() {
        for (least, step) in [(220.0, 250.0), (3.0, 5.0), (100.0, 100.0), (0.7, 1.0)] {
            assert!((nice(least) - step).abs() < 1e-9, "{least} becomes {step}");
        }
    }
}
