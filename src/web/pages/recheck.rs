//! What a page says of a look that somebody asked for: that it is coming, or what it showed.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::observation::BeatKind;
use crate::live::monitor_view::MonitorView;
use crate::web::format;

/// One sentence about the look asked for at this moment.
pub(crate) fn told(view: Option<&MonitorView>, asked_at: Option<DateTime<Utc>>) -> String {
    let coming = "A recheck was requested. Its result appears here once it is done.".to_owned();
    let (Some(view), Some(asked_at)) = (view, asked_at) else { return coming };
    // The address has whole seconds.
    let since = asked_at - TimeDelta::seconds(1);
    let Some((seen, outcome)) = view.last.as_deref().filter(|(seen, _)| {
        seen.started_at >= since
            && (seen.kind == BeatKind::Recheck || seen.started_at > asked_at + TimeDelta::seconds(1))
    }) else {
        return coming;
    };
    let took = format::millis(seen.elapsed.as_secs_f64() * 1e3);
    let found = outcome.findings.first().map(|finding| format!(": {}", finding.summary)).unwrap_or_default();
    format!("Rechecked: {} in {took}{found}. The monitor is {}.", outcome.verdict.slug(), view.roll_up.word())
}
