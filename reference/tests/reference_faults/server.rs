//! The server that is asked: real, over HTTP, with a few notes in its index.

use std::time::Duration;

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::kinds;
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use tokio_util::sync::CancellationToken;

/// What the server knows: source, day, text. The last is the newest.
pub(crate) const NOTES: &[(&str, &str, &str)] = &[
    (
        "notes/boiler.md",
        "2026-01-10",
        "# Boiler\n\n## Draining\nThe boiler is drained every 14 days. Open the lower cock, let the sludge run into the \
         pit, and close it when clear water comes. Write the day into the boiler book.\n\n## Firing\nThe boiler is \
         fired with beech. Two logs an hour keep the pressure at 5 bar, three are too many for the boiler's old grate. Ash \
         is carried out before it chokes the grate, and the boiler is left to cool overnight.",
    ),
    (
        "notes/pump.md",
        "2026-02-10",
        "# Pump\n\n## Priming\nThe pump is primed with a bucket of water. Fill the funnel until the glass shows no \
         bubbles, then start the pump slowly.\n\n## Bearings\nThe bearings of the pump are greased each spring. A \
         pump that sings has dry bearings.",
    ),
    (
        "notes/mill.md",
        "2026-03-10",
        "# Mill\n\nThe mill grinds rye on Tuesdays and wheat on Fridays. Its stones are dressed after 200 sacks, \
         with a pick of hard steel. Error MILL-17 means that the hopper is empty.",
    ),
    (
        "notes/bees.md",
        "2026-04-10",
        "# Bees\n\nFour hives stand behind the orchard. Honey is taken in July, never in rain. A hive that is \
         silent in March is opened at noon.",
    ),
    (
        "notes/ferry.md",
        "2026-05-10",
        "# Ferry\n\nThe ferry crosses at each full hour. In fog it rings its bell and does not cross. Horses are \
         led aboard first, carts follow.",
    ),
    (
        "notes/lamp.md",
        "2026-06-10",
        "# Lamp\n\nThe lamp on the jetty burns whale oil. Its wick is trimmed at dusk by whoever has the watch.",
    ),
];
/// A question that the first note answers, by words and by meaning.
pub(crate) const BOILER: &str = "when is the boiler drained";
/// How long a call is looked at that must not be done yet: longer than a search waits for the pool.
pub(crate) const LOOKED_AT: Duration = Duration::from_millis(600);
/// How long anything may take at all, so that what never comes ends a test instead of hanging it.
pub(crate) const GIVEN_UP: Duration = Duration::from_secs(30);
/// Longer than any client here waits.
pub(crate) const FOREVER_MS: u64 = 3_600_000;

/// A server that runs, and who asks it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) running: LabServer,
    pub(crate) client: Client,
}

/// A server that knows nothing yet, with faults from its start.
pub(crate) async fn empty(faults: &Value) -> Server {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let read = |(name, value): (&String, &Value)| kinds::read(name, value).unwrap();
    let faults = faults.as_object().unwrap().iter().map(read).filter_map(|(fault, dose)| Some((fault, dose?)));
    let options = LabOptions {
        admin: Some("127.0.0.1:0".parse().unwrap()),
        corpus: Corpus::Empty,
        faults: faults.collect(),
        ..LabOptions::default()
    };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    Server { running, client: Client::builder().no_proxy().timeout(GIVEN_UP).build().unwrap() }
}

/// A server that knows the notes. Answers from `live` ones are not remembered.
pub(crate) async fn knowing(volatility: &str, faults: &Value) -> Server {
    let server = empty(faults).await;
    for (source, date, text) in NOTES {
        let note = json!({"source": source, "date": date, "text": text, "volatility": volatility});
        server.call("index_document", note).await;
    }
    server
}

impl Server {
    pub(crate) async fn send(&self, url: String, session: Option<&str>, method: &str, params: Value) -> Response {
        let request = self.client.post(url).header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", "2025-11-25");
        let request = session.into_iter().fold(request, |request, session| request.header("Mcp-Session-Id", session));
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        request.json(&body).send().await.unwrap()
    }

    /// What a tool says; a refusal at the door as an error with its status as the code.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.send(self.running.mcp_url(), None, "tools/call", params).await;
        if !answer.status().is_success() {
            return json!({"status": "error", "error_code": answer.status().as_str()});
        }
        answer.json::<Value>().await.unwrap()["result"]["structuredContent"].take()
    }

    pub(crate) async fn ask(&self, query: &str) -> Value {
        self.call("search_documents", json!({"query": query})).await
    }

    pub(crate) async fn index(&self, source: &str, text: &str) -> Value {
        self.call("index_document", json!({"source": source, "text": text})).await
    }

    /// The schema and description of the search, as a client is told.
    pub(crate) async fn search_tool(&self) -> Value {
        let answer = self.send(self.running.mcp_url(), None, "tools/list", json!({})).await;
        answer.json::<Value>().await.unwrap()["result"]["tools"][0].take()
    }

    async fn admin(&self, verb: Method, path: &str, body: &Value) {
        let url = format!("http://{}/admin/{path}", self.running.admin.unwrap());
        let answer = self.client.request(verb, url).json(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{}", answer.text().await.unwrap());
    }

    pub(crate) async fn switch(&self, faults: &Value) {
        self.admin(Method::POST, "faults", faults).await;
    }

    pub(crate) async fn mend(&self) {
        self.admin(Method::DELETE, "faults", &json!({})).await;
    }

    /// Crashes, and is back.
    pub(crate) async fn crash(&self) {
        self.admin(Method::POST, "crash", &json!({})).await;
        while self.client.get(self.running.url("live")).send().await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn results(envelope: &Value) -> Vec<Value> {
    envelope["data"]["results"].as_array().cloned().unwrap_or_default()
}

/// How many hits came, or the code of the error.
pub(crate) fn outcome(envelope: &Value) -> String {
    match envelope["error_code"].as_str() {
        Some(code) => code.to_owned(),
        None => format!("{} hits", results(envelope).len()),
    }
}

/// All that is seen of an answer, in short: its code, or names, texts' lengths and scores of the hits.
pub(crate) fn seen(envelope: &Value) -> String {
    let hit = |hit: &Value| {
        let length = hit["content"].as_str().unwrap().len();
        format!("{} {length} {} {} {}", hit["chunk_id"], hit["score"], hit["fused_score"], hit["final_score"])
    };
    let hits: Vec<String> = results(envelope).iter().map(hit).collect();
    format!("{} {}", envelope["error_code"], hits.join(", "))
}

/// How many chunks are indexed.
pub(crate) fn chunks(envelope: &Value) -> String {
    envelope["data"]["total_chunks"].to_string()
}
