//! A month that a daemon lived through: at each moment at which something opened or ended, the answer is what was decided then.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;

use crate::daemon::watch::month::{EXPECT, Month, RULES, yaml};
use crate::domain::fleet::Fleet;
use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::signal::{Phase, Signal};
use crate::domain::why::answer::{LOOKS_SHOWN, Record, SignalThen, Why};
use crate::domain::why::heard::{Heard, heard};
use crate::hindsight::body::WhyBody;
use crate::hindsight::why::{Meant, NoAnswer, Question, Topic, meant, why};
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

async fn asked((store, fleet): (&Readers, &Fleet), topic: Topic, at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Why {
    let in_force = Some(fleet.clone());
    let question = Question { topic, at, now, path: PathBuf::from("monitors.yaml"), in_force };
    why(store, question).await.unwrap()
}

fn of_docs() -> Topic {
    Topic::Monitor(MonitorId::new("docs"))
}

fn signal(why: &Why, signal: Signal) -> &SignalThen {
    why.signals.iter().find(|one| one.signal == signal).unwrap()
}

/// What the record has, but for replicas, whose originals it does not have.
async fn incidents(store: &Readers, until: DateTime<Utc>) -> Vec<Incident> {
    let span = Span { monitor: None, from: DateTime::UNIX_EPOCH, to: until };
    store.incidents_of(&span).try_collect().await.unwrap()
}

#[tokio::test]
async fn at_each_opening_and_end_the_answer_is_what_was_decided_live() {
    let folder = tempfile::tempdir().unwrap();
    let start = DateTime::from_timestamp(1_800_000_000 - 1_800_000_000 % 86_400, 0).unwrap();
    let mut month = Month::begin(folder.path(), &yaml(RULES, EXPECT), start).await;
    month.live().await;
    let store = Readers::beside(&folder.path().join("serin.db")).await.unwrap();
    let from = (&store, &month.fleet);
    let (now, second) = (month.now, TimeDelta::seconds(1));
    let told = store.told_first(start).await.unwrap();
    let all = incidents(&store, now).await;
    assert_eq!(all.len(), 16, "a month in which each trouble is told");
    for incident in &all {
        let name = format!("{} {} of {}", incident.signal.slug(), incident.reason, incident.opened_at);
        let opened = asked(from, of_docs(), Some(incident.opened_at), now).await;
        let standing = &signal(&opened, incident.signal).standing;
        assert_eq!(standing.phase, Phase::Open, "{name}: {}", opened.sentence());
        assert!((standing.since - incident.opened_at).abs() < second, "{name}: since when");
        assert_eq!(opened.notes.iter().find(|note| note.contains("by the record")), None, "{name}");
        let one = opened.incidents.iter().find(|one| one.incident.id == incident.id).unwrap();
        let at = one.tellings.first().map(|telling| telling.at);
        assert_eq!(at, told.get(&incident.id).copied(), "{name}: when people were told");
        let by = one.tellings.first().and_then(|telling| telling.route.as_ref()).map(|place| place.written());
        assert_eq!(by.as_deref(), at.map(|_| "monitors.yaml:4"), "{name}: by which route");
        let before = asked(from, of_docs(), Some(incident.opened_at - second), now).await;
        assert!(!signal(&before, incident.signal).standing.phase.has_incident(), "{name}: not yet a second before");
        assert!(!before.open_at(before.at).any(|one| one.incident.id == incident.id), "{name}");
        if let Some(end) = incident.resolved_at {
            let after = asked(from, of_docs(), Some(end), now).await;
            assert_eq!(signal(&after, incident.signal).standing.phase, Phase::Quiet, "{name}: over at {end}");
        }
    }
    the_file_as_it_was(from, start, now).await;
    what_is_asked_of_an_incident(from, &all, now).await;
    month.context.store.close().await;
}

/// Edited on the tenth day and on the twenty-sixth: each moment is judged by what stood in the file then.
async fn the_file_as_it_was(from: (&Readers, &Fleet), start: DateTime<Utc>, now: DateTime<Utc>) {
    for (day, after, bar) in [(9, "3 failed", "800ms"), (12, "2 failed", "1000ms"), (29, "3 failed", "800ms")] {
        let why = asked(from, of_docs(), Some(start + TimeDelta::days(day)), now).await;
        let opens = |of| &*signal(&why, of).opens;
        assert!(opens(Signal::Availability).starts_with(after), "day {day}: {}", opens(Signal::Availability));
        assert!(opens(Signal::Latency).contains(bar) || bar == "1000ms", "day {day}: {}", opens(Signal::Latency));
        let Record::Weighed(weighed) = &why.record else { panic!("day {day}: {:?}", why.record) };
        assert!(
            weighed.from >= why.at - TimeDelta::days(7) && weighed.last <= why.at + TimeDelta::milliseconds(50),
            "day {day}: {weighed:?}"
        );
        assert!(why.signals.iter().all(|one| one.looks.len() == LOOKS_SHOWN), "day {day}");
    }
    let waiting = asked(from, of_docs(), Some(start + TimeDelta::hours(2 * 24 + 3) + TimeDelta::seconds(1)), now).await;
    let said = waiting.sentence();
    assert!(said.contains("availability was bad on 1 of 3 beats"), "one failed beat of three: {said}");
    let ahead =
        Question { topic: of_docs(), at: Some(now + TimeDelta::days(1)), now, path: PathBuf::new(), in_force: None };
    assert!(matches!(why(from.0, ahead).await, Err(NoAnswer::Ahead)));
    let early = asked(from, of_docs(), Some(start - TimeDelta::days(100)), now).await;
    assert!(early.sentence().contains("by the record"), "{}", early.sentence());
}

/// An incident is found by the beginning of its id, and tells its whole story.
async fn what_is_asked_of_an_incident(from: (&Readers, &Fleet), all: &[Incident], now: DateTime<Utc>) {
    let store = from.0;
    let Meant::One(Topic::Incident(found)) = meant(store, &all[0].id).await.unwrap() else { panic!("by its id") };
    assert_eq!(*found, all[0]);
    assert!(matches!(meant(store, "docs").await.unwrap(), Meant::One(Topic::Monitor(_))), "by a monitor's");
    assert!(matches!(meant(store, "0").await.unwrap(), Meant::Nothing), "one character says nothing");
    assert!(matches!(meant(store, "nobody").await.unwrap(), Meant::Nothing));
    let told = asked(from, Topic::Incident(Box::new(all[0].clone())), None, now).await;
    let one = &told.incidents[0];
    assert!(matches!(heard(one, told.until), Heard::Told { .. }));
    assert!(told.sentence().contains("oncall was to be notified at once"), "{}", told.sentence());
    assert!(told.sentence().contains("monitors.yaml:4"), "by the line of the route: {}", told.sentence());
    let text = told.lines().join("\n");
    assert!(text.contains("opens      3 failed beats in a row") && text.contains("notified   oncall"), "{text}");
    let json = serde_json::to_value(WhyBody::of(&told)).unwrap();
    assert_eq!(json["answer"], told.sentence());
    assert_eq!(json["incidents"][0]["told"][0]["receiver"], "oncall");
}
