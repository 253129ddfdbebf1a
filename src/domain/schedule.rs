//! When a monitor is looked at, and what people may ask for between two looks.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::Turn;
use crate::domain::monitor::{Monitor, MonitorId};

/// What a person asks of the loops, from a page, the API or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Somebody takes an open incident.
    Acknowledge {
        /// Id of an open incident, a UUIDv7.
        incident: String,
        /// Who, as they wrote it: bounded and free of control characters.
        actor: String,
    },
    /// Somebody accepts a monitor's tools as they are.
    Accept {
        /// Id of the monitor to look at.
        monitor: MonitorId,
        /// The hash of the list that was looked at: another one is not accepted in its place.
        hash: String,
        /// Who, as they wrote it: bounded and free of control characters.
        actor: String,
    },
    /// Look at a monitor now.
    Recheck {
        /// Id of the monitor whose tools are accepted.
        monitor: MonitorId,
    },
}

/// Canaries asked in one beat at most, re-asks included: each is a paid call on somebody's server. What is asked to know
/// how far a fault reaches comes on top, once a fault, as far as the day's calls allow.
pub const ASKS_MAX: usize = 8;
/// `list_sources` is asked this often.
pub const SOURCES_EVERY: Duration = Duration::from_secs(3600);
/// Suspect beats follow the end of a first failed beat after these gaps (DESIGN §4).
pub const SUSPECT_GAPS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];

/// A beat comes up to this part of its interval later than its phase, each time another.
const JITTER_PART: u32 = 20;
/// And never more than this: people count on "every hour" to be near the hour.
const JITTER_MAX: Duration = Duration::from_secs(3);

/// Where in its interval a monitor's beats fall: by the hash of its id, so that a fleet spreads
/// evenly and a restart or an edit elsewhere moves nobody.
pub fn phase(id: &MonitorId, every: Duration) -> Duration {
    Duration::from_micros((hash(id.as_str()) >> 11) % micros(every))
}

/// When a monitor is due, turn after turn. It depends on the wall clock alone, so beats do not drift and a missed one is
/// not made up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    every: Duration,
    phase: Duration,
    /// Beats fall on multiples of it.
    grid: Duration,
    /// By what the jitter of each turn is drawn.
    seed: u64,
}

impl Rhythm {
    /// A monitor whose beats keep to no grid.
    pub fn alone(id: &MonitorId, every: Duration) -> Self {
        Self { every, phase: phase(id, every), grid: Duration::from_micros(1), seed: hash(id.as_str()) }
    }

    /// A monitor with a phase on a grid. All of one host are late together, or jitter would undo their even spread.
    pub fn bunched(host: &str, every: Duration, phase: Duration, grid: Duration) -> Self {
        Self { every, phase, grid, seed: hash(host) }
    }

    /// The first moment after `now` at which the monitor is due.
    ///
    /// Each beat is a little late, by `salt` and its number: two Serins on one server, or a server's own
    /// minutely job and our beat, meet now and then and not every time (MCP.md: pollers must jitter).
    pub fn next_due(&self, salt: u64, now: DateTime<Utc>) -> DateTime<Utc> {
        let every_us = micros(self.every).cast_signed();
        let (phase_us, grid_us) = (micros_or_none(self.phase).cast_signed(), micros(self.grid).cast_signed());
        let now_us = now.timestamp_micros();
        let turn = (now_us - phase_us).div_euclid(every_us);
        // In steps of the grid, the last of which is what rounding up may take.
        let steps = (micros(jitter_max(self.every)) / grid_us.cast_unsigned()).max(1);
        let due = |turn: i64| {
            let late = (mixed(self.seed ^ salt ^ turn.cast_unsigned()) % steps).cast_signed() * grid_us;
            let us = turn.saturating_mul(every_us).saturating_add(phase_us).saturating_add(late);
            // Another grid in each Serin; rounded up, so that no turn is due before it begins.
            let off = (salt % grid_us.cast_unsigned()).cast_signed();
            us.saturating_add((off - us).rem_euclid(grid_us))
        };
        let us = if due(turn) > now_us { due(turn) } else { due(turn + 1) };
        DateTime::from_timestamp_micros(us).unwrap_or(now)
    }
}

/// How much later than its phase a beat may come.
pub fn jitter_max(every: Duration) -> Duration {
    (every / JITTER_PART).clamp(Duration::from_micros(1), JITTER_MAX)
}

/// At least one, since it is divided by; at most what fits a signed number.
fn micros(duration: Duration) -> u64 {
    micros_or_none(duration).max(1)
}

fn micros_or_none(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).min(i64::MAX.cast_unsigned())
}

fn hash(text: &str) -> u64 {
    mixed(
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
    )
}

