//! `index_document` of what is not sent but named: a file, or an address.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use serde_json::{Value, json};

use crate::served::{Served, hits};

const TEXT: &str = "# Sextant\nThe sextant is wiped with a dry cloth.";
/// More than is read of an answer.
const TOO_LARGE_BYTES: usize = (1 << 20) + 1;
/// More than a document may have.
const TOO_LONG_CHARS: usize = 200_001;

/// How a document was taken, as its source and chunks; or the code of the refusal and its words.
async fn taken(server: &Served, arguments: Value) -> Result<(String, u64), (String, String)> {
    let envelope = server.call("index_document", arguments).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match envelope["error_code"].as_str() {
        Some(code) => Err((code.to_owned(), text(&envelope["error_message"]))),
        None => Ok((text(&envelope["data"]["source"]), envelope["data"]["chunk_count"].as_u64().unwrap())),
    }
}

async fn check_refused(says: &str, server: &Served, arguments: Value, code: &str, why: &str) {
    let (got, message) = taken(server, arguments).await.expect_err(says);
    assert!(got == code && message.contains(why), "{says}: {got}: {message}");
}

fn folders(folder: &Path) -> String {
    let root = folder.join("open");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir_all(folder.join("closed")).unwrap();
    std::fs::write(folder.join("closed/secret.md"), "The password of the vault is in the clock.").unwrap();
    std::fs::write(root.join("sub/sextant.md"), TEXT).unwrap();
    std::fs::write(root.join("long.md"), "a ".repeat(TOO_LONG_CHARS)).unwrap();
    std::fs::write(root.join("large.md"), vec![b'a'; TOO_LARGE_BYTES]).unwrap();
    std::fs::write(root.join("empty.md"), " \n").unwrap();
    std::fs::write(root.join(".env"), "PASSWORD=clock").unwrap();
    std::fs::write(root.join(".gitignore"), "build/\n").unwrap();
    std::fs::create_dir_all(root.join("build")).unwrap();
    std::fs::write(root.join("build/out.md"), TEXT).unwrap();
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    link(&folder.join("closed/secret.md"), "link.md");
    link(&folder.join("closed"), "door");
    link(&root.join("sub/sextant.md"), "inside.md");
    link(&root.join("link.md"), "chain.md");
    root.display().to_string()
}

#[tokio::test]
async fn files_are_read_below_the_root_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folders(folder.path());
    let server = Served::in_folder(folder.path(), &["--root", &root]);
    let sextant = taken(&server, json!({"file": "sub/sextant.md"})).await;
    assert_eq!(sextant, Ok(("sub/sextant.md".to_owned(), 1)), "it has its path as its name");
    let named = taken(&server, json!({"file": "inside.md", "source": "other.md"})).await;
    assert_eq!(named, Ok(("other.md".to_owned(), 1)), "a link within the root, under a name of its own");
    let found = server.search(json!({"query": "how is the sextant wiped"})).await;
    assert_eq!(hits(&found).len(), 2, "{found}");
    let (not_allowed, unreadable, budget) = ("FILE_NOT_ALLOWED", "DOCUMENT_UNREADABLE", "BUDGET_LIMIT_EXCEEDED");
    let secret = folder.path().join("closed/secret.md").display().to_string();
    for (says, file, code) in [
        ("up and out", "../closed/secret.md", not_allowed),
        ("down, up and out", "sub/../../closed/secret.md", not_allowed),
        ("from the top", secret.as_str(), not_allowed),
        ("a link out", "link.md", not_allowed),
        ("a link to a link out", "chain.md", not_allowed),
        ("through a linked folder", "door/secret.md", not_allowed),
        ("a hidden file", ".env", not_allowed),
        ("what git ignores", "build/out.md", not_allowed),
        ("a folder", "sub", unreadable),
        ("nothing there", "no.md", unreadable),
        ("too large", "large.md", budget),
        ("too long", "long.md", budget),
        ("nothing in it", "empty.md", "INVALID_ARGUMENT"),
    ] {
        check_refused(says, &server, json!({"file": file}), code, "").await;
    }
    let listed = server.call("list_sources", json!({})).await;
    assert_eq!(listed["data"]["total"], 2, "nothing else got in: {listed}");
    check_refused(
        "two at once",
        &server,
        json!({"file": "sub/sextant.md", "text": "x"}),
        "INVALID_ARGUMENT",
        "exactly one",
    )
    .await;
    drop(server);
    let rootless = Served::in_folder(folder.path(), &[]);
    check_refused("no root", &rootless, json!({"file": "sub/sextant.md"}), not_allowed, "--root").await;
}

/// A site on loopback, and how often its document was asked for.
async fn site() -> (SocketAddr, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let site = Router::new()
        .route(
            "/sextant.md",
            get(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                async { TEXT }
            }),
        )
        .route("/moved", get(|| async { Redirect::temporary("/sextant.md") }))
        .route("/large", get(|| async { vec![b'a'; TOO_LARGE_BYTES] }))
        .route("/long", get(|| async { "a ".repeat(TOO_LONG_CHARS) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, site).await });
    (address, asked)
}

#[tokio::test]
async fn addresses_are_read_within_limits() {
    let (address, asked) = site().await;
    let (folder, port) = (tempfile::tempdir().unwrap(), address.port());
    let url = |path: &str| json!({"url": format!("http://{address}/{path}")});
    let (unreadable, budget) = ("DOCUMENT_UNREADABLE", "BUDGET_LIMIT_EXCEEDED");
    let closed = Served::in_folder(folder.path(), &[]);
    for (says, url) in [
        ("loopback", format!("http://{address}/sextant.md")),
        ("by its name", format!("http://localhost:{port}/sextant.md")),
        ("as one number", format!("http://2130706433:{port}/sextant.md")),
        ("wrapped in IPv6", format!("http://[::ffff:127.0.0.1]:{port}/sextant.md")),
        ("the cloud's own", "http://169.254.169.254/latest/meta-data/".to_owned()),
        ("a neighbour's", "http://10.0.0.1/".to_owned()),
    ] {
        check_refused(says, &closed, json!({"url": url}), unreadable, "only public ones are read").await;
    }
    for (says, url) in [("a file", "file:///etc/passwd"), ("another scheme", "ftp://127.0.0.1/x")] {
        check_refused(says, &closed, json!({"url": url}), unreadable, "only http and https").await;
    }
    check_refused("no address", &closed, json!({"url": "sextant"}), unreadable, "").await;
    assert_eq!(asked.load(Ordering::Relaxed), 0, "nothing was asked for");
    drop(closed);

    let open = Served::in_folder(folder.path(), &["--allow-private", "127.0.0.0/8"]);
    check_refused("another network", &open, json!({"url": "http://10.0.0.1/"}), unreadable, "only public").await;
    check_refused("elsewhere now", &open, url("moved"), unreadable, "307").await;
    assert_eq!(asked.load(Ordering::Relaxed), 0, "a redirect is not followed");
    check_refused("nothing there", &open, url("nothing"), unreadable, "404").await;
    check_refused("too large", &open, url("large"), budget, "1048576 bytes").await;
    check_refused("too long", &open, url("long"), budget, "200000").await;
    let (source, chunks) = taken(&open, url("sextant.md")).await.unwrap();
    assert_eq!((source, chunks), (format!("http://{address}/sextant.md"), 1));
    let found = open.search(json!({"query": "how is the sextant wiped"})).await;
    assert_eq!(hits(&found)[0]["source"], format!("http://{address}/sextant.md"));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
