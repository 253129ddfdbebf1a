//! A row a monitor, day (UTC), stage, variant and freshness: percentiles out of the day's histogram.

use std::io::Write;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::cli::export::rows::RowWriter;
use crate::cli::export::timestamps::{day_of, monitors, ms};
use crate::domain::latency::histogram::Latencies;
use crate::domain::latency::steps::Steps;
use crate::domain::monitor::MonitorId;
use crate::store::packed::pack::day::Series;
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

pub(super) const COLUMNS: &[&str] = &[
    "monitor",
    "day",
    "stage",
    "variant",
    "fresh_connection",
    "samples",
    "timed_out",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "p99_is_longer",
];
/// Read at once of one monitor.
const PART: TimeDelta = TimeDelta::days(30);

/// Writes them; answers how many. Days at the edges are whole ones.
pub(super) async fn write<W: Write>(store: &Readers, span: &Span, mut rows: RowWriter<W>) -> anyhow::Result<u64> {
    let mut written = 0;
    for (monitor, from) in monitors(store, span).await? {
        let mut from = day_of(from);
        while from < span.to {
            let to = (from + PART).min(span.to);
            // A day counts up to its last microsecond, and the next part begins with another one.
            for (day, stretch) in store.days(&monitor, from, to - TimeDelta::microseconds(1)).await? {
                for (series, calls) in &stretch.histograms {
                    rows.row(values(&monitor, day, series, calls))?;
                    written += 1;
                }
            }
            from = to;
        }
    }
    rows.end()?.flush()?;
    Ok(written)
}

fn values(monitor: &MonitorId, day: DateTime<Utc>, series: &Series, calls: &Steps) -> Vec<Value> {
    let latencies = Latencies::from(calls);
    let percentile = |percent| latencies.percentile(percent).map(|found| ms(found.duration));
    vec![
        json!(monitor.as_str()),
        json!(day.format("%Y-%m-%d").to_string()),
        json!(series.stage.slug()),
        json!(series.variant.slug()),
        json!(series.fresh_connection),
        json!(latencies.count()),
        json!(latencies.censored()),
        json!(percentile(50)),
        json!(percentile(90)),
        json!(percentile(95)),
        json!(percentile(99)),
        json!(latencies.percentile(99).is_some_and(|found| found.is_censored)),
    ]
}
