//! Answers that are texts: a list with one source each, and what that source stands for, once and for as long as it.

use serin::domain::answer::KeptText;
use serin::domain::monitor::MonitorId;
use serin::store::Store;
use serin::store::values::change_set::{AskRow, ChangeSet};

use crate::{Place, ask, at, beat, incident, record};

const DAY: i64 = 86_400;
const SOURCES: &str = "SELECT COUNT(*) FROM sources";
const TEXTS: &str = "SELECT COUNT(*) FROM texts";

/// A beat whose one answer is the text of this name.
fn answered(seconds: i64, name: &str, begins: &str) -> ChangeSet {
    let text = KeptText { name: name.into(), bytes: 20_000, chars: 19_000, begins: begins.into() };
    let ask = AskRow {
        rank: None,
        sources: vec![name.to_owned()],
        scores: vec![None],
        lengths: vec![text.chars],
        ..ask("life", 20)
    };
    ChangeSet { beat: Some(beat("docs", seconds)), asks: vec![ask], texts: vec![text], ..ChangeSet::default() }
}

/// What every text that is kept begins with, by the name of its source.
async fn kept(place: &Place) -> Vec<String> {
    let texts = "SELECT name || '|' || bytes || '|' || begins FROM texts JOIN sources ON id = source ORDER BY name";
    place.read(texts).await
}

#[tokio::test]
async fn a_text_is_kept_once_for_two_beats() {
    let place = Place::new();
    let store = place.open().await;
    assert!(!store.keeps_text("text:a"), "nothing is kept yet");
    store.commit(answered(0, "text:a", "# Boilers\nas first")).await.expect("committed");
    assert!(store.keeps_text("text:a") && !store.keeps_text("text:b"), "it need not be carried again");
    // Another beat that did not know of it, and one that did.
    store.commit(answered(60, "text:a", "as second")).await.expect("committed");
    let known = ChangeSet { texts: Vec::new(), ..answered(120, "text:a", "") };
    store.commit(known).await.expect("committed");
    store.close().await;

    let store = place.open().await;
    assert!(!store.keeps_text("text:a"), "after a restart it is carried once more");
    store.commit(answered(180, "text:a", "as third")).await.expect("committed");
    assert!(store.keeps_text("text:a"));
    assert_eq!(kept(&place).await, ["text:a|20000|# Boilers\nas first"]);

    let beats = store.past(&MonitorId::new("docs"), at(0), at(3600)).await.expect("the past");
    let answers: Vec<_> = beats.iter().flat_map(|beat| &beat.asks).filter_map(|ask| ask.answer.as_ref()).collect();
    assert_eq!(answers.len(), 4, "every beat has its answer");
    let lists = store.lists(&[answers[0].list]).await.expect("lists");
    assert!(answers.iter().all(|answer| answer.list == answers[0].list && answer.lengths == [19_000]), "{answers:?}");
    assert_eq!(lists[&answers[0].list], ["text:a"], "which is a list with one source");
    store.close().await;
}

#[tokio::test]
async fn a_text_that_is_refused_with_its_beat_is_not_known() {
    let place = Place::new();
    let store = place.open().await;
    let open = incident("i1", "docs", 0);
    store.commit(ChangeSet { incidents: vec![open], ..ChangeSet::default() }).await.expect("committed");
    let bad = ChangeSet { incidents: vec![incident("i2", "docs", 60)], ..answered(60, "text:a", "a") };
    assert!(store.commit(bad).await.is_err(), "a second open incident is refused");
    assert_eq!((store.keeps_text("text:a"), place.number(TEXTS).await), (false, 0));
    store.commit(record("docs", 120)).await.expect("committed");
    assert_eq!(place.number(TEXTS).await, 0, "a beat with a list has no text");
    store.close().await;
}

/// The janitor looks for what nothing names.
async fn look(store: &Store, day: i64) {
    store.doom_unused(at(day * DAY), at(day * DAY)).await.expect("looked");
}

#[tokio::test]
async fn a_text_goes_with_its_source() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(answered(0, "text:old", "old")).await.expect("committed");
    let rows = [
        (40, 1, 1, "the list that names it is doomed"),
        (42, 1, 1, "and dropped"),
        (44, 1, 1, "then the source is doomed"),
        (46, 0, 0, "and dropped with its text"),
    ];
    for (day, sources, texts, sentence) in rows {
        look(&store, day).await;
        let found = (place.number(SOURCES).await, place.number(TEXTS).await);
        assert_eq!(found, (sources, texts), "{sentence}");
        assert_eq!(store.keeps_text("text:old"), texts > 0, "{sentence}");
    }
    store.commit(answered(46 * DAY, "text:old", "old")).await.expect("committed");
    assert_eq!(kept(&place).await, ["text:old|20000|old"], "what comes back is kept anew");
    store.close().await;
}
