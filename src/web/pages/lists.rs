//! `/lists`: what is watched because of each list that others keep, what came and went, and what waits for a person.

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::Utc;
use serde::Deserialize;
use url::form_urlencoded;

use crate::domain::action::Asked;
use crate::domain::discovery::{From, Source};
use crate::domain::wording::as_written;
use crate::live::listings::{Ids, ListingChange, ListingView, NotLetGo};
use crate::web::actions;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::format::Timestamp;
use crate::web::forms;
use crate::web::listings::declared;
use crate::web::pages::frame::{Frame, show};
use crate::web::state::WebState;

/// Ids of one line.
const NAMED_MAX: usize = 20;

#[derive(Debug, Template)]
#[template(path = "lists.html")]
struct ListsPage {
    frame: Frame,
    lists: Vec<ListPart>,
    actor: String,
    said: Option<String>,
}

/// One list, ready to be drawn.
#[derive(Debug)]
struct ListPart {
    id: String,
    /// Where it is declared.
    place: String,
    /// Where it is read from, without what opens it.
    from: String,
    watched: usize,
    read_at: Option<Timestamp>,
    trouble: Option<String>,
    held: Option<HeldPart>,
    never_worked: Named,
    gone: Named,
    /// How long that lasts at the most.
    gone_after: String,
    refused: Vec<String>,
    refused_more: usize,
    changes: Vec<ChangePart>,
}

/// What a list lost at once.
#[derive(Debug)]
struct HeldPart {
    since: Option<Timestamp>,
    count: usize,
    mark: String,
    ids: Named,
}

/// What one reading changed.
#[derive(Debug)]
struct ChangePart {
    at: Timestamp,
    /// A word, and the monitors it is said of.
    parts: Vec<(&'static str, Named)>,
}

/// The first of some ids, and how many more there are; whether each has a page.
#[derive(Debug, Default)]
struct Named {
    ids: Vec<String>,
    more: usize,
    watched: bool,
}

impl Named {
    fn of(ids: &[String]) -> Self {
        let shown = ids.len().min(NAMED_MAX);
        Self { ids: ids[..shown].to_vec(), more: ids.len() - shown, watched: true }
    }

    fn counted(ids: &Ids, watched: bool) -> Self {
        Self { ids: ids.named.clone(), more: ids.count - ids.named.len(), watched }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListsQuery {
    said: Option<String>,
    list: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListForm {
    #[serde(default)]
    actor: ClaimedName,
    /// Stands for what was held when the page was drawn.
    held_mark: Option<String>,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<ListsQuery>,
    headers: HeaderMap,
) -> Response {
    let (fleet, mut views) = (state.fleet_now(), state.listings.all());
    let actor = forms::actor(&headers, &visit);
    let frame = Frame::new(&state, visit, Utc::now(), "lists", "Lists").watching("fleet");
    let sources = fleet.discovery.sources.iter();
    let lists = sources.map(|source| {
        let view = views.remove(&source.id).unwrap_or_default();
        part(source, fleet.provenance.shown(source.line), view)
    });
    // Only what the file declares is repeated: the rest of an address is anybody's.
    let named = asked.list.as_deref().filter(|list| fleet.discovery.sources.iter().any(|source| source.id == *list));
    let page = ListsPage {
        lists: lists.collect(),
        said: asked.said.as_deref().and_then(|word| said(word, named.unwrap_or("the list"))),
        frame,
        actor,
    };
    show(StatusCode::OK, &page)
}

fn part(source: &Source, place: String, view: ListingView) -> ListPart {
    let now = Utc::now();
    let from = match &source.from {
        From::HttpSd { url, .. } => url.shown.clone(),
        From::Registry { url, .. } => format!("the registry {}", url.shown),
        From::FileSd(globs) => globs.join(", "),
    };
    let held = (!view.held.is_empty()).then(|| HeldPart {
        since: view.held_since.map(|at| Timestamp::new(at, now)),
        count: view.held.len(),
        mark: view.held_mark().unwrap_or_default(),
        ids: Named::of(&view.held),
    });
    let change = |ListingChange { at, came, went, stays }: &ListingChange| {
        let all = [("came", came, true), ("went", went, false), ("gone and watched on", stays, true)];
        let parts = all.into_iter().filter(|(_, ids, _)| ids.count > 0);
        ChangePart {
            at: Timestamp::new(*at, now),
            parts: parts.map(|(word, ids, watched)| (word, Named::counted(ids, watched))).collect(),
        }
    };
    ListPart {
        trouble: view.trouble(),
        id: source.id.clone(),
        place,
        from,
        watched: view.watched,
        read_at: view.read_at.map(|at| Timestamp::new(at, now)),
        never_worked: Named::of(&view.never_worked),
        gone: Named::of(&view.gone),
        gone_after: as_written(source.gone_after),
        refused_more: view.refused_count.saturating_sub(view.refused.len()),
        changes: view.changes.iter().map(change).collect(),
        held,
        refused: view.refused,
    }
}

/// `POST /lists/{source}/accept`: what is held of a list is meant to be gone.
pub(crate) async fn accept(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(source): Path<String>,
    Form(form): Form<ListForm>,
) -> Response {
    if let Err(problem) = declared(&state, &source) {
        return (problem.status, problem.detail).into_response();
    }
    let actor = form.actor.of(&visit);
    let said = match state.listings.may_let_go(&source, form.held_mark.as_deref()) {
        Ok(ids) => {
            let asked = Asked::LetGo { source: source.clone(), ids };
            if let Err(problem) = actions::ask_of_list(&state, &actor, asked).await {
                return (problem.status, problem.detail).into_response();
            }
            "accepted"
        }
        Err(NotLetGo::NothingHeld) => "nothing",
        Err(NotLetGo::Others) => "others",
    };
    back(&actor, said, &source)
}

/// `POST /lists/{source}/read`: it is read now.
pub(crate) async fn read(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(source): Path<String>,
    Form(form): Form<ListForm>,
) -> Response {
    if let Err(problem) = declared(&state, &source) {
        return (problem.status, problem.detail).into_response();
    }
    let actor = form.actor.of(&visit);
    match actions::ask_of_list(&state, &actor, Asked::ReadList { source: source.clone() }).await {
        Ok(()) => back(&actor, "read", &source),
        Err(problem) => (problem.status, problem.detail).into_response(),
    }
}

fn back(actor: &str, said: &str, source: &str) -> Response {
    let source: String = form_urlencoded::byte_serialize(source.as_bytes()).collect();
    forms::remembering(actor, Redirect::to(&format!("/lists?said={said}&list={source}")))
}

fn said(word: &str, list: &str) -> Option<String> {
    Some(match word {
        "accepted" => format!("What {list} names no longer is let go; what fails is watched until it recovers."),
        "others" => format!("{list} lost others meanwhile, and nothing is let go: look again."),
        "nothing" => format!("Nothing of {list} is held any more."),
        "read" => format!("{list} is read now."),
        _ => return None,
    })
}
