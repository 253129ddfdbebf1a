//! Percentiles over time: the median as a line, P95 as steps where samples suffice, the limit, incidents shaded.

use std::fmt::Write as _;
use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::Incident;
use crate::domain::wording::counted;
use crate::store::packed::slices::LatencySlice;
use crate::web::format;
use crate::web::ranges::P95_SAMPLES_MIN;

/// Size of the drawing; it is stretched to its frame.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 240.0;
/// Labels along the time axis, first and last included.
const TICKS: i32 = 6;
/// A chart of less than this says clock times without their day: 24 hours and the slice they begin in.
const CLOCK_ALONE: TimeDelta = TimeDelta::hours(28);
const ONE_DAY: TimeDelta = TimeDelta::days(1);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// What a chart is drawn from.
#[derive(Debug, Clone)]
pub(crate) struct ChartSource<'a> {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    pub fine: &'a [LatencySlice],
    /// How long a fine slice is.
    pub fine_length: Duration,
    /// Coarse slices, long enough for P95.
    pub coarse: &'a [LatencySlice],
    /// How long a coarse slice is.
    pub coarse_length: Duration,
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
    pub p95: Vec<ChartMark>,
    /// Slices in which calls ran into the timeout.
    pub censored: Vec<ChartMark>,
    /// Height of the limit in drawing units.
    pub limit_y: Option<f64>,
    pub shades: Vec<Shade>,
    /// Labels of the upright axis, the topmost first.
    pub heights: Vec<String>,
    /// Labels of the time axis.
    pub times: Vec<String>,
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

/// The chart; none where nothing was measured.
pub(crate) fn chart(source: &ChartSource<'_>) -> Option<Chart> {
    if source.fine.is_empty() {
        return None;
    }
    let enough: Vec<_> = source.coarse.iter().filter(|slice| slice.n >= P95_SAMPLES_MIN).collect();
    let top = enough.iter().map(|slice| slice.p95_ms).chain(source.fine.iter().map(|slice| slice.p50_ms));
    let quarter = nice(top.fold(source.limit_ms * 1.1, f64::max) / 4.0);
    let y = |ms: f64| HEIGHT - (ms / (quarter * 4.0) * HEIGHT).min(HEIGHT);
    let x = |at: DateTime<Utc>| x_of(source, at);
    let p95 = enough.iter().map(|slice| p95_mark(source, slice, &x, &y)).collect();
    let samples: u64 = source.fine.iter().map(|slice| u64::from(slice.n)).sum();
    let censored: u64 = source.fine.iter().map(|slice| u64::from(slice.censored)).sum();
    Some(Chart {
        summary: summary(source, samples, &enough),
        p50: median(source, &x, &y),
        p95,
        censored: censored_marks(source, &x),
        limit_y: Some(y(source.limit_ms)),
        shades: source.incidents.iter().map(|incident| shade(source, incident)).collect(),
        heights: (0..=4).rev().map(|step| format::millis(quarter * f64::from(step))).collect(),
        times: times(source),
        note: note(source, samples, censored, enough.len()),
        limit: format::millis(source.limit_ms),
    })
}

fn x_of(source: &ChartSource<'_>, at: DateTime<Utc>) -> f64 {
    let whole = micros(source.to - source.from).max(1.0);
    (micros(at - source.from) / whole * WIDTH).clamp(0.0, WIDTH)
}

fn p95_mark(
    source: &ChartSource<'_>,
    slice: &LatencySlice,
    x: &impl Fn(DateTime<Utc>) -> f64,
    y: &impl Fn(f64) -> f64,
) -> ChartMark {
    let end = slice.at + source.coarse_length;
    ChartMark {
        x: round(x(slice.at)),
        x2: round(x(end)),
        y: round(y(slice.p95_ms)),
        title: format!(
            "{}: p95 {}, p50 {}, slowest {}, n = {}",
            between(source, slice.at, end),
            format::millis(slice.p95_ms),
            format::millis(slice.p50_ms),
            format::millis(slice.max_ms),
            slice.n
        ),
    }
}