/// FNV's low bits are weak for short ids; fold the high ones in.
fn mixed(hash: u64) -> u64 {
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The order of a round: the kinds take turns, so that every few beats have heard each arm.
pub fn round(monitor: &Monitor) -> Vec<usize> {
    let canaries = &monitor.canaries;
    let place = |at: usize| canaries[..at].iter().filter(|canary| canary.kind == canaries[at].kind).count();
    let mut order: Vec<usize> = (0..canaries.len()).collect();
    order.sort_by_key(|at| (place(*at), canaries[*at].kind, *at));
    order
}

/// What a beat asks beside its share of the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Doubt<'a> {
    /// Canaries in doubt, the most urgent first.
    pub failing: &'a [&'a str],
    /// Canaries that say nothing of the fault in doubt yet.
    pub unheard: &'a [&'a str],
    /// How many of these the beat should ask.
    pub share: usize,
    /// How many calls the day can spare for them.
    pub spare: usize,
}

/// Which canaries a beat asks: the failing ones again, then the next `per_beat` of the round, then those that tell how
/// far the fault reaches.
///
/// The failing ones come first, so that a beat short of time still confirms or clears what is in
/// doubt; places are kept for the round. `turn` counts the canaries that the round has asked so
/// far. Whatever is asked outside the round is marked as a re-ask.
pub fn asks(monitor: &Monitor, round: &[usize], turn: usize, doubt: Doubt<'_>) -> Vec<(usize, Turn)> {
    if round.is_empty() {
        return Vec::new();
    }
    let per_beat = (monitor.search.per_beat as usize).min(round.len()).min(ASKS_MAX);
    let scheduled: Vec<usize> = (0..per_beat).map(|next| round[(turn + next) % round.len()]).collect();
    let mut again = ASKS_MAX - per_beat;
    let mut asks = Vec::with_capacity(per_beat + doubt.failing.len().min(again));
    for id in doubt.failing {
        let Some(at) = monitor.canaries.iter().position(|canary| canary.id == *id) else { continue };
        if scheduled.contains(&at) {
            asks.push((at, Turn::Scheduled));
        } else if again > 0 {
            again -= 1;
            asks.push((at, Turn::ReAsk));
        }
    }
    let rest = scheduled.iter().filter(|at| !asks.iter().any(|(asked, _)| asked == *at)).copied().collect::<Vec<_>>();
    asks.extend(rest.into_iter().map(|at| (at, Turn::Scheduled)));
    let asked: HashSet<usize> = asks.iter().map(|(at, _)| *at).collect();
    let unheard: HashSet<&str> = doubt.unheard.iter().copied().collect();
    // In the order of the round, so that each kind is heard of early.
    let ahead = (0..round.len()).map(|next| round[(turn + next) % round.len()]);
    let further = ahead.filter(|at| !asked.contains(at) && unheard.contains(monitor.canaries[*at].id.as_str()));
    // What is asked anyway counts towards the share.
    let met = asked.iter().filter(|at| unheard.contains(monitor.canaries[**at].id.as_str())).count();
    let more = doubt.share.saturating_sub(met).min(doubt.spare);
    asks.extend(further.take(more).map(|at| (at, Turn::ReAsk)));
    asks
}

