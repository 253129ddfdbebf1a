//! Who was let in, what they may do, and what lets them in: for handlers, for the audit log, and for whatever outlasts a
//! request.

use chrono::{DateTime, Utc};

use crate::domain::api_key::{ApiKey, Role};
use crate::web::sessions::OpenedWith;
use crate::web::state::WebState;

/// Who has the token, in the audit log.
pub(crate) const TOKEN: &str = "token";
/// Whoever comes where no token is declared.
pub(crate) const NOBODY_SIGNS_IN: &str = "anybody, since no token is declared";

/// What the guard found out about a request, for the handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Whether this visitor may see the fleet.
    pub admitted: bool,
    /// Whether a session was needed and is there, so that signing out means something.
    pub signed_in: bool,
    /// What this visitor may do; none where they may not even see the fleet.
    pub role: Option<Role>,
}

/// What lets somebody in, for whatever outlasts its request.
#[derive(Debug, Clone)]
pub(crate) enum Pass {
    /// The token, or none where none is declared.
    Always,
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
            Self::Key(id) => state.keys.of_id(id, now).is_some(),
            Self::Session(id) => match state.sessions.opened_with(id, now) {
                Some(OpenedWith::Token) => true,
                Some(OpenedWith::Key(id)) => state.keys.of_id(&id, now).is_some(),
                None => false,
            },
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
    pub(crate) fn owner(who: &str, session: Option<&str>) -> Self {
        let visit = Visit { admitted: true, signed_in: session.is_some(), role: Some(Role::Owner) };
        let pass = session.map_or(Pass::Always, |id| Pass::Session(id.to_owned()));
        Self { visit, pass, who: who.to_owned() }
    }

    pub(crate) fn by_key(key: &ApiKey, session: Option<&str>) -> Self {
        let visit = Visit { admitted: true, signed_in: session.is_some(), role: Some(key.role) };
        let pass = session.map_or_else(|| Pass::Key(key.id.clone()), |id| Pass::Session(id.to_owned()));
        Self { visit, pass, who: key.called() }
    }

    pub(crate) fn nobody() -> Self {
        let visit = Visit { admitted: false, signed_in: false, role: None };
        Self { visit, pass: Pass::Always, who: String::new() }
    }
}
