//! Drills over a real store: told once whatever dies, moves or is edited, and settled by what the ledger says.

use chrono::TimeDelta;
use jiff::tz::TimeZone;

use super::*;
use crate::domain::fleet::Provenance;
use crate::domain::maintenance::{MaintenanceWindow, Stretch, WindowRuns};
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::paging::quiet::QuietBook;
use crate::domain::receiver::{Channel, WebhookForm};
use crate::domain::recurrence::{Recurrence, parsed};
use crate::domain::route::{Match, Route};
use crate::domain::secret::{Address, Secret};
use crate::store::read::ledger::{DeliveryFilter, DeliveryLine};
use crate::store::values::claims::{Attempted, Claiming, NextAttempt, TriedDelivery};
use crate::store::write::retain::Retained;

/// Half an hour before the drill of 10:00.
const START: &str = "2026-11-25T09:30:00Z";

fn at(minutes: i64) -> DateTime<Utc> {
    START.parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
}

/// The time lived then, where nobody sets the clock.
fn age(minutes: i64) -> Duration {
    Duration::from_secs(u64::try_from(minutes * 60).unwrap() + 1_000)
}

fn receiver(name: &str, channel: Channel) -> Arc<Receiver> {
    Arc::new(Receiver {
        name: name.to_owned(),
        channel,
        at_most: None,
        line: 1,
        definition_hash: format!("hash of {name}"),
    })
}

fn hook(name: &str) -> Arc<Receiver> {
    let url = Address { shown: String::new(), resolved: Secret::new("http://127.0.0.1:9/") };
    receiver(name, Channel::Webhook { url, secrets: Vec::new(), form: Box::new(WebhookForm::default()) })
}

fn drill(id: &str, cron: &str, to: &[&str], line: u32) -> ScheduledDrill {
    ScheduledDrill {
        starts: Recurrence::new(parsed(cron).unwrap(), TimeZone::UTC),
        to: to.iter().map(|name| (*name).to_owned()).collect(),
        timeout: Duration::from_secs(300),
        line,
        id: id.to_owned(),
    }
}

/// On-call by webhook with mail as its fallback, and a drill of both at ten.
fn fleet() -> Fleet {
    let mail = receiver("mail", Channel::Email { to: vec!["sre@example.org".to_owned()] });
    let to_oncall = Route { to: vec!["oncall".to_owned()], fallback: Some("mail".to_owned()), ..Route::default() };
    Fleet {
        provenance: Provenance { file: "monitors.yaml".to_owned(), ..Provenance::default() },
        receivers: vec![hook("oncall"), mail, hook("nobody")],
        routes: vec![to_oncall],
        drills: vec![drill("ten", "0 10 * * *", &[], 12)],
        ..Fleet::default()
    }
}

/// A Serin without beats, over a database that outlives it.
struct Stand {
    folder: tempfile::TempDir,
    context: LoopContext,
    fleet: Arc<Fleet>,
    drills: Drills,
}

impl Stand {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = LoopContext::idle(folder.path(), fleet()).await;
        Self { folder, context, fleet: Arc::new(fleet()), drills: Drills::default() }
    }

    /// Ends it and starts another one on what it left.
    async fn restart(&mut self) {
        self.context.store.close().await;
        self.context = LoopContext::idle(self.folder.path(), Fleet::default()).await;
        self.drills = Drills::default();
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Fleet)) {
        let mut fleet = Fleet::clone(&self.fleet);
        edit(&mut fleet);
        self.fleet = Arc::new(fleet);
    }

    async fn turn(&mut self, minutes: i64) {
        self.turn_at(at(minutes), age(minutes)).await;
    }

    async fn turn_at(&mut self, now: DateTime<Utc>, lived: Duration) {
        self.drills.turn(&self.context, &self.fleet, (now, lived)).await.unwrap();
    }

    /// What was promised of an event, the first promised first.
    async fn promised(&self, event: &str) -> Vec<DeliveryLine> {
        let mut lines = self.context.store.deliveries(&DeliveryFilter::default()).await.unwrap();
        lines.retain(|line| line.event == event);
        lines.sort_by(|one, other| (one.created_at, &one.receiver).cmp(&(other.created_at, &other.receiver)));
        lines
    }

    /// Who was told of an event.
    async fn told(&self, event: &str) -> Vec<String> {
        self.promised(event).await.into_iter().map(|line| line.receiver).collect()
    }

    /// Has a receiver answer what it is due to be told.
    async fn answers(&self, receiver: &str, end: AttemptEnd, minutes: i64) {
        let claiming = Claiming { limit: 100, per_receiver: 100, per_unproven: 100, ..Claiming::default() };
        let now = at(minutes);
        for claim in self.context.store.claim(now, claiming).await.unwrap() {
            let is_asked = claim.receiver == receiver;
            if !is_asked {
                self.context.store.hand_back(claim.deliveries(), &claim.lease).await.unwrap();
                continue;
            }
            let next = match end {
                AttemptEnd::Accepted => NextAttempt::Sent,
                _ => NextAttempt::Retry(now),
            };
            let stand_ins = if matches!(end, AttemptEnd::Refused { .. }) { claim.fallback } else { None };
            let attempted = Attempted {
                is_again: false,
                deliveries: vec![TriedDelivery { id: claim.delivery, stand_ins: stand_ins.into_iter().collect() }],
                lease: claim.lease,
                started_at: now,
                ended_at: now,
                end: end.clone(),
                external_ref: None,
                next,
            };
            self.context.store.attempted(attempted).await.unwrap();
        }
    }

    /// What is told of drills that were not accepted, with those who hear of it beside `internal`.
    fn alert(&self) -> Option<(String, BTreeMap<String, Option<String>>)> {
        let open = self.context.alerts.open().into_iter().find(|(kind, _)| *kind == InternalAlert::DrillFailed);
        open.map(|(_, open)| (open.detail, open.about))
    }
}

