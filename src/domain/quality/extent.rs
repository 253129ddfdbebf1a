//! How far a fault reaches: of the canaries asked since it began, how many are wrong.
//!
//! Everything that is said of it (headline, evidence, when an update goes out) follows from one count. A canary counts
//! as asked only where it answered since the fault's first wrong answer, and as wrong only where that answer still
//! stands: once others have turned right, a wrong answer from before waits until it is asked for again.

use chrono::{DateTime, Utc};

use crate::domain::incident::IncidentReach;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::quality::canary_states::CanaryStates;
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::reason::FailureReason;

/// From when on answers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// The fault's first wrong answer.
    pub since: DateTime<Utc>,
    /// When a wrong canary was last seen to turn right, while the incident is open.
    pub turned_at: Option<DateTime<Utc>>,
    /// When Serin took the incident up again after a restart: what was wrong before is asked once more.
    pub resumed_at: Option<DateTime<Utc>>,
    pub now: DateTime<Utc>,
}

/// What one canary says of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CanaryHeard {
    /// Its answer since is right.
    Right,
    /// Its answer since is wrong.
    Wrong,
    /// It was wrong before others turned right: it says nothing until it is asked again.
    Waiting,
    /// It has not answered since.
    NotAsked,
}

impl Horizon {
    /// What a canary says of the fault.
    pub(crate) fn heard(&self, canary: Option<&CanaryState>) -> CanaryHeard {
        let Some(canary) = canary else { return CanaryHeard::NotAsked };
        let since = |timestamp: DateTime<Utc>| canary.answered_at.is_some_and(|at| at >= timestamp);
        let turned = self.turned_at.max(self.resumed_at);
        // What was last answered long before a restart is not remembered; a confirmed canary is taken for wrong.
        let wrong = canary.is_wrong() || canary.is_confirmed() && canary.last.is_none();
        match () {
            () if wrong && (turned.is_some_and(|at| !since(at)) || !since(self.since)) => CanaryHeard::Waiting,
            () if !since(self.since) => CanaryHeard::NotAsked,
            () if wrong => CanaryHeard::Wrong,
            () => CanaryHeard::Right,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The fault's first wrong answer.
    pub since: DateTime<Utc>,
    pub asked: usize,
    /// Those of them that are wrong.
    pub wrong: usize,
    /// Those of the wrong ones that are wrong in the way that the reason names.
    pub alike: usize,
    /// Those that were wrong until others turned right, and have to be asked again.
    pub waiting: usize,
    /// Canaries not asked since.
    pub not_asked: usize,
    /// Whether a wrong one was seen to turn right.
    pub turned: bool,
}

/// Whether it is so, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Now,
    Past,
}

impl Extent {
    pub(crate) const fn reach(&self) -> IncidentReach {
        match () {
            () if self.wrong >= self.asked => IncidentReach::All,
            () if self.wrong * 2 >= self.asked => IncidentReach::Half,
            () => IncidentReach::Some,
        }
    }

    /// Whether every wrong answer that it counts still stands: only then is anybody told.
    pub(crate) const fn stands(&self) -> bool {
        self.wrong > 0 && self.waiting == 0
    }

    /// Whether it reaches further than another; of two equal ones the better known counts.
    pub(crate) fn exceeds(&self, wrong: usize, asked: usize) -> bool {
        (self.wrong, self.asked) > (wrong, asked)
    }

    /// One sentence, such as `every search comes back empty: 5 of 5 asked since 00:53 UTC`. `by_text`: what is wrong was
    /// judged by the answers' texts, and no source was expected.
    pub(crate) fn said(&self, reason: FailureReason, by_text: bool, tense: Tense, now: DateTime<Utc>) -> String {
        let every = self.alike == self.asked && self.not_asked == 0;
        let since = clock(self.since, now);
        let of_texts = if by_text { words_of_texts(reason, every, tense) } else { None };
        let words = of_texts.unwrap_or_else(|| words(reason, every, tense));
        let counted = format!("{words}: {} of {} asked since {since}", self.alike, self.asked);
        let others = [(self.wrong - self.alike, "wrong in another way"), (self.not_asked, "not asked since")];
        with(counted, &others)
    }

    /// In a few words, for the line of a signal: `0 of 5 right since 00:53 UTC, 3 not asked`.
    pub(crate) fn figure(&self, now: DateTime<Utc>) -> String {
        let right = self.asked - self.wrong - self.waiting;
        let counted = format!("{right} of {} right since {}", self.asked, clock(self.since, now));
        with(counted, &[(self.waiting, "to be asked again"), (self.not_asked, "not asked")])
    }

