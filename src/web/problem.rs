//! What an API answers when it cannot do what it was asked.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::web::state::Away;

/// An answer that says what is wrong: `{"error": "…"}` with its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub status: StatusCode,
    /// What is wrong, for people.
    pub error: &'static str,
}

impl Problem {
    pub(crate) const fn new(status: StatusCode, error: &'static str) -> Self {
        Self { status, error }
    }
}

impl From<Away> for Problem {
    fn from(_: Away) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct ProblemBody {
            error: &'static str,
        }
        (self.status, Json(ProblemBody { error: self.error })).into_response()
    }
}
