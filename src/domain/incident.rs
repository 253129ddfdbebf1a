//! From levels to incidents: when one opens, and when it ends.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::flapping::Flapping;
use crate::domain::monitor::MonitorId;
use crate::domain::outcome::{Evidence, IN_OTHER_WORDS};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::RulePlace;
use crate::domain::signal::{HeldBy, Level, Micros, Phase, Signal, SignalState};
use crate::domain::unclaimed::Unclaimed;

/// One monitor × one signal × one subject, from opening to resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// A UUIDv7: sorts by when it opened.
    pub id: String,
    /// Id of the monitor it belongs to.
    pub monitor: MonitorId,
    /// The signal that was elevated.
    pub signal: Signal,
    /// Which part of the signal; empty where it has no parts.
    pub subject: String,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: FailureReason,
    /// Where it showed, as the stage's word.
    pub stage: String,
    /// One line that starts with the monitor's id; follows what is so, told or not.
    pub summary: String,
    /// What was seen; of an ended one whose extent was counted, what was seen at its worst.
    pub evidence: Vec<Evidence>,
    /// The rule that led here.
    pub rule: RulePlace,
    /// When its signal had been elevated long enough, UTC.
    pub opened_at: DateTime<Utc>,
    /// When its signal had been calm long enough, UTC; none while it is open.
    pub resolved_at: Option<DateTime<Utc>>,
    /// None while it is open.
    pub resolve_cause: Option<ResolveCause>,
    /// Who took it, and when.
    pub acknowledged: Option<(String, DateTime<Utc>)>,
    /// The sequence of its latest notification.
    pub sequence: u32,
    /// What is remembered of it from beat to beat.
    pub course: Course,
}

/// What an open incident remembers, so that what is told next follows from it and from what is so now. Empty in
/// incidents of older versions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// What people were told last.
    pub told: Option<ToldAs>,
    /// When they were last told of a change.
    pub updated_at: Option<DateTime<Utc>>,
    /// The fault's first wrong answer, where answers are counted.
    pub since: Option<DateTime<Utc>>,
    /// It at its greatest extent, where answers are counted.
    pub worst: Option<Worst>,
    /// Since when people know of it and nobody has it; none while somebody has, or nobody was told.
    pub unclaimed: Option<Unclaimed>,
    /// What keeps it open although it is calm, where it opened too often.
    pub flapping: Option<Flapping>,
    /// Since when it was calm, where it ended by that.
    pub calm_since: Option<DateTime<Utc>>,
    /// The first of the beats in a row that led to it; none in incidents of older versions.
    pub began_at: Option<DateTime<Utc>>,
}

/// What is told of an incident, as far as a change of it is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldAs {
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: FailureReason,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// How far it reaches, where that is counted.
    pub reach: Option<IncidentReach>,
}

/// A fault's extent as people hear of it; crossing from one to the next is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IncidentReach {
    /// Less than half of the canaries asked.
    Some,
    /// At least half, and not all.
    Half,
    /// All of the canaries asked.
    All,
}

impl IncidentReach {
    /// The word that stands in the database for it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Some => "some",
            Self::Half => "half",
            Self::All => "all",
        }
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Some, Self::Half, Self::All].into_iter().find(|reach| reach.slug() == slug)
    }
}

/// An incident at its greatest extent: what its end is told with.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// The reason at that extent.
    pub reason: FailureReason,
    /// How many of the canaries asked were wrong.
    pub wrong: usize,
    /// How many canaries had been asked.
    pub asked: usize,
    /// One line that starts with the monitor's id, in the past tense.
    pub summary: String,
    /// Key and value of each thing seen, in the order in which it is shown.
    pub evidence: Vec<Evidence>,
}

/// The most by which covered time may miss its length and still count as having reached it.
const SLACK_MAX: Duration = Duration::from_millis(500);

/// Two updates of one incident are at least so far apart: whoever is awake for it has no use for a running commentary.
pub const UPDATES_APART: Duration = Duration::from_secs(300);

impl ToldAs {
    /// Whether people would now be told something else. A reach that nobody counted before is no news.
    pub fn differs(&self, before: &Self) -> bool {
        let crossed = matches!((self.reach, before.reach), (Some(now), Some(before)) if now != before);
        self.reason != before.reason || self.severity != before.severity || crossed
    }

    /// Whether it is louder, or reaches further.
    pub fn is_worse(&self, before: &Self) -> bool {
        self.severity > before.severity
            || matches!((self.reach, before.reach), (Some(now), Some(before)) if now > before)
    }
}

impl Course {
    /// Whether a change may be told: the last one was told long enough ago, or this one is louder and has to wake somebody.
    pub fn lets_tell(&self, louder: bool, now: DateTime<Utc>) -> bool {
        // A clock that was set back must not keep a change from anybody.
        let rested = |at: DateTime<Utc>| (now - at).abs().to_std().is_ok_and(|age| age >= UPDATES_APART);
        louder || self.updated_at.is_none_or(rested)
    }
}

