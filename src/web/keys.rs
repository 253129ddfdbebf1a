//! `/api/v1/keys`: keys of the API, made, listed and ended by whoever has the token, and by users who are owners.

use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::api_key::{ApiKey, KEY_LASTS_MAX, KEY_NAME_CHARS_MAX, KEY_PREFIX, Role};
use crate::store::StoreError;
use crate::web::actions::cleaned;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::problem::Problem;
use crate::web::sessions::hash;
use crate::web::state::WebState;

/// The keys that open something.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyList {
    keys: Vec<KeyBody>,
}

/// A key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyBody {
    id: String,
    name: String,
    /// `read` or `act`.
    role: &'static str,
    made_by: String,
    made_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
}

/// A key that was just made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyMade {
    #[serde(flatten)]
    key: KeyBody,
    /// The secret, to be sent as `Authorization: Bearer …`. It is shown this once, and kept nowhere.
    secret: String,
}

/// A key that somebody wants.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyWanted {
    /// What it is for.
    name: String,
    /// `read` or `act`.
    role: String,
    /// How long it is good for, at most 366 days.
    seconds: u64,
    /// Who makes it.
    actor: ClaimedName,
}

/// Who ends a key.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct KeyEnd {
    actor: ClaimedName,
}

/// `GET /api/v1/keys`.
pub(crate) async fn list(State(state): State<WebState>) -> Result<Json<KeyList>, Problem> {
    let keys = state.ask(state.store.live_keys(Utc::now())).await?;
    Ok(Json(KeyList { keys: keys.into_iter().map(body).collect() }))
}

/// `POST /api/v1/keys`: 201 once it is on disk and opens.
pub(crate) async fn add(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Json(wanted): Json<KeyWanted>,
) -> Result<(StatusCode, Json<KeyMade>), Problem> {
    if !state.has_to_sign_in() {
        let why = "nobody has to sign in, so that nobody needs a key; declare serin.token first";
        return Err(Problem::new(StatusCode::CONFLICT, why));
    }
    let (secret, key) = key(&wanted, &visit, Utc::now())?;
    let made = state.store.make_key(key.clone(), key.made_at).await.map_err(|error| away(&error))?;
    if !made {
        return Err(Problem::new(StatusCode::CONFLICT, "1,000 keys are live already; end some of them"));
    }
    state.keys.add(key.clone());
    Ok((StatusCode::CREATED, Json(KeyMade { key: body(key), secret })))
}

/// `POST /api/v1/keys/{id}/end` with `{"actor": "…"}`: 200 once it opens nothing any more.
pub(crate) async fn end(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(ending): Json<KeyEnd>,
) -> Result<StatusCode, Problem> {
    let actor = cleaned(&ending.actor.of(&visit));
    if actor.is_empty() {
        return Err(refused("say who ends it"));
    }
    let ended = state.store.end_key(&id, &actor, Utc::now()).await.map_err(|error| away(&error))?;
    // Also where it was over already: whoever asked before may not have heard of it.
    state.keys.end(&id);
    if !ended {
        return Err(Problem::new(StatusCode::NOT_FOUND, "there is no live key with this id"));
    }
    Ok(StatusCode::OK)
}

/// A key as it is wanted, and its secret.
fn key(wanted: &KeyWanted, visit: &Visit, now: DateTime<Utc>) -> Result<(String, ApiKey), Problem> {
    let (name, made_by) = (cleaned(&wanted.name), cleaned(&wanted.actor.of(visit)));
    if name.is_empty() || wanted.name.chars().count() > KEY_NAME_CHARS_MAX {
        return Err(refused("say what it is for, in 64 characters at most"));
    }
    if made_by.is_empty() {
        return Err(refused("say who makes it"));
    }
    let role = Role::of_key(&wanted.role).ok_or(refused("a key's role is read or act"))?;
    let lasts = Duration::from_secs(wanted.seconds);
    if lasts.is_zero() || lasts > KEY_LASTS_MAX {
        return Err(refused("a key is good for 366 days at most, and for a second at least"));
    }
    let secret = format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()));
    let expires_at = now + TimeDelta::from_std(lasts).unwrap_or_default();
    let id = Uuid::now_v7().to_string();
    let key = ApiKey { id, name, hash: hash(&secret), role, made_by, made_at: now, expires_at, ended: None };
    Ok((secret, key))
}

fn body(key: ApiKey) -> KeyBody {
    let ApiKey { id, name, role, made_by, made_at, expires_at, .. } = key;
    KeyBody { id, name, role: role.slug(), made_by, made_at, expires_at }
}

fn refused(why: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

fn away(error: &StoreError) -> Problem {
    tracing::warn!(%error, "a key could not be written down");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that could not be written down; try again")
}
