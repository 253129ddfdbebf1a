//! Calls cut into slices of time, each with its percentiles.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::answer::Variant;
use crate::domain::latency::code::LatencyCode;
use crate::domain::latency::histogram::Latencies;
use crate::domain::observation::Stage;
use crate::store::packed::pack::day::{Histograms, Series};
use crate::store::values::column::micros;
use crate::store::values::past::{PastAsk, PastBeat};

/// Percentiles of search calls in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySlice {
    /// Its start; of a trailing window its end, so that no figure stands before the calls it is made of.
    pub at: DateTime<Utc>,
    pub n: u32,
    pub p50_ms: f64,
    /// 95th percentile in milliseconds; none below 59 samples in the slice is the page's business, not ours.
    pub p95_ms: f64,
    /// The slowest in milliseconds.
    pub max_ms: f64,
    /// Calls that ran into the timeout.
    pub censored: u32,
}

/// Slices of one stretch of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sliced {
    /// Whether they are of searches; else of tools/list, since there were no searches.
    pub of_searches: bool,
    /// Slices with a call, the oldest first.
    pub slices: Vec<LatencySlice>,
}

/// Calls that are counted in one slice: each step of the scale, whether it ran into its timeout, and how many.
type Calls = Vec<(LatencyCode, bool, u32)>;

/// What latency is judged by in a stretch of time: searches past caches, or where there are none plain ones and those in
/// other words; tools/list where there are no searches.
#[derive(Debug)]
pub(in crate::store) struct SlicePart {
    at: DateTime<Utc>,
    fresh: Calls,
    plain: Calls,
    tools: Calls,
}

impl SlicePart {
    /// Of an hour or a day that begins at `at`.
    fn of_histograms(at: DateTime<Utc>, histograms: &Histograms) -> Self {
        let of = |stage: Stage, variant: Variant| -> Calls {
            let is_of = |series: &Series| series.stage == stage && series.variant == variant;
            histograms.iter().filter(|(series, _)| is_of(series)).flat_map(|(_, steps)| steps.each()).collect()
        };
        let searches = |variant| of(Stage::Search, variant);
        Self {
            at,
            fresh: searches(Variant::Fresh),
            plain: [Variant::Plain, Variant::Reworded].into_iter().flat_map(searches).collect(),
            tools: of(Stage::Tools, Variant::Plain),
        }
    }

    /// When its calls began.
    pub(in crate::store) const fn at(&self) -> DateTime<Utc> {
        self.at
    }

    pub(in crate::store) fn of_beat(beat: &PastBeat) -> Self {
        let searches = |is_past_caches: bool| {
            let is_of = move |ask: &&PastAsk| (ask.shape.variant == Variant::Fresh) == is_past_caches;
            let asks = beat.asks.iter().filter(|ask| ask.is_timed()).filter(is_of);
            asks.map(|ask| (LatencyCode::of(ask.elapsed), ask.is_censored(), 1)).collect()
        };
        Self {
            at: beat.started_at,
            fresh: searches(true),
            plain: searches(false),
            tools: beat.stages.tools.map(|elapsed| (LatencyCode::of(elapsed), false, 1)).into_iter().collect(),
        }
    }
}

/// Slices made of whole hours or days, each with its start.
pub(in crate::store) fn of_histograms<'h>(
    stretches: impl Iterator<Item = (DateTime<Utc>, &'h Histograms)>,
    from: DateTime<Utc>,
    slice: Duration,
) -> Sliced {
    let parts: Vec<SlicePart> = stretches.map(|(at, histograms)| SlicePart::of_histograms(at, histograms)).collect();
    sliced(&parts, from, slice)
}

