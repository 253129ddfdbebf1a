//! How a batch goes to a server, as the server itself hears it: how many statements, and what their commit waits for.

use serin::store::Store;

use crate::Place;
use crate::shared::record;

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
