//! The outbox: order, fallbacks, overdue pages, and a death between claim and record.

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::paging::delivery::{AttemptEnd, DeliveryState, FALLBACK_AFTER};
use serin::store::Store;
use serin::store::read::firing::FiringRow;
use serin::store::read::ledger::DeliveryFilter;
use serin::store::values::change_set::{ChangeSet, Outgoing};
use serin::store::values::claims::{Attempted, Claim, Claiming, NextAttempt, TriedDelivery};
use serin::store::write::outbox::LEASE;

use crate::{Place, at, claimed, incident, outgoing, saying, wide};

/// How a try of everything in a claim ended.
pub(crate) fn ended(
    claim: &Claim,
    now: DateTime<Utc>,
    end: AttemptEnd,
    next: NextAttempt,
    stand_ins: &[&str],
) -> Attempted {
    let stand_ins: Vec<String> = stand_ins.iter().map(|name| (*name).to_owned()).collect();
    Attempted {
        is_again: false,
        deliveries: claim
            .deliveries()
            .into_iter()
            .map(|id| TriedDelivery { id, stand_ins: stand_ins.clone() })
            .collect(),
        lease: claim.lease.clone(),
        started_at: now,
        ended_at: now,
        end,
        external_ref: None,
        next,
    }
}

fn failed() -> AttemptEnd {
    AttemptEnd::Failed { why: "503".to_owned(), retry_after: None }
}

async fn send(store: &Store, claim: &Claim, now: DateTime<Utc>) {
    store
        .attempted(ended(claim, now, AttemptEnd::Accepted, NextAttempt::Sent, &[]))
        .await
        .expect("the try is recorded");
}

