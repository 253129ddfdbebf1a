//! The answer in one sentence: what stands on the first line of a terminal and on top of a page.

use chrono::{DateTime, Utc};

use crate::domain::signal::{HeldBy, Level, Phase, Signal};
use crate::domain::why::answer::{HoldThen, IncidentThen, Record, SignalThen, ToldThen, Why};
use crate::domain::why::heard::{Heard, heard};
use crate::domain::wording::{counted, span};

/// A moment as answers write it.
pub fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

impl Why {
    /// Why people were told, or were not, in one sentence.
    pub fn sentence(&self) -> String {
        if let Some(id) = &self.incident
            && let Some(one) = self.incidents.iter().find(|one| one.incident.id == *id)
        {
            return format!("{}: {}.", about(one), telling(one, self.until, self.is_now));
        }
        let mut open: Vec<&IncidentThen> = self.open_at(self.at).collect();
        // The loudest that people heard of says most.
        open.sort_by_key(|one| {
            let is_told = matches!(heard(one, self.until), Heard::Told { .. });
            std::cmp::Reverse((is_told, one.incident.severity, one.incident.opened_at))
        });
        let Some(first) = open.first() else {
            return format!("Nobody was notified of {} at {}: {}.", self.monitor, moment(self.at), self.nothing_open());
        };
        let more = match open.len() {
            1 => String::new(),
            all => format!("; {} open beside it", counted(all - 1, "incident was", "incidents were")),
        };
        format!("{}: {}{more}.", about(first), telling(first, self.until, self.is_now))
    }

    /// Why nothing was open.
    fn nothing_open(&self) -> String {
        let of_record = "no incident was open";
        match &self.record {
            Record::Gone(_) => return format!("{of_record}, by the record"),
            Record::Unseen => return "Serin had not looked at it in the week before".to_owned(),
            Record::Weighed(_) => {}
        }
        let waiting = self.signals.iter().filter_map(|one| Some(format!("{} {}", one.signal.slug(), not_yet(one)?)));
        let waiting: Vec<String> = waiting.collect();
        if !waiting.is_empty() {
            return format!("nothing was open yet; {}", waiting.join("; "));
        }
        if let Some(said) = self.unseen() {
            return said;
        }
        match self.signals.iter().any(|one| one.standing.level == Level::Elevated) {
            true => of_record.to_owned(),
            false => "nothing was over its limit".to_owned(),
        }
    }

    /// That Serin did not see it just then, where that is so: time not seen neither opens nor closes anything.
    pub fn unseen(&self) -> Option<String> {
        let Record::Weighed(weighed) = &self.record else { return None };
        let age = (self.at - weighed.last).to_std().unwrap_or_default();
        if age <= weighed.every * 2 {
            return None;
        }
        let why = match weighed.blind {
            Some((_, "uplink")) => ", since its own network was gone",
            Some((_, "internal")) => ", since it had a problem of its own",
            Some((_, "held")) => ", since the server asked for quiet, or a cap of the file is used up",
            _ => "",
        };
        Some(format!("Serin had seen nothing of it since {}{why}", moment(weighed.last)))
    }
}

/// What keeps a signal from opening that is over its limit; none where it is not, or is open.
pub fn not_yet(one: &SignalThen) -> Option<String> {
    let standing = &one.standing;
    if standing.phase != Phase::Pending {
        return None;
    }
    let progress = standing.progress.as_deref().unwrap_or("for less than its rule asks");
    Some(match standing.held_by {
        Some(HeldBy::ColdStart) => "is held back while the server warms up (cold_start)".to_owned(),
        Some(HeldBy::Signal(Signal::Availability)) => "is held back while availability is open".to_owned(),
        Some(HeldBy::Signal(other)) => format!("is held back behind {}, which has the same cause", other.slug()),
        None if standing.is_short_of_time && one.signal == Signal::Availability => {
            format!("waits for page_after: {progress}, and one more failed beat")
        }
        None if standing.is_short_of_time => format!("has to last longer: {progress}"),
        None => format!("was bad on {progress}"),
    })
}

