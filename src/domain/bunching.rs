//! Beats that start together: due times of a small fleet fall on a common grid.
//!
//! A beat that finds the machine asleep costs twice what it costs in company: caches are cold, two threads and a disk are
//! woken for it alone. Where many beats a second are due they meet anyway; below, a grid makes them meet, within the
//! jitter that each beat has in any case. One host is no crowd's target: its monitors are spread over all slots first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::schedule::{self, Rhythm};

/// Beats a second from which on they meet without a grid.
const CROWD: f64 = 100.0;
/// Beats a second up to which the grid is wide: with 32, two rows of sixteen start together.
const WIDE_RATE_MAX: f64 = 32.0;
const WIDE: Duration = Duration::from_secs(1);
const NARROW: Duration = Duration::from_millis(500);

/// Scheduled beats a second that a fleet amounts to.
pub(crate) fn rate(fleet: &Fleet) -> f64 {
    fleet.monitors.iter().map(|monitor| 1.0 / monitor.every.as_secs_f64().max(1e-3)).sum()
}

/// The width of the grid at so many beats a second; none where beats meet without one.
fn width(beats_per_second: f64) -> Option<Duration> {
    // A sum of sixtieths is never quite a hundred.
    match (beats_per_second * 1e3).round() / 1e3 {
        rate if rate >= CROWD => None,
        rate if rate > WIDE_RATE_MAX => Some(NARROW),
        _ => Some(WIDE),
    }
}

/// The rhythm of each monitor of a fleet.
///
/// It depends on the monitor's id, its interval and its host's other monitors: where two of one host would share a slot
/// while another is free, the one moves to the next free slot. An edit elsewhere moves nobody, unless it makes the whole
/// fleet a crowd or no longer one.
pub(crate) fn rhythms(fleet: &Fleet) -> HashMap<MonitorId, Rhythm> {
    let grid = width(rate(fleet));
    let mut rhythms = HashMap::with_capacity(fleet.monitors.len());
    let mut hosts: HashMap<(String, Duration), Vec<&Arc<Monitor>>> = HashMap::new();
    for monitor in &fleet.monitors {
        match fitting(grid, monitor.every) {
            Some(_) => hosts.entry((monitor.host_and_port(), monitor.every)).or_default().push(monitor),
            None => drop(rhythms.insert(monitor.id.clone(), Rhythm::alone(&monitor.id, monitor.every))),
        }
    }
    for ((host, every), mut monitors) in hosts {
        let Some(grid) = fitting(grid, every) else { continue };
        // Whoever is declared first, and where, does not matter.
        monitors.sort_by_cached_key(|monitor| (schedule::phase(&monitor.id, every), monitor.id.clone()));
        for (monitor, slot) in monitors.iter().zip(slots(&monitors, every, grid)) {
            rhythms.insert(monitor.id.clone(), Rhythm::bunched(&host, every, grid * slot, grid));
        }
    }
    rhythms
}

/// The grid for beats of this interval: at most half of their jitter, or what is left of it would make each of them as late
/// as the others. The finer grid lies within the wider one.
fn fitting(grid: Option<Duration>, every: Duration) -> Option<Duration> {
    let fits = |grid: &Duration| schedule::jitter_max(every) >= *grid * 2;
    grid.filter(fits).or_else(|| grid.map(|_| NARROW).filter(fits))
}