/// Merged parts of each slice.
pub(in crate::store) fn sliced(parts: &[SlicePart], from: DateTime<Utc>, slice: Duration) -> Sliced {
    let width = micros(slice).max(1);
    // A monitor with searches is judged by them alone, in slices without one as well.
    let of_searches = parts.iter().any(|part| !part.fresh.is_empty() || !part.plain.is_empty());
    let place = |part: &SlicePart| (part.at.timestamp_micros() - from.timestamp_micros()).max(0) / width;
    // Where any went past caches, the others may have ended in one.
    let past_caches: HashSet<i64> = parts.iter().filter(|part| !part.fresh.is_empty()).map(place).collect();
    let mut slices: BTreeMap<i64, Latencies> = BTreeMap::new();
    for part in parts {
        let place = place(part);
        let calls = match (of_searches, past_caches.contains(&place)) {
            (false, _) => &part.tools,
            (true, true) => &part.fresh,
            (true, false) => &part.plain,
        };
        for (code, is_censored, count) in calls {
            slices.entry(place).or_default().record_many(*code, *is_censored, *count);
        }
    }
    let start = |place: i64| from + TimeDelta::microseconds(place * width);
    Sliced {
        of_searches,
        slices: slices.into_iter().map(|(place, counted)| summed_up(start(place), &counted)).collect(),
    }
}

/// One window a step, each of the calls that began in the `window` before its own moment. The moments are a `step` apart,
/// the first one a step after `from` and the last one `to` itself; windows without a call are left out.
///
/// `parts` stand in the order of time, and reach back to a window before `from` where the first windows are to be whole.
pub(in crate::store) fn trailing(
    parts: &[SlicePart],
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    step: Duration,
    window: Duration,
) -> Vec<LatencySlice> {
    let of_searches = parts.iter().any(|part| !part.fresh.is_empty() || !part.plain.is_empty());
    let [step, window] = [step, window].map(|length| TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX));
    let step = step.max(TimeDelta::seconds(1));
    let mut ends: Vec<DateTime<Utc>> = std::iter::successors(Some(from + step), |end| end.checked_add_signed(step))
        .take_while(|end| *end < to)
        .collect();
    ends.push(to);
    let within = |end: DateTime<Utc>| {
        let first = parts.partition_point(|part| part.at < end - window);
        &parts[first..parts.partition_point(|part| part.at < end)]
    };
    let counted = ends.into_iter().map(|end| (end, counted(within(end), of_searches)));
    counted.filter(|(_, counted)| counted.count() > 0).map(|(end, counted)| summed_up(end, &counted)).collect()
}

/// The calls that latency is judged by in one window. Where any went past caches, the others may have ended in one.
fn counted(parts: &[SlicePart], of_searches: bool) -> Latencies {
    let is_past_caches = parts.iter().any(|part| !part.fresh.is_empty());
    let mut counted = Latencies::default();
    for part in parts {
        let calls = match (of_searches, is_past_caches) {
            (false, _) => &part.tools,
            (true, true) => &part.fresh,
            (true, false) => &part.plain,
        };
        for (code, is_censored, count) in calls {
            counted.record_many(*code, *is_censored, *count);
        }
    }
    counted
}

/// The trailing windows of whole hours or days, each of which is in a window once it is over.
pub(in crate::store) fn trailing_of_histograms<'h>(
    stretches: impl Iterator<Item = (DateTime<Utc>, &'h Histograms)>,
    range: (DateTime<Utc>, DateTime<Utc>),
    step: Duration,
    window: Duration,
) -> Vec<LatencySlice> {
    let parts: Vec<SlicePart> = stretches.map(|(at, histograms)| SlicePart::of_histograms(at, histograms)).collect();
    trailing(&parts, range, step, window)
}

/// The slices of several stretches, as if they had been cut as one, the oldest first.
pub(in crate::store) fn joined(stretches: Vec<Sliced>) -> Vec<LatencySlice> {
    let of_searches = stretches.iter().any(|stretch| stretch.of_searches);
    let judged = stretches.into_iter().filter(|stretch| stretch.of_searches == of_searches);
    let mut slices: Vec<LatencySlice> = judged.flat_map(|stretch| stretch.slices).collect();
    slices.sort_by_key(|slice| slice.at);
    slices
}