fn failed(why: &str) -> AttemptEnd {
    AttemptEnd::Failed { why: why.to_owned(), retry_after: None }
}

#[tokio::test]
async fn a_drill_tells_all_whom_routes_can_reach_and_its_end_those_where_it_would_stay_open() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(29).await;
    assert!(stand.told("drill").await.is_empty(), "it is not due yet");
    stand.turn(30).await;
    let promised = stand.promised("drill").await;
    let receivers: Vec<&str> = promised.iter().map(|line| line.receiver.as_str()).collect();
    assert_eq!(receivers, ["mail", "oncall"], "the fallback too, and nobody whom no route reaches");
    assert_ne!(promised[0].notification, promised[1].notification, "a fallback is told of each by itself");
    stand.turn(31).await;
    assert_eq!(stand.promised("drill").await.len(), 2, "once");
    stand.answers("oncall", AttemptEnd::Accepted, 31).await;
    stand.answers("mail", AttemptEnd::Accepted, 31).await;
    stand.turn(31).await;
    assert_eq!(stand.told("drill.over").await, ["oncall"], "a mail is read, and stays open nowhere");
    assert_eq!(stand.alert(), None);
    let times = stand.context.live.metrics().drills.times("oncall");
    assert_eq!((times.counts[8], times.took), (1, Duration::from_secs(60)), "accepted after a minute: {times:?}");
    let last = stand.context.store.last_drills(&["oncall", "nobody"]).await.unwrap();
    assert_eq!((last["oncall"].took, last.len()), (Some(Duration::from_secs(60)), 1));
    stand.turn(30 + 24 * 60).await;
    assert_eq!(stand.promised("drill").await.len(), 4, "and again the next day");
}

#[tokio::test]
async fn a_drill_says_that_nothing_is_wrong_how_it_came_and_when_the_next_is() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    let claims = stand.context.store.claim(at(30), Claiming { limit: 9, per_unproven: 9, ..Claiming::default() }).await;
    let claim = claims.unwrap().into_iter().find(|claim| claim.receiver == "oncall").unwrap();
    let message = message::Message::parse(&claim.payload).unwrap();
    let said = "Serin: a drill of receiver 'oncall', by monitors.yaml:12: nothing is wrong; the next is on 2026-11-26 10:00 UTC";
    assert_eq!((message.event.as_str(), message.summary.as_str()), ("drill", said));
    assert!(message.evidence.0.contains(&("next".to_owned(), "2026-11-26 10:00 UTC".to_owned())), "{message:?}");
    assert_eq!(claim.fallback.as_deref(), Some("mail"));
}

