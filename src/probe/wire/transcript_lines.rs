//! How connections, steps and times read in a transcript.

use std::fmt::Write as _;
use std::time::Duration;

use crate::domain::observation::{Phases, Step};
use crate::net::connect::Times;
use crate::probe::wire::head::fault_word;
use crate::untrusted_text::{DETAIL_CHARS_MAX, Scrub, escaped};

pub(super) fn stands(authority: &str, times: Times) -> String {
    let took = times.tls.or(times.connect).map(shown).unwrap_or_default();
    let mut line = format!("connected {authority} in {took}");
    for (name, time) in [("name", times.name), ("TCP", times.connect), ("TLS", times.tls)] {
        if let Some(time) = time {
            let _ = write!(line, ", {name} after {}", shown(time));
        }
    }
    line
}

pub(super) fn step_lines(text: &mut String, step: &Step, scrub: &Scrub) {
    let mark = if step.fault.is_some() { '✗' } else { '✓' };
    let label = escaped(&scrub.hidden(&step.label), DETAIL_CHARS_MAX);
    let _ = write!(text, "= {} {mark} {label} · {}", step.stage.slug(), shown(step.elapsed));
    for (name, time) in phases(&step.phases) {
        let _ = write!(text, ", {name} {}", shown(time));
    }
    text.push('\n');
    if let Some(fault) = &step.fault {
        let _ = writeln!(text, "=   {}: {}", fault_word(fault.kind), scrub.line(&fault.detail));
    }
    for note in &step.notes {
        let _ = writeln!(text, "=   note: {}", scrub.line(note));
    }
}

/// The phases that were reached, in order.
pub(crate) fn phases(phases: &Phases) -> Vec<(&'static str, Duration)> {
    let all = [
        ("name", phases.name),
        ("connect", phases.connect),
        ("tls", phases.tls),
        ("headers", phases.headers),
        ("answer", phases.answer),
        ("end", phases.end),
    ];
    all.into_iter().filter_map(|(name, time)| Some((name, time?))).collect()
}

pub(super) fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
