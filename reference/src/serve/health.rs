//! `/live`, `/ready` and `/health`: each looks for itself, none asks the switchboard.
//!
//! `/live` says that the process answers; `/ready` uses every part once (`readiness`); `/health`
//! looks besides whether answers are good, with the feature `census`: its own canary (`canary`), and the index's holes, age
//! and chunks (`census`). Reasons are the words a monitor knows. 503 where not ok.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::serve::readiness;
use crate::serve::report::{HealthReport, Trouble, unseen};
use crate::serve::state::ServerState;
#[cfg(feature = "census")]
use crate::serve::{canary, census};

/// `/live`.
pub async fn live(State(state): State<Arc<ServerState>>) -> (StatusCode, Json<HealthReport>) {
    reply(unseen(&state), Ok(()))
}

/// `/ready`.
pub async fn ready(State(state): State<Arc<ServerState>>) -> (StatusCode, Json<HealthReport>) {
    let mut report = unseen(&state);
    let looked = readiness::look(&state, &mut report).await;
    reply(report, looked)
}

/// `/health`.
pub async fn health(State(state): State<Arc<ServerState>>) -> (StatusCode, Json<HealthReport>) {
    let mut report = unseen(&state);
    let looked = examine(&state, &mut report).await;
    reply(report, looked)
}

/// Looks at everything; the first that is not well is the trouble, the nearest to the machine first.
async fn examine(state: &ServerState, report: &mut HealthReport) -> Result<(), Trouble> {
    readiness::look(state, report).await?;
    #[cfg(feature = "census")]
    {
        let census = census::take(state, report).await?;
        canary::look(state, report).await?;
        census.judge()?;
    }
    Ok(())
}

fn reply(mut report: HealthReport, looked: Result<(), Trouble>) -> (StatusCode, Json<HealthReport>) {
    let Err(Trouble { reason, detail }) = looked else { return (StatusCode::OK, Json(report)) };
    report.status = "unhealthy";
    report.reason = Some(reason);
    report.detail = Some(detail);
    (StatusCode::SERVICE_UNAVAILABLE, Json(report))
}
