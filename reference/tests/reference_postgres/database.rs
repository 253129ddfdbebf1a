//! What only a database can do to us.

use std::time::Duration;

use serin_reference::store::contract::{Patience, Store};
use serin_reference::store::filter::Filter;
use serin_reference::store::postgres::open::{PostgresOptions, PostgresStore};
use serin_reference::store::records::StoreError;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::pieces::{Piece, connect, drawn, near, unit, worded};
use crate::server::{self, PASSWORD, Server};

fn named(schema: &str) -> PostgresOptions {
    PostgresOptions { schema: schema.to_owned(), ..PostgresOptions::default() }
}

async fn open(server: &Server, schema: &str) -> PostgresStore {
    PostgresStore::open(&server.url(PASSWORD), named(schema)).await.unwrap()
}

async fn run(server: &Server, sql: &str) {
    let mut connection = PgConnection::connect(&server.url(PASSWORD)).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn check_refused(says: &str, url: &str, options: PostgresOptions, expected: &str) {
    let error = PostgresStore::open(url, options).await.unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains(expected), "{says}: {told}");
    assert!(!told.contains("hunter2"), "{says}: a password in {told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn what_cannot_be_used_is_refused() {
    let server = Server::new();
    let url = server.url(PASSWORD);
    drop(open(&server, "older").await);
    run(&server, "UPDATE older.meta SET value = '1' WHERE key = 'schema'").await;
    run(&server, "CREATE SCHEMA foreigner; CREATE TABLE foreigner.chunks (id INT)").await;
    run(&server, "CREATE ROLE lowly LOGIN PASSWORD 'hunter2-too'").await;
    run(&server, "CREATE DATABASE bare").await;
    let usual = PostgresOptions::default;
    let lowly = url.replace("serin:", "lowly:").replace(PASSWORD, "hunter2-too").replace("/postgres?", "/bare?");
    check_refused("a wrong password", &server.url("hunter2-wrong"), usual(), "password authentication failed").await;
    check_refused("no such database", &url.replace("/postgres?", "/nowhere?"), usual(), "does not exist").await;
    check_refused("nobody there", "postgres://me:hunter2@127.0.0.1:1/rag", usual(), "refused").await;
    check_refused("TLS where there is none", &url.replace("disable", "require"), usual(), "TLS").await;
    check_refused("no pgvector, and no right to add it", &lowly, usual(), "CREATE EXTENSION vector").await;
    let schemaless = lowly.replace("/bare?", "/postgres?");
    check_refused("no right to make a schema", &schemaless, named("lowly"), "GRANT CREATE ON DATABASE").await;
    check_refused("tables of another version", &url, named("older"), "version 1").await;
    check_refused("tables of somebody else", &url, named("foreigner"), "another schema").await;
    check_refused("a name with a quote", &url, named("a\"b"), "schema's name").await;
    check_refused("no connections", &url, PostgresOptions { pool: 0, ..usual() }, "1 to 64").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn vectors_of_another_width_need_a_full_rebuild() {
    let server = Server::new();
    let store = open(&server, "width").await;
    let wide =
        |name: &str, width: u64| Piece::new(name, "a text").with(|piece| piece.chunks[0].2 = Some(drawn(1, width)));
    let unsearched = Piece::new("none.md", "a text").with(|piece| piece.chunks[0].2 = None);
    unsearched.put(&store).await.unwrap();
    wide("a.md", 8).put(&store).await.unwrap();
    let refused = wide("b.md", 16).put(&store).await.unwrap_err();
    assert!(matches!(refused, StoreError::Width { found: 8, wanted: 16 }), "{refused}");
    assert!(refused.to_string().contains("--full-rebuild"), "{refused}");
    assert_eq!(connect(&store).await.sources().await.unwrap().len(), 2, "nothing of it is kept");
    let mixed = wide("c.md", 8).with(|piece| piece.chunks.push((String::new(), String::new(), Some(drawn(1, 9)))));
    assert!(matches!(mixed.put(&store).await, Err(StoreError::Width { .. })), "nor may one source mix them");
    for width in [16, 2_001] {
        store.wipe(true).await.unwrap();
        wide("b.md", width).put(&store).await.unwrap();
        let found = near(&store, &drawn(1, width), &Filter::default(), 5).await;
        assert_eq!(found, ["b.md#0"], "after a wipe any width will do, even one HNSW does not take");
    }
    println!("{store:?}");
    assert!(!format!("{store:?}").contains("hunter2"));
}

/// How often the index of vectors was used, and how many vectors it gave. A connection tells its counts
/// when it ends, so they end.
async fn walks(server: &Server, store: PostgresStore) -> (i64, i64) {
    store.close().await;
    let mut connection = PgConnection::connect(&server.url(PASSWORD)).await.unwrap();
    let here = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'serin reference'";
    while sqlx::query_scalar::<_, i64>(here).fetch_one(&mut connection).await.unwrap() > 0 {}
    let used = "SELECT sum(idx_scan)::bigint, sum(idx_tup_read)::bigint FROM pg_stat_user_indexes \
        WHERE indexrelname = 'chunks_by_vector'";
    sqlx::query_as(used).fetch_one(&mut connection).await.unwrap()
}

/// Whether the server's pgvector looks on where a filter throws away what HNSW found: from 0.8 on.
async fn looks_on(server: &Server) -> bool {
    let mut connection = PgConnection::connect(&server.url(PASSWORD)).await.unwrap();
    let version = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'";
    let version: String = sqlx::query_scalar(version).fetch_one(&mut connection).await.unwrap();
    println!("pgvector {version}");
    !["0.5.", "0.6.", "0.7."].iter().any(|older| version.starts_with(older))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn a_filter_never_empties_a_search() {
    for installed in server::installed() {
        check_filtered(Server::of(&installed)).await;
    }
}

async fn check_filtered(server: Server) {
    // More than are scanned whole, so HNSW must find them behind those that do not fit, and those are more
    // than its list of candidates holds.
    const FAR: u64 = 10_500;
    const NEAR: u64 = 600;
    const EACH: u64 = 30;
    let store = open(&server, "filters").await;
    for (name, count, ahead) in [("near", NEAR, 6.0), ("far", FAR, 0.0)] {
        for first in (0..count).step_by(EACH as usize) {
            let piece = Piece::new(&format!("{name}/{}", first / EACH), "").with(|piece| {
                name.clone_into(&mut piece.collection);
                let vector = |number: u64| {
                    let mut vector = drawn(number, 8);
                    vector[0] += ahead;
                    unit(vector)
                };
                let chunk = |number| (String::new(), String::new(), Some(vector(number)));
                piece.chunks = (first..first + EACH).map(chunk).collect();
            });
            piece.put(&store).await.unwrap();
        }
    }
    // As PostgreSQL does by itself in a while.
    run(&server, "ANALYZE filters.chunks, filters.sources").await;
    let ahead = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let found = near(&store, &ahead, &Filter::default(), 10).await;
    assert!(found.iter().all(|name| name.starts_with("near/")), "{found:?}");
    let filter = Filter { collection: Some("far".to_owned()), ..Filter::default() };
    let found = near(&store, &ahead, &filter, 10).await;
    let mut truth: Vec<(f32, u64)> = (0..FAR).map(|number| (drawn(number, 8)[0], number)).collect();
    truth.sort_by(|a, b| b.0.total_cmp(&a.0));
    let truth: Vec<String> =
        truth.iter().take(10).map(|(_, number)| format!("far/{}#{}", number / EACH, number % EACH)).collect();
    let right = found.iter().filter(|name| truth.contains(name)).count();
    assert!(found.len() == 10 && right >= 9, "{found:?}, not {truth:?}");
    let (walks, given) = walks(&server, store).await;
    assert!(walks > 0, "HNSW has been asked");
    assert_eq!(given > NEAR as i64, looks_on(&server).await, "it gave {given}, and looked on where it can");
    let store = open(&server, "filters").await;
    // What was replaced stands in the graph until PostgreSQL tidies up, and must not crowd out the rest.
    for version in 0..5 {
        let again = Piece::new("near", "").with(|piece| {
            piece.version = format!("again {version}");
            piece.chunks = vec![(String::new(), String::new(), Some(ahead.to_vec())); 300];
        });
        again.put(&store).await.unwrap();
    }
    assert_eq!(near(&store, &ahead, &Filter::default(), 310).await.len(), 310);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn strange_texts_are_kept_and_found() {
    let server = Server::new();
    let store = open(&server, "texts").await;
    let long = "x1".repeat(5_000);
    let odd = Piece::new("o\0dd.md", &format!("A sign\0nought, a key {long}, 'quotes' and \\slashes."));
    odd.put(&store).await.unwrap();
    assert_eq!(worded(&store, &["nought"], &Filter::default(), 5).await, ["o\u{FFFD}dd.md#0"], "sign 0 parts words");
    assert_eq!(worded(&store, &[&long], &Filter::default(), 5).await.len(), 1, "no word is too long");
    assert_eq!(worded(&store, &["sla\0shes", "quotes"], &Filter::default(), 5).await.len(), 1);
    let narrow = Filter { source: "o\0".to_owned(), ..Filter::default() };
    assert_eq!(worded(&store, &["quotes"], &narrow, 5).await.len(), 1, "a filter is kept the same way");
    assert!(connect(&store).await.text("o\0dd.md").await.unwrap().is_some());
    assert!(store.remove("o\0dd.md").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn a_database_that_goes_and_comes_is_told_apart_from_a_full_pool() {
    let mut server = Server::new();
    let store = open(&server, "outage").await;
    Piece::new("a.md", "a text").put(&store).await.unwrap();
    server.stop();
    let error = store.connect(Patience::Search).await.unwrap_err();
    assert!(matches!(error, StoreError::Sql(_)), "a pool that is not full is not saturated: {error}");
    assert!(!error.to_string().contains("hunter2"));
    server.start();
    let found = tokio::time::timeout(Duration::from_secs(30), worded(&store, &["text"], &Filter::default(), 5)).await;
    assert_eq!(found.unwrap(), ["a.md#0"], "it comes back by itself");
}
