//! A writer that is killed between any two steps leaves the old source or the new one; one that is slow begins anew.

use std::path::Path;
use std::sync::Arc;

use serin_reference::store::chroma::open::ChromaStore;
use serin_reference::store::contract::Store;
use serin_reference::store::filter::Filter;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use crate::outages::{index, project, vectors};
use crate::pieces::{Piece, connect, drawn, near, worded};
use crate::proxy::{Proxy, Stop};
use crate::server::Server;

async fn sql(file: &Path, statement: &str) -> i64 {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let row: Option<i64> =
        sqlx::query_scalar(AssertSqlSafe(statement.to_owned())).fetch_optional(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    row.unwrap_or_default()
}

/// What both retrievers see of the text: each is the old one or the new one, and they agree.
async fn seen(store: &dyn Store) -> &'static str {
    let all = Filter::default();
    let (old, new) = (worded(store, &["primed"], &all, 5).await, worded(store, &["greased"], &all, 5).await);
    let mut held = connect(store).await;
    let (source, vector) = held.sample().await.unwrap().unwrap();
    let near = held.near(&vector, &Filter { source, ..all }, 5).await.unwrap();
    let figures = held.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable, near.len()), (1, 1, 1), "nothing is missing, and nothing twice");
    let text = held.chunks(&[near[0].place.id]).await.unwrap().remove(0).content;
    match (old.len(), new.len()) {
        (1, 0) if text.contains("primed") => "old",
        (0, 1) if text.contains("greased") => "new",
        _ => panic!("neither: {old:?}, {new:?}, {text}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_killed_writer_leaves_the_old_or_the_new() {
    let server = Server::new().await;
    let mut proxy = Proxy::before(server.address()).await;
    for (number, (says, at, is_done, expected, left)) in [
        ("before its vectors are in", "upsert", false, "old", 1),
        ("before the file has its chunks", "upsert", true, "old", 2),
        ("before the old vectors are away", "delete", false, "new", 2),
        ("before the file knows that they are away", "delete", true, "new", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let (folder, collection) = (tempfile::tempdir().unwrap(), format!("kill_{number}"));
        let project = project(folder.path(), &proxy.url(), &collection);
        let (note, file) = (folder.path().join("pump.md"), folder.path().join(".serin-reference/chroma.db"));
        std::fs::write(&note, "The pump is primed with water.").unwrap();
        assert!(index(folder.path()).status().await.unwrap().success(), "{says}");
        std::fs::write(&note, "The bearings are greased each spring.").unwrap();
        proxy.stop(Stop { at, is_done });
        let mut writer = index(folder.path()).spawn().unwrap();
        tokio::select! {
            () = proxy.stopped() => {}
            ended = writer.wait() => panic!("{says}: nothing stopped it: {ended:?}"),
        }
        writer.kill().await.unwrap();
        proxy.go_on();
        let store = project.store().await.unwrap();
        assert_eq!(seen(&*store).await, expected, "{says}");
        store.close().await;
        assert_eq!(vectors(&server, &collection).await, left, "{says}");
        // As if ten minutes had passed.
        sql(&file, "UPDATE vectors_besides SET since = 0 RETURNING 1").await;
        assert!(index(folder.path()).status().await.unwrap().success(), "{says}, and again");
        let store = project.store().await.unwrap();
        assert_eq!(seen(&*store).await, "new", "{says}, and again");
        store.close().await;
        assert_eq!(vectors(&server, &collection).await, 1, "{says}: what is nobody's is taken away");
        assert_eq!(sql(&file, "SELECT count(*) FROM vectors_besides").await, 0, "{says}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_writer_that_was_taken_for_dead_begins_anew() {
    let server = Server::new().await;
    let mut proxy = Proxy::before(server.address()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chroma.db");
    let mut options = server.options("slow");
    let other = ChromaStore::open(&file, options.clone()).await.unwrap();
    options.url = proxy.url();
    let slow = Arc::new(ChromaStore::open(&file, options).await.unwrap());
    Piece::new("first.md", "a text").put(&other).await.unwrap();
    proxy.stop(Stop { at: "upsert", is_done: true });
    let piece = Piece::new("slow.md", "a text").with(|piece| piece.chunks[0].2 = Some(drawn(9, 8)));
    let writing = tokio::spawn({
        let slow = Arc::clone(&slow);
        async move { piece.put(&*slow).await }
    });
    proxy.stopped().await;
    assert_eq!(sql(&file, "UPDATE vectors_besides SET since = 0 RETURNING 1").await, 1, "its vector is on its way");
    Piece::new("second.md", "a text").put(&other).await.unwrap();
    assert_eq!(vectors(&server, "slow").await, 2, "the other has taken it away");
    proxy.go_on();
    writing.await.unwrap().unwrap();
    assert_eq!(near(&other, &drawn(9, 8), &Filter::default(), 1).await, ["slow.md#0"]);
    assert_eq!(vectors(&server, "slow").await, 3);
    let figures = connect(&other).await.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable), (3, 3));
}
