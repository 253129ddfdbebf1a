//! How a batch goes to a server, as the server itself hears it: how many statements, and what their commit waits for.

use serin::store::Store;
use serin::store::values::change_set::ChangeSet;

use crate::Place;
use crate::shared::{incident, record};

/// Has the database note, with each statement on `beats`, its transaction, its rows and what that waits for at its end.
const LISTEN: [&str; 3] = [
    "CREATE TABLE heard (transaction BIGINT, rows BIGINT, waits TEXT)",
    "CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO heard \
     SELECT txid_current(), COUNT(*), current_setting(''synchronous_commit'') FROM written; RETURN NULL; END'",
    "CREATE TRIGGER hear AFTER INSERT ON beats REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hear()",
];

async fn listened(place: &Place) -> Store {
    let store = place.open().await;
    for statement in LISTEN {
        place.write(statement).await;
    }
    store
}

fn with_an_incident(monitor: &str, second: i64) -> ChangeSet {
    let incidents = vec![incident(&format!("{monitor}-{second}"), monitor, second)];
    ChangeSet { incidents, ..record(monitor, second) }
}

#[tokio::test]
async fn a_batch_of_beats_is_one_statement() {
    let place = Place::new();
    let store = listened(&place).await;
    let records = (0..300).map(|nth| record(&format!("docs-{nth}"), 0));
    let committed = futures_util::future::join_all(records.map(|record| store.commit(record))).await;
    assert!(committed.iter().all(Result::is_ok), "{committed:?}");
    assert_eq!(place.number("SELECT CAST(SUM(rows) AS BIGINT) FROM heard").await, 300);
    assert!(place.number("SELECT MAX(rows) FROM heard").await > 32, "they came together");
    let split = "SELECT COUNT(*) FROM (SELECT FROM heard GROUP BY transaction HAVING COUNT(*) > 1) AS split";
    assert_eq!(place.number(split).await, 0, "one a transaction");
    assert_eq!(place.number("SELECT COUNT(*) FROM asks").await, place.number("SELECT 2 * COUNT(*) FROM beats").await);
    store.close().await;
}

#[tokio::test]
async fn a_commit_waits_for_the_disk_where_something_is_decided_and_else_it_does_not() {
    // What somebody set for the database, and what a decision's commit waits for then.
    for (set, expected) in [("on", "on"), ("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")] {
        let place = Place::new();
        place.make("").await;
        place.write(&format!("ALTER DATABASE \"{}\" SET synchronous_commit = {set}", place.name)).await;
        let store = listened(&place).await;
        let heard = async |sentence: &str, expected: &[&str]| {
            assert_eq!(place.read("SELECT DISTINCT waits FROM heard").await, expected, "{set}: {sentence}");
            place.write("DELETE FROM heard").await;
        };
        store.commit(record("docs", 0)).await.expect("committed");
        heard("a calm beat may be lost with the server", &["off"]).await;
        store.commit(with_an_incident("docs", 60)).await.expect("committed");
        heard("an incident may not", &[expected]).await;
        let (calm, deciding) = (store.commit(record("docs", 120)), store.commit(with_an_incident("other", 120)));
        let (calm, deciding) = tokio::join!(calm, deciding);
        assert_eq!((calm, deciding), (Ok(()), Ok(())));
        heard("nor what shares its commit", &[expected]).await;
        store.commit(record("docs", 180)).await.expect("committed");
        heard("and what comes after is calm again", &["off"]).await;
        store.close().await;
    }
}