/// What the incident is: `docs: page, availability (timeout), opened …`.
fn about(one: &IncidentThen) -> String {
    let incident = &one.incident;
    format!(
        "{} {} ({}, {}), opened {}",
        incident.monitor,
        incident.signal.slug(),
        incident.reason,
        incident.severity.slug(),
        moment(incident.opened_at)
    )
}

/// Who was told of an incident until a moment, or why nobody was.
pub fn telling(one: &IncidentThen, until: DateTime<Utc>, is_now: bool) -> String {
    let is = if is_now { "is" } else { "was" };
    match heard(one, until) {
        Heard::Told { first, after } => told(one, &first, after),
        Heard::Held(by) => {
            let by: Vec<String> =
                by.into_iter().map(|hold| format!("{} since {}", hold.said, moment(hold.hold.since))).collect();
            format!("nobody {is} notified, it {is} {}", by.join(" and "))
        }
        Heard::EndedHeld(hold) => {
            let until = hold.over_at().map(|over| format!(" until {}", moment(over))).unwrap_or_default();
            format!(
                "nobody was notified, it was {} from {}{until}, and it ended {} without having outlasted that",
                hold.said,
                moment(hold.hold.since),
                one.incident.resolved_at.map(moment).unwrap_or_default()
            )
        }
        Heard::Outlasting(hold) => format!(
            "nobody {is} notified yet, it was {} until {} and goes out once its own beats still show it after that",
            hold.said,
            hold.over_at().map(moment).unwrap_or_default()
        ),
        Heard::Unrouted => "nobody was notified, since no route of the file fits it".to_owned(),
        Heard::Waits => {
            let later =
                one.tellings.first().map(|told| format!("; it was sent {}", moment(told.at))).unwrap_or_default();
            format!("nobody {is} notified yet, since what may explain it {is} being confirmed{later}")
        }
        Heard::EndedWaiting => format!(
            "nobody was notified, it ended {} while what may explain it was being confirmed",
            one.incident.resolved_at.map(moment).unwrap_or_default()
        ),
        Heard::Unknown => {
            "nobody was notified; the file of then is not kept, so that nobody knows whom it would have notified"
                .to_owned()
        }
    }
}

/// Whom the first telling went to, when, by which route, and whether they took it.
fn told(one: &IncidentThen, first: &[&ToldThen], after: Option<&HoldThen>) -> String {
    let own: Vec<&&ToldThen> = first.iter().filter(|told| told.fallback_of.is_none()).collect();
    let named: Vec<&str> = own.iter().map(|told| told.receiver.as_str()).collect();
    let at = first.first().map_or(one.incident.opened_at, |told| told.at);
    let late = (at - one.incident.opened_at).to_std().unwrap_or_default();
    let when = if late.as_secs() == 0 { "at once".to_owned() } else { format!("{} later, {}", span(late), moment(at)) };
    let places: Vec<String> = own.iter().filter_map(|told| told.route.as_ref()).map(|place| place.written()).collect();
    let places = dedup(places).join(", ");
    let places = if places.is_empty() { String::new() } else { format!(" (route {places})") };
    let taken = own.iter().all(|told| told.state == "sent");
    let taken = if taken { String::new() } else { untaken(&own) };
    let after = after.map(|hold| format!("; until then it was {}", hold.said)).unwrap_or_default();
    let be = if named.len() == 1 { "was" } else { "were" };
    // Whom nothing reached was not told.
    let reached = own.iter().any(|told| told.state == "sent");
    let be = if reached { be.to_owned() } else { format!("{be} to be") };
    format!("{} {be} notified {when}{places}{taken}{after}", named.join(" and "))
}

/// Who did not take it yet, or never will.
fn untaken(own: &[&&ToldThen]) -> String {
    let left = own.iter().filter(|told| told.state != "sent").map(|told| {
        let word = if told.state == "dead" { "never accepted it" } else { "has not accepted it yet" };
        let answer = if told.answer.is_empty() { String::new() } else { format!(", last answer: {}", told.answer) };
        format!("{} {word}{answer}", told.receiver)
    });
    format!("; {}", left.collect::<Vec<_>>().join("; "))
}

fn dedup(mut all: Vec<String>) -> Vec<String> {
    all.dedup();
    all
}