/// The median's line, broken where nothing was measured between two slices.
fn median(source: &ChartSource<'_>, x: &impl Fn(DateTime<Utc>) -> f64, y: &impl Fn(f64) -> f64) -> String {
    let gap = source.fine_length.mul_f64(2.5);
    let half = TimeDelta::from_std(source.fine_length / 2).unwrap_or_default();
    let mut path = String::new();
    let mut last: Option<DateTime<Utc>> = None;
    for slice in source.fine {
        let joined = last.is_some_and(|last| (slice.at - last).to_std().is_ok_and(|between| between <= gap));
        let (x, y) = (round(x(slice.at + half)), round(y(slice.p50_ms)));
        // A lone slice has no neighbour to draw a line to; a length of nothing shows as a dot.
        let written = if joined { write!(path, "L{x} {y}") } else { write!(path, "M{x} {y}h0") };
        debug_assert!(written.is_ok(), "a string takes every text");
        last = Some(slice.at);
    }
    path
}

fn censored_marks(source: &ChartSource<'_>, x: &impl Fn(DateTime<Utc>) -> f64) -> Vec<ChartMark> {
    let slices = source.fine.iter().filter(|slice| slice.censored > 0);
    slices
        .map(|slice| ChartMark {
            x: round(x(slice.at)),
            x2: round(x(slice.at + source.fine_length)),
            y: 4.0,
            title: format!(
                "{} of {} calls ran into the timeout, {}",
                slice.censored,
                slice.n,
                between(source, slice.at, slice.at + source.fine_length)
            ),
        })
        .collect()
}

fn shade(source: &ChartSource<'_>, incident: &Incident) -> Shade {
    let end = incident.resolved_at.unwrap_or(source.to);
    let (left, right) = (x_of(source, incident.opened_at), x_of(source, end));
    #[expect(clippy::cast_possible_truncation, reason = "both are within 0 and 1000")]
    let (x, width) = (left as i64, ((right - left) as i64).max(3));
    let clock = if is_of_one_day(source) { "%H:%M" } else { "%-d %b %H:%M" };
    let until = incident.resolved_at.map_or_else(|| "now".to_owned(), |at| format!("{} UTC", at.format(clock)));
    Shade {
        x,
        width,
        title: format!(
            "{} {} ({}), {}–{until}",
            incident.signal.slug(),
            incident.severity.slug(),
            incident.reason,
            incident.opened_at.format(clock)
        ),
        href: format!("/incidents/{}", incident.id),
    }
}

/// Whether the clock alone tells moments apart.
fn is_of_one_day(source: &ChartSource<'_>) -> bool {
    source.to - source.from < CLOCK_ALONE
}

/// A slice in words, such as `14:00–15:00 UTC`, `14 Nov 14:00–15:00 UTC` or `14 Nov–21 Nov`.
fn between(source: &ChartSource<'_>, start: DateTime<Utc>, end: DateTime<Utc>) -> String {
    if source.fine_length >= DAY && end - start > ONE_DAY {
        return format!("{}–{}", start.format("%-d %b"), (end - ONE_DAY).format("%-d %b"));
    }
    if source.fine_length >= DAY {
        return start.format("%a %-d %b").to_string();
    }
    let first = if is_of_one_day(source) { "%H:%M" } else { "%a %-d %b %H:%M" };
    format!("{}–{} UTC", start.format(first), end.format("%H:%M"))
}

fn times(source: &ChartSource<'_>) -> Vec<String> {
    let whole = source.to - source.from;
    let pattern = match source.fine_length {
        _ if is_of_one_day(source) => "%H:%M",
        length if length >= DAY => "%-d %b",
        _ => "%-d %b %H:%M",
    };
    (0..TICKS).map(|tick| (source.from + whole * tick / (TICKS - 1)).format(pattern).to_string()).collect()
}

