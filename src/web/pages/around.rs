//! What an incident page draws around its incident: its signal's own picture, from before its beginning to after its end.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::outcome::Verdict;
use crate::domain::reason::FailureReason;
use crate::domain::signal::Signal;
use crate::live::monitor_view::{BeatMark, STRIP_LEN};
use crate::store::read::latency::BeatLine;
use crate::web::canary_past::{self, BoardCut, CanaryTrack};
use crate::web::draw::chart::{Chart, ChartSource, chart};
use crate::web::draw::ranks::Ranks;
use crate::web::draw::strip::Strip;
use crate::web::draw::trend::Trend;
use crate::web::format;
use crate::web::past;
use crate::web::ranges::cut_between;
use crate::web::state::{Away, WebState};

/// Drawn before and after an incident at least: less shows no calm to compare with.
const MARGIN_MIN: TimeDelta = TimeDelta::minutes(30);
/// And at most: an incident of days needs no days around it.
const MARGIN_MAX: TimeDelta = TimeDelta::hours(12);
/// Canaries whose ranks are drawn, the worst first; the monitor's board has all.
const CANARIES_SHOWN: usize = 6;
/// Beats drawn after an incident's beginning at least, where it is too long for one strip.
const BEATS_AFTER: i32 = 40;
/// Beats drawn after its end.
const BEATS_BEYOND: i32 = 10;
/// Where `beats` begins to look: it counts in what came up to an hour after.
const BEATS_AHEAD: TimeDelta = TimeDelta::hours(1);

/// One picture, by signal.
#[derive(Debug)]
pub(crate) enum Around {
    /// Durations, with the incident's shade and the limit.
    Durations(Box<Chart>),
    /// How often canaries were right, by kind and by canary.
    Answers(AnswersAround),
    /// Beats one by one.
    Beats(BeatsAround),
}

#[derive(Debug)]
pub(crate) struct AnswersAround {
    /// Such as `09:00 to 12:00 UTC`.
    pub stretch: String,
    /// Kind, picture, and the share over the whole.
    pub kinds: Vec<(&'static str, Trend, String)>,
    /// Canary, picture, and how many answers were right.
    pub canaries: Vec<(String, Ranks, String)>,
}

#[derive(Debug)]
pub(crate) struct BeatsAround {
    pub stretch: String,
    pub strip: Strip,
}

/// The picture of an incident; none where its monitor is not declared any more, or nothing is kept of that time.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn of_incident(
    state: &WebState,
    incident: &Incident,
    now: DateTime<Utc>,
) -> Result<Option<Around>, Away> {
    let fleet = state.fleet_now();
    let Some(monitor) = fleet.monitor(&incident.monitor) else { return Ok(None) };
    match incident.signal {
        Signal::Latency => durations(state, monitor, incident, now).await,
        Signal::Quality if !monitor.canaries.is_empty() => answers(state, monitor, incident, now).await,
        _ => beats(state, monitor, incident, now).await,
    }
}

/// From before its beginning to after its end, or now.
fn stretch(incident: &Incident, now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let (since, end) = (incident.since(), incident.resolved_at.unwrap_or(now));
    let margin = ((end - since) / 2).clamp(MARGIN_MIN, MARGIN_MAX);
    (since - margin, (end + margin).min(now))
}

fn said(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    let to_said = if from.date_naive() == to.date_naive() { "%H:%M UTC" } else { "%-d %b %H:%M UTC" };
    format!("{} to {}", from.format("%-d %b %H:%M"), to.format(to_said))
}

async fn durations(
    state: &WebState,
    monitor: &Monitor,
    incident: &Incident,
    now: DateTime<Utc>,
) -> Result<Option<Around>, Away> {
    let (from, to) = stretch(incident, now);
    let cut = cut_between(from, to, monitor.every, monitor.per_beat());
    let latency = past::durations(state, &monitor.id, cut).await?;
    let limit_ms = monitor.rules.latency.p95.as_secs_f64() * 1e3;
    let drawn = chart(&ChartSource { cut, latency: &latency, limit_ms, incidents: std::slice::from_ref(incident) });
    Ok(drawn.map(|chart| Around::Durations(Box::new(chart))))
}

async fn answers(
    state: &WebState,
    monitor: &Monitor,
    incident: &Incident,
    now: DateTime<Utc>,
) -> Result<Option<Around>, Away> {
    let (from, to) = stretch(incident, now);
    let cut = BoardCut::between(from, to);
    let past = canary_past::read_cut(state, &monitor.id, &monitor.canaries, cut).await?;
    let lasted = (incident.since(), incident.resolved_at.unwrap_or(cut.to).min(cut.to));
    let kinds = past.kinds.iter().map(|(kind, shares)| {
        let whole = past.of_kind(*kind);
        let share = whole.share().map_or_else(|| "–".to_owned(), format::share);
        let trend = Trend::new(shares, &cut).shaded(lasted.0, lasted.1, &cut);
        (kind.slug(), trend, format!("{share} right, n = {}", format::count(whole.asked)))
    });
    let kinds: Vec<_> = kinds.collect();
    let mut wrong: Vec<(&str, &CanaryTrack)> =
        past.tracks.iter().filter(|(_, track)| !track.wrong.is_empty()).map(|(id, track)| (&**id, track)).collect();
    let right = |track: &CanaryTrack| track.answers.share().unwrap_or(1.0);
    wrong.sort_by(|(a, one), (b, other)| right(one).total_cmp(&right(other)).then(a.cmp(b)));
    let drawn = |(id, track): (&str, &CanaryTrack)| {
        let n = format!("{} of {} right", format::count(track.answers.right), format::count(track.answers.asked));
        (id.to_owned(), Ranks::new(track, &cut).shaded(lasted.0, lasted.1, &cut), n)
    };
    let canaries = wrong.into_iter().take(CANARIES_SHOWN).map(drawn).collect();
    let stretch = said(cut.from, cut.to);
    Ok((!kinds.is_empty()).then_some(Around::Answers(AnswersAround { stretch, kinds, canaries })))
}

async fn beats(
    state: &WebState,
    monitor: &Monitor,
    incident: &Incident,
    now: DateTime<Utc>,
) -> Result<Option<Around>, Away> {
    let every = TimeDelta::from_std(monitor.every).unwrap_or(MARGIN_MIN);
    let end = incident.resolved_at.map_or(now, |end| end + every * BEATS_BEYOND);
    let to = end.min(incident.since() + every * BEATS_AFTER).min(now);
    let strip_len = u32::try_from(STRIP_LEN).unwrap_or(u32::MAX);
    let lines = state.ask(state.store.beats(&monitor.id, strip_len, to - BEATS_AHEAD)).await?;
    let marks: Vec<BeatMark> = lines.iter().rev().map(mark).collect();
    let Some((first, last)) = marks.first().zip(marks.last()) else { return Ok(None) };
    let stretch = said(first.at, last.at);
    Ok(Some(Around::Beats(BeatsAround { stretch, strip: Strip::new(&marks) })))
}

fn mark(line: &BeatLine) -> BeatMark {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a probe, and only drawn")]
    let elapsed_ms = line.elapsed_ms as f32;
    BeatMark {
        at: line.at,
        verdict: Verdict::from_slug(&line.verdict).unwrap_or(Verdict::Unknown),
        reason: line.reason.as_deref().and_then(FailureReason::from_slug),
        elapsed_ms,
    }
}
