//! What a monitor's page says of our manners: what probes cost the server, what holds them back, what they learnt of it.

use chrono::{DateTime, Utc};

use crate::domain::monitor::Monitor;
use crate::domain::observation::Footprint;
use crate::domain::protocol::Transport;
use crate::domain::rate_limit::{Cap, Hold, Spent};
use crate::domain::server_profile::{Caution, ServerProfile};
use crate::live::monitor_view::MonitorView;
use crate::web::format::{self, Timestamp};

#[derive(Debug)]
pub(crate) struct FootprintPart {
    pub rows: Vec<FootprintLine>,
    /// How the server speaks, in one line; empty before it was found out.
    pub speaks: String,
    /// When that was found out.
    pub found: Option<Timestamp>,
    /// What was seen to hurt it, and is not done any more.
    pub cautions: Vec<&'static str>,
}

/// One figure of two days.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FootprintLine {
    pub name: &'static str,
    pub today: String,
    pub yesterday: String,
    /// Empty where the file sets none.
    pub cap: String,
}

/// Works the part out of the live view.
pub(crate) fn tell(view: &MonitorView, declared: Option<&Monitor>, now: DateTime<Utc>) -> FootprintPart {
    let [yesterday, today] = &view.cost.spent;
    let caps = declared.map(|monitor| monitor.caps).unwrap_or_default();
    let line = |name, figure: fn(&Footprint) -> String, cap: Option<String>| FootprintLine {
        name,
        today: figure(&today.footprint),
        yesterday: figure(&yesterday.footprint),
        cap: cap.unwrap_or_default(),
    };
    let beats = |day: &Spent| format::count(day.beats);
    let mut rows = vec![
        FootprintLine { name: "beats", today: beats(today), yesterday: beats(yesterday), cap: String::new() },
        line("requests", |cost| format::count(cost.requests.into()), caps.requests_per_day.map(format::count)),
        line(
            "bytes, both ways",
            |cost| format::bytes(cost.bytes_out.saturating_add(cost.bytes_in)),
            caps.bytes_per_day.map(format::bytes),
        ),
        line("connections", |cost| format::count(cost.connections.into()), None),
        line(
            "sessions opened, closed, left open",
            |cost| {
                let left = cost.sessions_opened.saturating_sub(cost.sessions_closed);
                let figures = [cost.sessions_opened, cost.sessions_closed, left].map(|n| format::count(n.into()));
                figures.join(", ")
            },
            None,
        ),
    ];
    if today.footprint.tokens > 0 || yesterday.footprint.tokens > 0 {
        rows.push(line("tokens of answers", |cost| format::count(cost.tokens), None));
    }
    FootprintPart {
        rows,
        speaks: speaks(&view.profile),
        found: view.profile.era_found_at.map(|at| Timestamp::new(at, now)),
        cautions: cautions(&view.profile),
    }
}

/// Era and transport in words; the transport only where it is not the usual one.
pub(crate) fn speaks(profile: &ServerProfile) -> String {
    let era = profile.era.map_or("", |era| era.slug());
    let over = profile.transport.filter(|transport| *transport != Transport::Http).map_or("", |over| over.slug());
    [era, over].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" over ")
}

fn cautions(profile: &ServerProfile) -> Vec<&'static str> {
    let kept = "closing a session may bring this release down: one is kept over beats, and made anew once an hour";
    let discover = "server/discover brought it down, and is not sent to it any more";
    let closing = "closing a session brought it down: its sessions stay open";
    [(profile.discover, discover), (profile.closing, closing)]
        .into_iter()
        .filter(|(caution, _)| *caution == Caution::Harmful)
        .map(|(_, said)| said)
        .chain(profile.kept.is_some().then_some(kept))
        .collect()
}

/// Why the schedule is not kept just now.
pub(crate) fn held(hold: Hold, now: DateTime<Utc>) -> String {
    let cap = |cap| match cap {
        Cap::Requests(limit) => format!("{} requests a day", format::count(limit)),
        Cap::Bytes(limit) => format!("{} a day", format::bytes(limit)),
    };
    match hold {
        Hold::Quiet { until, asked } => {
            let why = match asked {
                Some(length) => format!("Retry-After {}", format::span(length)),
                None => "429 without Retry-After, so the gap doubles".to_owned(),
            };
            format!("The server asked for quiet ({why}). The next beat comes {}.", format::ago(until, now))
        }
        Hold::Spent { cap: which, until } => format!(
            "The cap of {} is used up. The next beat comes {}; until then nothing is seen here.",
            cap(which),
            format::ago(until, now)
        ),
        Hold::Spaced { cap: which, every } => {
            format!("A beat every {}, so that the cap of {} lasts the day.", format::span(every), cap(which))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::protocol::Era;

    #[test]
    fn what_holds_the_schedule_back_is_said() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let rows = [
            (
                Hold::Quiet { until: now + Duration::from_secs(90), asked: Some(Duration::from_secs(120)) },
                "The server asked for quiet (Retry-After 2 min). The next beat comes in 1 min.",
            ),
            (
                Hold::Spaced { cap: Cap::Requests(900), every: Duration::from_secs(480) },
                "A beat every 8 min, so that the cap of 900 requests a day lasts the day.",
            ),
            (
                Hold::Spent { cap: Cap::Bytes(5_000_000), until: now + Duration::from_secs(7_200) },
                "The cap of 5.0 MB a day is used up. The next beat comes in 2 h; until then nothing is seen here.",
            ),
        ];
        for (hold, said) in rows {
            assert_eq!(held(hold, now), said);
        }
    }

    #[test]
    fn the_usual_transport_is_not_mentioned() {
        let profile = |era, transport| ServerProfile { era, transport, ..ServerProfile::default() };
        let rows = [
            (profile(None, None), ""),
            (profile(Some(Era::Modern), Some(Transport::Http)), "modern"),
            (profile(Some(Era::Legacy), Some(Transport::Stdio)), "legacy over stdio"),
        ];
        for (profile, said) in rows {
            assert_eq!(speaks(&profile), said);
        }
    }
}