/// When to look again after a first failed beat, to tell a blip from an outage: soon after its end,
/// and once more when `page_after` from its start is over.
pub fn suspects(started_at: DateTime<Utc>, ended_at: DateTime<Utc>, page_after: Duration) -> Vec<DateTime<Utc>> {
    let mut dues: Vec<_> = SUSPECT_GAPS.iter().map(|gap| ended_at + *gap).collect();
    if !page_after.is_zero() {
        dues.push(started_at + page_after);
    }
    dues.sort_unstable();
    dues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::{Canary, CanaryKind};
    use crate::domain::secret::{Address, Secret};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn beats_keep_their_rhythm_and_never_fall_due_at_once() {
        let every = Duration::from_secs(60);
        let id = MonitorId::new("docs");
        let rhythm = Rhythm::alone(&id, every);
        let grid = rhythm.next_due(7, at(0)) - Duration::from_secs(3);
        let mut now = at(0);
        let mut lates = Vec::new();
        for turn in 0..500 {
            let due = rhythm.next_due(7, now);
            assert!(due > now && due <= now + every + Duration::from_secs(3), "within one interval and its jitter");
            let late = (due - (grid + every * turn)).to_std().unwrap();
            assert!(late < Duration::from_secs(6), "beats do not drift: {late:?} after {turn}");
            lates.push(late);
            now = due;
        }
        let (least, most) = (lates.iter().min().unwrap(), lates.iter().max().unwrap());
        assert!(*most - *least > Duration::from_secs(2), "each is late in its own way: {least:?} to {most:?}");
        let first = rhythm.next_due(7, at(0));
        assert_eq!(rhythm.next_due(7, first - Duration::from_micros(1)), first, "looked up again, it stays");
        let missed = rhythm.next_due(7, first + every * 5 / 2);
        assert!(missed > first + every * 5 / 2, "missed beats are not made up for");
    }

    #[test]
    fn two_serins_on_one_server_do_not_beat_in_step() {
        let id = MonitorId::new("docs");
        let every = Duration::from_secs(60);
        let due = |salt, minute: i64| Rhythm::alone(&id, every).next_due(salt, at(minute * 60));
        let together = (0..100_i64).filter(|minute| due(1, *minute) == due(2, *minute)).count();
        assert!(together < 5, "{together} of 100 beats fell on one moment");
    }

    #[test]
    fn a_fleet_spreads_over_its_interval() {
        let every = Duration::from_secs(60);
        let mut slots = [0_u32; 60];
        for number in 0..6000 {
            let phase = phase(&MonitorId::new(&format!("server-{number}")), every);
            slots[usize::try_from(phase.as_secs()).unwrap()] += 1;
        }
        let (least, most) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
        assert!(*least > 60 && *most < 150, "100 a second are expected, {least} to {most} came");
    }

    #[test]
    fn suspect_beats_follow_the_first_failure() {
        let dues = suspects(at(0), at(10), Duration::from_secs(45));
        assert_eq!(dues, [at(15), at(20), at(45)]);
        assert_eq!(suspects(at(0), at(0), Duration::ZERO), [at(5), at(10)]);
    }

    fn monitor(kinds: &[CanaryKind], per_beat: u32) -> Monitor {
        let url = Address { shown: String::new(), resolved: Secret::new("") };
        let mut monitor = Monitor::undeclared("docs", url);
        monitor.search.per_beat = per_beat;
        let canary = |(number, kind): (usize, &CanaryKind)| Canary {
            id: format!("c{number}"),
            query: String::new(),
            kind: *kind,
            expect: Vec::new(),
            within: 3,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        };
        monitor.canaries = kinds.iter().enumerate().map(canary).collect();
        monitor
    }

    #[test]
    fn the_kinds_take_turns_in_a_round() {
        use CanaryKind::{Keyword, Meaning, Negative};
        let monitor = monitor(&[Meaning, Meaning, Meaning, Keyword, Negative, Keyword], 2);
        assert_eq!(round(&monitor), [3, 0, 4, 5, 1, 2], "each kind once, then each again");
    }

    /// How far the round is, who is in doubt, what is asked, and why.
    type Row<'a> = (usize, &'a [&'a str], [Option<(usize, Turn)>; 3], &'a str);

    #[test]
    fn a_beat_asks_its_share_and_what_is_in_doubt() {
        let kinds = [CanaryKind::Mixed; 12];
        let (two, many) = (monitor(&kinds, 2), monitor(&kinds, 50));
        let (scheduled, again) = (Turn::Scheduled, Turn::ReAsk);
        let rows: [Row<'_>; 5] = [
            (0, &[], [Some((0, scheduled)), Some((1, scheduled)), None], "the first of the round"),
            (11, &[], [Some((11, scheduled)), Some((0, scheduled)), None], "the round has no end"),
            (
                2,
                &["c9"],
                [Some((9, again)), Some((2, scheduled)), Some((3, scheduled))],
                "what is in doubt comes first",
            ),
            (
                2,
                &["c3"],
                [Some((3, scheduled)), Some((2, scheduled)), None],
                "a canary whose turn it is anyway is asked once",
            ),
            (2, &["gone"], [Some((2, scheduled)), Some((3, scheduled)), None], "a canary that is gone is not asked"),
        ];
        for (turn, failing, expected, sentence) in rows {
            let expected: Vec<_> = expected.into_iter().flatten().collect();
            let doubt = Doubt { failing, ..Doubt::default() };
            assert_eq!(asks(&two, &round(&two), turn, doubt), expected, "{sentence}");
        }
        let all: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        for monitor in [&two, &many] {
            let asked = asks(monitor, &round(monitor), 4, Doubt { failing: &all, ..Doubt::default() });
            assert_eq!(asked.len(), ASKS_MAX, "however much is in doubt, a beat has its limit");
        }
        let doubt = Doubt { failing: &["c0"], ..Doubt::default() };
        assert_eq!(asks(&monitor(&[], 2), &[], 0, doubt), [], "no canaries, nothing asked");
    }

    #[test]
    fn a_fault_in_doubt_has_the_others_asked_too() {
        let one = monitor(&[CanaryKind::Mixed; 6], 1);
        let check = |unheard: &[&str], share: usize, spare: usize, expected: &[usize], sentence: &str| {
            let doubt = Doubt { failing: &["c0"], unheard, share, spare };
            let asked = asks(&one, &round(&one), 1, doubt);
            let places: Vec<usize> = asked.iter().map(|(at, _)| *at).collect();
            assert_eq!(places, expected, "{sentence}");
            let outside = |(at, turn): &(usize, Turn)| *at == 1 || *turn == Turn::ReAsk;
            assert!(asked.iter().all(outside), "what the round did not ask is marked: {asked:?}");
        };
        let others = ["c1", "c2", "c3", "c4", "c5"];
        check(&others, 5, 100, &[0, 1, 2, 3, 4, 5], "all of them, what is in doubt first");
        check(&others, 3, 100, &[0, 1, 2, 3], "or a share, to which the round's own counts");
        check(&others, 5, 2, &[0, 1, 2, 3], "as many as the day can spare");
        check(&others, 5, 0, &[0, 1], "and none where it can spare none: the beat goes on as ever");
        check(&["c5", "c0", "gone"], 3, 100, &[0, 1, 5], "what was heard is not asked again");
    }
}
