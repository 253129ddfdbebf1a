//! Holds, and who was told: what the next process knows of telling.

use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::paging::hold::TellingHold;
use serin::domain::paging::tell::Telling;
use serin::store::values::change_set::ChangeSet;

use crate::{Place, at, incident, outgoing};

#[tokio::test]
async fn what_holds_an_incident_is_known_to_the_next_process_and_ends_with_the_incident() {
    let place = Place::new();
    let store = place.open().await;
    let (first, second) = (incident("i1", "docs", 0), incident("i2", "wiki", 5));
    let hold = TellingHold::by_cause("i2", "i1", at(5));
    let opening = ChangeSet {
        incidents: vec![first.clone(), second.clone()],
        outbox: vec![outgoing("n1", Some(&first), 1, &[("oncall", None)])],
        holds: vec![hold.clone()],
        ..ChangeSet::default()
    };
    store.commit(opening.clone()).await.expect("committed");
    store.commit(opening).await.expect("committed again, as after an answer that was lost");
    store.close().await;

    let store = place.open().await;
    let tellings = store.tellings().await.expect("read");
    assert_eq!(tellings["i1"], Telling::remembered(true, Vec::new()), "a delivery of it exists");
    assert_eq!(tellings["i2"], Telling::remembered(false, vec![hold.clone()]), "none does, and why");
    assert_eq!(store.live_holds(at(20)).await.expect("read")["i2"], hold);
    assert_eq!(store.explained_by("i1").await, Ok(vec![second.clone()]), "it stands under the first");

    let over = TellingHold { ended_at: Some(at(60)), ..hold };
    let again = TellingHold { until: Some(at(90)), ..TellingHold::by_cause("i2", "i1", at(70)) };
    let holds = vec![over.clone(), again.clone()];
    store.commit(ChangeSet { holds, ..ChangeSet::default() }).await.expect("committed");
    assert_eq!(store.holds_of("i2").await, Ok(vec![again.clone(), over.clone()]), "the latest first");

    let ended = Incident { resolved_at: Some(at(80)), resolve_cause: Some(ResolveCause::Recovered), ..second };
    store.commit(ChangeSet { incidents: vec![ended], ..ChangeSet::default() }).await.expect("committed");
    let again = TellingHold { ended_at: Some(at(80)), ..again };
    assert_eq!(store.holds_of("i2").await, Ok(vec![again, over]), "what is over is held by nothing");
    assert!(store.live_holds(at(20)).await.expect("read").is_empty());
    assert!(!store.tellings().await.expect("read").contains_key("i2"), "and is not told any more");
    assert_eq!(place.number("SELECT COUNT(*) FROM holds").await, 2);
    store.close().await;
}
