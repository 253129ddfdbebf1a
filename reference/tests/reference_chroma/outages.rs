//! A Chroma that is down, emptied, gone, somebody else's or only in part what it was.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::project::opened::Project;
use serin_reference::project::place::ProjectFolder;
use serin_reference::project::template::TEMPLATE;
use serin_reference::serve::options::Options;
use serin_reference::serve::server::{Running, serve};
use serin_reference::store::chroma::open::ChromaStore;
use serin_reference::store::contract::Store as _;
use serin_reference::store::filter::Filter;
use serin_reference::store::records::StoreError;
use tokio_util::sync::CancellationToken;

use crate::pieces::{Piece, connect, drawn, near, unit};
use crate::server::Server;

/// A project whose vectors are in a collection of some server.
pub(crate) fn project(folder: &Path, url: &str, collection: &str) -> Project {
    let chroma = format!("chroma: {{ url: '{url}', collection: {collection} }}");
    let text = TEMPLATE.replace("sqlite: index.db", &chroma).replace("embedder: none", "embedder: builtin");
    ProjectFolder::set_up(folder, &text, false).unwrap();
    Project::find(folder).unwrap()
}

/// Indexes a project, in a process of its own.
pub(crate) fn index(folder: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin-reference"));
    command.arg("index").current_dir(folder).stdout(Stdio::null()).kill_on_drop(true);
    command
}

async fn asked(address: String, method: reqwest::Method, body: Value) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.request(method, address).json(&body).send().await.unwrap().json().await.unwrap()
}

async fn got(running: &Running, path: &str) -> Value {
    reqwest::get(running.url(path)).await.unwrap().json().await.unwrap()
}

/// The collection's key.
async fn key(server: &Server, collection: &str) -> String {
    let address = format!("{}/{collection}", server.collections());
    asked(address, reqwest::Method::GET, json!({})).await["id"].as_str().unwrap().to_owned()
}

async fn change(server: &Server, collection: &str, what: &str, body: Value) -> Value {
    let address = format!("{}/{}/{what}", server.collections(), key(server, collection).await);
    asked(address, reqwest::Method::POST, body).await
}

/// How many vectors there are.
pub(crate) async fn vectors(server: &Server, collection: &str) -> u64 {
    let address = format!("{}/{}/count", server.collections(), key(server, collection).await);
    asked(address, reqwest::Method::GET, json!({})).await.as_u64().unwrap()
}

/// What a search says: its sources, the scopes that are degraded, and what the first hit is worth.
async fn searched(running: &Running, query: &str) -> (Vec<String>, Value, f64) {
    let body = json!({"query": query, "cache": "bypass"});
    let answer = asked(running.url("/search"), reqwest::Method::POST, body).await;
    let hits = answer["data"]["results"].as_array().unwrap_or_else(|| panic!("no hits: {answer}"));
    let sources = hits.iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect();
    (sources, json!([answer["partial"], answer["degraded_scopes"]]), hits[0]["score"].as_f64().unwrap())
}