fn summed_up(at: DateTime<Utc>, counted: &Latencies) -> LatencySlice {
    let ms = |percent| counted.percentile(percent).map_or(0.0, |percentile| percentile.duration.as_secs_f64() * 1000.0);
    LatencySlice {
        at,
        n: u32::try_from(counted.count()).unwrap_or(u32::MAX),
        p50_ms: ms(50),
        p95_ms: ms(95),
        max_ms: ms(100),
        censored: u32::try_from(counted.censored()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_two_digits_and_by_slice() {
        let from = DateTime::from_timestamp_micros(1_000_000_000).unwrap_or_default();
        let call = |second: i64, ms: u64, is_censored| SlicePart {
            at: from + TimeDelta::seconds(second),
            fresh: Vec::new(),
            plain: vec![(LatencyCode::of(Duration::from_millis(ms)), is_censored, 1)],
            tools: Vec::new(),
        };
        let mut calls: Vec<_> = (1..=100).map(|ms| call(1, ms, false)).collect();
        calls.push(call(130, 10_000, true));
        let slices = sliced(&calls, from, Duration::from_secs(60)).slices;
        let near = |given: f64, expected: f64| (given - expected).abs() <= expected * 0.005;
        assert_eq!(slices.len(), 2, "an empty slice is left out");
        let first = slices[0];
        assert!(
            near(first.p50_ms, 50.0) && near(first.p95_ms, 95.0) && near(first.max_ms, 100.0),
            "1 to 100 ms: {first:?}"
        );
        assert_eq!((first.n, first.censored), (100, 0));
        assert_eq!(
            (slices[1].at, slices[1].n, slices[1].censored),
            (from + TimeDelta::seconds(120), 1, 1),
            "a timeout is counted"
        );
    }

    #[test]
    fn where_searches_go_past_caches_the_others_do_not_count() {
        let from = DateTime::from_timestamp_micros(0).unwrap_or_default();
        let calls = |ms: &[u64]| ms.iter().map(|ms| (LatencyCode::of(Duration::from_millis(*ms)), false, 1)).collect();
        let part = |second: i64, fresh: &[u64], plain: &[u64]| SlicePart {
            at: from + TimeDelta::seconds(second),
            fresh: calls(fresh),
            plain: calls(plain),
            tools: calls(&[7]),
        };
        let parts = [part(0, &[], &[100]), part(60, &[], &[1]), part(61, &[200, 200], &[1]), part(119, &[], &[1, 1])];
        let counted = sliced(&parts, from, Duration::from_secs(60));
        let seen: Vec<(u32, f64)> = counted.slices.iter().map(|slice| (slice.n, slice.max_ms.round())).collect();
        assert!(counted.of_searches);
        assert_eq!(seen, [(1, 100.0), (2, 200.0)], "a minute of plain ones alone, then one in which two went past");
    }

    #[test]
    fn a_window_holds_nothing_that_came_after_its_moment() {
        let from = DateTime::from_timestamp_micros(0).unwrap_or_default();
        let minute = |minute: i64| from + TimeDelta::minutes(minute);
        // A call a minute from ten minutes before: fast until minute 20, and slow from then on.
        let part = |at: i64| SlicePart {
            at: minute(at),
            fresh: Vec::new(),
            plain: vec![(LatencyCode::of(Duration::from_millis(if at < 20 { 100 } else { 5_000 })), false, 1)],
            tools: Vec::new(),
        };
        let parts: Vec<SlicePart> = (-10..33).map(part).collect();
        let [step, window] = [5, 10].map(Duration::from_mins);
        let windows = trailing(&parts, (from, minute(33)), step, window);
        let seen: Vec<(i64, u32, bool)> =
            windows.iter().map(|one| ((one.at - from).num_minutes(), one.n, one.p95_ms > 1_000.0)).collect();
        let expected = [
            (5, 10, false),
            (10, 10, false),
            (15, 10, false),
            (20, 10, false),
            (25, 10, true),
            (30, 10, true),
            (33, 10, true),
        ];
        assert_eq!(seen, expected, "the rise stands after the first slow call, and the last moment is now");
    }

    #[test]
    fn days_without_searches_say_nothing_where_others_have_some() {
        let at = DateTime::from_timestamp_micros(0).unwrap_or_default();
        let slice = LatencySlice { at, n: 1, p50_ms: 1.0, p95_ms: 1.0, max_ms: 1.0, censored: 0 };
        let day = |of_searches, n| Sliced { of_searches, slices: vec![LatencySlice { n, ..slice }] };
        let counts = |days: Vec<Sliced>| joined(days).iter().map(|slice| slice.n).collect::<Vec<_>>();
        assert_eq!(counts(vec![day(false, 1), day(false, 2)]), [1, 2]);
        assert_eq!(counts(vec![day(false, 1), day(true, 2), day(true, 3)]), [2, 3]);
    }
}