#[tokio::test]
async fn order_is_strict_for_an_incident_and_a_receiver_and_only_there() {
    let place = Place::new();
    let store = place.open().await;
    let (one, two) = (incident("i1", "docs", 0), incident("i2", "wiki", 0));
    let out = vec![
        outgoing("n1", Some(&one), 1, &[("oncall", None), ("mail", None)]),
        outgoing("n2", Some(&one), 2, &[("oncall", None)]),
        outgoing("m1", Some(&two), 1, &[("oncall", None)]),
        outgoing("r1", None, 1, &[("oncall", None)]),
    ];
    store.commit(saying(out)).await.expect("committed");

    let (names, claims) = claimed(&store, at(0)).await;
    assert_eq!(
        names,
        ["m1>oncall", "n1>mail", "n1>oncall", "r1>oncall"],
        "the second of an incident waits for the first"
    );
    let first = claims.iter().find(|c| c.notification == "n1" && c.receiver == "oncall").expect("claimed");
    assert!(claimed(&store, at(1)).await.0.is_empty(), "what is lent out is not lent twice");

    store.attempted(ended(first, at(2), failed(), NextAttempt::Retry(at(7)), &[])).await.expect("recorded");
    let outlook = store.outlook(at(3), &wide()).await.expect("outlook");
    assert_eq!(outlook.claim_at, Some(at(7)), "the failed one is next, not its successor");
    assert!(claimed(&store, at(6)).await.0.is_empty(), "a failed first still blocks its successor");
    let (names, claims) = claimed(&store, at(7)).await;
    assert_eq!(names, ["n1>oncall"], "and is tried again first");
    assert_eq!(claims[0].payload, first.payload, "with identical bytes");
    assert!(!claims[0].replayed, "a second try is no replay");

    store.attempted(ended(&claims[0], at(8), failed(), NextAttempt::Dead, &[])).await.expect("recorded");
    let (names, claims) = claimed(&store, at(9)).await;
    assert_eq!(names, ["n2>oncall"], "a dead one no longer blocks");
    send(&store, &claims[0], at(9)).await;

    let ledger = store.deliveries(&DeliveryFilter::of_incident("i1")).await.expect("ledger");
    let dead = ledger.iter().find(|line| line.state == "dead").expect("one is dead");
    assert_eq!((dead.attempts, dead.last.as_deref()), (2, Some("503")), "the ledger says why");
    let tries = store.attempts(&ledger).await.expect("tries");
    let of_dead: Vec<_> = tries[&dead.id].iter().map(|one| (one.number, &*one.ended, &*one.answer)).collect();
    assert_eq!(of_dead, [(1, "failed", "503"), (2, "failed", "503")], "and each try what it was answered");
    let everything = DeliveryFilter::of_incident("i1");
    let of_its_notification = ledger.iter().filter(|line| line.notification == dead.notification).count();
    let rows = [
        (DeliveryFilter { state: Some(DeliveryState::Dead), ..everything.clone() }, 1, "by state"),
        (DeliveryFilter { receiver: Some("oncall".to_owned()), ..everything.clone() }, 2, "by receiver"),
        (DeliveryFilter { receiver: Some("nobody".to_owned()), ..everything.clone() }, 0, "of another one"),
        (DeliveryFilter { monitor: dead.monitor.clone(), ..everything.clone() }, ledger.len(), "by monitor"),
        (DeliveryFilter { monitor: Some("nobody".to_owned()), ..everything.clone() }, 0, "of another monitor"),
        (DeliveryFilter { event: Some("drill"), ..everything.clone() }, 0, "by event"),
        (DeliveryFilter { from: Some(at(0)), to: Some(at(60)), ..everything.clone() }, ledger.len(), "by time"),
        (DeliveryFilter { to: Some(at(0) - TimeDelta::seconds(1)), ..everything.clone() }, 0, "from before"),
        (DeliveryFilter::of_notification(&dead.notification), of_its_notification, "by notification"),
        (
            DeliveryFilter { after: Some(ledger[0].id.clone()), ..everything.clone() },
            ledger.len() - 1,
            "what follows the newest",
        ),
        (
            DeliveryFilter { after: Some(ledger[ledger.len() - 1].id.clone()), ..everything },
            0,
            "nothing follows the oldest",
        ),
    ];
    for (filter, expected, sentence) in rows {
        assert_eq!(store.deliveries(&filter).await.expect("ledger").len(), expected, "{sentence}");
    }
    let counts = store.delivery_counts(&DeliveryFilter::of_incident("i1")).await.expect("counts");
    assert_eq!((counts[2], counts.iter().sum::<u64>()), (1, ledger.len() as u64), "one is dead, and none is missing");
    let of_nobody = DeliveryFilter { monitor: Some("nobody".to_owned()), ..DeliveryFilter::default() };
    assert_eq!(store.delivery_counts(&of_nobody).await, Ok([0; 3]), "counts are of what the filter fits");
    assert_eq!(store.replay(vec![dead.id.clone()], "kim", at(20)).await, Ok(1), "a dead one can be replayed");
    assert_eq!(store.replay(vec![dead.id.clone()], "kim", at(20)).await, Ok(0), "a pending one need not be");
    let (names, claims) = claimed(&store, at(20)).await;
    assert_eq!(names, ["n1>oncall"], "the replayed one is due at once");
    assert_eq!((claims[0].tries, claims[0].promised_at), (0, at(20)), "with its patience renewed");
    assert!(claims[0].replayed, "and known as a replay");
    store.close().await;
}

#[tokio::test]
async fn a_full_receiver_delays_nobody_else() {
    let place = Place::new();
    let store = place.open().await;
    let many: Vec<Outgoing> = (0..20).map(|n| outgoing(&format!("n{n:02}"), None, 1, &[("slow", None)])).collect();
    store.commit(saying(many)).await.expect("committed");
    store.commit(saying(vec![outgoing("x", None, 1, &[("quick", None)])])).await.expect("committed");

    let two = Claiming { limit: 10, per_receiver: 2, per_unproven: 2, ..Claiming::default() };
    let mut got: Vec<_> = store.claim(at(0), two).await.expect("claims").into_iter().map(|c| c.receiver).collect();
    got.sort();
    assert_eq!(got, ["quick", "slow", "slow"], "a receiver gets no more than its share");
    let full =
        Claiming { limit: 10, per_unproven: 2, in_flight: [("slow".to_owned(), 2)].into(), ..Claiming::default() };
    assert!(store.claim(at(0), full.clone()).await.expect("claims").is_empty(), "a full one gets nothing");
    let outlook = store.outlook(at(1), &full).await.expect("outlook");
    assert_eq!(outlook.claim_at, Some(at(0) + LEASE), "and what it waits for does not keep the courier awake");
    store.close().await;
}

