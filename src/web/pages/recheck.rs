//! What a page says of a look that somebody asked for: that it is coming, or what it showed.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::observation::BeatKind;
use crate::live::monitor_view::MonitorView;
use crate::web::actions::CLOCKS_APART;
use crate::web::format;

/// One sentence about the look asked for at this moment.
pub(crate) fn told(view: Option<&MonitorView>, asked_at: Option<DateTime<Utc>>) -> String {
    let coming = "A recheck was requested. Its result appears here once it is done.".to_owned();
    let (Some(view), Some(asked_at)) = (view, asked_at) else { return coming };
    // The address has whole seconds; another machine has a clock of its own.
    let apart = if view.last.is_some() { TimeDelta::seconds(1) } else { CLOCKS_APART };
    let Some(look) = view.look.as_ref().filter(|look| {
        look.started_at >= asked_at - apart && (look.kind == BeatKind::Recheck || look.started_at > asked_at + apart)
    }) else {
        return coming;
    };
    let took = format::millis(look.elapsed.as_secs_f64() * 1e3);
    let found = look.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
    format!("Rechecked: {} in {took}{found}. The monitor is {}.", look.verdict.slug(), view.roll_up.word())
}
