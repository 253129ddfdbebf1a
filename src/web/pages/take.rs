//! `/take/…`: the page behind the link in a message. Its button takes the incident; to look at it changes nothing, since mail
//! scanners follow links. It needs neither account nor cookie, and says of the fleet what the message said already.

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Utc;
use serde::Deserialize;

use crate::deliver::ack_link::AckLink;
use crate::domain::incident::Incident;
use crate::web::actions;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::format::Timestamp;
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::unknown;
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "take.html")]
struct TakePage {
    frame: Frame,
    id: String,
    summary: String,
    severity: &'static str,
    since: Timestamp,
    /// Who has it, and since when.
    taken: Option<(String, Timestamp)>,
    ended: Option<Timestamp>,
    /// The name that is kept where none is given.
    receiver: String,
    said: Option<&'static str>,
    admitted: bool,
    /// Who signed in by name, and takes it as that.
    name: Option<String>,
}

/// Who takes it, where they say so.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Taking {
    #[serde(default)]
    actor: ClaimedName,
}

/// Characters of a name that "(by link)" stands behind.
const BY_LINK_CHARS_MAX: usize = 50;

/// Parts of the address: incident, receiver, end and mark.
type LinkParts = (String, String, i64, String);

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(link): Path<LinkParts>,
) -> Response {
    match linked(&state, &link).await {
        Ok(incident) => shown(&state, visit, incident, &link.1, None),
        Err(refused) => refused.page(&state, visit),
    }
}

pub(crate) async fn take(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(link): Path<LinkParts>,
    Form(taking): Form<Taking>,
) -> Response {
    let found = match linked(&state, &link).await {
        Ok(found) => found,
        Err(refused) => return refused.page(&state, visit),
    };
    let actor = actions::cleaned(&taking.actor.of(&visit));
    let actor = match &*actor {
        "" => format!("{} (by link)", link.1),
        // The link proves that somebody was notified, and not who. A name is cut first, so that nobody's is long enough to
        // push that out.
        name if visit.name.is_none() && state.fleet_now().sign_in.is_declared() => {
            format!("{} (by link)", name.chars().take(BY_LINK_CHARS_MAX).collect::<String>())
        }
        _ => actor,
    };
    let said = match actions::acknowledge(&state, &link.0, &actor).await {
        Ok(()) => None,
        Err(problem) if problem.status == StatusCode::CONFLICT => None,
        Err(_) => Some("That could not be recorded just now. Try again in a moment."),
    };
    // As it is now: taken just now, or by somebody before.
    let now = state.ask(state.store.incident(&link.0)).await.ok().flatten().unwrap_or(found);
    shown(&state, visit, now, &link.1, said)
}

/// Why a link leads nowhere.
enum Refused {
    Bad,
    Away,
}

impl Refused {
    fn page(&self, state: &WebState, visit: Visit) -> Response {
        match self {
            Self::Bad => unknown::missing(state, visit, "This link is over, or none of ours. Ask Serin's own pages."),
            Self::Away => {
                unknown::missing(state, visit, "The database does not answer just now. Try again in a moment.")
            }
        }
    }
}

/// The incident that a link is for, where we made it and it can still be used.
async fn linked(state: &WebState, (incident, receiver, until, mark): &LinkParts) -> Result<Incident, Refused> {
    let links = state.links.as_ref().ok_or(Refused::Bad)?;
    if !links.is_good(AckLink { incident, receiver, until: *until }, mark, Utc::now()) {
        return Err(Refused::Bad);
    }
    state.ask(state.store.incident(incident)).await.map_err(|_| Refused::Away)?.ok_or(Refused::Bad)
}

fn shown(state: &WebState, visit: Visit, incident: Incident, receiver: &str, said: Option<&'static str>) -> Response {
    let now = Utc::now();
    let page = TakePage {
        admitted: visit.admitted,
        name: visit.name.as_deref().map(str::to_owned),
        frame: Frame::new(state, visit, now, "incidents", format!("Take {}", incident.monitor)),
        since: Timestamp::new(incident.since(), now),
        id: incident.id,
        summary: incident.summary,
        severity: incident.severity.slug(),
        taken: incident.acknowledged.map(|(who, at)| (who, Timestamp::new(at, now))),
        ended: incident.resolved_at.map(|at| Timestamp::new(at, now)),
        receiver: receiver.to_owned(),
        said,
    };
    show(StatusCode::OK, &page)
}