/// A project of three documents, indexed and served.
async fn served(folder: &Path, url: &str) -> Running {
    let project = project(folder, url, "served");
    for (name, text) in [("pump", "The pump is primed."), ("mill", "The mill grinds rye."), ("ferry", "Fog: no ferry.")]
    {
        std::fs::write(folder.join(format!("{name}.md")), format!("# {name}\n\n{text}")).unwrap();
    }
    let indexed = index(folder).status().await.unwrap();
    assert!(indexed.success());
    let options = Options { corpus: Corpus::Empty, project: Some(project), ..Options::default() };
    serve(options, CancellationToken::new()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_search_goes_by_words_while_vectors_cannot_be_had() {
    let mut server = Server::new().await;
    let folder = tempfile::tempdir().unwrap();
    let running = served(folder.path(), &server.url()).await;
    let (whole, degraded) = (json!([false, []]), json!([true, ["vectors"]]));
    let check = async |says: &str, expected: &Value, reason: Value, detail: &str| {
        let (sources, told, score) = searched(&running, "who primed the pump").await;
        assert_eq!(sources.first().map(String::as_str), Some("pump.md"), "{says}");
        assert!(score > 0.0, "{says}: without vectors, words say what a hit is worth");
        assert_eq!(told, *expected, "{says}");
        for path in ["/ready", "/health"] {
            let report = got(&running, path).await;
            assert_eq!(report["reason"], reason, "{says}: {path}: {report}");
            let found = report["detail"].as_str().unwrap_or_default();
            assert!(found.contains(detail) && !found.contains("127.0.0.1"), "{says}: {path}: {report}");
        }
    };
    let sick = || json!("vector_store_unreachable");
    check("all is well", &whole, Value::Null, "").await;
    server.stop();
    check("it is down", &degraded, sick(), "the vector store does not answer").await;
    check("it has been down for long", &degraded, sick(), "the vector store failed three times").await;
    // Ten seconds later it is asked again: a server that begins anew need not wait for that.
    server.start().await;
    let running = {
        running.stop().await;
        let options = Options {
            corpus: Corpus::Empty,
            project: Some(Project::find(folder.path()).unwrap()),
            ..Options::default()
        };
        serve(options, CancellationToken::new()).await.unwrap()
    };
    let check = async |says: &str, expected: &Value, reason: Value, detail: &str| {
        let (sources, told, _) = searched(&running, "who primed the pump").await;
        assert_eq!((sources[0].as_str(), told), ("pump.md", expected.clone()), "{says}");
        let report = got(&running, "/health").await;
        assert_eq!(report["reason"], reason, "{says}: {report}");
        assert!(report["detail"].as_str().unwrap_or_default().contains(detail), "{says}: {report}");
    };
    check("what it has answered outlives a kill", &whole, Value::Null, "").await;
    let keys = change(&server, "served", "get", json!({"include": []})).await["ids"].clone();
    // The last: health asks the first one's vector first, and would stop at that.
    change(&server, "served", "delete", json!({"ids": [keys[2]]})).await;
    check("a third of it is gone", &degraded, sick(), "2 of 3 vectors can be reached").await;
    change(&server, "served", "delete", json!({"ids": keys})).await;
    check("it was emptied", &degraded, sick(), "does not have what it should have").await;
    asked(format!("{}/served", server.collections()), reqwest::Method::DELETE, json!({})).await;
    check("the collection is gone", &degraded, sick(), "does not have what it should have").await;
    assert!(index(folder.path()).arg("--full-rebuild").status().await.unwrap().success());
    check("it is built anew, beside the server that serves it", &whole, Value::Null, "").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_loss_shows_and_a_wipe_begins_anew() {
    let server = Server::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chroma.db");
    let open = async || ChromaStore::open(&file, server.options("loss")).await.unwrap();
    let (store, other) = (open().await, open().await);
    for name in ["a.md", "b.md"] {
        Piece::new(name, "a text").put(&store).await.unwrap();
    }
    let both =
        [near(&store, &[0.3; 8], &Filter::default(), 5).await, near(&other, &[0.3; 8], &Filter::default(), 5).await];
    assert_eq!(both[0], both[1], "both know the collection");
    asked(format!("{}/loss", server.collections()), reqwest::Method::DELETE, json!({})).await;
    let check = async |says: &str, refused: StoreError, expected: &str| {
        assert!(matches!(refused, StoreError::Vectors(_)), "{says}: {refused}");
        let told = refused.to_string();
        assert!(told.contains(expected), "{says}: {told}");
    };
    let narrow = Filter { source: "a".to_owned(), ..Filter::default() };
    for filter in [&Filter::default(), &narrow] {
        let refused = connect(&store).await.near(&drawn(1, 8), filter, 5).await.unwrap_err();
        check("nothing is found in what is gone", refused, "--full-rebuild").await;
    }
    let refused = Piece::new("c.md", "a text").put(&store).await.unwrap_err();
    check("a write does not hide the loss", refused, "there is no collection loss").await;
    let figures = connect(&store).await.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable), (2, 0));
    store.wipe(false).await.unwrap();
    // Of another width, and seen by a server that knew the collection that is gone.
    let wide = |name: &str, width| Piece::new(name, "").with(|piece| piece.chunks[0].2 = Some(drawn(1, width)));
    wide("d.md", 16).put(&store).await.unwrap();
    assert_eq!(near(&other, &drawn(1, 16), &Filter::default(), 5).await, ["d.md#0"]);
    let refused = wide("e.md", 8).put(&other).await.unwrap_err();
    assert!(matches!(refused, StoreError::Width { found: 16, wanted: 8 }), "{refused}");
    other.remove("d.md").await.unwrap();
    wide("e.md", 8).put(&other).await.unwrap();
    assert_eq!(near(&store, &drawn(1, 8), &Filter::default(), 5).await, ["e.md#0"], "an empty index takes any width");
    let stranger = tempfile::tempdir().unwrap();
    let stranger = ChromaStore::open(&stranger.path().join("chroma.db"), server.options("loss")).await.unwrap();
    let refused = Piece::new("a.md", "a text").put(&stranger).await.unwrap_err();
    check("nobody writes into another's collection", refused, "was not made by this index").await;
    let refused = stranger.wipe(false).await.unwrap_err();
    check("nor deletes it", refused, "was not made by this index").await;
    assert_eq!(near(&store, &drawn(1, 8), &Filter::default(), 5).await, ["e.md#0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn what_is_left_is_found_and_the_hole_told() {
    let server = Server::new().await;
    let folder = tempfile::tempdir().unwrap();
    let store = ChromaStore::open(&folder.path().join("chroma.db"), server.options("holes")).await.unwrap();
    let piece = Piece::new("a.md", "").with(|piece| {
        piece.chunks = (0..200).map(|number| (String::new(), String::new(), Some(drawn(number, 8)))).collect();
    });
    piece.put(&store).await.unwrap();
    let narrow = Filter { source: "a".to_owned(), ..Filter::default() };
    let check = async |says: &str, lacks: bool, reachable: i64| {
        for filter in [&Filter::default(), &narrow] {
            let mut held = connect(&store).await;
            let near = held.near(&drawn(1_000, 8), filter, 10).await.unwrap();
            assert_eq!((near.len(), held.lacks_vectors()), (10, lacks), "{says}, {filter:?}");
            let ids: Vec<i64> = near.iter().map(|near| near.place.id).collect();
            let cosines = held.cosines(&drawn(1_000, 8), &ids).await.unwrap();
            let is_same = near.iter().all(|near| (cosines[&near.place.id] - near.cosine).abs() < 1e-5);
            assert!(is_same, "{says}: {near:?} by the one, {cosines:?} by the other");
        }
        assert_eq!(connect(&store).await.figures().await.unwrap().reachable, reachable, "{says}");
    };
    check("all are there", false, 200).await;
    let keys = change(&server, "holes", "get", json!({"include": [], "limit": 50})).await["ids"].clone();
    change(&server, "holes", "delete", json!({ "ids": keys })).await;
    check("a quarter is missing", true, 150).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_filter_that_many_fit_is_obeyed() {
    // Wide vectors, so that more fit than are fetched to be compared.
    const WIDTH: u64 = 1_024;
    const NEAR: u64 = 350;
    const FAR: u64 = 500;
    let server = Server::new().await;
    let folder = tempfile::tempdir().unwrap();
    let store = ChromaStore::open(&folder.path().join("chroma.db"), server.options("filter")).await.unwrap();
    for (name, count, ahead) in [("near", NEAR, 60.0), ("far", FAR, 2.0)] {
        let piece = Piece::new(name, "").with(|piece| {
            let vector = |number: u64| {
                let mut vector = drawn(number, WIDTH);
                vector[0] += ahead;
                unit(vector)
            };
            piece.chunks = (0..count).map(|number| (String::new(), String::new(), Some(vector(number)))).collect();
        });
        piece.put(&store).await.unwrap();
    }
    let mut ahead = vec![0.0; WIDTH as usize];
    ahead[0] = 1.0;
    let found = near(&store, &ahead, &Filter::default(), 20).await;
    assert!(found.len() == 20 && found.iter().all(|name| name.starts_with("near#")), "{found:?}");
    let filter = Filter { source: "far".to_owned(), ..Filter::default() };
    let found = near(&store, &ahead, &filter, 20).await;
    assert!(found.len() == 20 && found.iter().all(|name| name.starts_with("far#")), "{found:?}");
}
