//! What follows a try: whether it is made again, and who hears instead.

use chrono::{DateTime, Utc};

use crate::domain::fleet::Fleet;
use crate::domain::paging::delivery::{AttemptEnd, FALLBACK_AFTER, GIVE_UP_AFTER, jittered_gap};
use crate::domain::reason::Severity;
use crate::domain::receiver::Receiver;
use crate::store::values::claims::{Claim, NextAttempt, TriedDelivery};

/// What follows a try, and who hears instead of each delivery that was in it.
///
/// A refusal wakes the fallback at once, a page that stayed unheard for [`FALLBACK_AFTER`] too, and
/// so does giving up. A receiver that is no longer declared is given up at once if anybody can stand
/// in: it will not come back by being tried. `random` is in 0..1.
pub(super) fn decide(
    claim: &Claim,
    end: &AttemptEnd,
    fleet: &Fleet,
    receiver: Option<&Receiver>,
    now: DateTime<Utc>,
    random: f64,
) -> (NextAttempt, Vec<TriedDelivery>) {
    let retry_after = match end {
        AttemptEnd::Accepted => return (NextAttempt::Sent, tried(claim, |_, _| Vec::new())),
        AttemptEnd::Failed { retry_after, .. } => *retry_after,
        AttemptEnd::Refused { .. } => None,
    };
    let age = (now - claim.promised_at).to_std().unwrap_or_default();
    let given_up = age >= GIVE_UP_AFTER;
    let refused = matches!(end, AttemptEnd::Refused { .. });
    let tried = tried(claim, |severity, fallback| {
        let unheard = severity == Severity::Page && age >= FALLBACK_AFTER;
        // What somebody has brought once more was told when it was news: nobody else is to hear of it now.
        let is_news = !claim.replayed && (given_up || unheard || refused);
        if is_news { stand_ins(&claim.receiver, fallback, fleet, receiver) } else { Vec::new() }
    });
    if given_up || (refused && receiver.is_none() && tried.iter().all(|one| !one.stand_ins.is_empty())) {
        return (NextAttempt::Dead, tried);
    }
    (NextAttempt::Retry(now + jittered_gap(claim.tries + 1, age, retry_after, random)), tried)
}

/// Each delivery of a try, with those who hear of it instead.
fn tried(claim: &Claim, instead: impl Fn(Severity, Option<&str>) -> Vec<String>) -> Vec<TriedDelivery> {
    let one = |id: &str, severity, fallback: Option<&str>| TriedDelivery {
        id: id.to_owned(),
        stand_ins: instead(severity, fallback),
    };
    let others = claim.others().iter();
    let others = others.map(|other| one(&other.delivery, other.severity, other.fallback.as_deref()));
    std::iter::once(one(&claim.delivery, claim.severity, claim.fallback.as_deref())).chain(others).collect()
}

/// The declared fallback; where it or the receiver is gone from the file, those who hear of our own trouble.
fn stand_ins(name: &str, fallback: Option<&str>, fleet: &Fleet, receiver: Option<&Receiver>) -> Vec<String> {
    if let Some(fallback) = fallback.filter(|name| fleet.receiver(name).is_some()) {
        return vec![fallback.to_owned()];
    }
    if receiver.is_some() && fallback.is_none() {
        return Vec::new();
    }
    fleet.internal.iter().filter(|other| *other != name && fleet.receiver(other).is_some()).cloned().collect()
}
