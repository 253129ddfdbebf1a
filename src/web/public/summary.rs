//! `/api/v2/…`: the page in the shape of Atlassian Statuspage's API, which aggregators of status pages read.
//!
//! Ids are made by `public_marks`. There is no word for "not known" in that shape: what is not known is told as
//! `degraded_performance`, never as `operational`.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::web::public::ahead::MaintenanceRun;
use crate::web::public::component_now::ComponentNow;
use crate::web::public::episode::Episode;
use crate::web::public::snapshot::Snapshot;
use crate::web::public::words::PublicState;

/// `summary.json`: all of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Summary {
    page: PageBody,
    status: StatusBody,
    components: Vec<ComponentBody>,
    /// Those that go on.
    incidents: Vec<PublicIncidentBody>,
    /// On or ahead, up to a week.
    scheduled_maintenances: Vec<PublicIncidentBody>,
}

/// `status.json`: how everything is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusOnly {
    page: PageBody,
    status: StatusBody,
}

/// `components.json`: how each component is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComponentsOnly {
    page: PageBody,
    components: Vec<ComponentBody>,
}

/// `incidents.json`: what went wrong in the last 30 days; `incidents/unresolved.json`: what goes on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IncidentsOnly {
    page: PageBody,
    incidents: Vec<PublicIncidentBody>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PageBody {
    id: String,
    name: String,
    url: String,
    time_zone: &'static str,
    updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct StatusBody {
    /// `none`, `minor`, `major` or `critical`.
    indicator: &'static str,
    description: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ComponentBody {
    id: String,
    name: String,
    /// `operational`, `degraded_performance`, `partial_outage`, `major_outage` or `under_maintenance`.
    status: &'static str,
    /// When it was last told of; of what never was, the first moment that is looked back to.
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    position: usize,
    description: Option<String>,
    showcase: bool,
    start_date: Option<String>,
    group_id: Option<String>,
    page_id: String,
    group: bool,
    only_show_if_degraded: bool,
    /// Of a group: its components.
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PublicIncidentBody {
    id: String,
    name: String,
    /// `investigating` or `resolved`; of maintenance `scheduled` or `in_progress`.
    status: &'static str,
    /// `none`, `minor`, `major` or `critical`.
    impact: &'static str,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    monitoring_at: Option<DateTime<Utc>>,
    resolved_at: Option<DateTime<Utc>>,
    shortlink: String,
    started_at: DateTime<Utc>,
    page_id: String,
    incident_updates: Vec<UpdateBody>,
    components: Vec<ComponentBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_for: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_until: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct UpdateBody {
    id: String,
    status: &'static str,
    body: String,
    incident_id: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    display_at: DateTime<Utc>,
    affected_components: Vec<AffectedBody>,
    deliver_notifications: bool,
    custom_tweet: Option<String>,
    tweet_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct AffectedBody {
    code: String,
    name: String,
    old_status: &'static str,
    new_status: &'static str,
}

/// Everything in the one shape, from which its parts are taken.
#[derive(Debug)]
pub(crate) struct Bodies {
    pub summary: Summary,
    pub status: StatusOnly,
    pub components: ComponentsOnly,
    pub incidents: IncidentsOnly,
    pub unresolved: IncidentsOnly,
}

/// Incidents that are listed, the newest; as many as that shape's own source lists.
const INCIDENTS_SHOWN_MAX: usize = 50;

/// What the addresses answer.
pub(crate) fn bodies(snapshot: &Snapshot) -> Bodies {
    let page = PageBody {
        id: short_id(snapshot, &["page"]),
        name: snapshot.page.title.clone(),
        url: format!("{}/status", snapshot.public_url),
        time_zone: "Etc/UTC",
        updated_at: snapshot.at,
    };
    let shown: Vec<ComponentBody> =
        snapshot.components.iter().enumerate().map(|(place, now)| component(snapshot, place, now)).collect();
    let indicator = shown.iter().map(|one| impact_of(one.status)).max_by_key(|impact| weight(impact)).unwrap_or("none");
    let status = StatusBody { indicator, description: snapshot.overall.1.clone() };
    let told = |episode| incident(snapshot, &shown, episode);
    let mut all: Vec<PublicIncidentBody> = snapshot.episodes.iter().flatten().map(told).collect();
    let open: Vec<PublicIncidentBody> = all.iter().filter(|one| one.resolved_at.is_none()).cloned().collect();
    all.truncate(INCIDENTS_SHOWN_MAX);
    let scheduled_maintenances = snapshot.ahead.iter().map(|run| maintenance(snapshot, &shown, run)).collect();
    let components: Vec<ComponentBody> = groups(snapshot).into_iter().chain(shown.iter().cloned()).collect();
    Bodies {
        status: StatusOnly { page: page.clone(), status: status.clone() },
        components: ComponentsOnly { page: page.clone(), components: components.clone() },
        incidents: IncidentsOnly { page: page.clone(), incidents: all },
        unresolved: IncidentsOnly { page: page.clone(), incidents: open.clone() },
        summary: Summary { page, status, components, incidents: open, scheduled_maintenances },
    }
}

fn component(snapshot: &Snapshot, place: usize, now: &ComponentNow) -> ComponentBody {
    let declared = snapshot.page.components.get(place);
    let group = declared.map_or("", |one| one.group.as_str());
    let told = snapshot.episodes.iter().flatten().filter(|episode| episode.component == place);
    let since = snapshot.at - crate::web::public::snapshot::TOLD_FOR;
    let updated_at = told.map(|episode| episode.until.unwrap_or(episode.from)).max().unwrap_or(since);
    ComponentBody {
        id: short(snapshot.component_id(place)),
        name: snapshot.name(place).to_owned(),
        status: status_of(now),
        created_at: since.min(updated_at),
        updated_at,
        position: place + 1,
        description: declared.map(|one| one.description.clone()).filter(|said| !said.is_empty()),
        showcase: true,
        start_date: None,
        group_id: (!group.is_empty()).then(|| short_id(snapshot, &["group", group])),
        page_id: short_id(snapshot, &["page"]),
        group: false,
        only_show_if_degraded: false,
        components: None,
    }
}

/// Headings, which are components of a kind there.
fn groups(snapshot: &Snapshot) -> Vec<ComponentBody> {
    let mut all: Vec<(&str, Vec<usize>)> = Vec::new();
    for (place, one) in snapshot.page.components.iter().enumerate().filter(|(_, one)| !one.group.is_empty()) {
        match all.iter_mut().find(|(name, _)| *name == one.group) {
            Some((_, places)) => places.push(place),
            None => all.push((&one.group, vec![place])),
        }
    }
    let group = |(name, places): (&str, Vec<usize>)| {
        let worst = places.iter().filter_map(|place| snapshot.components.get(*place)).max_by_key(|now| now.state);
        let first = places.first().copied().unwrap_or_default();
        let ids = places.iter().map(|place| short(snapshot.component_id(*place))).collect();
        let like = worst.map(|now| component(snapshot, first, now))?;
        Some(ComponentBody {
            id: short_id(snapshot, &["group", name]),
            name: name.to_owned(),
            description: None,
            group_id: None,
            group: true,
            components: Some(ids),
            ..like
        })
    };
    all.into_iter().filter_map(group).collect()
}

fn incident(snapshot: &Snapshot, shown: &[ComponentBody], episode: &Episode) -> PublicIncidentBody {
    let id = short(snapshot.episode_id(episode));
    let was = ComponentNow { state: episode.state, affected: episode.affected, unknown_since: None };
    let update = |status, at: DateTime<Utc>, body: String, (old, new)| UpdateBody {
        id: short_id(snapshot, &["update", status, &id]),
        status,
        body,
        incident_id: id.clone(),
        created_at: at,
        updated_at: at,
        display_at: at,
        affected_components: vec![AffectedBody {
            code: short(snapshot.component_id(episode.component)),
            name: snapshot.name(episode.component).to_owned(),
            old_status: old,
            new_status: new,
        }],
        deliver_notifications: false,
        custom_tweet: None,
        tweet_id: None,
    };
    let (well, ill) = ("operational", status_of(&was));
    let began = update("investigating", episode.from, episode.said.to_owned(), (well, ill));
    let over = episode.until.map(|until| update("resolved", until, "It is over.".to_owned(), (ill, well)));
    PublicIncidentBody {
        name: format!("{}: {}", snapshot.name(episode.component), episode.state.word()),
        status: if episode.until.is_some() { "resolved" } else { "investigating" },
        impact: impact_of(ill),
        created_at: episode.from,
        updated_at: episode.until.unwrap_or(episode.from),
        monitoring_at: None,
        resolved_at: episode.until,
        shortlink: format!("{}/status", snapshot.public_url),
        started_at: episode.from,
        page_id: short_id(snapshot, &["page"]),
        incident_updates: over.into_iter().chain([began]).collect(),
        components: shown.get(episode.component).cloned().into_iter().collect(),
        scheduled_for: None,
        scheduled_until: None,
        id,
    }
}

fn maintenance(snapshot: &Snapshot, shown: &[ComponentBody], run: &MaintenanceRun) -> PublicIncidentBody {
    let is_on = run.from <= snapshot.at;
    PublicIncidentBody {
        id: short(snapshot.run_id(run)),
        name: format!("Maintenance: {}", snapshot.names(&run.components)),
        status: if is_on { "in_progress" } else { "scheduled" },
        impact: impact_of("under_maintenance"),
        created_at: run.from,
        updated_at: run.from,
        monitoring_at: None,
        resolved_at: None,
        shortlink: format!("{}/status", snapshot.public_url),
        started_at: run.from,
        page_id: short_id(snapshot, &["page"]),
        incident_updates: Vec::new(),
        components: run.components.iter().filter_map(|place| shown.get(*place)).cloned().collect(),
        scheduled_for: Some(run.from),
        scheduled_until: Some(run.to),
    }
}

/// That shape's word for how something is.
const fn status_of(now: &ComponentNow) -> &'static str {
    match now.state {
        PublicState::Works => "operational",
        PublicState::Maintenance => "under_maintenance",
        PublicState::Unknown | PublicState::Slow => "degraded_performance",
        PublicState::Wrong | PublicState::Failing => "partial_outage",
        PublicState::Down if now.affected.0 < now.affected.1 => "partial_outage",
        PublicState::Down => "major_outage",
    }
}

fn impact_of(status: &str) -> &'static str {
    match status {
        "degraded_performance" => "minor",
        "partial_outage" => "major",
        "major_outage" => "critical",
        // Maintenance too: clients know four words, and what is planned has a list of its own.
        _ => "none",
    }
}

fn weight(impact: &str) -> usize {
    ["none", "minor", "major", "critical"].iter().position(|known| *known == impact).unwrap_or_default()
}

/// As long as ids are there: twelve letters and digits.
fn short(id: uuid::Uuid) -> String {
    id.simple().to_string().split_off(20)
}

fn short_id(snapshot: &Snapshot, of: &[&str]) -> String {
    short(snapshot.marks.id(of))
}
