//! What became of telling one incident until a moment, by what is on record: who was told, or what kept it from everybody.

use chrono::{DateTime, Utc};

use crate::domain::why::answer::{HoldThen, IncidentThen, ToldThen};

/// What became of telling an incident.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard<'w> {
    /// People were told.
    Told {
        /// The deliveries of what was told first.
        first: Vec<&'w ToldThen>,
        /// What held it back until then.
        after: Option<&'w HoldThen>,
    },
    /// Something holds it.
    Held(Vec<&'w HoldThen>),
    /// It ended while something held it, or before it outlasted that.
    EndedHeld(&'w HoldThen),
    /// What held it is over, and it has to outlast that.
    Outlasting(&'w HoldThen),
    /// No route fits it.
    Unrouted,
    /// What may explain it is being confirmed, or the beat is not written yet.
    Waits,
    /// It was over before that came to an end.
    EndedWaiting,
    /// Nobody was told, and the file that says who would have been is not kept.
    Unknown,
}

/// What became of telling an incident until a moment.
pub fn heard(one: &IncidentThen, until: DateTime<Utc>) -> Heard<'_> {
    let told = one.tellings.iter().filter(|told| told.at <= until);
    if let Some(at) = told.map(|told| told.at).min() {
        let first = one.tellings.iter().filter(|told| told.at == at).collect();
        let before = one.holds.iter().filter(|hold| hold.over_at().is_some_and(|over| over <= at));
        return Heard::Told { first, after: before.max_by_key(|hold| hold.over_at()) };
    }
    let is_over = one.incident.resolved_at.is_some_and(|end| end <= until);
    let begun = one.holds.iter().filter(|hold| hold.hold.since <= until);
    let last = begun.max_by_key(|hold| (hold.over_at().is_none(), hold.over_at()));
    let live: Vec<&HoldThen> = one.holds.iter().filter(|hold| hold.held(until)).collect();
    let is_unrouted = one.listeners.as_ref().is_some_and(Vec::is_empty);
    match (last, is_over) {
        (_, false) if !live.is_empty() => Heard::Held(live),
        (Some(hold), true) => Heard::EndedHeld(hold),
        _ if is_unrouted => Heard::Unrouted,
        (Some(hold), false) => Heard::Outlasting(hold),
        (None, _) if one.listeners.is_none() => Heard::Unknown,
        (None, true) => Heard::EndedWaiting,
        (None, false) => Heard::Waits,
    }
}
