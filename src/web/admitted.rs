//! Who was let in, what they may do, and what lets them in: for handlers, for the audit log, and for whatever outlasts a
//! request.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::api_key::{ApiKey, Role};
use crate::web::sessions::OpenedWith;
use crate::web::shared_pages::Seen;
use crate::web::state::WebState;

/// Who has the token, in the audit log.
pub(crate) const TOKEN: &str = "token";
/// Whoever comes where nobody has to sign in.
pub(crate) const NOBODY_SIGNS_IN: &str = "anybody, since nobody has to sign in";

/// What the guard found out about a request, for the handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Whether this visitor may see the fleet.
    pub admitted: bool,
    /// Whether a session was needed and is there, so that signing out means something.
    pub signed_in: bool,
    /// What this visitor may do; none where they may not even see the fleet.
    pub role: Option<Role>,
    /// Who signed in by name, and acts under no other.
    pub name: Option<Arc<str>>,
}

impl Visit {
    /// A page as this visitor sees it.
    pub(crate) fn seeing(&self, page: String) -> Seen {
        let Self { admitted, signed_in, role, name } = self.clone();
        Seen { page, admitted, signed_in, role, name }
    }
}

/// A name under which somebody says to act. Whoever signed in by name acts as that, whatever they say.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct ClaimedName(String);

impl ClaimedName {
    /// Who acts.
    pub(crate) fn of(&self, visit: &Visit) -> String {
        visit.name.as_deref().unwrap_or(&self.0).to_owned()
    }
}

/// What lets somebody in, for whatever outlasts its request.
#[derive(Debug, Clone)]
pub(crate) enum Pass {
    /// The token.
    Always,
    /// That nobody has to sign in.
    Open,
    /// A key, by its id.
    Key(String),
    /// A session, by the id of its cookie.
    Session(String),
}

impl Pass {
    /// Whether it still does.
    pub(crate) fn holds(&self, state: &WebState, now: DateTime<Utc>) -> bool {
        match self {
            Self::Always => true,
            Self::Open => !state.has_to_sign_in(),
            Self::Key(id) => state.keys.of_id(id, now).is_some(),
            Self::Session(id) => state.sessions.opened_with(id, now).and_then(|with| with.right(state, now)).is_some(),
        }
    }
}

/// What somebody may, and as whom.
#[derive(Debug)]
pub(crate) struct Right {
    role: Role,
    /// As the audit log names them.
    pub who: String,
    name: Option<Arc<str>>,
}

impl Right {
    pub(crate) fn owner(who: &str) -> Self {
        Self { role: Role::Owner, who: who.to_owned(), name: None }
    }

    pub(crate) fn of_key(key: &ApiKey) -> Self {
        Self { role: key.role, who: key.called(), name: None }
    }
}

impl OpenedWith {
    /// What a session that was opened so lets somebody do by now; none: it is over.
    pub(crate) fn right(&self, state: &WebState, now: DateTime<Utc>) -> Option<Right> {
        let sign_in = &state.fleet_now().sign_in;
        match self {
            Self::Token => state.settings.token.is_some().then(|| Right::owner(TOKEN)),
            Self::Key(id) => state.keys.of_id(id, now).as_ref().map(Right::of_key),
            Self::User(then) => {
                let user = sign_in.user(&then.name).filter(|user| user.hash == then.hash)?;
                Some(Right {
                    role: user.role,
                    who: format!("user {}", user.name),
                    name: Some(user.name.as_str().into()),
                })
            }
            Self::Provider { name, role, by } => {
                let name = (sign_in.provider.as_ref() == Some(by)).then_some(name.as_str())?;
                Some(Right { role: *role, who: format!("oidc {name}"), name: Some(name.into()) })
            }
        }
    }
}

/// Who asks, and what they may.
pub(crate) struct Admitted {
    pub visit: Visit,
    pub pass: Pass,
    /// As the audit log names them.
    pub who: String,
}

impl Admitted {
    /// Somebody who is let in by something.
    pub(crate) fn by(Right { role, who, name }: Right, pass: Pass) -> Self {
        let signed_in = matches!(pass, Pass::Session(_));
        Self { visit: Visit { admitted: true, signed_in, role: Some(role), name }, pass, who }
    }

    pub(crate) fn nobody() -> Self {
        let visit = Visit { admitted: false, signed_in: false, role: None, name: None };
        Self { visit, pass: Pass::Always, who: String::new() }
    }
}
