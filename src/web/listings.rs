//! `/api/v1/discover`: how the lists of servers stand, and letting go what one of them names no longer.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::action::Asked;
use crate::live::listings::{Ids, ListingChange, ListingView, NotLetGo};
use crate::web::actions;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// The lists, by the id of their source.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListingList {
    sources: Vec<ListingBody>,
}

/// How one list stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListingBody {
    /// The id of the source.
    source: String,
    /// How many servers are watched because of it.
    watched: usize,
    /// Monitors among them that are gone from the list, and watched on since they fail.
    gone: Vec<String>,
    /// Monitors among them whose server never worked, and that tell nobody until it does.
    never_worked: Vec<String>,
    /// Monitors that it names no longer, and that are watched until somebody lets them go.
    held: Vec<String>,
    /// What stands for these, for `held_mark` of letting them go; null: nothing is held.
    held_mark: Option<String>,
    /// Since when; null: nothing is held.
    held_since: Option<DateTime<Utc>>,
    /// What it names and what cannot be watched, with the reason; 20 lines at most.
    refused: Vec<String>,
    /// How many those are in all.
    refused_count: usize,
    /// When reading it was last tried; null: not since Serin started.
    tried_at: Option<DateTime<Utc>>,
    /// When it was last read well; null: not since Serin started.
    read_at: Option<DateTime<Utc>>,
    /// Why it could not be read or kept when that was last tried, or what of it nobody watches that should be; null: all is well.
    trouble: Option<String>,
    /// What came and went since Serin started, a reading each, the newest first; 50 at most.
    changes: Vec<ChangeBody>,
}

/// What one reading of a list changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeBody {
    at: DateTime<Utc>,
    /// Monitors that are watched since.
    came: IdsBody,
    /// Monitors that are not watched any more.
    went: IdsBody,
    /// Monitors that are gone from the list and watched on, since they fail.
    stays: IdsBody,
}

/// The first ids of some.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IdsBody {
    /// Ten at most.
    named: Vec<String>,
    /// How many there are.
    count: usize,
}

/// What somebody saw before they let it go.
#[derive(Debug, Deserialize)]
pub(crate) struct AcceptQuery {
    held_mark: Option<String>,
}

/// What somebody let go.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LetGo {
    /// How many monitors go; those that fail are watched until they recover, or for `gone_after`.
    let_go: usize,
}

/// `GET /api/v1/discover`.
pub(crate) async fn list(State(state): State<WebState>) -> Json<ListingList> {
    Json(ListingList { sources: state.listings.all().into_iter().map(body).collect() })
}

/// `POST /api/v1/discover/{source}/accept`: what is missing is meant to be gone.
pub(crate) async fn accept(
    State(state): State<WebState>,
    Path(source): Path<String>,
    Query(asked): Query<AcceptQuery>,
) -> Result<(StatusCode, Json<LetGo>), Problem> {
    declared(&state, &source)?;
    match state.listings.may_let_go(&source, asked.held_mark.as_deref()) {
        Ok(ids) => {
            let let_go = ids.len();
            actions::ask_of_list(&state, "", Asked::LetGo { source, ids }).await?;
            Ok((StatusCode::ACCEPTED, Json(LetGo { let_go })))
        }
        Err(NotLetGo::NothingHeld) => Err(Problem::new(StatusCode::CONFLICT, "nothing of this list is held")),
        Err(NotLetGo::Others) => {
            Err(Problem::new(StatusCode::CONFLICT, "others are held by now than were seen: look again"))
        }
    }
}

/// `POST /api/v1/discover/{source}/read`: its list is read now.
pub(crate) async fn read(State(state): State<WebState>, Path(source): Path<String>) -> Result<StatusCode, Problem> {
    declared(&state, &source)?;
    actions::ask_of_list(&state, "", Asked::ReadList { source }).await.map(|()| StatusCode::ACCEPTED)
}

pub(crate) fn declared(state: &WebState, source: &str) -> Result<(), Problem> {
    let is_declared = state.fleet_now().discovery.sources.iter().any(|known| known.id == source);
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "the file declares no source of this id");
    is_declared.then_some(()).ok_or_else(unknown)
}

fn body((source, view): (String, ListingView)) -> ListingBody {
    let (trouble, held_mark) = (view.trouble(), view.held_mark());
    let ListingView {
        watched,
        gone,
        never_worked,
        held,
        held_since,
        refused,
        refused_count,
        left_out: _,
        is_empty: _,
        tried_at,
        read_at,
        unread: _,
        unkept: _,
        changes,
    } = view;
    let ids = |Ids { named, count }: Ids| IdsBody { named, count };
    let change = |ListingChange { at, came, went, stays }: ListingChange| ChangeBody {
        at,
        came: ids(came),
        went: ids(went),
        stays: ids(stays),
    };
    let changes = changes.into_iter().map(change).collect();
    ListingBody {
        source,
        watched,
        gone,
        never_worked,
        held,
        held_mark,
        held_since,
        refused,
        refused_count,
        tried_at,
        read_at,
        trouble,
        changes,
    }
}
