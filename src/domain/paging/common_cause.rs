//! Whether many monitors that go down have one cause, though nobody declared it: a stated share of the fleet, on several
//! hosts, within two minutes.
//!
//! It holds nobody back and opens nothing: people are told of all of them in one message.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::monitor::MonitorId;

/// Fewer monitors than these have no share that says anything.
pub const FLEET_MIN: usize = 10;
/// Of hosts at least so many: what one host has in common is no riddle, and `depends_on` says it.
const HOSTS_MIN: usize = 2;
/// How far apart they began to fail.
const WITHIN: TimeDelta = TimeDelta::minutes(2);

/// Which monitors fail, and since when.
#[derive(Debug, Default)]
pub struct Failing {
    since: HashMap<MonitorId, (DateTime<Utc>, String)>,
    in_order: BTreeMap<(DateTime<Utc>, MonitorId), String>,
}

impl Failing {
    /// A monitor fails, since then unless it did before; `host` is the one it asks.
    pub fn fails(&mut self, monitor: &MonitorId, host: &str, since: DateTime<Utc>) {
        if !self.since.contains_key(monitor) {
            self.since.insert(monitor.clone(), (since, host.to_owned()));
            self.in_order.insert((since, monitor.clone()), host.to_owned());
        }
    }

    /// A monitor is well, or no longer declared.
    pub fn is_well(&mut self, monitor: &MonitorId) {
        if let Some((since, _)) = self.since.remove(monitor) {
            self.in_order.remove(&(since, monitor.clone()));
        }
    }

    /// Whether so many fail together with a monitor, of a fleet of `declared`, that it is one of many. `share` is in 0..=1.
    pub fn is_common(&self, monitor: &MonitorId, share: f64, declared: usize, now: DateTime<Utc>) -> bool {
        if declared < FLEET_MIN {
            return false;
        }
        let since = self.since.get(monitor).map_or(now, |(since, _)| *since);
        // As many as are needed are counted, and no more.
        let needed = ((declared as f64 * share).ceil() as usize).max(HOSTS_MIN);
        let first = (since - WITHIN, MonitorId::new(""));
        let near = self.in_order.range(first..).take_while(|((at, _), _)| *at <= since + WITHIN);
        let (mut failing, mut hosts) = (0, HashSet::new());
        for (_, host) in near {
            failing += 1;
            if hosts.len() < HOSTS_MIN {
                hosts.insert(host);
            }
            if failing >= needed && hosts.len() >= HOSTS_MIN {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn a_share_on_several_hosts_within_two_minutes_has_one_cause() {
        let id = |nth: i64| MonitorId::new(&format!("m{nth}"));
        // How many fail, a second apart or more, on how many hosts, of a fleet of how many.
        let rows = [
            (3, 1, 3, 10, true, "three of ten"),
            (2, 1, 3, 10, false, "two of ten are none of its share"),
            (6, 1, 2, 20, true, "six of twenty"),
            (9, 1, 3, 9, false, "a small fleet has no share"),
            (5, 1, 1, 10, false, "one host explains itself"),
            (3, 100, 3, 10, true, "the middle one has the others within two minutes"),
            (3, 130, 3, 10, false, "too far apart"),
        ];
        for (count, apart, hosts, declared, expected, sentence) in rows {
            let mut failing = Failing::default();
            for nth in 0..count {
                failing.fails(&id(nth), &format!("host{}", nth % hosts), at(nth * apart));
                // Who fails on is no news.
                failing.fails(&id(nth), "host0", at(nth * apart + 500));
            }
            assert_eq!(failing.is_common(&id(count / 2), 0.3, declared, at(1000)), expected, "{sentence}");
            failing.is_well(&id(0));
            failing.is_well(&id(1));
            assert!(!failing.is_common(&id(count - 1), 0.9, declared, at(1000)), "who is well again counts no more");
        }
    }
}
