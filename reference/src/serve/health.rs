//! `/live`, `/ready` and `/health`: each looks for itself, none asks the switchboard.
//!
//! `/live` says that the process answers; `/ready` uses every part once (`readiness`); `/health`
//! looks besides whether answers are good: its own canary (`canary`), and the index's holes, age and
//! chunks (`census`). Reasons are the words a monitor knows. 503 where not ok.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

#[cfg(feature = "census")]
use crate::serve::census;
use crate::serve::life::Life;
use crate::serve::report::{Report, Trouble, unseen};
use crate::serve::{canary, readiness};

/// `/live`.
pub async fn live(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    reply(unseen(&life), Ok(()))
}

/// `/ready`.
pub async fn ready(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    let mut report = unseen(&life);
    let looked = readiness::look(&life, &mut report).await;
    reply(report, looked)
}

/// `/health`.
pub async fn health(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    let mut report = unseen(&life);
    let looked = examine(&life, &mut report).await;
    reply(report, looked)
}

/// Looks at everything; the first that is not well is the trouble, the nearest to the machine first.
async fn examine(life: &Life, report: &mut Report) -> Result<(), Trouble> {
    readiness::look(life, report).await?;
    #[cfg(feature = "census")]
    let census = census::take(life, report).await?;
    canary::look(life, report).await?;
    #[cfg(feature = "census")]
    census.judge()?;
    Ok(())
}

fn reply(mut report: Report, looked: Result<(), Trouble>) -> (StatusCode, Json<Report>) {
    let Err(Trouble { reason, detail }) = looked else { return (StatusCode::OK, Json(report)) };
    report.status = "unhealthy";
    report.reason = Some(reason);
    report.detail = Some(detail);
    (StatusCode::SERVICE_UNAVAILABLE, Json(report))
}