#[tokio::test]
async fn receivers_that_took_nothing_yet_leave_their_places_to_others() {
    let place = Place::new();
    let store = place.open().await;
    let flood = (0..5 * 90).map(|n| outgoing(&format!("s{n:03}"), None, 1, &[(&format!("slow-{}", n % 90), None)]));
    store.commit(saying(flood.collect())).await.expect("committed");
    let later = (0..10).map(|n| outgoing(&format!("q{n}"), None, 1, &[(&format!("quick-{n}"), None)]));
    store.commit(saying(later.collect())).await.expect("committed");
    let proven = ["quick-3".to_owned(), "slow-7".to_owned()].into();
    let claiming = Claiming { limit: 256, per_receiver: 4, per_unproven: 1, proven, ..Claiming::default() };
    let claims = store.claim(at(0), claiming).await.expect("claims");
    let of = |name: &str| claims.iter().filter(|claim| claim.receiver.starts_with(name)).count();
    assert_eq!((of("slow-"), of("quick-")), (90 + 3, 10), "one of each, and four of who took the last");
    assert_eq!(claims.iter().filter(|claim| claim.receiver == "slow-7").count(), 4);
    store.close().await;
}

#[tokio::test]
async fn a_fallback_is_woken_once_and_hears_all_that_follows() {
    let place = Place::new();
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let to = [("oncall", Some("mail"))];
    let first = vec![outgoing("n1", Some(&one), 1, &to), outgoing("n2", Some(&one), 2, &to)];
    store.commit(saying(first)).await.expect("committed");
    let (_, claims) = claimed(&store, at(0)).await;
    assert_eq!(
        store.outlook(at(0), &wide()).await.expect("outlook").fallback_at,
        Some(at(0) + FALLBACK_AFTER),
        "after 2 min"
    );
    assert_eq!(store.wake_fallbacks(at(119)).await, Ok(0), "not before");

    store
        .attempted(ended(&claims[0], at(1), failed(), NextAttempt::Retry(at(600)), &["mail"]))
        .await
        .expect("recorded");
    assert_eq!(store.wake_fallbacks(at(130)).await, Ok(0), "what was woken already is not woken again");
    let (names, claims) = claimed(&store, at(130)).await;
    assert_eq!(names, ["n1>mail"], "the fallback gets the first, in order");
    send(&store, &claims[0], at(131)).await;
    let (names, claims) = claimed(&store, at(132)).await;
    assert_eq!(names, ["n2>mail"], "and what waited behind it");
    send(&store, &claims[0], at(132)).await;

    store.commit(saying(vec![outgoing("n3", Some(&one), 3, &to)])).await.expect("committed");
    assert_eq!(claimed(&store, at(133)).await.0, ["n3>mail"], "and all that follows");
    let told: Vec<_> = store.told("i1").await.expect("told").into_iter().map(|a| (a.receiver, a.fallback)).collect();
    let expected = [("mail".to_owned(), None), ("oncall".to_owned(), Some("mail".to_owned()))];
    assert_eq!(told.len(), 2, "everybody who was promised anything: {told:?}");
    assert!(expected.iter().all(|one| told.contains(one)), "with their fallbacks: {told:?}");
    store.close().await;
}