/// The slots of one host's monitors with one interval: each the nearest to its own phase that still has room.
fn slots(monitors: &[&Arc<Monitor>], every: Duration, grid: Duration) -> Vec<u32> {
    let all = u32::try_from(every.as_micros() / grid.as_micros().max(1)).unwrap_or(u32::MAX).max(1);
    let room = monitors.len().div_ceil(all as usize);
    let mut taken = HashMap::new();
    let mut free = |wanted: u32| {
        let mut slot = wanted % all;
        while taken.get(&slot).is_some_and(|taken| *taken >= room) {
            slot = (slot + 1) % all;
        }
        *taken.entry(slot).or_insert(0_usize) += 1;
        slot
    };
    let wanted = |monitor: &Monitor| {
        let phase = schedule::phase(&monitor.id, every);
        u32::try_from(phase.as_micros() / grid.as_micros().max(1)).unwrap_or(0)
    };
    monitors.iter().map(|monitor| free(wanted(monitor))).collect()
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::domain::secret::{Address, Secret};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn fleet(monitors: u32, every: u64, host: impl Fn(u32) -> String) -> Fleet {
        let monitor = |number: u32| {
            let url = format!("https://{}/mcp", host(number));
            let address = Address { shown: url.clone(), resolved: Secret::new(&url) };
            let mut monitor = Monitor::undeclared(&format!("server-{number}"), address);
            monitor.every = Duration::from_secs(every);
            Arc::new(monitor)
        };
        Fleet { monitors: (0..monitors).map(monitor).collect(), ..Fleet::default() }
    }

    /// How many beats fall due at each moment of a minute.
    fn starts(fleet: &Fleet) -> HashMap<DateTime<Utc>, u32> {
        let mut starts = HashMap::new();
        for rhythm in rhythms(fleet).values() {
            *starts.entry(rhythm.next_due(7, at(0))).or_insert(0) += 1;
        }
        starts
    }

    #[test]
    fn beats_of_a_small_fleet_start_together_and_those_of_a_crowd_each_by_itself() {
        let own = |number: u32| format!("server-{number}.example");
        let rows = [
            (1_020, 60, 66, "17 a second: a second's beats at once"),
            (3_000, 60, 130, "50 a second: half a second's"),
            (6_000, 60, 6_000, "100 a second: as ever"),
            (30, 2, 30, "a grid of a second is no rhythm for who beats every other second"),
        ];
        for (monitors, every, most, sentence) in rows {
            let moments = starts(&fleet(monitors, every, own)).len();
            let least = if most == monitors as usize { most - 5 } else { most / 2 };
            assert!(moments <= most && moments >= least, "{sentence}: {moments} moments");
        }
    }

    #[test]
    fn a_host_is_spread_evenly_over_all_slots() {
        let one = fleet(1_000, 60, |_| "one.example:8443".to_owned());
        let starts = starts(&one);
        let (least, most) = (starts.values().min().unwrap(), starts.values().max().unwrap());
        assert!(*most <= 17, "1,000 beats a minute are 16 or 17 a second, never {most}");
        assert!(*least >= 8, "and no second is nearly empty: {least}");
        let few = fleet(30, 60, |_| "one.example".to_owned());
        assert_eq!(self::starts(&few).values().max(), Some(&1), "never two at once while a slot is free");
    }

    #[test]
    fn an_edit_elsewhere_moves_nobody_and_a_neighbour_on_the_host_hardly_anybody() {
        let host = |number: u32| format!("host-{}.example", number / 10);
        let (before, mut edited) = (rhythms(&fleet(600, 60, host)), fleet(600, 60, host));
        edited.monitors.remove(0);
        let after = rhythms(&edited);
        let moved: Vec<_> = after.iter().filter(|(id, rhythm)| before[*id] != **rhythm).map(|(id, _)| id).collect();
        assert!(moved.len() <= 1, "of nine neighbours: {moved:?}");
        let number = |id: &MonitorId| id.as_str().trim_start_matches("server-").parse::<u32>().unwrap();
        assert!(moved.iter().all(|id| number(id) < 10), "nobody on another host: {moved:?}");
        edited.monitors.reverse();
        assert_eq!(rhythms(&edited), after, "the order of the file does not matter");
    }

    #[test]
    fn beats_on_the_grid_keep_their_rhythm() {
        for (every, most_ms, least_ms) in [(60, 3_000, 1_000), (40, 2_000, 1_000), (30, 1_500, 500), (20, 1_000, 500)] {
            let fleet = fleet(50, every, |number| format!("host-{}.example", number % 7));
            for (salt, rhythm) in
                (1_u64..).map(|nth| nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)).zip(rhythms(&fleet).values())
            {
                let (mut now, mut lates) = (at(0), Vec::new());
                let first = rhythm.next_due(salt, now);
                for turn in 0..200 {
                    let due = rhythm.next_due(salt, now);
                    assert!(due > now, "always later");
                    lates.push((due - first).num_milliseconds() - turn * every.cast_signed() * 1_000);
                    now = due;
                }
                let (least, most) = (lates.iter().min().unwrap(), lates.iter().max().unwrap());
                assert!(
                    most - least <= most_ms,
                    "every {every} s: no drift, no more jitter than ever: {least} to {most}"
                );
                assert!(most - least >= least_ms, "every {every} s: some, so that no two Serins beat in step");
            }
        }
    }
}