fn summary(source: &ChartSource<'_>, samples: u64, enough: &[&LatencySlice]) -> String {
    let worst = enough.iter().map(|slice| slice.p95_ms).fold(f64::NAN, f64::max);
    let said =
        if worst.is_nan() { "too few for p95".to_owned() } else { format!("highest p95 {}", format::millis(worst)) };
    format!(
        "Search durations: {}, {said}, limit {}",
        counted(samples, "sample", "samples"),
        format::millis(source.limit_ms)
    )
}

fn note(source: &ChartSource<'_>, samples: u64, censored: u64, enough: usize) -> String {
    let slice = format::span(source.coarse_length);
    let p95 = if enough == 0 {
        format!("p95 is not drawn: no {slice} holds {P95_SAMPLES_MIN} samples")
    } else {
        format!("p95 over {slice} each, drawn where n ≥ {P95_SAMPLES_MIN}")
    };
    let timeouts = if censored == 0 { String::new() } else { format!(" · {censored} ran into the timeout") };
    format!("n = {} · median over {} each · {p95}{timeouts}", format::count(samples), format::span(source.fine_length))
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

    fn slice(minute: i64, n: u32, p95_ms: f64) -> LatencySlice {
        let at = DateTime::UNIX_EPOCH + TimeDelta::minutes(minute);
        LatencySlice { at, n, p50_ms: 100.0, p95_ms, max_ms: 900.0, censored: 0 }
    }

    #[test]
    fn p95_needs_its_samples_and_the_median_breaks_at_gaps() {
        let fine = [slice(0, 10, 200.0), slice(5, 10, 200.0), slice(40, 10, 200.0)];
        let coarse = [slice(0, 60, 300.0), slice(30, 20, 5_000.0)];
        let chart = chart(&ChartSource {
            from: DateTime::UNIX_EPOCH,
            to: DateTime::UNIX_EPOCH + TimeDelta::hours(1),
            fine: &fine,
            fine_length: Duration::from_secs(300),
            coarse: &coarse,
            coarse_length: Duration::from_secs(1_800),
            limit_ms: 800.0,
            incidents: &[],
        })
        .unwrap();
        assert_eq!(chart.p95.len(), 1, "the slice with 20 samples draws no p95");
        assert_eq!(chart.p50.matches('M').count(), 2, "the line breaks where nothing was measured");
        assert_eq!(chart.heights, ["1.00 s", "750 ms", "500 ms", "250 ms", "0.0 ms"]);
        assert!(chart.note.starts_with("n = 30 ·"), "{}", chart.note);
    }

    #[test]
    fn long_charts_say_the_day() {
        let hours = |hours: u64| Duration::from_secs(3_600 * hours);
        let rows = [
            (1, hours(1), hours(1), "00:00", "00:00–01:00 UTC", "within a day the clock is enough"),
            (7, hours(1), hours(1), "1 Jan 00:00", "Thu 1 Jan 00:00–01:00 UTC", "a week needs both"),
            (30, hours(24), hours(24), "1 Jan", "Thu 1 Jan", "a month of whole days needs the day"),
            (90, hours(24), hours(168), "1 Jan", "1 Jan–7 Jan", "slices of a week say their first and last day"),
        ];
        for (days, fine_length, coarse_length, tick, said, sentence) in rows {
            let slices = [slice(0, 100, 300.0)];
            let chart = chart(&ChartSource {
                from: DateTime::UNIX_EPOCH,
                to: DateTime::UNIX_EPOCH + TimeDelta::days(days),
                fine: &slices,
                fine_length,
                coarse: &slices,
                coarse_length,
                limit_ms: 800.0,
                incidents: &[],
            })
            .unwrap();
            assert_eq!(chart.times[0], tick, "{sentence}");
            assert!(
                chart.p95[0].title.starts_with(&format!("{said}: p95 300 ms")),
                "{sentence}: {}",
                chart.p95[0].title
            );
        }
    }

    #[test]
    fn axes_end_at_round_figures() {
        for (least, step) in [(220.0, 250.0), (3.0, 5.0), (100.0, 100.0), (0.7, 1.0)] {
            assert!((nice(least) - step).abs() < 1e-9, "{least} becomes {step}");
        }
    }
}
