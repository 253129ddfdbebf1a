//! What telling is to be, written from what people are promised (docs/paging.md) and not from the code that does it.
//!
//! One incident and whoever heard of it: what may be said of it, what has to be, and when. Time is in seconds. What opens
//! and ends is given; whether it is told is what is judged here.

use std::collections::BTreeSet;

/// Somebody who is told.
pub(super) type Receiver = &'static str;

/// Nobody took it for so long: the lead is told as well.
pub(super) const ESCALATES_AFTER: i64 = 120;
/// How long a verdict on what it depends on is waited for, from when it opened.
pub(super) const VERDICT: i64 = 60;
/// Own beats that still show what outlasted its cause, by which it is told.
const LOOKS: u8 = 2;

/// Why nobody is told just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Holds {
    /// A silence or a window: it says nothing of why.
    pub quiet: bool,
    /// What it depends on is down, or an incident that explains it is open and was told.
    pub explained: bool,
    /// What it depends on is looked at, and the verdict is near.
    pub awaited: bool,
}

impl Holds {
    pub(super) const fn any(self) -> bool {
        self.quiet || self.explained || self.awaited
    }
}

/// When something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// On a beat that shows it.
    Shown,
    /// On a beat that does not.
    Calm,
    /// Between beats: a hold ended, or time went by.
    Between,
}

/// What is known of telling one open incident.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Told {
    /// Since when it is open.
    pub opened_at: i64,
    /// Who heard of it, ever.
    pub by: BTreeSet<Receiver>,
    /// Whether somebody has it.
    pub taken: bool,
    /// Since when people know of it and nobody has it.
    pub unclaimed_since: Option<i64>,
    /// Whether it was a page when something was said of it last.
    pub(super) is_page: bool,
    /// Whether the lead was told since then.
    pub escalated: bool,
    /// Whether people wanted to hear nothing of it, or a verdict was waited for.
    was_kept_quiet: bool,
    /// Beats that showed it since what explained it was over; none where nothing ever did.
    outlasted: Option<u8>,
}

impl Told {
    /// The same, with times as they are from now, no longer than anything waits.
    pub(super) fn as_of(&self, now: i64) -> Self {
        let ago = |at: i64| (now - at).min(2 * ESCALATES_AFTER);
        Self {
            opened_at: ago(self.opened_at).min(2 * VERDICT),
            unclaimed_since: self.unclaimed_since.map(ago),
            ..self.clone()
        }
    }

    pub(super) const fn opened(at: i64) -> Self {
        Self {
            opened_at: at,
            by: BTreeSet::new(),
            taken: false,
            unclaimed_since: None,
            is_page: false,
            escalated: false,
            was_kept_quiet: false,
            outlasted: None,
        }
    }

    /// Takes note of what holds it.
    pub(super) const fn held(&mut self, holds: Holds) {
        if holds.quiet || holds.awaited {
            self.was_kept_quiet = true;
        }
        if holds.explained {
            self.outlasted = Some(0);
        }
    }

    /// A beat shows it while nothing holds it. `is_new`: what held it ended with this very beat, which proves nothing.
    pub(super) fn seen(&mut self, is_new: bool) {
        self.outlasted = self.outlasted.map(|looks| (looks + u8::from(!is_new)).min(LOOKS));
    }

    /// Whether its opening has to be told now; where it has not, it must not be.
    pub(super) fn is_to_be_told(&self, moment: Moment, holds: Holds) -> bool {
        let outlasts = self.outlasted.is_none_or(|looks| looks >= LOOKS);
        let is_moment = match moment {
            Moment::Shown => true,
            Moment::Calm => false,
            Moment::Between => self.was_kept_quiet,
        };
        self.by.is_empty() && !holds.any() && outlasts && is_moment
    }

    /// Whether the lead has to be told now.
    pub(super) fn is_to_be_escalated(&self, holds: Holds, now: i64) -> bool {
        let is_due = self.unclaimed_since.is_some_and(|since| now - since >= ESCALATES_AFTER);
        is_due && !self.taken && !self.escalated && !holds.any()
    }

    /// These hear of it; the first time, or because somebody gave it back, nobody has it from now on.
    pub(super) fn hear(&mut self, to: impl IntoIterator<Item = Receiver>, now: i64) {
        let is_first = self.by.is_empty();
        self.by.extend(to);
        if is_first && !self.taken {
            self.unclaimed(now);
        }
    }

    /// Nobody has it from now on.
    pub(super) fn unclaimed(&mut self, now: i64) {
        (self.taken, self.escalated) = (false, false);
        self.unclaimed_since = (!self.by.is_empty()).then_some(now);
    }

    pub(super) const fn take(&mut self) {
        (self.taken, self.unclaimed_since) = (true, None);
    }

    /// Another process goes on: what was said and what holds is on disk, beats that showed it are counted anew.
    pub(super) const fn restarted(&mut self) {
        if self.outlasted.is_some() {
            self.outlasted = Some(0);
        }
    }
}
