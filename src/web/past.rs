//! A monitor's past as pages and the API show it: percentiles over a range, uptime with its coverage, hours of a heat map.
//!
//! All of it is made of the same few reads, whose number does not grow with the range.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::coverage::Covered;
use crate::domain::monitor::MonitorId;
use crate::domain::quality::answers::Answers;
use crate::store::packed::roll::Stretch;
use crate::store::packed::slices::LatencySlice;
use crate::store::read::history::{Since, Summary};
use crate::store::read::latency::{LatencyCut, cut_stretches};
use crate::web::ranges::{Cut, Grain, Range, day_of, hour_of};
use crate::web::state::{Away, WebState};

const UPTIMES: [Range; 4] = [Range::Day, Range::Week, Range::Month, Range::Quarter];

/// How many days a heat map covers, today counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HeatDays {
    #[default]
    Week,
    /// 35 days, as long as hours are kept where nothing else is set.
    Kept,
}

#[derive(Debug, Default)]
pub(crate) struct PastBeats {
    /// Durations over the range.
    pub latency: LatencyCut,
    /// Hours of the heat map, the oldest first; hours without a sample are left out.
    pub heat: Vec<LatencySlice>,
    /// Uptime by range, the shortest first.
    pub uptimes: Vec<Uptime>,
}

/// Uptime over one range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Uptime {
    pub range: Range,
    /// Where the whole begins: at the hour or day (UTC) that holds the range's start, or when the monitor was first seen.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    /// Whether the monitor is younger than the range.
    pub is_young: bool,
    pub covered: Covered,
    /// How often canaries were right since `answers_from`.
    pub answers: Answers,
    /// Where answers begin: with the whole, or with the first day on which they were counted.
    pub answers_from: DateTime<Utc>,
}

impl HeatDays {
    /// The word in addresses.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Week => "7d",
            Self::Kept => "35d",
        }
    }

    /// The length of a word.
    pub(crate) fn from_slug(slug: &str) -> Option<Self> {
        [Self::Week, Self::Kept].into_iter().find(|days| days.slug() == slug)
    }

    /// Days, today counted in.
    pub(crate) const fn days(self) -> u16 {
        match self {
            Self::Week => 7,
            Self::Kept => 35,
        }
    }

    pub(crate) fn first(self, now: DateTime<Utc>) -> DateTime<Utc> {
        day_of(now) - TimeDelta::days(i64::from(self.days()) - 1)
    }
}

impl Uptime {
    /// The share of seen time in which the server could be asked, 0 to 1; none where nothing was seen.
    pub(crate) fn uptime(&self) -> Option<f64> {
        self.covered.uptime()
    }

    /// The share of the whole that was seen, 0 to 1.
    pub(crate) fn coverage(&self) -> f64 {
        self.covered.coverage((self.to - self.from).to_std().unwrap_or_default())
    }
}

/// Reads a monitor's past. `first_seen`: when it was first declared, where that is known.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn read(
    state: &WebState,
    id: &MonitorId,
    (cut, heat): (Cut, HeatDays),
    first_seen: Option<DateTime<Utc>>,
) -> Result<PastBeats, Away> {
    let (store, now) = (&state.store, cut.to);
    let by_day = UPTIMES.map(|range| uptime_from(range, now)).into_iter().min().unwrap_or(now);
    let mut since = Since { hours: uptime_from(Range::Day, now), days: day_of(by_day), heat: heat.first(now) };
    // The first window trails behind the range's start.
    let whole = cut.from - cut.coarse;
    match cut.grain {
        Grain::Beats => {}
        Grain::Hours => since.hours = since.hours.min(whole),
        Grain::Days => since.days = since.days.min(whole),
    }
    let beats = async {
        if cut.grain != Grain::Beats {
            return Ok(None);
        }
        state.ask(store.latency_cut(id, cut.from, cut.to, [cut.fine, cut.coarse])).await.map(Some)
    };
    let (beats, summary) = tokio::join!(beats, state.ask(store.summary(id, since, now)));
    let Summary { hours, days, heat } = summary?;
    let kept = if cut.grain == Grain::Days { &days } else { &hours };
    let latency = beats?.unwrap_or_else(|| cut_stretches(kept, (cut.from, cut.to), [cut.fine, cut.coarse]));
    Ok(PastBeats { latency, heat, uptimes: uptimes(&hours, &days, first_seen, now) })
}

/// Durations alone, of any stretch of time.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn durations(state: &WebState, id: &MonitorId, cut: Cut) -> Result<LatencyCut, Away> {
    let (store, slices, whole) = (&state.store, [cut.fine, cut.coarse], cut.from - cut.coarse);
    let kept = match cut.grain {
        Grain::Beats => return state.ask(store.latency_cut(id, cut.from, cut.to, slices)).await,
        Grain::Hours => state.ask(store.hours(id, whole, cut.to)).await?,
        Grain::Days => state.ask(store.days(id, whole, cut.to)).await?,
    };
    Ok(cut_stretches(&kept, (cut.from, cut.to), slices))
}