#[tokio::test]
async fn a_drill_is_told_once_over_restarts_edits_and_clocks_that_are_set() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    stand.restart().await;
    stand.turn(31).await;
    assert_eq!(stand.promised("drill").await.len(), 2, "after a restart");
    stand.edit(|fleet| fleet.drills[0].line = 40);
    stand.turn(32).await;
    stand.edit(|fleet| fleet.drills[0] = drill("five past", "5 10 * * *", &["oncall"], 40));
    stand.turn(34).await;
    assert_eq!(stand.promised("drill").await.len(), 2, "after it moved in the file, and after it became another one");
    stand.turn(35).await;
    assert_eq!(stand.told("drill").await.len(), 3, "which is told at its own time");
    stand.edit(|fleet| fleet.drills[0] = drill("ten", "0 10 * * *", &[], 12));
    stand.turn(36).await;
    assert_eq!(stand.promised("drill").await.len(), 3, "one that comes back is due from then on");
    stand.turn_at(at(-30), age(36)).await;
    stand.turn_at(at(31), age(97)).await;
    assert_eq!(stand.promised("drill").await.len(), 3, "a clock that was set back comes to the same moment again");
    stand.turn_at(at(30 + 24 * 60 + 59), age(98)).await;
    assert_eq!(stand.promised("drill").await.len(), 5, "one that is set forward passes the next, which is told late");
}

#[tokio::test]
async fn a_drill_that_was_missed_is_told_within_the_hour_and_left_out_after_it() {
    for (minutes, expected, sentence) in
        [(31, 2, "a minute late"), (90, 2, "an hour late"), (91, 0, "later"), (29, 0, "it is not due")]
    {
        let mut stand = Stand::new().await;
        stand.turn(0).await;
        stand.restart().await;
        stand.turn(minutes).await;
        stand.restart().await;
        stand.turn(minutes).await;
        assert_eq!(stand.promised("drill").await.len(), expected, "{sentence}");
    }
    let mut stand = Stand::new().await;
    stand.turn(31).await;
    assert!(stand.told("drill").await.is_empty(), "a file that is new has missed nothing");
}

#[tokio::test]
async fn a_drill_that_cannot_be_written_whole_is_not_written_at_all_and_told_once_it_can() {
    let mut stand = Stand::new().await;
    // More receivers than a database that may not grow has room for: the rows of the first of them fit.
    stand.edit(|fleet| fleet.receivers.extend((0..600).map(|n| hook(&format!("hook{n}")))));
    stand.edit(|fleet| fleet.drills[0].to = fleet.receivers.iter().map(|one| one.name.clone()).collect());
    stand.turn(0).await;
    stand.context.store.limit_pages(1).await.unwrap();
    let fleet = Arc::clone(&stand.fleet);
    let refused = stand.drills.turn(&stand.context, &fleet, (at(30), age(30))).await;
    assert_eq!(refused, Err(StoreError::Full));
    assert!(stand.told("drill").await.is_empty(), "no message without its run");
    assert!(stand.context.store.awaited_receipts().await.unwrap().is_empty(), "and no run without its messages");
    stand.restart().await;
    stand.turn(31).await;
    assert_eq!(stand.context.store.awaited_receipts().await.unwrap().len(), 603, "the next process tells it");
    stand.turn(32).await;
    assert_eq!(stand.context.store.awaited_receipts().await.unwrap().len(), 603, "once");
}

#[tokio::test]
async fn a_receiver_that_does_not_accept_is_told_of_until_it_accepts_one() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    stand.answers("mail", AttemptEnd::Accepted, 30).await;
    stand.answers("oncall", failed("HTTP 500 Internal Server Error"), 30).await;
    stand.turn(34).await;
    assert_eq!(stand.alert(), None, "it has five minutes");
    stand.turn(35).await;
    let said = "receiver 'oncall' did not accept the drill of 2026-11-25 10:00:00 UTC (monitors.yaml:12) within 5m; \
                the last try: HTTP 500 Internal Server Error";
    let about = BTreeMap::from([("oncall".to_owned(), Some("mail".to_owned()))]);
    assert_eq!(stand.alert(), Some((said.to_owned(), about)));
    assert_eq!(stand.context.live.metrics().drills.failed(), ["oncall"]);
    let drilled = stand.promised("drill").await;
    assert_eq!(drilled[1].state, "dead", "no drill arrives the next day: {drilled:?}");
    assert_eq!(stand.told("drill.over").await, ["oncall"], "it may have taken it, and its answer was lost");
    let backlog = stand.context.store.backlog(at(40)).await.unwrap();
    let behind: Vec<_> = backlog.behind.iter().map(|one| (one.receiver.as_str(), one.is_drill)).collect();
    assert_eq!(behind, [("oncall", true)], "the end that waits for it is no second reason to tell of it");
    stand.restart().await;
    stand.turn(36).await;
    assert!(stand.alert().is_some(), "the next process knows it too");
    stand.turn(30 + 24 * 60).await;
    assert!(stand.alert().is_some(), "and the next drill says nothing yet");
    stand.answers("oncall", AttemptEnd::Accepted, 30 + 24 * 60).await;
    stand.turn(31 + 24 * 60).await;
    assert_eq!(stand.alert(), None, "but its acceptance does");
}

