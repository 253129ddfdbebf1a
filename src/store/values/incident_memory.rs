//! What an open incident remembers from beat to beat, as one text of JSON: only the loops read it, and whole.

use std::time::Duration;

use chrono::DateTime;
use serde::{Deserialize, Serialize};

use crate::domain::flapping::{CALM_MAX, Flapping};
use crate::domain::incident::{Course, IncidentReach, ToldAs, Worst};
use crate::domain::outcome::Evidence;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::unclaimed::Unclaimed;
use crate::store::values::error::StoreError;

/// Moments are microseconds, words are slugs.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    told: Option<WrittenTold>,
    updated_at: Option<i64>,
    since: Option<i64>,
    worst: Option<WrittenWorst>,
    /// Since when nobody has it, and up to when what follows was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unclaimed: Option<(i64, i64)>,
    /// Openings, seconds of calm, and whether people were told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flapping: Option<(u32, u64, bool)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calm_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    began_at: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenTold {
    reason: String,
    severity: String,
    reach: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenWorst {
    reason: String,
    wrong: usize,
    asked: usize,
    summary: String,
    /// Keys and values, in order.
    evidence: Vec<(String, String)>,
}

/// The text of a course; none where there is nothing to remember.
pub(in crate::store) fn written(course: &Course) -> Option<String> {
    if *course == Course::default() {
        return None;
    }
    let told = course.told.as_ref().map(|told| WrittenTold {
        reason: told.reason.slug().to_owned(),
        severity: told.severity.slug().to_owned(),
        reach: told.reach.map(|reach| reach.slug().to_owned()),
    });
    let worst = course.worst.as_ref().map(|worst| WrittenWorst {
        reason: worst.reason.slug().to_owned(),
        wrong: worst.wrong,
        asked: worst.asked,
        summary: worst.summary.clone(),
        evidence: worst.evidence.iter().map(|one| (one.key.clone(), one.value.clone())).collect(),
    });
    let (updated_at, since) = (course.updated_at, course.since);
    let written = Written {
        told,
        updated_at: updated_at.map(|at| at.timestamp_micros()),
        since: since.map(|at| at.timestamp_micros()),
        worst,
        unclaimed: course.unclaimed.map(|at| (at.since.timestamp_micros(), at.told_until.timestamp_micros())),
        flapping: course.flapping.map(|it| (it.openings, it.calm.as_secs(), it.told)),
        calm_since: course.calm_since.map(|at| at.timestamp_micros()),
        began_at: course.began_at.map(|at| at.timestamp_micros()),
    };
    // Numbers, texts and objects with named keys always serialise.
    serde_json::to_string(&written).ok()
}

/// The course of a text; an empty one where an older version wrote none.
pub(in crate::store) fn read(text: Option<&str>) -> Result<Course, StoreError> {
    let Some(text) = text else { return Ok(Course::default()) };
    let unreadable = |what: &dyn std::fmt::Display| StoreError::Unreadable(format!("course of an incident: {what}"));
    let written: Written = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let reason = |slug: &str| FailureReason::from_slug(slug).ok_or_else(|| unreadable(&slug));
    let told = written.told.map(|told| -> Result<ToldAs, StoreError> {
        let severity = Severity::from_slug(&told.severity).ok_or_else(|| unreadable(&told.severity))?;
        let reach =
            told.reach.map(|slug| IncidentReach::from_slug(&slug).ok_or_else(|| unreadable(&slug))).transpose()?;
        Ok(ToldAs { reason: reason(&told.reason)?, severity, reach })
    });
    let worst = written.worst.map(|worst| -> Result<Worst, StoreError> {
        let evidence = worst.evidence.into_iter().map(|(key, value)| Evidence { key, value }).collect();
        let (wrong, asked) = (worst.wrong, worst.asked);
        Ok(Worst { reason: reason(&worst.reason)?, wrong, asked, summary: worst.summary, evidence })
    });
    Ok(Course {
        told: told.transpose()?,
        updated_at: written.updated_at.and_then(DateTime::from_timestamp_micros),
        since: written.since.and_then(DateTime::from_timestamp_micros),
        worst: worst.transpose()?,
        unclaimed: written.unclaimed.and_then(|(since, until)| {
            let (since, told_until) =
                (DateTime::from_timestamp_micros(since)?, DateTime::from_timestamp_micros(until)?);
            Some(Unclaimed { since, told_until })
        }),
        flapping: written.flapping.map(|(openings, calm, told)| {
            let calm = Duration::from_secs(calm).min(CALM_MAX);
            Flapping { openings, calm, told }
        }),
        calm_since: written.calm_since.and_then(DateTime::from_timestamp_micros),
        began_at: written.began_at.and_then(DateTime::from_timestamp_micros),
    })
}