    /// One sentence for while wrong answers turn right, and none is told.
    pub(crate) fn turning(&self, now: DateTime<Utc>) -> String {
        let right = self.asked - self.wrong - self.waiting;
        let turn = if right == self.asked { "answers are right again" } else { "answers turn right" };
        let counted = format!("{turn}: {right} of {} asked since {}", self.asked, clock(self.since, now));
        let others =
            [(self.wrong, "still wrong"), (self.waiting, "to be asked again"), (self.not_asked, "not asked since")];
        with(counted, &others)
    }
}

/// A count, and what else there is.
fn with(mut said: String, others: &[(usize, &str)]) -> String {
    for (count, what) in others.iter().filter(|(count, _)| *count > 0) {
        said.push_str(&format!(", {count} {what}"));
    }
    said
}

/// What answers show, of every search or of those counted.
const fn words(reason: FailureReason, every: bool, tense: Tense) -> &'static str {
    match (reason, every, tense) {
        (FailureReason::EmptyResults, true, Tense::Now) => "every search comes back empty",
        (FailureReason::EmptyResults, true, Tense::Past) => "every search came back empty",
        (FailureReason::EmptyResults, false, Tense::Now) => "searches come back empty",
        (FailureReason::EmptyResults, false, Tense::Past) => "searches came back empty",
        (FailureReason::ThresholdBroken, _, Tense::Now) => "questions about what is not there do not come back empty",
        (FailureReason::ThresholdBroken, _, Tense::Past) => "questions about what is not there did not come back empty",
        (FailureReason::ConstantResponse, true, Tense::Now) => "every search gets one and the same list",
        (FailureReason::ConstantResponse, true, Tense::Past) => "every search got one and the same list",
        (FailureReason::ConstantResponse, false, Tense::Now) => "searches get one and the same list",
        (FailureReason::ConstantResponse, false, Tense::Past) => "searches got one and the same list",
        (FailureReason::ResultMalformed, true, Tense::Now) => "every answer is without readable results",
        (FailureReason::ResultMalformed, true, Tense::Past) => "every answer was without readable results",
        (FailureReason::ResultMalformed, false, Tense::Now) => "answers are without readable results",
        (FailureReason::ResultMalformed, false, Tense::Past) => "answers were without readable results",
        (FailureReason::ChunkSizeAnomaly, true, Tense::Now) => "every answer holds a chunk that is far too long",
        (FailureReason::ChunkSizeAnomaly, true, Tense::Past) => "every answer held a chunk that was far too long",
        (FailureReason::ChunkSizeAnomaly, false, Tense::Now) => "answers hold a chunk that is far too long",
        (FailureReason::ChunkSizeAnomaly, false, Tense::Past) => "answers held a chunk that was far too long",
        (FailureReason::CacheStale, true, Tense::Now) => "the cache answers every search wrongly, the index rightly",
        (FailureReason::CacheStale, true, Tense::Past) => "the cache answered every search wrongly, the index rightly",
        (FailureReason::CacheStale, false, Tense::Now) => "the cache answers wrongly what the index answers rightly",
        (FailureReason::CacheStale, false, Tense::Past) => "the cache answered wrongly what the index answered rightly",
        (FailureReason::CacheFalseHit, _, Tense::Now) => "the cache answers searches with another question's results",
        (FailureReason::CacheFalseHit, _, Tense::Past) => "the cache answered searches with another question's results",
        (_, true, _) => "every search lost its source",
        (_, false, _) => "searches lost their source",
    }
}

/// The same of answers that are texts; none where that is no other.
const fn words_of_texts(reason: FailureReason, every: bool, tense: Tense) -> Option<&'static str> {
    Some(match (reason, every, tense) {
        (FailureReason::WrongResults, true, Tense::Now) => "every search brings a text that is not right",
        (FailureReason::WrongResults, true, Tense::Past) => "every search brought a text that was not right",
        (FailureReason::WrongResults, false, Tense::Now) => "searches bring texts that are not right",
        (FailureReason::WrongResults, false, Tense::Past) => "searches brought texts that were not right",
        (FailureReason::ConstantResponse, true, Tense::Now) => "every search gets one and the same text",
        (FailureReason::ConstantResponse, true, Tense::Past) => "every search got one and the same text",
        (FailureReason::ConstantResponse, false, Tense::Now) => "searches get one and the same text",
        (FailureReason::ConstantResponse, false, Tense::Past) => "searches got one and the same text",
        (FailureReason::ResultMalformed, true, Tense::Now) => "every text is cut short, or cannot be read",
        (FailureReason::ResultMalformed, true, Tense::Past) => "every text was cut short, or could not be read",
        (FailureReason::ResultMalformed, false, Tense::Now) => "texts are cut short, or cannot be read",
        (FailureReason::ResultMalformed, false, Tense::Past) => "texts were cut short, or could not be read",
        (FailureReason::ChunkSizeAnomaly, true, Tense::Now) => "every text is far too long",
        (FailureReason::ChunkSizeAnomaly, true, Tense::Past) => "every text was far too long",
        (FailureReason::ChunkSizeAnomaly, false, Tense::Now) => "texts are far too long",
        (FailureReason::ChunkSizeAnomaly, false, Tense::Past) => "texts were far too long",
        (FailureReason::CacheFalseHit, _, Tense::Now) => "the cache answers searches with another question's text",
        (FailureReason::CacheFalseHit, _, Tense::Past) => "the cache answered searches with another question's text",
        _ => return None,
    })
}

