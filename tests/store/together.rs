//! What goes to people in one message: who waits for whom, what a try of it holds, and that no incident's messages change
//! their order.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serin::domain::incident::Incident;
use serin::domain::paging::delivery::AttemptEnd;
use serin::domain::paging::gathering::{Gathering, Pace};
use serin::domain::paging::notification::{Event, Notification};
use serin::domain::reason::Severity;
use serin::domain::receiver::AtMost;
use serin::store::Store;
use serin::store::read::ledger::DeliveryFilter;
use serin::store::values::change_set::Outgoing;
use serin::store::values::claims::{Claim, Claiming, NextAttempt};

use crate::outbox::ended;
use crate::{Place, at, incident, outgoing, saying, wide};

const PACE: Pace =
    Pace::Rhythm { wait: Duration::from_secs(30), interval: Duration::from_secs(300), is_loud_sooner: true };

/// Something told to `chat` at a second, with what has the same key; without one it goes alone.
fn told(id: &str, of: &Incident, (sequence, event): (u32, Event), second: i64, key: Option<&str>) -> Outgoing {
    let mut told = outgoing(id, Some(of), sequence, &[("chat", Some("mail"))]);
    told.notification = Notification { event, at: at(second), ..told.notification };
    told.to[0].gathering = key.map(|key| Gathering { key: key.to_owned(), pace: PACE });
    told
}

fn for_people() -> Claiming {
    Claiming { people: HashSet::from(["chat".to_owned(), "mail".to_owned()]), ..wide() }
}

/// What is claimed, a message a line: such as `chat: a1 b1`.
async fn messages(store: &Store, second: i64, claiming: Claiming) -> (Vec<String>, Vec<Claim>) {
    let claims = store.claim(at(second), claiming).await.expect("claims are answered");
    let line = |claim: &Claim| {
        let others = claim.others().iter().map(|other| other.notification.as_str());
        let mut ids: Vec<&str> = std::iter::once(&*claim.notification).chain(others).collect();
        ids.sort_unstable();
        format!("{}: {}", claim.receiver, ids.join(" "))
    };
    let mut lines: Vec<String> = claims.iter().map(line).collect();
    lines.sort();
    (lines, claims)
}

async fn end(store: &Store, claim: &Claim, second: i64, next: NextAttempt, stand_ins: &[&str]) {
    let end = match next {
        NextAttempt::Sent => AttemptEnd::Accepted,
        _ => AttemptEnd::Failed { why: "503".to_owned(), retry_after: None },
    };
    let attempted = ended(claim, at(second), end, next, stand_ins);
    store.attempted(attempted).await.expect("the try is recorded");
}

const OPENED: (u32, Event) = (1, Event::IncidentOpened);
const OVER: (u32, Event) = (9, Event::IncidentResolved);
const KEY: Option<&str> = Some("team=docs");

#[tokio::test]
async fn what_has_one_key_is_one_message_and_a_repeat_of_it_holds_the_same() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b, c] = ["a", "b", "c"].map(|id| incident(id, id, 0));
    store.commit(saying(vec![told("a1", &a, OPENED, 0, KEY)])).await.unwrap();
    store
        .commit(saying(vec![told("b1", &b, OPENED, 20, KEY), told("x1", &c, OPENED, 20, Some("team=x"))]))
        .await
        .unwrap();
    assert_eq!(messages(&store, 29, for_people()).await.0, [""; 0], "the first waits for others");
    assert_eq!(store.outlook(at(20), &for_people()).await.unwrap().claim_at, Some(at(30)), "and we know until when");

    let (lines, claims) = messages(&store, 30, for_people()).await;
    assert_eq!(lines, ["chat: a1 b1"], "who came later goes with it; another key waits for its own");
    assert!(messages(&store, 31, for_people()).await.0.is_empty(), "what is lent out is not lent twice");
    end(&store, &claims[0], 32, NextAttempt::Retry(at(40)), &["mail"]).await;
    store.commit(saying(vec![told("c1", &c, OPENED, 33, KEY), told("a9", &a, OVER, 33, KEY)])).await.unwrap();

    let (lines, again) = messages(&store, 40, for_people()).await;
    assert_eq!(
        lines,
        ["chat: a1 b1", "mail: a1 a9 b1"],
        "a repeat holds no more; the fallback gets one message as well, with what came since"
    );
    let same = |claim: &Claim| (claim.together.clone().unwrap().id, claim.payload.clone());
    let repeat = again.iter().find(|claim| claim.receiver == "chat").unwrap();
    assert_eq!(same(repeat), same(&claims[0]), "under the same id");
    assert_eq!(
        messages(&store, 600, Claiming { busy: repeat.deliveries().into_iter().collect(), ..for_people() }).await.0[0],
        "chat: c1",
        "what came since goes in the next, but not the end of what is on its way"
    );
    end(&store, repeat, 41, NextAttempt::Sent, &[]).await;
    let ledger = store.deliveries(&DeliveryFilter::of_incident("b")).await.unwrap();
    let chat = ledger.iter().find(|line| line.receiver == "chat").unwrap();
    assert_eq!((chat.state.as_str(), chat.attempts), ("sent", 2), "each has its line in the ledger");
}

