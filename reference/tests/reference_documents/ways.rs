//! Every way in takes every kind: a walk of a project, a file that is named, an address.

use std::path::Path;

use reqwest::Client;
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::index::run::{self, IndexReport, Progress};
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use serin_reference::project::{opened::Project, place::ProjectFolder, template};
use serin_reference::store::contract::Patience;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use crate::file;

struct Unwatched;

impl Progress for Unwatched {
    fn at(&mut self, _done: usize, _of: usize, _source: &str) {}
}

async fn indexed(root: &Path) -> (IndexReport, Vec<(String, String, String)>) {
    let project = Project::find(root).unwrap();
    let library = project.library().await.unwrap();
    let plan = project.config.plan(&project.place).unwrap();
    let report = run::run(&library, &plan, false, &mut Unwatched).await.unwrap();
    let mut held = library.store().connect(Patience::Writer).await.unwrap();
    let mut known = Vec::new();
    for source in held.sources().await.unwrap() {
        let text = held.text(&source.source).await.unwrap().unwrap_or_default();
        known.push((source.source, source.source_type, text));
    }
    drop(held);
    library.store().close().await;
    (report, known)
}

#[tokio::test]
async fn a_project_is_walked_past_what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    ProjectFolder::set_up(&root, template::TEMPLATE, false).unwrap();
    for name in ["manual.pdf", "scan.pdf", "locked.pdf", "wheel.docx"] {
        std::fs::write(root.join(name), file(name)).unwrap();
    }
    std::fs::write(root.join("deep.html"), format!("{}fired", "<div>".repeat(100_000))).unwrap();
    std::fs::write(root.join("broken.pdf"), "no PDF").unwrap();
    std::fs::write(root.join("zz.md"), "# Last\n\nIt comes after what was skipped.").unwrap();
    let (report, known) = indexed(&root).await;
    let names: Vec<(&str, &str)> = known.iter().map(|(name, kind, _)| (name.as_str(), kind.as_str())).collect();
    assert_eq!(names, [("deep.html", "html"), ("manual.pdf", "pdf"), ("wheel.docx", "docx"), ("zz.md", "file")]);
    let why = |name: &str| report.skipped_files.iter().find(|(source, _)| source == name).map(|(_, why)| why.as_str());
    for (name, part) in [("scan.pdf", "OCR"), ("locked.pdf", "without a password"), ("broken.pdf", "save it anew")] {
        assert!(why(name).is_some_and(|why| why.contains(part)), "{name}: {:?}", why(name));
    }
    assert_eq!((report.indexed, report.redacted), (4, 1));
    let (_, _, manual) = &known[1];
    assert!(manual.contains("# The kiln") && !manual.contains("tr0ub4dor"), "without its password: {manual}");
    std::fs::write(root.join("manual.pdf"), "cut short").unwrap();
    let (again, known) = indexed(&root).await;
    assert_eq!((again.unchanged, again.removed), (3, 0));
    assert!(
        known.iter().any(|(name, _, text)| name == "manual.pdf" && text.contains("The kiln")),
        "what it said stays"
    );
}

async fn serve(options: LabOptions) -> LabServer {
    let _already = rustls::crypto::ring::default_provider().install_default();
    server::serve(LabOptions { corpus: Corpus::Empty, ..options }, CancellationToken::new()).await.unwrap()
}

async fn call(running: &LabServer, tool: &str, arguments: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}});
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.post(running.mcp_url()).header("Accept", "application/json, text/event-stream");
    let answer = request.header("MCP-Protocol-Version", "2025-11-25").json(&body).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["result"]["structuredContent"].take()
}

async fn kinds(running: &LabServer) -> Vec<(String, String)> {
    let listed = call(running, "list_sources", json!({})).await;
    let sources = listed["data"]["sources"].as_array().unwrap().iter();
    let told = |source: &Value, key: &str| source[key].as_str().unwrap_or_default().to_owned();
    sources.map(|source| (told(source, "source"), told(source, "source_type"))).collect()
}

#[tokio::test]
async fn a_file_that_is_named_is_read_as_the_walk_reads_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference_documents/files");
    let running = serve(LabOptions { root: Some(root), ..LabOptions::default() }).await;
    for (arguments, expected) in [
        (json!({"file": "manual.pdf"}), Ok(())),
        (json!({"file": "wheel.docx", "source": "wheel", "source_type": "constraints"}), Ok(())),
        (json!({"file": "scan.pdf"}), Err("recognise their letters (OCR) first")),
        (json!({"file": "locked.pdf"}), Err("save it without a password")),
    ] {
        let told = call(&running, "index_document", arguments.clone()).await;
        match expected {
            Ok(()) => assert_eq!(told["status"], "ok", "{arguments}: {told}"),
            Err(mend) => {
                assert_eq!(told["error_code"], "DOCUMENT_UNREADABLE", "{arguments}: {told}");
                assert!(told["error_message"].as_str().unwrap().contains(mend), "{arguments}: {told}");
            }
        }
    }
    let expected = [("manual.pdf", "pdf"), ("wheel", "constraints")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(kinds(&running).await, expected);
    let found = call(&running, "search_documents", json!({"query": "cobalt glaze"})).await;
    let hit = &found["data"]["results"][0];
    assert!(hit.to_string().contains("Glazes") && hit["source"] == "manual.pdf", "under its heading: {found}");
}

/// The address of a server that answers once, so.
async fn answers(media_type: &str, body: Vec<u8>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _asked = stream.read(&mut [0; 4_096]).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
    });
    format!("http://{address}")
}

#[tokio::test]
async fn an_address_is_read_by_what_its_server_says_it_is() {
    let loopback = vec!["127.0.0.0/8".parse().unwrap()];
    let running = serve(LabOptions { allow_private: loopback, ..LabOptions::default() }).await;
    let page = b"<title>Kiln</title><nav>Home</nav><p>It is fired at dawn.".to_vec();
    for (name, media_type, path, body, kind) in [
        ("a page", "text/html; charset=utf-8", "/", page.clone(), "html"),
        ("the same as a text", "text/plain", "/a.html", page, "document"),
        ("a PDF", "application/pdf", "/download", file("manual.pdf"), "pdf"),
        ("a PDF by its name", "application/octet-stream", "/a.pdf", file("manual.pdf"), "pdf"),
    ] {
        let url = format!("{}{path}", answers(media_type, body).await);
        let told = call(&running, "index_document", json!({"url": url, "source": name})).await;
        assert_eq!(told["status"], "ok", "{name}: {told}");
        let kinds = kinds(&running).await;
        assert!(kinds.contains(&(name.to_owned(), kind.to_owned())), "{name}: {kinds:?}");
    }
}