/// Where uptime over a range begins: a day's is made of hours, all others of days.
fn uptime_from(range: Range, now: DateTime<Utc>) -> DateTime<Utc> {
    let start = now - range.length();
    if range == Range::Day { hour_of(start) } else { day_of(start) }
}

fn uptimes(
    hours: &[(DateTime<Utc>, Stretch)],
    days: &[(DateTime<Utc>, Stretch)],
    first_seen: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Vec<Uptime> {
    // A monitor that no row knows was there by its first stretch at the latest.
    let known = first_seen.or_else(|| days.iter().chain(hours).map(|(at, _)| *at).min());
    let of = |range: Range| {
        let from = uptime_from(range, now);
        let begins = known.map_or(from, |known| known.clamp(from, now));
        let (mut covered, mut answers, mut answers_from) = (Covered::default(), Answers::default(), begins);
        let stretches = if range == Range::Day { hours } else { days };
        for (at, stretch) in stretches.iter().filter(|(at, _)| *at >= from) {
            covered.add(&stretch.covered);
            answers.add(stretch.answers);
            if stretch.is_uncounted {
                (answers, answers_from) = (Answers::default(), *at + TimeDelta::days(1));
            }
        }
        let answers_from = answers_from.clamp(begins, now);
        let is_young = begins > from;
        Uptime { range, from: begins, to: now, is_young, covered, answers, answers_from }
    };
    UPTIMES.map(of).to_vec()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn stretch(start: &str, up: u64, down: u64) -> (DateTime<Utc>, Stretch) {
        let covered = Covered { up: Duration::from_secs(up), down: Duration::from_secs(down), ..Covered::default() };
        (at(start), Stretch { covered, ..Stretch::default() })
    }

    #[test]
    fn the_whole_begins_where_the_range_does_or_the_monitor() {
        let now = at("2026-11-21T12:30:00Z");
        let days = [stretch("2026-11-01T00:00:00Z", 43_200, 43_200), stretch("2026-11-20T00:00:00Z", 86_400, 0)];
        let hours = [stretch("2026-11-20T12:00:00Z", 3_000, 600), stretch("2026-11-20T11:00:00Z", 0, 3_600)];
        let rows = [
            (Range::Day, None, "2026-11-20T12:00:00Z", Some(3_000.0 / 3_600.0), "by the hours of the last day alone"),
            (Range::Week, None, "2026-11-14T00:00:00Z", Some(1.0), "a bad day long ago is not of this week"),
            (Range::Month, None, "2026-11-01T00:00:00Z", Some(0.75), "but of this month"),
            (Range::Quarter, Some("2026-11-11T00:00:00Z"), "2026-11-11T00:00:00Z", Some(0.75), "since it is known"),
            (Range::Week, Some("2026-11-11T00:00:00Z"), "2026-11-14T00:00:00Z", Some(1.0), "known for longer"),
        ];
        for (range, first_seen, from, uptime, sentence) in rows {
            let all = uptimes(&hours, &days, first_seen.map(at), now);
            let one = all.iter().find(|one| one.range == range).unwrap();
            assert_eq!((one.from, one.uptime()), (at(from), uptime), "{sentence}");
        }
        let one = uptimes(&hours, &days, Some(at("2026-11-20T12:30:00Z")), now)[0];
        assert!((one.coverage() - 3_600.0 / 86_400.0).abs() < 1e-9, "an hour of a day was seen: {}", one.coverage());
        let counted = |asked, right, is_uncounted| Stretch {
            answers: Answers { asked, right },
            is_uncounted,
            ..Stretch::default()
        };
        let days = [
            (at("2026-11-17T00:00:00Z"), counted(10, 10, false)),
            (at("2026-11-18T00:00:00Z"), counted(0, 0, true)),
            (at("2026-11-19T00:00:00Z"), counted(10, 7, false)),
            (at("2026-11-20T00:00:00Z"), counted(10, 10, false)),
        ];
        let first = at("2026-11-16T00:00:00Z");
        let week = uptimes(&[], &days, Some(first), now)[1];
        assert_eq!((week.answers.asked, week.answers.share()), (20, Some(0.85)), "of the days that are counted");
        assert_eq!((week.answers_from, week.is_young), (at("2026-11-19T00:00:00Z"), true), "and it says since when");
        let week = uptimes(&[], &days[2..], Some(at("2026-11-01T00:00:00Z")), now)[1];
        assert_eq!((week.answers_from, week.is_young), (week.from, false), "the whole range is counted");
        let none = uptimes(&[], &[], None, now);
        assert_eq!((none[0].uptime(), none[0].coverage()), (None, 0.0), "nothing seen has no uptime");
    }
}