#[tokio::test]
async fn what_is_written_again_after_a_failover_goes_under_the_id_it_had() {
    // What came to be written, and when it was taken together.
    let rows: [(&[&str], i64, bool, &str); 3] = [
        (&["a1", "b1"], 30, true, "the same, on the store that had it"),
        (&["a1", "b1"], 55, true, "the same, on another store and later"),
        (&["a1"], 55, false, "where one is lost it is another message"),
    ];
    let mut first = None;
    for (written, second, is_same, sentence) in rows {
        let place = Place::new();
        let store = place.open().await;
        for id in written {
            let of = incident(&id[..1], &id[..1], 0);
            store.commit(saying(vec![told(id, &of, OPENED, 0, KEY)])).await.unwrap();
        }
        let (_, claims) = messages(&store, second, for_people()).await;
        let id = claims[0].together.clone().expect("for people, together").id;
        let first = first.get_or_insert_with(|| id.clone());
        assert_eq!(*first == id, is_same, "{sentence}");
    }
}

#[tokio::test]
async fn no_message_overtakes_one_of_its_incident_that_went_alone() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b] = ["a", "b"].map(|id| incident(id, id, 0));
    store.commit(saying(vec![told("a1", &a, OPENED, 0, None)])).await.unwrap();
    let (lines, alone) = messages(&store, 0, for_people()).await;
    assert_eq!(lines, ["chat: a1"]);
    end(&store, &alone[0], 1, NextAttempt::Retry(at(500)), &[]).await;
    // The route began to group meanwhile.
    store.commit(saying(vec![told("a2", &a, OVER, 2, KEY), told("b1", &b, OPENED, 2, KEY)])).await.unwrap();
    let (lines, claims) = messages(&store, 60, for_people()).await;
    assert_eq!(lines, ["chat: b1"]);
    end(&store, &claims[0], 61, NextAttempt::Sent, &[]).await;
    assert!(messages(&store, 499, for_people()).await.0.is_empty());
    let (lines, claims) = messages(&store, 500, for_people()).await;
    assert_eq!(lines, ["chat: a1"]);
    end(&store, &claims[0], 501, NextAttempt::Sent, &[]).await;
    assert_eq!(messages(&store, 502, for_people()).await.0, ["chat: a2"]);
}

#[tokio::test]
async fn programs_get_each_alone_and_what_is_replayed_goes_alone() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b] = ["a", "b"].map(|id| incident(id, id, 0));
    store.commit(saying(vec![told("a1", &a, OPENED, 0, KEY), told("b1", &b, OPENED, 0, KEY)])).await.unwrap();
    let (lines, claims) = messages(&store, 30, wide()).await;
    assert_eq!(lines, ["chat: a1", "chat: b1"], "a receiver that is a program by now");
    for claim in &claims {
        end(&store, claim, 31, NextAttempt::Sent, &[]).await;
    }
    store.replay(vec![claims[0].delivery.clone()], "ada", at(40)).await.unwrap();
    let (lines, again) = messages(&store, 40, for_people()).await;
    assert_eq!((lines.len(), again[0].others().len()), (1, 0));
    assert_eq!(again[0].notification, claims[0].notification);
}

