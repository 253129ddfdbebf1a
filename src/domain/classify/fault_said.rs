//! A fault in words: what a summary, and so a mail's subject, says of it.

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::Stage;
use crate::domain::reason::FailureReason;

/// A fault in one line, and nothing in it twice: `connection refused (127.0.0.1:9101)`, `timeout at search: …`.
pub(super) fn said(reason: FailureReason, stage: Stage, fault: &Fault) -> String {
    let words = reason.slug().replace('_', " ");
    if fault.kind == FaultKind::Refused {
        let places: Vec<&str> = fault.detail.split("; ").map(refused_at).collect();
        return format!("{words} ({})", places.join(", "));
    }
    format!("{words} at {}: {}", stage.slug(), fault.detail)
}

/// The address of what was tried at one, such as `IPv4 127.0.0.1:9101: Connection refused (os error 111)`; whatever else
/// came of it stays as it is.
fn refused_at(tried: &str) -> &str {
    let refused = tried.split_once(": Connection refused").map(|(place, _)| place);
    let place = refused.or_else(|| tried.strip_suffix(" refused the connection")).unwrap_or(tried);
    place.strip_prefix("IPv4 ").or_else(|| place.strip_prefix("IPv6 ")).unwrap_or(place)
}
