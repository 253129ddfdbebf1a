//! Whether there is something to say of an incident, and what: the only judge of telling.
//!
//! - Open, held by nothing, and nobody was told: its opening, however long ago that was.
//! - Told and held: nothing more, but that a person took it.
//! - No longer wanted quiet by a silence or a window, or a parent's verdict is there: what is still open is told at once,
//!   without another look.
//! - Told, held by nothing, and taken by nobody: what is due by time.
//! - Over: whoever was told hears of it; where nobody was, it stays on record and that is all.
//!
//! It remembers nothing and may be asked again at any time: what was told is what deliveries exist of, what holds is what
//! `holds` says, and both are read back after a crash.

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::paging::hold::{HoldKind, Holding, TellingHold};
use crate::domain::paging::notification::Event;

/// Own readings that still show an incident after what held it is over, before it is told: what was only a symptom is given
/// the time to go with its cause.
pub const STILL_SO: u32 = 2;

/// What is known of telling one incident, beside the incident.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telling {
    /// Whether anybody was told: whether a delivery of it exists.
    pub told: bool,
    /// What holds or held it, the oldest first; at most [`HOLDS_KEPT`].
    pub holds: Vec<TellingHold>,
    /// Own readings that showed it since nothing holds it any more.
    pub still: u32,
}

/// Holds of one incident that are kept in memory, the latest: a cause that comes and goes must not fill it.
pub const HOLDS_KEPT: usize = 16;

/// Why an incident is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A reading shows it. On the first of them it opens.
    Shown {
        /// Whether another condition, which is about to be confirmed or not, would explain it.
        awaits_verdict: bool,
    },
    /// Another reason, severity or extent has been seen for long enough.
    Changed {
        /// As of what is shown.
        awaits_verdict: bool,
    },
    /// What people wanted to hear nothing of may be over, or a parent's verdict there; no beat was made.
    LetGo,
    /// Nobody took it for so long that this is due.
    Due(Event),
    /// A person took it.
    Taken,
    /// A person gave it back.
    GivenBack,
    /// It is over.
    Ended,
}

/// What there is to say; none where there is nothing.
pub fn tell(asked: Asked, telling: &Telling, now: DateTime<Utc>) -> Option<Event> {
    let is_held = telling.is_held(now);
    match (asked, telling.told) {
        // Never told: for the record only. What a person took is still told once nothing holds it, with their name.
        (Asked::Ended | Asked::Taken, false) => None,
        (Asked::Ended, true) => Some(Event::IncidentResolved),
        (Asked::Taken, true) => Some(Event::IncidentAcknowledged),
        (_, _) if is_held => None,
        (Asked::Shown { awaits_verdict: true } | Asked::Changed { awaits_verdict: true }, _) => None,
        (Asked::Shown { .. }, false) if telling.outlasts_causes() => Some(Event::IncidentOpened),
        // What was never kept quiet is for the beats to tell: they know whether its cause is about to be confirmed.
        (Asked::LetGo, false) if telling.is_told_without_a_look() && telling.outlasts_causes() => {
            Some(Event::IncidentOpened)
        }
        (Asked::Due(event), true) => Some(event),
        (Asked::Changed { .. } | Asked::GivenBack, true) => Some(Event::IncidentUpdated),
        // What nobody heard of has no news, and what is told needs no second telling.
        (Asked::Shown { .. } | Asked::LetGo | Asked::Changed { .. } | Asked::Due(_) | Asked::GivenBack, _) => None,
    }
}

impl Telling {
    /// What is remembered of it, after a restart.
    pub const fn remembered(told: bool, holds: Vec<TellingHold>) -> Self {
        Self { told, holds, still: 0 }
    }

    /// Whether anything holds it.
    pub fn is_held(&self, now: DateTime<Utc>) -> bool {
        self.live(now).next().is_some()
    }

    /// What holds it.
    pub fn live(&self, now: DateTime<Utc>) -> impl Iterator<Item = &TellingHold> {
        self.holds.iter().filter(move |hold| hold.is_live(now))
    }