#[tokio::test]
async fn an_overdue_page_wakes_its_fallback_by_itself() {
    let place = Place::new();
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let out = vec![outgoing("n1", Some(&one), 1, &[("oncall", Some("mail")), ("mail", None)])];
    store.commit(saying(out)).await.expect("committed");
    assert_eq!(store.wake_fallbacks(at(120)).await, Ok(1), "two minutes are over");
    let ledger = store.deliveries(&DeliveryFilter::default()).await.expect("ledger");
    assert_eq!(ledger.len(), 2, "a fallback that hears of it anyway is not told twice");
    assert_eq!(store.wake_fallbacks(at(500)).await, Ok(0), "once is enough");
    store.close().await;
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_is_due_again() {
    let place = Place::new();
    let store = place.open().await;
    let promised =
        vec![outgoing("n1", None, 1, &[("oncall", Some("mail"))]), outgoing("n2", None, 1, &[("ops", None)])];
    store.commit(saying(promised)).await.expect("committed");
    for claim in claimed(&store, at(0)).await.1 {
        let next = NextAttempt::Retry(at(60));
        store.attempted(ended(&claim, at(30), failed(), next, &[])).await.expect("recorded");
    }
    assert_eq!(store.reckon_anew(at(40)).await, Ok(0), "what was reckoned by this clock waits");
    assert!(claimed(&store, at(40)).await.0.is_empty());
    // Back by three hours.
    let back = at(40 - 3 * 3600);
    assert!(claimed(&store, back).await.0.is_empty(), "by itself it would wait for hours");
    assert_eq!(store.reckon_anew(back).await, Ok(2), "both are due");
    let claims = claimed(&store, back).await.1;
    assert_eq!(claims.iter().map(|claim| claim.promised_at).collect::<Vec<_>>(), [back, back], "their age counts anew");
    let outlook = store.outlook(back, &wide()).await.expect("an outlook");
    let fallback_at = outlook.fallback_at.map(|at| (at - back).num_seconds());
    assert_eq!(fallback_at, Some(120), "and the fallback is woken in its time");
    store.close().await;
}

#[test]
fn a_death_between_claim_and_record_repeats_the_same_bytes() {
    let place = Place::new();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let first = runtime();
    let before = first.block_on(async {
        let store = place.open().await;
        store.commit(saying(vec![outgoing("n1", None, 1, &[("oncall", None)])])).await.expect("committed");
        let lost = claimed(&store, at(0)).await.1;
        assert!(claimed(&store, at(1)).await.0.is_empty(), "a lease holds");
        let claims = claimed(&store, at(0) + LEASE).await.1;
        assert_eq!(claims[0].delivery, lost[0].delivery, "and runs out, should a try die alone");
        (claims[0].clone(), store)
    });
    // The runtime goes, and the writer with it in the middle of its life: nothing is closed in order.
    drop(first);
    let (before, _store) = before;
    runtime().block_on(async {
        let store = place.open().await;
        // On a server nobody knows that it is dead: it may write until its claim runs out.
        let again = if place.is_shared() { at(0) + LEASE + LEASE } else { at(31) };
        assert!(!place.is_shared() || claimed(&store, again - TimeDelta::seconds(1)).await.1.is_empty());
        let after = claimed(&store, again).await.1;
        let same = |claim: &Claim| (claim.delivery.clone(), claim.notification.clone(), claim.payload.clone());
        assert_eq!(same(&after[0]), same(&before), "the dead hold nothing: same id, same bytes, at once");
        store.attempted(ended(&before, at(32), failed(), NextAttempt::Dead, &[])).await.expect("recorded");
        assert_eq!(
            store.backlog(Utc::now()).await.expect("backlog").dead,
            0,
            "a no counts only for the holder of the lease"
        );
        send(&store, &after[0], at(33)).await;
        assert_eq!(store.backlog(Utc::now()).await.expect("backlog").pending, 0, "a yes ends it");
        store.close().await;
    });
}

#[tokio::test]
async fn a_start_takes_back_what_it_had_lent_and_leaves_others_theirs() {
    let place = Place::new();
    let store = place.open().await;
    let promised = vec![outgoing("n1", None, 1, &[("oncall", None)]), outgoing("n2", None, 1, &[("mail", None)])];
    store.commit(saying(promised)).await.expect("committed");
    assert_eq!(claimed(&store, at(0)).await.0.len(), 2);
    store.close().await;
    assert_eq!(place.write("UPDATE deliveries SET lease_by = 'other' WHERE receiver = 'mail'").await, 1);
    let store = place.open().await;
    let receivers = |claims: Vec<Claim>| claims.into_iter().map(|claim| claim.receiver).collect::<Vec<_>>();
    let (mine, theirs): (&[&str], &[&str]) =
        if place.is_shared() { (&[], &["mail", "oncall"]) } else { (&["oncall"], &["mail"]) };
    assert_eq!(receivers(claimed(&store, at(1)).await.1), mine, "its own, at once, where nobody shares what it has");
    let mut rest = receivers(claimed(&store, at(0) + LEASE).await.1);
    rest.sort();
    assert_eq!(rest, theirs, "and theirs in time");
    store.close().await;
}

#[tokio::test]
async fn what_a_receiver_knows_an_incident_by_goes_with_all_that_follows_until_it_ends() {
    let place = Place::new();
    let store = place.open().await;
    let (one, two) = (incident("i1", "docs", 0), incident("i2", "wiki", 0));
    let to = [("am", None), ("mail", None)];
    let incidents = vec![one.clone(), two.clone()];
    let outbox = vec![outgoing("n1", Some(&one), 1, &to), outgoing("m1", Some(&two), 1, &to)];
    store.commit(ChangeSet { incidents, outbox, ..ChangeSet::default() }).await.expect("committed");
    assert_eq!(store.firing("am").await.expect("read"), [], "what was told to nobody does not fire");
    for claim in claimed(&store, at(0)).await.1 {
        assert_eq!(claim.external_ref, None, "nothing is known yet");
        let known = format!("{} at {}", claim.notification, claim.receiver);
        let told = ended(&claim, at(1), AttemptEnd::Accepted, NextAttempt::Sent, &[]);
        store.attempted(Attempted { external_ref: Some(known), ..told }).await.expect("recorded");
    }
    store.commit(saying(vec![outgoing("n2", Some(&one), 2, &to)])).await.expect("committed");
    let firing = |rows: Vec<FiringRow>| -> Vec<String> {
        rows.into_iter().map(|row| format!("{} {:?}", row.notification, row.external_ref)).collect()
    };
    let rows = firing(store.firing("am").await.expect("read"));
    assert_eq!(rows, ["n1 Some(\"n1 at am\")", "m1 Some(\"m1 at am\")"], "what was told last, not what is to come");
    let (_, claims) = claimed(&store, at(2)).await;
    let of_am = claims.iter().find(|claim| claim.receiver == "am").expect("claimed");
    assert_eq!(of_am.external_ref.as_deref(), Some("n1 at am"), "each receiver's own, for each incident");
    send(&store, of_am, at(3)).await;
    assert_eq!(firing(store.firing("am").await.expect("read"))[0], "n2 Some(\"n1 at am\")");

    let over = Incident { resolved_at: Some(at(4)), resolve_cause: Some(ResolveCause::Recovered), ..one };
    let outbox = vec![outgoing("n3", Some(&over), 3, &to)];
    store.commit(ChangeSet { incidents: vec![over], outbox, ..ChangeSet::default() }).await.expect("committed");
    let rows = firing(store.firing("am").await.expect("read"));
    assert_eq!(rows, ["m1 Some(\"m1 at am\")"], "what is over fires no more, though its end is still to be told");
    let opening = store.deliveries(&DeliveryFilter::of_incident("i1")).await.expect("ledger");
    let opening =
        opening.iter().find(|line| (&*line.receiver, &*line.notification) == ("am", "n1")).expect("it was sent");
    let replayed = store.replay(vec![opening.id.clone()], "kim", at(5)).await.expect("asked");
    assert_eq!(replayed, 1, "a person has it sent again");
    let (names, claims) = claimed(&store, at(5)).await;
    assert_eq!((&*names, claims[0].over_at), (&["n1>am".to_owned()][..], Some(at(4))), "and it is known to be over");
    assert_eq!(of_am.over_at, None, "before, it was not");
    store.close().await;
    let store = place.open().await;
    assert_eq!(firing(store.firing("am").await.expect("read")).len(), 1, "the next process knows the same");
    store.close().await;
}
