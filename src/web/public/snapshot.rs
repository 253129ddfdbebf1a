//! The public side as it is at one moment: what page, feed, API and badges of components are drawn from.
//!
//! Nothing in here is internal but the ids that marks are made of: names are those of `status:`, sentences those of `words`.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::deliver::public_marks::PublicMarks;
use crate::domain::fleet::Fleet;
use crate::domain::status_page::StatusPage;
use crate::web::public::ahead::{MaintenanceRun, ahead};
use crate::web::public::component_now::{ComponentNow, component_now, overall};
use crate::web::public::component_past::{ComponentPast, MonitorPasts};
use crate::web::public::episode::{Episode, episodes};
use crate::web::public::words::PublicState;
use crate::web::state::WebState;

/// How far back feed and API go.
pub(crate) const TOLD_FOR: TimeDelta = TimeDelta::days(30);

/// Everything that is public, at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// When it was drawn.
    pub at: DateTime<Utc>,
    pub page: StatusPage,
    /// The address of the page, without a trailing slash.
    pub public_url: String,
    /// By the place of the component on the page.
    pub components: Vec<ComponentNow>,
    /// What each did over 90 days, by the same place; none where that is not known.
    pub pasts: Vec<Option<ComponentPast>>,
    /// How everything is, and in a sentence.
    pub overall: (PublicState, String),
    /// Of the last [`TOLD_FOR`], the newest first; none where the database did not answer.
    pub episodes: Option<Vec<Episode>>,
    pub ahead: Vec<MaintenanceRun>,
    pub marks: PublicMarks,
}

impl Snapshot {
    /// Looks at everything once: memory, and a fixed number of questions to the database.
    pub(crate) async fn take(state: &WebState, fleet: &Fleet, page: &StatusPage, now: DateTime<Utc>) -> Self {
        let monitors = page.monitors();
        let incidents = state.ask(state.store.public_incidents(&monitors, now - TOLD_FOR, now)).await;
        let pasts = MonitorPasts::read(state, &monitors, now).await;
        let components: Vec<ComponentNow> = page
            .components
            .iter()
            .map(|component| component_now(component, &state.live, &fleet.maintenance, now))
            .collect();
        let named: Vec<(&str, PublicState)> =
            page.components.iter().zip(&components).map(|(one, now)| (one.name.as_str(), now.state)).collect();
        Self {
            at: now,
            public_url: fleet.public_url.clone(),
            overall: overall(&named),
            components,
            pasts: page.components.iter().map(|component| pasts.of(component)).collect(),
            episodes: incidents.ok().map(|incidents| episodes(&page.components, &incidents)),
            ahead: ahead(fleet, page, now),
            marks: state.marks.clone(),
            page: page.clone(),
        }
    }

    /// The id by which the outside knows an episode.
    pub(crate) fn episode_id(&self, episode: &Episode) -> Uuid {
        self.marks.id(&["episode", self.name(episode.component), &episode.first])
    }

    /// The id by which the outside knows a component.
    pub(crate) fn component_id(&self, place: usize) -> Uuid {
        self.marks.id(&["component", self.name(place)])
    }

    /// The id by which the outside knows a run of a maintenance.
    pub(crate) fn run_id(&self, run: &MaintenanceRun) -> Uuid {
        let names: Vec<&str> = run.components.iter().map(|place| self.name(*place)).collect();
        self.marks.id(&[&["maintenance", &run.from.to_rfc3339(), &run.to.to_rfc3339()], &names[..]].concat())
    }

    /// A component's name.
    pub(crate) fn name(&self, place: usize) -> &str {
        self.page.components.get(place).map_or("", |component| &component.name)
    }

    /// Names of several, such as `Docs, Legal`.
    pub(crate) fn names(&self, places: &[usize]) -> String {
        places.iter().map(|place| self.name(*place)).collect::<Vec<_>>().join(", ")
    }

    /// Episodes that were going on at some time since a moment.
    pub(crate) fn since(&self, since: DateTime<Utc>) -> impl Iterator<Item = &Episode> {
        self.episodes.iter().flatten().filter(move |episode| episode.until.is_none_or(|until| until >= since))
    }
}
