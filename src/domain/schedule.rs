//! When a monitor is looked at, and what people may ask for between two looks.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::{Turn, Variant};
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::search::Fresh;

/// Canaries asked in one beat at most, re-asks included: each is a paid call on somebody's server. What is asked to know
/// how far a fault reaches comes on top, once a fault, and a question that is asked twice, as far as the day's calls allow.
pub const ASKS_MAX: usize = 8;
/// `list_sources` is asked this often.
pub const SOURCES_EVERY: Duration = Duration::from_secs(3600);
/// Suspect beats follow the end of a first failed beat after these gaps (DESIGN §4).
pub const SUSPECT_GAPS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];

/// In one round of so many a canary is asked plainly, where the server knows a way past its caches.
pub const PLAIN_EVERY: u32 = 5;

/// A monitor not seen for so many intervals is unknown, whatever it was.
const STALE_INTERVALS: u32 = 3;

/// A beat comes up to this part of its interval later than its phase, each time another.
const JITTER_PART: u32 = 20;
/// And never more than this: people count on "every hour" to be near the hour.
const JITTER_MAX: Duration = Duration::from_secs(3);

/// The age from which on what was seen of a monitor says nothing of now.
pub fn stale_after(monitor: &Monitor) -> Duration {
    monitor.every * STALE_INTERVALS + monitor.timeout
}

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

/// One canary that a beat means to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedAsk {
    /// Its place in the monitor's list.
    pub canary: usize,
    /// Why it is asked.
    pub turn: Turn,
    /// How. A server that knows no way past its caches is asked plainly all the same.
    pub variant: Variant,
    /// In which of its other words, where it is asked so: counted from 0, and round again behind the last.
    pub wording: u32,
}

impl PlannedAsk {
    /// Every canary of a monitor, once and in its order.
    pub fn every(monitor: &Monitor, variant: Variant) -> Vec<Self> {
        (0..monitor.canaries.len()).map(|canary| Self::new(canary, Turn::Scheduled, variant)).collect()
    }

    /// In the first of its other words, where it is asked in these.
    pub const fn new(canary: usize, turn: Turn, variant: Variant) -> Self {
        Self { canary, turn, variant, wording: 0 }
    }

    const fn reaches_index(&self, knows_way: bool) -> bool {
        match self.variant {
            Variant::Fresh => true,
            Variant::Reworded => false,
            Variant::Plain => !knows_way,
        }
    }
}

/// What a beat asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BeatAsks {
    /// Canaries in the order in which they are asked.
    pub asks: Vec<PlannedAsk>,
    /// What is asked as well as soon as one of these answers is wrong, by the place in the monitor's list.
    pub further: Vec<usize>,
    /// One of them once more, its question altered.
    pub altered: Option<PlannedAsk>,
}

/// What a beat asks beside its share of the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Doubt<'a> {
    /// Canaries in doubt, the most urgent first, each with how it is asked again.
    pub failing: &'a [(&'a str, Variant)],
    /// Whether the server knows a way past its caches, so that what a cache answers wrongly is asked past it as well.
    pub knows_way: bool,
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
pub fn asks(monitor: &Monitor, round: &[usize], turn: usize, doubt: Doubt<'_>) -> Vec<PlannedAsk> {
    if round.is_empty() {
        return Vec::new();
    }
    let per_beat = (monitor.search.per_beat as usize).min(round.len()).min(ASKS_MAX);
    let scheduled: Vec<usize> = (0..per_beat).map(|next| round[(turn + next) % round.len()]).collect();
    let mut again = ASKS_MAX - per_beat;
    let mut asks = Vec::with_capacity(per_beat + doubt.failing.len().min(again));
    for (id, variant) in doubt.failing {
        let Some(canary) = monitor.canaries.iter().position(|canary| canary.id == *id) else { continue };
        let past = past_caches(monitor, canary, doubt.knows_way);
        let first = match (past, *variant) {
            // Other words are another question: it is right where the question itself is not wrong, so both are asked.
            (Some(Variant::Reworded), _) => Variant::Plain,
            (Some(past), Variant::Reworded) => past,
            (_, variant) => variant,
        };
        let in_turn = scheduled.contains(&canary);
        if in_turn || again > 0 {
            again -= usize::from(!in_turn);
            let turn = if in_turn { Turn::Scheduled } else { Turn::ReAsk };
            asks.push(PlannedAsk::new(canary, turn, first));
        }
        let past = past.filter(|_| first == Variant::Plain && again > 0);
        if let Some(past) = past.filter(|_| asks.last().is_some_and(|ask| ask.canary == canary)) {
            again -= 1;
            asks.push(PlannedAsk::new(canary, Turn::ReAsk, past));
        }
    }
    let rest = (0..per_beat).filter(|next| !asks.iter().any(|ask| ask.canary == scheduled[*next])).collect::<Vec<_>>();
    asks.extend(rest.into_iter().map(|next| {
        let past = past_caches(monitor, scheduled[next], doubt.knows_way);
        PlannedAsk::new(scheduled[next], Turn::Scheduled, variant(turn + next, round.len(), past))
    }));
    let asked: HashSet<usize> = asks.iter().map(|ask| ask.canary).collect();
    let unheard: HashSet<&str> = doubt.unheard.iter().copied().collect();
    // In the order of the round, so that each kind is heard of early.
    let ahead = (0..round.len()).map(|next| round[(turn + next) % round.len()]);
    let further = ahead.filter(|at| !asked.contains(at) && unheard.contains(monitor.canaries[*at].id.as_str()));
    // What is asked anyway counts towards the share.
    let met = asked.iter().filter(|at| unheard.contains(monitor.canaries[**at].id.as_str())).count();
    let more = doubt.share.saturating_sub(met).min(doubt.spare);
    // What caches alone are blamed for is looked for in them.
    let of_caches = !doubt.failing.is_empty() && doubt.failing.iter().all(|(_, variant)| *variant == Variant::Plain);
    let of_words = doubt.failing.iter().any(|(_, variant)| *variant == Variant::Reworded);
    let variant = |canary: usize| match past_caches(monitor, canary, doubt.knows_way) {
        _ if of_caches => Variant::Plain,
        Some(Variant::Reworded) if of_words => Variant::Reworded,
        _ => Variant::Fresh,
    };
    asks.extend(further.take(more).map(|canary| PlannedAsk::new(canary, Turn::ReAsk, variant(canary))));
    asks
}