    /// What held it last, where nothing does any more.
    pub fn held_last(&self, now: DateTime<Utc>) -> Option<&TellingHold> {
        self.holds.iter().filter(|_| !self.is_held(now)).max_by_key(|hold| hold.over_at(now))
    }

    /// Sets right what of these kinds holds it: each of `by` does now, and nothing else.
    pub(crate) fn held_by(&mut self, incident: &Incident, kinds: &[HoldKind], by: &[Holding<'_>], now: DateTime<Utc>) {
        let same = |hold: &TellingHold, holding: &Holding<'_>| hold.kind == holding.kind && hold.by == holding.by;
        for hold in self.holds.iter_mut().filter(|hold| kinds.contains(&hold.kind) && hold.ended_at.is_none()) {
            match by.iter().find(|holding| same(hold, holding)) {
                Some(holding) => hold.until = holding.until,
                None => hold.end(now),
            }
        }
        for holding in by {
            if !self.live(now).any(|hold| same(hold, holding)) {
                self.holds.push(TellingHold::begun(&incident.id, holding.kind, holding.by, holding.until, now));
            }
        }
        if self.live(now).any(TellingHold::explains) {
            self.still = 0;
        }
        self.forget_oldest(now);
    }

    /// Keeps the latest, and whatever holds: what is forgotten while it holds would be told.
    fn forget_oldest(&mut self, now: DateTime<Utc>) {
        while self.holds.len() > HOLDS_KEPT
            && let Some(oldest) = self.holds.iter().position(|hold| !hold.is_live(now))
        {
            self.holds.remove(oldest);
        }
    }

    /// Whether nothing explained it, or enough looks after that one's end still show it.
    fn outlasts_causes(&self) -> bool {
        self.still >= STILL_SO || !self.holds.iter().any(TellingHold::explains)
    }

    /// Whether people wanted to hear nothing of it for a while, or a parent's verdict was waited for.
    fn is_told_without_a_look(&self) -> bool {
        self.holds.iter().any(TellingHold::is_told_after)
    }

    /// The incident that explained it is over.
    pub fn cause_ended(&mut self, by: &str, now: DateTime<Utc>) {
        for hold in self.holds.iter_mut().filter(|hold| hold.is_live(now) && hold.by == by) {
            hold.end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    const SHOWN: Asked = Asked::Shown { awaits_verdict: false };
    const AWAITED: Asked = Asked::Shown { awaits_verdict: true };
    const CHANGED: Asked = Asked::Changed { awaits_verdict: false };

    fn hold(ended: Option<i64>) -> TellingHold {
        TellingHold { ended_at: ended.map(at), ..TellingHold::by_cause("second", "first", at(0)) }
    }

    #[test]
    fn what_is_said_follows_from_what_was_told_and_what_holds() {
        use Event as E;
        let (none, live, over) = (Vec::new(), vec![hold(None)], vec![hold(Some(50))]);
        let again = vec![hold(Some(50)), TellingHold { since: at(60), ..hold(None) }];
        let until = |second| vec![TellingHold { until: Some(at(second)), ..hold(None) }];
        let of = |kind, ended: Option<i64>| vec![TellingHold { kind, ..hold(ended) }];
        let silenced = of(HoldKind::Silence, None);
        let (spoken, opened) = (of(HoldKind::Silence, Some(50)), of(HoldKind::Window, Some(50)));
        let silenced_cause = [of(HoldKind::Silence, Some(50)), vec![hold(Some(50))]].concat();
        let rows = [
            (SHOWN, false, &silenced, 9, None, "what is silenced is told to nobody"),
            (CHANGED, true, &silenced, 0, None, "nor are its changes"),
            (Asked::Ended, true, &silenced, 0, Some(E::IncidentResolved), "its end is, at once"),
            (Asked::Ended, false, &spoken, 0, None, "what ended inside is in the record only"),
            (Asked::LetGo, false, &silenced, 0, None, "while it lasts nothing is let go"),
            (Asked::LetGo, false, &spoken, 0, Some(E::IncidentOpened), "after a silence what is open is told at once"),
            (Asked::LetGo, false, &opened, 0, Some(E::IncidentOpened), "after a window, too"),
            (Asked::LetGo, true, &spoken, 0, None, "what was told before it is told once"),
            (Asked::LetGo, false, &silenced_cause, 0, None, "what another explained has to outlast that one"),
            (Asked::LetGo, false, &silenced_cause, 2, Some(E::IncidentOpened), "and is told once it does"),
            (Asked::LetGo, false, &none, 0, None, "what nothing kept quiet is told by the beats"),
            (SHOWN, false, &spoken, 0, Some(E::IncidentOpened), "a beat tells it as well"),
            (SHOWN, false, &none, 0, Some(E::IncidentOpened), "an incident that nothing holds is told"),
            (SHOWN, true, &none, 0, None, "and once"),
            (SHOWN, false, &live, 0, None, "one that is explained is not"),
            (SHOWN, false, &live, 9, None, "however often it is seen"),
            (SHOWN, false, &over, 0, None, "nor as soon as its cause is over"),
            (SHOWN, false, &over, 1, None, "nor at the first look after that"),
            (SHOWN, false, &over, 2, Some(E::IncidentOpened), "but where two looks still show it"),
            (SHOWN, false, &again, 2, None, "explained once more it is held once more"),
            (SHOWN, false, &until(200), 2, None, "a hold that ends by itself holds until then"),
            (SHOWN, false, &until(100), 2, Some(E::IncidentOpened), "and no longer"),
            (AWAITED, false, &none, 0, None, "a cause that is being confirmed is waited for"),
            (AWAITED, false, &over, 2, None, "after another one, too"),
            (CHANGED, true, &none, 0, Some(E::IncidentUpdated), "a change of what was told is told"),
            (CHANGED, true, &live, 0, None, "not while it is explained"),
            (
                CHANGED,
                true,
                &over,
                0,
                Some(E::IncidentUpdated),
                "and again afterwards: it was seen often enough by itself",
            ),
            (Asked::Changed { awaits_verdict: true }, true, &none, 0, None, "nor while an outage is being confirmed"),
            (CHANGED, false, &none, 0, None, "what nobody heard of has no news"),
            (Asked::Due(E::IncidentReminder), true, &none, 0, Some(E::IncidentReminder), "nobody took what was told"),
            (Asked::Due(E::IncidentEscalated), true, &live, 0, None, "not while something holds it"),
            (Asked::Due(E::IncidentEscalated), true, &silenced, 0, None, "nor while it is silenced"),
            (Asked::GivenBack, true, &none, 0, Some(E::IncidentUpdated), "who gives back what was told is told"),
            (Asked::GivenBack, false, &none, 0, None, "where anybody was"),
            (Asked::Due(E::IncidentEscalated), false, &none, 0, None, "nor where nobody was told"),
            (
                Asked::Taken,
                true,
                &live,
                0,
                Some(E::IncidentAcknowledged),
                "who takes what was told is told, held or not",
            ),
            (Asked::Taken, false, &live, 0, None, "who takes what nobody heard of is written down"),
            (Asked::Ended, true, &none, 0, Some(E::IncidentResolved), "what was told has its end told"),
            (Asked::Ended, true, &live, 0, Some(E::IncidentResolved), "whatever holds it"),
            (Asked::Ended, false, &live, 0, None, "what nobody heard of ends on record only"),
            (Asked::Ended, false, &over, 2, None, "also where it was about to be told"),
            (Asked::Ended, false, &none, 0, None, "or fitted no route"),
        ];
        for (asked, told, holds, still, expected, sentence) in rows {
            let telling = Telling { told, holds: holds.clone(), still };
            assert_eq!(tell(asked, &telling, at(100)), expected, "{sentence}");
        }
    }
}