/// `00:53 UTC`; with its date where that is another day.
pub(crate) fn clock(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let form = if at.date_naive() == now.date_naive() { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
    at.format(form).to_string()
}

/// `00:53:10 UTC`; with its date where that is another day.
pub(crate) fn to_the_second(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let form = if at.date_naive() == now.date_naive() { "%H:%M:%S UTC" } else { "%Y-%m-%d %H:%M:%S UTC" };
    at.format(form).to_string()
}

/// What every canary says of a fault, as far as it can say anything.
#[derive(Debug)]
pub(crate) struct Roll<'a> {
    /// In the order of the file.
    pub heard: Vec<(&'a Canary, Option<&'a CanaryState>, CanaryHeard)>,
}

impl<'a> Roll<'a> {
    pub(crate) fn call(canaries: &'a [Canary], state: &'a CanaryStates, horizon: Horizon) -> Self {
        let heard = |canary: &'a Canary| {
            let known = state.get(&canary.id);
            (canary, known, horizon.heard(known))
        };
        Self { heard: canaries.iter().map(heard).collect() }
    }

    pub(crate) fn wrong(&self) -> impl Iterator<Item = (&'a Canary, &'a CanaryState)> {
        let wrong = self.heard.iter().filter(|(.., heard)| *heard == CanaryHeard::Wrong);
        wrong.filter_map(|(canary, known, _)| Some((*canary, (*known)?)))
    }

    /// Those that count: an index that is gone answers a question about nothing rightly, so that is no sign of health.
    fn counted(&self) -> impl Iterator<Item = (CanaryKind, CanaryHeard)> {
        let bad = |heard: CanaryHeard| matches!(heard, CanaryHeard::Wrong | CanaryHeard::Waiting);
        let lost = self.heard.iter().any(|(canary, _, heard)| canary.kind != CanaryKind::Negative && bad(*heard));
        let counts = move |kind: CanaryKind, heard: CanaryHeard| !lost || kind != CanaryKind::Negative || bad(heard);
        self.heard
            .iter()
            .filter(move |(canary, _, heard)| counts(canary.kind, *heard))
            .map(|(canary, _, heard)| (canary.kind, *heard))
    }

    /// How many canaries of a kind are right, how many count as asked, and how many were not.
    pub(crate) fn of_kind(&self, wanted: CanaryKind) -> (usize, usize, usize) {
        self.counted().filter(|(kind, _)| *kind == wanted).fold((0, 0, 0), |(right, asked, not_asked), (_, heard)| {
            match heard {
                CanaryHeard::NotAsked => (right, asked, not_asked + 1),
                CanaryHeard::Right => (right + 1, asked + 1, not_asked),
                CanaryHeard::Wrong | CanaryHeard::Waiting => (right, asked + 1, not_asked),
            }
        })
    }

    /// The count; `alike` of the wrong ones are wrong in the way that the reason names.
    pub(crate) fn extent(&self, horizon: Horizon, alike: usize) -> Extent {
        let count = |wanted: CanaryHeard| self.counted().filter(|(_, heard)| *heard == wanted).count();
        let (wrong, waiting) = (count(CanaryHeard::Wrong), count(CanaryHeard::Waiting));
        Extent {
            since: horizon.since,
            asked: count(CanaryHeard::Right) + wrong + waiting,
            wrong,
            alike,
            waiting,
            not_asked: count(CanaryHeard::NotAsked),
            turned: horizon.turned_at.is_some(),
        }
    }

    /// Each kind's count of what was asked, such as `3 of 4 meaning, 0 of 1 keyword`; how many were not is said before it.
    pub(crate) fn kinds(&self) -> String {
        let of = |kind: CanaryKind| {
            let count = |wanted: fn(CanaryHeard) -> bool| {
                self.heard.iter().filter(|(canary, _, heard)| canary.kind == kind && wanted(*heard)).count()
            };
            let wrong = count(|heard| heard == CanaryHeard::Wrong);
            let asked = count(|heard| heard != CanaryHeard::NotAsked);
            (asked > 0).then(|| format!("{wrong} of {asked} {}", kind.slug()))
        };
        CanaryKind::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }
}
