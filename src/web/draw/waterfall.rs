//! One probe as a waterfall: every step with its start, its length and where its time went.

use std::time::Duration;

use crate::domain::observation::{Observation, Step};
use crate::web::format;

/// Width of the whole probe in drawing units.
const WIDTH: f64 = 1000.0;

/// One step, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaterfallBar {
    /// Phases in order: class, start and width in drawing units (0–1000), title.
    pub pieces: Vec<WaterfallPiece>,
}

/// One phase of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaterfallPiece {
    pub class: &'static str,
    pub x: f64,
    /// How long it is; at least so much that it is seen.
    pub width: f64,
    pub title: String,
}

/// A bar for every step. Steps run one after the other, so each starts where the last one ended.
pub(crate) fn bars(observation: &Observation) -> Vec<WaterfallBar> {
    let total: Duration = observation.steps.iter().map(|step| step.elapsed).sum();
    let scale = WIDTH / total.max(observation.elapsed).as_secs_f64().max(1e-6);
    let mut start = Duration::ZERO;
    let mut bars = Vec::with_capacity(observation.steps.len());
    for step in &observation.steps {
        bars.push(WaterfallBar { pieces: pieces(step, start.as_secs_f64() * scale, scale) });
        start += step.elapsed;
    }
    bars
}

fn pieces(step: &Step, start: f64, scale: f64) -> Vec<WaterfallPiece> {
    const SEEN_WIDTH_MIN: f64 = 2.0;
    let phases = [
        ("name", "name resolved", step.phases.name),
        ("tcp", "TCP connected", step.phases.connect),
        ("tls", "TLS established", step.phases.tls),
        ("wait", "waited for the first byte", step.phases.headers),
        ("read", "read the answer", step.phases.answer),
        ("end", "read to the end", step.phases.end),
    ];
    let mut pieces = Vec::new();
    let mut reached = Duration::ZERO;
    let mut push = |class, words: &str, from: Duration, to: Duration| {
        let length = to.saturating_sub(from);
        pieces.push(WaterfallPiece {
            class,
            x: (start + from.as_secs_f64() * scale).min(WIDTH - SEEN_WIDTH_MIN),
            width: (length.as_secs_f64() * scale).max(SEEN_WIDTH_MIN),
            title: format!("{words}: {}", format::millis(length.as_secs_f64() * 1e3)),
        });
    };
    for (class, said, until) in phases {
        let Some(until) = until else { continue };
        if until > reached {
            push(class, said, reached, until);
            reached = until;
        }
    }
    if step.elapsed > reached {
        let class = if step.fault.is_some() { "broken" } else { "end" };
        push(class, if step.fault.is_some() { "until it broke" } else { "the rest" }, reached, step.elapsed);
    }
    pieces
}
