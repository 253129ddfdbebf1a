//! How often a server is probed just now: as the file says, unless the server asked for quiet or a cap comes near.
//!
//! A 429 is heard whoever it was said to: no beat starts before the server's `Retry-After` is over, and without one
//! the gap doubles. A cap never ends the watch early in the day: beats are spaced so that it lasts until midnight (UTC),
//! with a share kept back for suspect beats and looks that a person asks for. What is not seen meanwhile is unknown.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::fault::FaultKind;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Footprint, Observation};

/// The longest quiet that a server is granted: a broken header must not switch the watch off for a year.
pub const QUIET_MAX: Duration = Duration::from_secs(3600);
/// Without a `Retry-After` the gap doubles with each 429 in a row, up to this often: eight intervals.
const QUIET_DOUBLINGS_MAX: u32 = 3;
/// The share of a cap that scheduled beats leave to suspect beats and re-checks.
const RESERVE: f64 = 0.1;
/// Questions to each canary outside the round that any day can bear: two faults, each asked about once and once again
/// when it ends.
const FURTHER_ROUNDS: f64 = 4.0;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The quiet that a server asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quiet {
    /// No beat by the schedule starts before.
    pub until: Option<DateTime<Utc>>,
    /// Its `Retry-After`, where it gave one.
    pub asked: Option<Duration>,
    in_a_row: u32,
}

impl Quiet {
    /// Takes in whether a probe was told to slow down, at any stage.
    pub fn hear(&mut self, seen: &Observation, every: Duration) {
        let faults = seen.steps.iter().filter_map(|step| step.fault.as_ref());
        let told = faults.filter_map(|fault| match fault.kind {
            FaultKind::RateLimited { retry_after_seconds } => Some(retry_after_seconds),
            _ => None,
        });
        // Several 429 in one probe: the longest wish counts.
        let Some(asked) = told.reduce(Option::max) else {
            *self = Self::default();
            return;
        };
        self.in_a_row += 1;
        self.asked = asked.map(|seconds| Duration::from_secs(seconds.into()));
        let doubled = every * 2_u32.pow(self.in_a_row.min(QUIET_DOUBLINGS_MAX));
        let gap = self.asked.unwrap_or(doubled).min(QUIET_MAX);
        self.until = Some(seen.started_at + seen.elapsed + gap);
    }
}

/// What probes cost a server on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Days since 1970-01-01, UTC.
    pub day: i64,
    /// Beats made that day, of every kind.
    pub beats: u64,
    /// What those beats cost the server, summed up.
    pub footprint: Footprint,
}

impl Spent {
    /// The number of a moment's day.
    pub fn day_of(at: DateTime<Utc>) -> i64 {
        at.timestamp().div_euclid(DAY.as_secs() as i64)
    }

    /// One beat more, on the same day.
    pub fn add(&mut self, cost: Footprint) {
        self.beats += 1;
        self.footprint = self.footprint.plus(cost);
    }

