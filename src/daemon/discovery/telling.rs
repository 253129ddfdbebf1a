//! What is said of lists that are in trouble: to receivers of `internal`, and at the top of every page.

use std::collections::BTreeMap;

use chrono::{TimeDelta, Utc};

use crate::daemon::discovery::Discovery;
use crate::daemon::discovery::known::Known;
use crate::deliver::internal_alert::InternalAlert;
use crate::live::banner::Banner;
use crate::live::listings::Ids;

/// A list that cannot be read for this long is trouble of ours; restarts and deployments of what serves it are shorter.
const TROUBLE_AFTER: TimeDelta = TimeDelta::minutes(15);
/// Whoever lists a server means it to work within a day.
const NEVER_WORKED_AFTER: TimeDelta = TimeDelta::hours(24);
/// The kind of the banner that a list raises.
const LISTS: &str = "lists";

/// What is told of lists.
const TOLD: [InternalAlert; 5] = [
    InternalAlert::ListHeld,
    InternalAlert::ListUnkept,
    InternalAlert::ListUnread,
    InternalAlert::ListUnwatched,
    InternalAlert::NeverWorked,
];

impl Discovery {
    /// Another machine reads lists from now on, and tells of them.
    pub(super) fn hand_over(&self) {
        self.context.live.lower(LISTS);
        TOLD.into_iter().for_each(|kind| self.context.alerts.hand_over(kind));
    }

    /// Raises what is trouble of ours, and gives the all-clear.
    pub(super) fn tell(&self, all: &BTreeMap<String, Known>) {
        let now = Utc::now();
        let of_all = |line: &dyn Fn(&Known) -> Option<String>| -> BTreeMap<String, String> {
            all.iter().filter_map(|(id, known)| Some((id.clone(), line(known)?))).collect()
        };
        let held = of_all(&|known| known.view.lost());
        let unkept = of_all(&|known| known.view.unkept.clone());
        let unread = of_all(&|known| known.view.unread.clone().filter(|_| now - known.good_at >= TROUBLE_AFTER));
        let unwatched = of_all(&|known| known.view.unwatched());
        let untried = of_all(&|known| Ids::of(self.never_worked(known, NEVER_WORKED_AFTER, now).iter()).line());
        let lines = [&held, &unkept, &unread, &unwatched].into_iter().flatten();
        let lines: Vec<String> = lines.map(|(source, line)| format!("{source}: {line}")).collect();
        if lines.is_empty() {
            self.context.live.lower(LISTS);
        } else {
            self.context.live.raise(Banner { kind: LISTS, text: lines.join("\n"), since: now });
        }
        for (kind, lines) in TOLD.into_iter().zip([held, unkept, unread, unwatched, untried]) {
            if lines.is_empty() {
                self.context.alerts.clear(kind, now);
                continue;
            }
            let told: Vec<String> = lines.iter().map(|(source, line)| format!("{source}: {line}")).collect();
            let about = lines.into_keys().map(|source| (source, None)).collect();
            self.context.alerts.raise_about(kind, &told.join("; "), about, now);
        }
    }
}
