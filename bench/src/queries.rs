//! How many questions a page asks of the database, as sqlx's own log tells it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, filter, fmt};

/// sqlx logs each statement under this name.
const TARGET: &str = "sqlx::query";
/// Whether anything is counted now: to log a statement costs time, which is not to be in that of a page.
static COUNTS: AtomicBool = AtomicBool::new(false);
/// Statements that read, so far.
static READ: AtomicU64 = AtomicU64::new(0);

/// Logs errors as usual, and counts statements where [`count`] asks for it; in place of the usual log of a process.
pub(crate) fn start() {
    let lines = fmt::layer().with_writer(std::io::stderr).with_filter(LevelFilter::ERROR);
    let wanted = filter::dynamic_filter_fn(|metadata, _| metadata.target() == TARGET && COUNTS.load(Ordering::Relaxed));
    Registry::default().with(lines).with(Counter.with_filter(wanted)).init();
}

/// Counts from now on, or not any more.
pub(crate) fn count(counts: bool) {
    COUNTS.store(counts, Ordering::Relaxed);
}

/// Statements that read, so far, of the whole process. What beats write is not among them.
pub(crate) fn read() -> u64 {
    READ.load(Ordering::Relaxed)
}

struct Counter;

impl<S: Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut reads = Reads(false);
        event.record(&mut reads);
        READ.fetch_add(u64::from(reads.0), Ordering::Relaxed);
    }
}

/// Whether the statement of an event reads.
struct Reads(bool);

impl Visit for Reads {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 |= field.name() == "summary" && (value.starts_with("SELECT") || value.starts_with("WITH"));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