/// What closed an incident: the server, the file, a person, or another incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveCause {
    /// The signal was calm for long enough.
    Recovered,
    /// A newer incident carries the same cause; so ended some in the database of an older version.
    Absorbed {
        /// Id of the incident that goes on in its place.
        into: String,
    },
    /// The rule was edited, and it no longer warrants an incident.
    RuleChanged,
    /// The monitor was removed from the file.
    MonitorRemoved,
    /// The new tools were accepted.
    Accepted,
}

impl ResolveCause {
    /// The word stored and shown.
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Absorbed { .. } => "absorbed",
            Self::RuleChanged => "rule_changed",
            Self::MonitorRemoved => "monitor_removed",
            Self::Accepted => "accepted",
        }
    }
}

/// What it takes to leave a phase: so many readings in a row, over so much covered time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Readings in a row.
    pub readings: u32,
    /// Covered time from the first of them to the last.
    pub covered: Duration,
}

impl Need {
    /// So many readings, however long they take.
    pub const fn readings(readings: u32) -> Self {
        Self { readings, covered: Duration::ZERO }
    }

    /// At least two readings, over so much covered time.
    pub const fn covered(covered: Duration) -> Self {
        Self { readings: 1, covered }
    }

    pub(in crate::domain) fn is_met(self, streak: u32, covered: Duration) -> bool {
        streak >= self.readings && covered + self.slack() >= self.covered
    }

    /// Beats stand on a grid of their own, and a length that is a multiple of it is met by the beat on it: not by that
    /// one or the next, as milliseconds of lateness would have it. Starts are kept to the hundredth of a second, so that
    /// a replay of what is kept comes to the same beat.
    fn slack(self) -> Duration {
        (self.covered / 100).min(SLACK_MAX)
    }
}

/// What it takes to open and to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Elevated readings.
    pub open: Need,
    /// Calm readings.
    pub close: Need,
}

/// What a step did to the incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentTurn {
    /// Elevated for as long as the rule says: an incident begins.
    Opened,
    /// Calm for as long as the rule says: it is over.
    Resolved,
}

impl Incident {
    /// Since when something is wrong, as people are told: the first failed beat that led to it, or the first wrong answer
    /// where answers are counted. It was confirmed at `opened_at`.
    pub fn since(&self) -> DateTime<Utc> {
        let known = [self.course.since, self.course.began_at, Some(self.opened_at)];
        known.into_iter().flatten().min().unwrap_or(self.opened_at)
    }

    /// The command that shows it again. What a cache answers shows where one asks as users do, and what a canary's other
    /// words bring where each of them is asked.
    pub fn reproduce(&self) -> String {
        if self.evidence.iter().any(|said| said.value.contains(IN_OTHER_WORDS)) && self.signal == Signal::Quality {
            return format!("serin canary lint {}", self.monitor);
        }
        let is_of_cache = matches!(self.reason, FailureReason::CacheStale | FailureReason::CacheFalseHit);
        format!("serin probe {}{}", self.monitor, if is_of_cache { " --plain" } else { "" })
    }
}

/// Takes one reading into a signal's state.
///
/// `covered` is the time since the last reading during which we were looking; time unseen neither
/// opens nor resolves. `held` is why an opening is held back just now; it never holds a resolution.
pub fn step(
    state: &SignalState,
    level: Level,
    covered: Duration,
    thresholds: Thresholds,
    held: Option<HeldBy>,
    now: DateTime<Utc>,
) -> (SignalState, Option<IncidentTurn>) {
    let first = |phase, held_by| SignalState { streak: 1, held_by, ..in_phase(phase, now) };
    let longer = |held_by| SignalState {
        streak: state.streak + 1,
        covered: state.covered.and(covered),
        held_by,
        ..state.clone()
    };
    match (state.phase, level) {
        (_, Level::Unknown) | (Phase::Quiet, Level::Calm) | (Phase::Open, Level::Elevated) => (state.clone(), None),
        (Phase::Quiet, Level::Elevated) => advance(first(Phase::Pending, held), thresholds, now),
        (Phase::Pending, Level::Elevated) => advance(longer(held), thresholds, now),
        (Phase::Pending, Level::Calm) => (SignalState::quiet(now), None),
        (Phase::Open, Level::Calm) => advance(first(Phase::Clearing, None), thresholds, now),
        (Phase::Clearing, Level::Calm) => advance(longer(None), thresholds, now),
        (Phase::Clearing, Level::Elevated) => (in_phase(Phase::Open, now), None),
    }
}

/// Stays in a waiting phase, or leaves it where its need is met and nothing holds it.
pub(in crate::domain) fn advance(
    waiting: SignalState,
    thresholds: Thresholds,
    now: DateTime<Utc>,
) -> (SignalState, Option<IncidentTurn>) {
    let (need, next, turn) = match waiting.phase {
        Phase::Pending => (thresholds.open, Phase::Open, IncidentTurn::Opened),
        _ => (thresholds.close, Phase::Quiet, IncidentTurn::Resolved),
    };
    if need.is_met(waiting.streak, waiting.covered.length()) && waiting.held_by.is_none() {
        return (in_phase(next, now), Some(turn));
    }
    (waiting, None)
}