#[tokio::test]
async fn a_test_that_is_accepted_or_a_file_that_drills_it_no_longer_ends_the_alert() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    stand.turn(35).await;
    let (said, about) = stand.alert().unwrap();
    assert!(said.contains("receiver 'mail' did not accept") && said.contains("it was not tried"), "{said}");
    assert_eq!(about.len(), 2, "{about:?}");
    let test = Drill { id: "t".to_owned(), by: "kim".to_owned(), what: "a test".to_owned(), next: None };
    let test = test.opening("test".to_owned(), at(40), "");
    let to = vec![addressee(&hook("oncall"), None)];
    let test = Outgoing { payload: message::freeze(&test), notification: test, to };
    let record = crate::store::values::change_set::ChangeSet { outbox: vec![test], ..Default::default() };
    stand.context.store.commit(record).await.unwrap();
    stand.answers("oncall", AttemptEnd::Accepted, 41).await;
    stand.turn(41).await;
    assert_eq!(stand.alert().unwrap().1.into_keys().collect::<Vec<_>>(), ["mail"], "a test is a drill too");
    stand.edit(|fleet| fleet.drills[0].to = vec!["oncall".to_owned()]);
    stand.turn(42).await;
    assert_eq!(stand.alert(), None, "nobody drills it any more");
}

#[tokio::test]
async fn a_fallback_that_heard_of_a_drill_hears_of_its_end_and_nothing_of_it_afterwards() {
    let mut stand = Stand::new().await;
    // A fallback that keeps things open, and is not drilled itself.
    stand.edit(|fleet| {
        fleet.routes[0].fallback = Some("nobody".to_owned());
        fleet.drills[0].to = vec!["oncall".to_owned()];
    });
    stand.turn(0).await;
    stand.turn(30).await;
    stand.answers("oncall", AttemptEnd::Refused { why: "HTTP 404".to_owned() }, 30).await;
    assert_eq!(stand.told("drill").await, ["nobody", "oncall"], "a refusal wakes it at once");
    stand.answers("oncall", AttemptEnd::Accepted, 31).await;
    stand.turn(31).await;
    let drilled = stand.promised("drill").await;
    let states: Vec<&str> = drilled.iter().map(|line| line.state.as_str()).collect();
    assert!(states.contains(&"dead") && states.contains(&"sent"), "what it had not heard yet is given up: {states:?}");
    assert_eq!(stand.told("drill.over").await, ["nobody", "oncall"]);
}

#[tokio::test]
async fn a_receiver_has_its_time_anew_after_a_start_and_whatever_the_clock_shows() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    stand.turn_at(at(30 + 55), age(31)).await;
    assert_eq!(stand.alert(), None, "a clock that is set forward takes no time away");
    stand.restart().await;
    stand.turn(50).await;
    assert_eq!(stand.alert(), None, "nor does a stop of ours");
    stand.turn(55).await;
    assert!(stand.alert().is_some(), "five minutes of its own are over");
}

#[tokio::test]
async fn what_came_of_a_receivers_last_drill_outlives_what_was_told_of_it() {
    let mut stand = Stand::new().await;
    stand.turn(0).await;
    stand.turn(30).await;
    stand.answers("mail", AttemptEnd::Accepted, 30).await;
    stand.turn(31).await;
    let store = &stand.context.store;
    while store.forget(Retained::Notices, at(600)).await.unwrap() {}
    assert_eq!(store.last_drills(&["mail"]).await.unwrap().len(), 1, "an alert may be about it");
    let awaited = store.awaited_receipts().await.unwrap();
    assert_eq!(
        awaited.iter().map(|one| one.receiver.as_str()).collect::<Vec<_>>(),
        ["oncall"],
        "what is awaited stays"
    );
    assert_eq!(stand.told("drill").await, ["oncall"], "with its message");
    stand.turn(35).await;
    assert!(stand.alert().is_some(), "and is told of");
}

#[tokio::test]
async fn a_window_keeps_no_drill_back() {
    let mut stand = Stand::new().await;
    let window = MaintenanceWindow {
        name: "all day".to_owned(),
        matches: Match::default(),
        runs: WindowRuns::Once(Stretch { from: at(-60), to: at(600) }),
        line: 3,
    };
    stand.edit(|fleet| fleet.maintenance = vec![window]);
    let book = QuietBook::new(&[], &stand.fleet, at(0));
    assert!(book != QuietBook::default(), "the window is on");
    stand.context.quiets.put(book);
    stand.turn(0).await;
    stand.turn(30).await;
    assert_eq!(stand.told("drill").await, ["mail", "oncall"]);
}
