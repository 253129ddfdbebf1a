//! The servers here do die of what they are said to die of, so that whoever leaves them alive has left that undone.

use serde_json::{Value, json};

use crate::client::Raw;
use crate::lives::each;
use crate::release::{Release, Sdk, Server};

/// Looks at whether a server is still alive, before one believes that it is.
const LOOKS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn old_releases_die_of_a_delete_by_their_anyio_or_of_a_discover_by_their_own() {
    let all = [Release::kept(), Release::sessionless(), Release::closed()].concat();
    for (release, died) in each(all, dies).await {
        let Sdk::Python(mcp, anyio) = release.sdk else {
            assert!(!died, "{release}");
            continue;
        };
        let by_delete = release.sessions && anyio == "4.16.0" && matches!(mcp, "1.8.0" | "1.8.1" | "1.9.2" | "1.9.4");
        let by_discover = !release.sessions && matches!(mcp, "1.8.0" | "1.8.1" | "1.9.2");
        assert_eq!(died, by_delete || by_discover, "{release}");
    }
}

/// Whether it dies of a session's end, or where it has none of one `server/discover`.
async fn dies(release: Release) -> (Release, bool) {
    let mut server = Server::start(release).await;
    let (mut raw, url) = (Raw::default(), server.url());
    if let Some(session) = raw.opens(&url).await.expect("it is well") {
        assert_eq!(raw.deletes(&url, &session).await, 200, "{release}: it says yes, and dies of it");
    } else {
        let _what_it_says_is_no_matter = raw.posts(&url, None, "server/discover", Some(3), &modern()).await;
    }
    // The end of its task group comes a moment after the answer.
    for _ in 0..LOOKS {
        if server.lives().await.is_err() {
            return (release, true);
        }
    }
    (release, false)
}

fn modern() -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "nobody", "version": "0"},
    }})
}