#[tokio::test]
async fn what_is_too_much_waits_for_people_in_one_message_and_for_a_program_in_order() {
    let place = Place::new();
    let store = place.open().await;
    let limited = |people: bool| Claiming {
        at_most: HashMap::from([("chat".to_owned(), AtMost { messages: 2, per: Duration::from_secs(100) })]),
        ..if people { for_people() } else { wide() }
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|id| incident(id, id, 0));
    let updated = |id: &str, of: &Incident, second| told(id, of, (2, Event::IncidentUpdated), second, None);
    for (id, of) in [("a1", &a), ("b1", &b), ("c1", &c)] {
        // Told long ago, so that an update is no first word of it.
        store.commit(saying(vec![told(id, of, OPENED, -9000, None)])).await.unwrap();
        let (_, claims) = messages(&store, -9000, limited(true)).await;
        end(&store, &claims[0], -9000 + 300 * i64::from(of.id == "b"), NextAttempt::Sent, &[]).await;
    }
    store.commit(saying(vec![updated("a2", &a, 0), updated("b2", &b, 0)])).await.unwrap();
    let (lines, claims) = messages(&store, 0, limited(true)).await;
    assert_eq!(lines, ["chat: a2", "chat: b2"]);
    for claim in &claims {
        end(&store, claim, 10, NextAttempt::Sent, &[]).await;
    }
    let mut page = told("d1", &d, OPENED, 20, None);
    page.notification.severity = Severity::Page;
    let mut update = updated("c2", &c, 20);
    update.notification.severity = Severity::Ticket;
    store.commit(saying(vec![update, updated("b3", &b, 20), page])).await.unwrap();
    let mut said = Vec::new();
    for second in [21, 22, 23] {
        let (lines, claims) = messages(&store, second, limited(true)).await;
        for claim in &claims {
            end(&store, claim, second, NextAttempt::Sent, &[]).await;
        }
        said.extend(lines);
    }
    assert_eq!(said, ["chat: d1"], "a new page does not wait");
    // The end of what waits brings it along, and all that waits with it.
    store.commit(saying(vec![told("c9", &c, OVER, 30, None)])).await.unwrap();
    let (lines, claims) = messages(&store, 31, limited(true)).await;
    assert_eq!(lines, ["chat: b3 c2"]);
    end(&store, &claims[0], 31, NextAttempt::Sent, &[]).await;
    let (lines, claims) = messages(&store, 32, limited(true)).await;
    assert_eq!(lines, ["chat: c9"], "behind what it ends");
    end(&store, &claims[0], 32, NextAttempt::Sent, &[]).await;

    // The same receiver as a program: in order, two in any hundred seconds, pages too.
    let pages = ["e", "f", "g"].map(|id| incident(id, id, 0));
    let out = (198..).zip(&pages).map(|(second, of)| told(&format!("{}1", of.id), of, OPENED, second, None)).collect();
    store.commit(saying(out)).await.unwrap();
    let mut said = Vec::new();
    for second in [200, 201, 250, 299, 301, 302] {
        let (lines, claims) = messages(&store, second, limited(false)).await;
        for claim in &claims {
            end(&store, claim, second, NextAttempt::Sent, &[]).await;
        }
        said.extend(lines.into_iter().map(|line| format!("{second} {line}")));
    }
    assert_eq!(said, ["200 chat: e1", "200 chat: f1", "301 chat: g1"]);
}

#[tokio::test]
async fn a_restart_brings_nothing_before_its_time_and_a_page_does_not_stand_behind_its_digest() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b] = ["a", "b"].map(|id| incident(id, id, 0));
    let digest = |id: &str, of: &Incident| {
        let mut notice = told(id, of, OPENED, 0, None);
        notice.notification.severity = Severity::Notice;
        notice.to[0].gathering = Some(Gathering { key: "digest x".to_owned(), pace: Pace::Until(at(90_000)) });
        notice
    };
    store.commit(saying(vec![digest("a1", &a), digest("b1", &b)])).await.unwrap();
    assert_eq!(store.reckon_anew(at(100)).await.unwrap(), 0, "a start takes nothing for a clock that was set");
    assert_eq!(messages(&store, 100, for_people()).await.0, [""; 0]);

    let mut worse = told("a2", &a, (2, Event::IncidentUpdated), 200, None);
    worse.notification.severity = Severity::Page;
    store.commit(saying(vec![worse])).await.unwrap();
    let mut said = Vec::new();
    for second in [200, 201] {
        let (lines, claims) = messages(&store, second, for_people()).await;
        for claim in &claims {
            end(&store, claim, second, NextAttempt::Sent, &[]).await;
        }
        said.extend(lines);
    }
    assert_eq!(said, ["chat: a1 b1", "chat: a2"], "what got loud is told now, and before it what it followed");
}

#[tokio::test]
async fn what_waits_for_long_makes_what_is_new_no_older() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b] = ["a", "b"].map(|id| incident(id, id, 0));
    store.commit(saying(vec![told("a1", &a, OPENED, 0, KEY)])).await.unwrap();
    let (_, claims) = messages(&store, 30, for_people()).await;
    end(&store, &claims[0], 31, NextAttempt::Retry(at(90_000)), &[]).await;
    store.commit(saying(vec![told("a9", &a, OVER, 40, KEY)])).await.unwrap();
    store.commit(saying(vec![told("b1", &b, OPENED, 80_000, KEY)])).await.unwrap();
    let (lines, claims) = messages(&store, 80_030, for_people()).await;
    assert_eq!(lines, ["chat: b1"]);
    assert!(claims[0].promised_at >= at(80_000), "its age counts from its own promise: {}", claims[0].promised_at);
}

#[tokio::test]
async fn what_follows_a_try_that_is_still_on_its_way_waits_for_it_however_old_its_claim_is() {
    let place = Place::new();
    let store = place.open().await;
    let [a, b] = ["a", "b"].map(|id| incident(id, id, 0));
    store.commit(saying(vec![told("a1", &a, OPENED, 0, KEY)])).await.unwrap();
    let (lines, flying) = messages(&store, 30, wide()).await;
    assert_eq!(lines, ["chat: a1"], "alone, to what was a program then");
    store.commit(saying(vec![told("a9", &a, OVER, 31, KEY), told("b1", &b, OPENED, 31, KEY)])).await.unwrap();
    // The store was slow: the claim ran out, and the try did not end.
    let busy = flying[0].deliveries().into_iter().collect();
    let (lines, _) = messages(&store, 90, Claiming { busy, ..for_people() }).await;
    assert_eq!(lines, ["chat: b1"]);
}