    fn ends_at(&self) -> DateTime<Utc> {
        DateTime::from_timestamp((self.day + 1) * DAY.as_secs() as i64, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// Why a beat is not made just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The server asked for quiet.
    Quiet {
        /// When the server may be asked again, UTC.
        until: DateTime<Utc>,
        /// Its `Retry-After`; none: our own doubling gap.
        asked: Option<Duration>,
    },
    /// A cap is used up.
    Spent {
        /// The cap that holds it back.
        cap: Cap,
        /// Midnight UTC, when caps begin anew.
        until: DateTime<Utc>,
    },
    /// Beats are spaced so that a cap lasts the day.
    Spaced {
        /// The cap that holds it back.
        cap: Cap,
        /// The time from one beat to the next that it allows.
        every: Duration,
    },
}

/// A cap of the file, with its figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// So many requests a day (UTC).
    Requests(u64),
    /// Bytes a day, both directions.
    Bytes(u64),
}

/// Why a beat of this kind is not to be made now; none: it may be. `last_at` is the start of the beat before.
///
/// A look that a person asked for is held by nothing.
pub fn hold(
    monitor: &Monitor,
    kind: BeatKind,
    quiet: &Quiet,
    today: &Spent,
    last_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<Hold> {
    if !matches!(kind, BeatKind::Scheduled | BeatKind::Suspect) {
        return None;
    }
    // A quiet that ends later than any may was reckoned by a clock that was set back since.
    let lasts = |until: &DateTime<Utc>| (*until - now).to_std().is_ok_and(|left| left <= QUIET_MAX * 2);
    if let Some(until) = quiet.until.filter(|until| *until > now && lasts(until)) {
        return Some(Hold::Quiet { until, asked: quiet.asked });
    }
    let today =
        if today.day == Spent::day_of(now) { *today } else { Spent { day: Spent::day_of(now), ..Spent::default() } };
    caps(monitor).find_map(|cap| capped(monitor.every, cap, kind, &today, last_at, now))
}

/// How many calls the day can spare to learn how far a fault reaches: what is left of the caps once the schedule has its
/// share for the rest of the day, which is the tenth kept back, or more where the schedule takes less.
///
/// Without a cap on requests the day's stated calls are one, with a tenth on top, or four questions to each canary where that is
/// more: a canary that is wrong every other time must not double what a server was told to expect.
pub fn spare_calls(monitor: &Monitor, today: &Spent, now: DateTime<Utc>) -> usize {
    let planned = monitor.calls_per_day() as f64;
    let kept_back = (planned * RESERVE).max(monitor.canaries.len() as f64 * FURTHER_ROUNDS);
    let stated = planned + kept_back;
    let today = if today.day == Spent::day_of(now) { *today } else { Spent::default() };
    let used = f64::from(today.footprint.requests);
    let ends_at = Spent { day: Spent::day_of(now), ..Spent::default() }.ends_at();
    let left_of_day = (ends_at - now).to_std().unwrap_or_default().as_secs_f64() / DAY.as_secs_f64();
    let spare = |limit: f64| limit - used - planned.min(limit * (1.0 - RESERVE)) * left_of_day;
    let bytes = today.footprint.bytes_out.saturating_add(today.footprint.bytes_in) as f64;
    let requests = monitor.caps.requests_per_day;
    let by_requests = requests.map_or(stated - used - planned * left_of_day, |limit| spare(limit as f64));
    let by_bytes = match monitor.caps.bytes_per_day {
        None => by_requests,
        // The day's first beat shows what a call costs.
        Some(_) if bytes < 1.0 => 0.0,
        Some(limit) => spare(limit as f64 * used / bytes),
    };
    let least = by_requests.min(by_bytes);
    least.max(0.0) as usize
}

fn caps(monitor: &Monitor) -> impl Iterator<Item = Cap> {
    let requests = monitor.caps.requests_per_day.map(Cap::Requests);
    let bytes = monitor.caps.bytes_per_day.map(Cap::Bytes);
    requests.into_iter().chain(bytes)
}

fn capped(
    every: Duration,
    cap: Cap,
    kind: BeatKind,
    today: &Spent,
    last_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<Hold> {
    let (limit, used) = match cap {
        Cap::Requests(limit) => (limit, today.footprint.requests.into()),
        Cap::Bytes(limit) => (limit, today.footprint.bytes_out.saturating_add(today.footprint.bytes_in)),
    };
    // The first beat of a day shows what one costs.
    if today.beats == 0 {
        return None;
    }
    let a_beat = (used as f64 / today.beats as f64).max(1.0);
    let until = today.ends_at();
    let share = if kind == BeatKind::Scheduled { 1.0 - RESERVE } else { 1.0 };
    let left = limit as f64 * share - used as f64;
    if left < a_beat {
        return Some(Hold::Spent { cap, until });
    }
    let (BeatKind::Scheduled, Some(last_at)) = (kind, last_at) else { return None };
    let left_of_day = (until - now).to_std().unwrap_or_default();
    let spaced = left_of_day.mul_f64((a_beat / left).clamp(0.0, 1.0));
    // Beats fall on the grid of `every`, so half a step is as near as they come.
    // A beat of later than now was made before the clock was set back, whenever that was.
    let since = (now - last_at).to_std().unwrap_or(Duration::MAX);
    (spaced > every && since.saturating_add(every / 2) < spaced).then_some(Hold::Spaced { cap, every: spaced })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Fault;
    use crate::domain::monitor::{Canary, CanaryKind, Caps, MonitorId};
    use crate::domain::observation::{Phases, Stage, Step};
    use crate::domain::secret::{Address, Secret};

    const EVERY: Duration = Duration::from_secs(60);

    fn at(second: i64) -> DateTime<Utc> {
        // The first second of a day.
        DateTime::from_timestamp(20_000 * 86_400 + second, 0).unwrap()
    }

    fn throttled(answers: &[Option<u32>]) -> Observation {
        let step = |retry_after_seconds: &Option<u32>| Step {
            stage: Stage::Search,
            label: String::new(),
            elapsed: Duration::ZERO,
            phases: Phases::default(),
            fresh_connection: false,
            fault: Some(Fault {
                kind: FaultKind::RateLimited { retry_after_seconds: *retry_after_seconds },
                detail: String::new(),
            }),
            notes: Vec::new(),
        };
        Observation {
            steps: answers.iter().map(step).collect(),
            ..Observation::blank(MonitorId::new("m"), BeatKind::Scheduled, at(0), at(0))
        }
    }

    #[test]
    fn a_server_that_asks_for_quiet_gets_it() {
        /// Probes, each with the `Retry-After` of its 429s; until when it is quiet; a sentence.
        type Row<'a> = (&'a [&'a [Option<u32>]], Option<i64>, &'a str);
        let rows: [Row<'_>; 8] = [
            (&[&[]], None, "nothing was asked"),
            (&[&[Some(120)]], Some(120), "its own figure counts"),
            (&[&[Some(5)]], Some(5), "a short one too: the schedule is slower anyway"),
            (&[&[Some(90_000)]], Some(3_600), "but not for longer than an hour"),
            (&[&[None]], Some(120), "without a figure the gap doubles"),
            (&[&[None], &[None], &[None], &[None]], Some(480), "up to eight intervals"),
            (&[&[None], &[None], &[]], None, "and is over with the first beat that was let through"),
            (&[&[Some(5), None, Some(40)]], Some(40), "several in one probe: the longest counts"),
        ];
        for (probes, expected, sentence) in rows {
            let mut quiet = Quiet::default();
            probes.iter().for_each(|answers| quiet.hear(&throttled(answers), EVERY));
            assert_eq!(quiet.until, expected.map(at), "{sentence}");
        }
    }

    fn check(sentence: &str, kind: BeatKind, requests: u64, beats: u64, now: i64, expected: &str) {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.caps.requests_per_day = Some(1_000);
        let footprint = Footprint { requests: requests.try_into().unwrap(), ..Footprint::default() };
        let today = Spent { day: 20_000, beats, footprint };
        let held = hold(&monitor, kind, &Quiet::default(), &today, Some(at(now) - EVERY), at(now));
        let got = match held {
            None => "made".to_owned(),
            Some(Hold::Spaced { every, .. }) => format!("every {} s", every.as_secs()),
            Some(Hold::Spent { until, .. }) => format!("not before {}", (until - at(0)).num_seconds()),
            Some(Hold::Quiet { .. }) => "quiet".to_owned(),
        };
        assert_eq!(got, expected, "{sentence}");
    }

    #[test]
    fn a_cap_lasts_the_day() {
        use BeatKind::{Recheck, Scheduled, Suspect};
        check("the first beat shows what one costs", Scheduled, 0, 0, 60, "made");
        check("900 requests at 5 a beat are 180 beats a day", Scheduled, 5, 1, 0, "every 482 s");
        check("what is left is spread over what is left of the day", Scheduled, 450, 90, 43_200, "every 480 s");
        check("late in the day there is enough", Scheduled, 450, 90, 82_800, "made");
        check("a tenth is kept back from the schedule", Scheduled, 897, 179, 80_000, "not before 86400");
        check("for suspect beats", Suspect, 897, 179, 80_000, "made");
        check("until that is gone too", Suspect, 998, 199, 80_000, "not before 86400");
        check("a person may always look", Recheck, 5_000, 200, 80_000, "made");
        check("a new day begins with nothing spent", Scheduled, 5_000, 200, 86_460, "made");
    }

    #[test]
    fn a_clock_that_was_set_back_holds_no_beat_for_hours() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.caps.requests_per_day = Some(1_000);
        let footprint = Footprint { requests: 450, ..Footprint::default() };
        let today = Spent { day: 20_000, beats: 90, footprint };
        let now = 43_200;
        let quiet = |until| Quiet { until: Some(at(until)), ..Quiet::default() };
        let rows = [
            (Quiet::default(), now - 60, true, "beats are spaced"),
            (Quiet::default(), now + 10_800, false, "but not from one that is made in three hours"),
            (quiet(now + 3_600), now - 600, true, "a server has its quiet"),
            (quiet(now + 10_800), now - 600, false, "but not until hours from now, which none may ask for"),
        ];
        for (quiet, last_at, expected, sentence) in rows {
            let held = hold(&monitor, BeatKind::Scheduled, &quiet, &today, Some(at(last_at)), at(now));
            assert_eq!(held.is_some(), expected, "{sentence}: {held:?}");
        }
    }

    #[test]
    fn what_a_day_can_spare_is_what_the_schedule_leaves() {
        const NOON: i64 = 43_200;
        // Every minute one canary: 5 calls a beat, 7,200 a day.
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.search.per_beat = 1;
        monitor.canaries = (0..5).map(|_| canary()).collect();
        let spare = |caps: Caps, requests: u32, bytes: u64, now: i64| {
            let monitor = Monitor { caps, ..monitor.clone() };
            let footprint = Footprint { requests, bytes_in: bytes, ..Footprint::default() };
            spare_calls(&monitor, &Spent { day: 20_000, beats: 1, footprint }, at(now))
        };
        let requests = |limit| Caps { requests_per_day: Some(limit), ..Caps::default() };
        let bytes = |limit| Caps { bytes_per_day: Some(limit), ..Caps::default() };
        let rows = [
            (spare(Caps::default(), 0, 0, 0), 720, "a tenth of the stated calls on top of them"),
            (spare(Caps::default(), 3_600, 0, NOON), 720, "which is there as long as nothing else was asked"),
            (spare(Caps::default(), 4_320, 0, NOON), 0, "and not twice"),
            (spare(requests(20_000), 0, 0, 0), 12_800, "a cap far above the schedule leaves all the rest"),
            (spare(requests(5_000), 2_250, 0, NOON), 500, "one that spaces the schedule leaves the tenth kept back"),
            (spare(requests(5_000), 5_000, 0, NOON), 0, "and nothing once it is used up"),
            (spare(requests(5_000), 2_750, 0, NOON), 0, "and not twice"),
            (spare(bytes(5_000_000), 2_250, 2_250_000, NOON), 500, "bytes are worth as many calls as they carried"),
            (spare(bytes(5_000_000), 0, 0, NOON), 0, "and none before the day's first beat showed what one costs"),
        ];
        for (got, expected, sentence) in rows {
            assert_eq!(got, expected, "{sentence}");
        }
        monitor.every = Duration::from_secs(24 * 3600);
        let rarely = spare_calls(&monitor, &Spent { day: 20_000, ..Spent::default() }, at(0));
        assert_eq!(rarely, 20, "a monitor that is rarely looked at may ask each canary four times all the same");
    }

    fn canary() -> Canary {
        Canary {
            id: String::new(),
            query: String::new(),
            kind: CanaryKind::Mixed,
            expect: Vec::new(),
            within: 3,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        }
    }

    #[test]
    fn quiet_holds_suspects_and_no_person() {
        let monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        let quiet = Quiet { until: Some(at(30)), asked: None, in_a_row: 1 };
        for (kind, now, held) in [
            (BeatKind::Scheduled, 29, true),
            (BeatKind::Suspect, 29, true),
            (BeatKind::Scheduled, 30, false),
            (BeatKind::Recheck, 29, false),
        ] {
            assert_eq!(
                hold(&monitor, kind, &quiet, &Spent::default(), None, at(now)).is_some(),
                held,
                "{kind:?} {now}"
            );
        }
    }
}
