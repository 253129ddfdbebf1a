//! What a component did over the last 90 days: its monitors' days put together, with how much of them was seen.
//!
//! Of several monitors the time of each counts, so that one of three that was down all day is a day two thirds up.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;
use crate::domain::status_page::Component;
use crate::live::monitor_view::MonitorView;
use crate::store::read::cells::MONITORS_MAX;
use crate::web::bars::{self, MonitorPast, Past};
use crate::web::format;
use crate::web::state::WebState;

/// Days of a component.
#[derive(Debug, Clone)]
pub(crate) struct ComponentPast {
    pub days: Past,
    /// Whether any of its monitors asks for answers that are known.
    pub has_canaries: bool,
}

/// Days of monitors, as read for all that is drawn at once.
#[derive(Debug, Default)]
pub(crate) struct MonitorPasts(HashMap<MonitorId, (MonitorPast, bool)>);

impl MonitorPasts {
    /// Reads those of some monitors: what is kept costs no question, what is not as many as there are blocks of
    /// [`MONITORS_MAX`].
    pub(crate) async fn read(state: &WebState, ids: &[&MonitorId], now: DateTime<Utc>) -> Self {
        let mut all = HashMap::new();
        for block in ids.chunks(MONITORS_MAX) {
            let standings: Vec<_> = block.iter().filter_map(|id| state.live.standing(id)).collect();
            let views = state.views(&standings).await;
            let mut pasts = bars::read(state, &views, now).await;
            let of = |view: &MonitorView| Some((view.id.clone(), (pasts.remove(&view.id)?, !view.canaries.is_empty())));
            all.extend(views.iter().filter_map(of));
            // A database that does not answer is not asked for the rest.
            if all.values().any(|(past, _)| past.days.is_none()) {
                break;
            }
        }
        Self(all)
    }

    /// A component's days; none where nothing is known of any of its monitors, or the database is away.
    pub(crate) fn of(&self, component: &Component) -> Option<ComponentPast> {
        let mut known = component.monitors.iter().filter_map(|id| self.0.get(id));
        let (first, has_canaries) = known.next()?;
        let first = ComponentPast { days: first.days.clone()?, has_canaries: *has_canaries };
        known.try_fold(first, |sum, (past, has_canaries)| Some(sum.with(past.days.as_ref()?, *has_canaries)))
    }
}

impl ComponentPast {
    fn with(mut self, days: &Past, has_canaries: bool) -> Self {
        for (sum, cell) in self.days.cells.iter_mut().zip(&days.cells) {
            sum.add(*cell);
        }
        for (sum, due) in self.days.due_s.iter_mut().zip(&days.due_s) {
            *sum = sum.saturating_add(*due);
        }
        self.has_canaries |= has_canaries;
        self
    }

    /// The share of seen time in which it could be asked, such as `99.98 %`; none where nothing was seen.
    pub(crate) fn up(&self) -> Option<String> {
        self.days.sum().uptime().map(format::share)
    }

    /// The share of right answers; none where nothing was asked.
    pub(crate) fn right(&self) -> Option<String> {
        self.days.sum().right_share().filter(|_| self.has_canaries).map(format::share)
    }

    /// How many of its days it was watched or to be watched, of those that are drawn.
    pub(crate) fn known_days(&self) -> usize {
        self.days.due_s.len() - self.days.due_s.iter().position(|due| *due > 0).unwrap_or_default()
    }

    /// Over what its figures are: not over what was before it.
    fn span(&self) -> String {
        let first = self.days.due_s.len() - self.known_days();
        match first {
            0 => "90 days".to_owned(),
            first => format!("since {}", self.days.begins(first).format("%-d %b")),
        }
    }

    /// All figures, never one without how much was seen, nor over days that were not lived through: `90 days: 99.98 % up, 99.20 % right answers, 97.00 % of the time
    /// watched`.
    pub(crate) fn said(&self) -> String {
        let watched = format!("{} of the time watched", format::share(self.days.coverage()));
        let Some(up) = self.up() else { return format!("{}: not watched yet", self.span()) };
        let right = self.right().map_or_else(String::new, |right| format!(", {right} right answers"));
        format!("{}: {up} up{right}, {watched}", self.span())
    }
}