/// How a canary gets past caches; none where nothing does. `knows_way`: the server knows a way past them.
fn past_caches(monitor: &Monitor, canary: usize, knows_way: bool) -> Option<Variant> {
    let has_words = monitor.canaries.get(canary).is_some_and(|canary| !canary.also.is_empty());
    match () {
        () if knows_way => Some(Variant::Fresh),
        () if has_words && monitor.search.fresh != Fresh::Off => Some(Variant::Reworded),
        () => None,
    }
}

/// Asks the first question that reaches the index a second time, right after the first, so that both lists can be
/// compared; nothing where none does.
pub fn ask_twice(asks: &mut Vec<PlannedAsk>, knows_way: bool) {
    if let Some(at) = asks.iter().position(|ask| ask.reaches_index(knows_way)) {
        let again = PlannedAsk { turn: Turn::ReAsk, ..asks[at] };
        asks.insert(at + 1, again);
    }
}

/// Which canary an altered question is made of: the first whose own reaches the index, so that both lists can be compared;
/// none where none does.
pub fn altered(asks: &[PlannedAsk], knows_way: bool, turn: Turn) -> Option<PlannedAsk> {
    let own = asks.iter().find(|ask| ask.reaches_index(knows_way))?;
    Some(PlannedAsk { turn, ..*own })
}

/// Asks a canary plainly and past caches, so that both lists can be compared.
pub fn ask_both_ways(asks: &mut Vec<PlannedAsk>, canary: usize) {
    for variant in [Variant::Plain, Variant::Fresh] {
        if !asks.iter().any(|ask| ask.canary == canary && ask.variant == variant) {
            asks.push(PlannedAsk::new(canary, Turn::ReAsk, variant));
        }
    }
}

/// Asks a canary as users do. A server that knows no way past its caches is asked so anyhow.
pub fn ask_plainly(asks: &mut Vec<PlannedAsk>, canary: usize, knows_way: bool) {
    let is_plain = |ask: &PlannedAsk| ask.variant == Variant::Plain || ask.variant == Variant::Fresh && !knows_way;
    if !asks.iter().any(|ask| ask.canary == canary && is_plain(ask)) {
        asks.push(PlannedAsk::new(canary, Turn::ReAsk, Variant::Plain));
    }
}

/// How the round asks at its `nth` place: past caches, so that the index answers; in one round of five plainly, as users
/// do, so that caches are seen too. Each canary has another such round, so that none is without. Where other words alone
/// get past caches it is the other way round, since only the question itself can be compared with what is pinned.
const fn variant(nth: usize, canaries: usize, past: Option<Variant>) -> Variant {
    let (round, place, every) = (nth / canaries, nth % canaries, PLAIN_EVERY as usize);
    match ((round + place) % every == every - 1, past) {
        (true, Some(Variant::Reworded)) => Variant::Reworded,
        (true, _) | (false, Some(Variant::Reworded)) => Variant::Plain,
        (false, _) => Variant::Fresh,
    }
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
mod tests;
