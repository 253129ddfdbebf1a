//! Search servers that people run, as they come: four lines of YAML canary each, and name it when it is emptied.
//!
//! `packages/` pins each with all that it depends on, and `tests/real_servers/install.sh` installs them. Each is
//! filled with the same five notes and asked by `serin probe`; then its notes are taken away. Three of them stand before
//! SearXNG, Meilisearch and Elasticsearch, which `upstream.mjs` plays. Read: `servers` (the table), `notes`, `folder`
//! (how notes get in and out), `talk`, `probe`.
//!
//! Run with `cargo test --test real_servers -- --ignored`, or with all tests by `--include-ignored`.

mod notes;
mod talk;
mod probe;
mod folder;
mod servers;

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::Semaphore;

use crate::folder::Folder;
use crate::servers::{BEFORE_UPSTREAMS, OF_DATABASES, OF_FILES, Server};

/// Servers that are looked at at a time, by all tests together: starting one takes a core for seconds.
static TURNS: Semaphore = Semaphore::const_new(2);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn servers_of_files_are_canaried_and_named_when_they_are_emptied() {
    held(&OF_FILES).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn servers_of_databases_are_canaried_and_named_when_they_are_emptied_or_broken() {
    held(&OF_DATABASES).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn servers_before_an_upstream_are_canaried_and_named_when_it_is_emptied_or_gone() {
    held(&BEFORE_UPSTREAMS).await;
}

/// Fails with every server that was seen otherwise than the table says.
async fn held(servers: &'static [Server]) {
    let looks = stream::iter(servers).map(looked_at).buffer_unordered(servers.len());
    let grievances: Vec<String> = looks.flat_map(stream::iter).collect().await;
    assert!(grievances.is_empty(), "{}", grievances.join("\n\n"));
}

/// What of a server was seen otherwise.
async fn looked_at(server: &'static Server) -> Vec<String> {
    let _turn = TURNS.acquire().await.expect("nobody closes it");
    let mut folder = Folder::seeded(server).await;
    let mut grievances = Vec::new();
    grievances.extend(grievance(server, "filled", "right", &folder).await);
    for (loss, reason) in server.losses {
        folder.lose(loss).await;
        grievances.extend(grievance(server, &loss.to_string(), reason, &folder).await);
    }
    grievances
}

async fn grievance(server: &Server, when: &str, expected: &str, folder: &Folder) -> Option<String> {
    let seen = probe::finds(folder, expected).await.err()?;
    Some(format!("{}, {when}: {seen}", server.name))
}