const fn in_phase(phase: Phase, now: DateTime<Utc>) -> SignalState {
    SignalState { phase, since: now, streak: 0, covered: Micros::ZERO, held_by: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAR: Thresholds = Thresholds { open: Need::readings(3), close: Need::readings(2) };

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    /// The rules once more, told from the whole history instead of step by step.
    fn expected(readings: &[Level], thresholds: Thresholds) -> (bool, Vec<IncidentTurn>) {
        let seen: Vec<Level> = readings.iter().copied().filter(|level| *level != Level::Unknown).collect();
        let (mut open, mut turns) = (false, Vec::new());
        let mut run = 0;
        for level in seen {
            let speaks = level == if open { Level::Calm } else { Level::Elevated };
            run = if speaks { run + 1 } else { 0 };
            let need = if open { thresholds.close.readings } else { thresholds.open.readings };
            if run == need {
                turns.push(if open { IncidentTurn::Resolved } else { IncidentTurn::Opened });
                open = !open;
                run = 0;
            }
        }
        (open, turns)
    }

    #[test]
    fn every_sequence_of_nine_readings_goes_as_told() {
        const LEVELS: [Level; 3] = [Level::Calm, Level::Elevated, Level::Unknown];
        for number in 0..3_usize.pow(9) {
            let readings: Vec<Level> = (0..9_u32).map(|place| LEVELS[number / 3_usize.pow(place) % 3]).collect();
            let mut state = SignalState::quiet(at(0));
            let mut turns = Vec::new();
            for (second, level) in (1..).zip(&readings) {
                let (next, turn) = step(&state, *level, Duration::from_secs(1), BAR, None, at(second));
                turns.extend(turn);
                state = next;
            }
            let (open, told) = expected(&readings, BAR);
            assert_eq!((state.phase.has_incident(), turns), (open, told), "{readings:?}");
        }
    }

    #[test]
    fn covered_time_counts_and_unseen_time_does_not() {
        let thresholds =
            Thresholds { open: Need { readings: 3, covered: Duration::from_secs(45) }, close: Need::readings(2) };
        let mut state = SignalState::quiet(at(0));
        for (second, covered) in [(0, 0), (5, 5), (10, 5), (44, 34)] {
            let (next, turn) =
                step(&state, Level::Elevated, Duration::from_secs(covered), thresholds, None, at(second));
            assert_eq!(turn, None, "44 s of failure are not 45");
            state = next;
        }
        let (unseen, _) = step(&state, Level::Unknown, Duration::from_secs(600), thresholds, None, at(644));
        assert_eq!(unseen, state, "ten minutes without a look change nothing");
        let (_, turn) = step(&unseen, Level::Elevated, Duration::from_secs(1), thresholds, None, at(645));
        assert_eq!(turn, Some(IncidentTurn::Opened), "one more covered second does");
    }

    #[test]
    fn lateness_of_milliseconds_does_not_decide_which_beat_it_is() {
        let thresholds = Thresholds { open: Need::covered(Duration::from_secs(120)), close: Need::readings(2) };
        for (late_ms, sentence) in [(0, "on time"), (7, "the first beat was late"), (-7, "the last one was")] {
            let start = SignalState::quiet(at(0));
            let (first, _) = step(&start, Level::Elevated, Duration::ZERO, thresholds, None, at(0));
            let minute = Duration::from_secs(60);
            let (second, turn) = step(&first, Level::Elevated, minute, thresholds, None, at(60));
            assert_eq!(turn, None, "one minute is not two");
            let covered = Duration::from_millis((60_000_i64 - late_ms).cast_unsigned());
            let (_, turn) = step(&second, Level::Elevated, covered, thresholds, None, at(120));
            assert_eq!(turn, Some(IncidentTurn::Opened), "{sentence}");
        }
    }

    #[test]
    fn what_is_held_stays_pending_and_opens_when_let_go() {
        let mut state = SignalState::quiet(at(0));
        for second in 1..10 {
            let (next, turn) =
                step(&state, Level::Elevated, Duration::from_secs(1), BAR, Some(HeldBy::ColdStart), at(second));
            assert_eq!((next.phase, turn), (Phase::Pending, None), "held");
            state = next;
        }
        assert_eq!(state.held_by, Some(HeldBy::ColdStart));
        let (state, turn) = step(&state, Level::Elevated, Duration::from_secs(1), BAR, None, at(10));
        assert_eq!((state.phase, turn), (Phase::Open, Some(IncidentTurn::Opened)), "let go");
        let (_, turn) = step(&state, Level::Calm, Duration::from_secs(1), BAR, Some(HeldBy::ColdStart), at(11));
        assert_eq!(turn, None);
    }
}
