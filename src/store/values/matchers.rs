//! What a silence matches, as one text of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::Match;
use crate::domain::signal::Signal;
use crate::store::values::error::StoreError;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    severity: Vec<String>,
    signal: Vec<String>,
    reason: Vec<String>,
    labels: BTreeMap<String, String>,
    monitor: Vec<String>,
}

/// The text of a match.
pub(in crate::store) fn written(matches: &Match) -> String {
    let written = Written {
        severity: matches.severity.iter().map(|one| one.slug().to_owned()).collect(),
        signal: matches.signal.iter().map(|one| one.slug().to_owned()).collect(),
        reason: matches.reason.iter().map(|one| one.slug().to_owned()).collect(),
        labels: matches.labels.clone(),
        monitor: matches.monitor.clone(),
    };
    // Lists and objects of texts always serialise.
    serde_json::to_string(&written).unwrap_or_default()
}

/// The match of a text.
///
/// # Errors
/// Where it is none of ours.
pub(crate) fn read(text: &str) -> Result<Match, StoreError> {
    let unreadable = |what: &dyn std::fmt::Display| StoreError::Unreadable(format!("matchers of a silence: {what}"));
    let written: Written = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    fn all<T>(slugs: &[String], of: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, &str> {
        slugs.iter().map(|slug| of(slug).ok_or(&**slug)).collect()
    }
    Ok(Match {
        severity: all(&written.severity, Severity::from_slug).map_err(|slug| unreadable(&slug))?,
        signal: all(&written.signal, Signal::from_slug).map_err(|slug| unreadable(&slug))?,
        reason: all(&written.reason, FailureReason::from_slug).map_err(|slug| unreadable(&slug))?,
        labels: written.labels,
        monitor: written.monitor,
    })
}
