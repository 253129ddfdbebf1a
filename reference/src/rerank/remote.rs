//! Scores from a rerank server: `POST {base}/rerank`.
//!
//! The shape is that of Cohere's and Jina's API references ("Rerank"), which vLLM, Infinity and others follow:
//! documents in, `results` of `index` and `relevance_score` out, in any order. The answer is not trusted: it must
//! hold each document once.

use serde::{Deserialize, Serialize};

use crate::remote::client::RemoteClient;
use crate::remote::listed::in_order;
use crate::remote::settings::{RemoteSettings, SettingsError};
use crate::remote::trouble::ServerError;
use crate::rerank::{Passage, RerankError, Reranker, bounded, readable};

/// What a server's scores are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// 0 to 1, as Cohere's, Jina's and vLLM's are.
    Unit,
    /// Any number; the logistic function makes a score of it.
    Logit,
}

/// Asks a server for scores.
#[derive(Debug)]
pub struct RemoteReranker {
    client: RemoteClient,
    model: String,
    scale: Scale,
}

impl RemoteReranker {
    /// A reranker; nothing is asked yet.
    ///
    /// # Errors
    /// Where the settings name no server.
    pub fn new(settings: RemoteSettings, model: impl Into<String>, scale: Scale) -> Result<Self, SettingsError> {
        Ok(Self { client: RemoteClient::new(settings)?, model: model.into(), scale })
    }
}

#[async_trait::async_trait]
impl Reranker for RemoteReranker {
    fn name(&self) -> &str {
        &self.model
    }

    async fn scores(&self, question: &str, passages: &[Passage<'_>]) -> Result<Vec<f64>, RerankError> {
        bounded(passages)?;
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let documents: Vec<String> = passages.iter().map(Passage::whole).collect();
        let top_n = documents.len();
        let request = RerankRequest { model: &self.model, query: readable(question), documents: &documents, top_n };
        let read = |bytes: &[u8]| read(bytes, top_n, self.scale);
        let scores = self.client.post("rerank", &request, read).await;
        scores.map_err(|error| ServerError { role: "rerank server", error }.into())
    }
}

#[derive(Serialize)]
struct RerankRequest<'a> {
    model: &'a str,
    query: &'a str,
    documents: &'a [String],
    top_n: usize,
}

#[derive(Deserialize)]
struct RerankAnswer {
    results: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    index: usize,
    relevance_score: f64,
}

/// The scores of an answer in the order of the documents.
fn read(bytes: &[u8], count: usize, scale: Scale) -> Result<Vec<f64>, String> {
    let answer: RerankAnswer =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a rerank answer ({error})"))?;
    if answer.results.len() != count {
        return Err(format!("it judges {} of {count} documents", answer.results.len()));
    }
    let scores = answer.results.into_iter().map(|Judged { index, relevance_score }| (index, relevance_score));
    in_order(scores, (count, "documents"), |_, score| match scale {
        Scale::Logit if score.is_finite() => Ok(1.0 / (1.0 + (-score).exp())),
        Scale::Unit if (0.0..=1.0).contains(&score) => Ok(score),
        Scale::Unit => Err(format!("score {score} is not within 0 and 1; declare that its scores are logits")),
        Scale::Logit => Err(format!("score {score} is no number")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::scripted::{Reply, Scripted};
    use Reply::{Json, Plain};
    use serde_json::{Value, json};

    const PASSAGES: [Passage<'static>; 2] =
        [Passage { section: "A > B", content: "one" }, Passage { section: "", content: "two" }];

    fn results(scores: &[(usize, f64)]) -> Reply {
        let results: Vec<Value> =
            scores.iter().map(|(index, score)| json!({"index": index, "relevance_score": score})).collect();
        Json(json!({"id": "r", "results": results}))
    }

    async fn check(says: &str, scale: Scale, reply: Reply, expected: Result<[f64; 2], &str>) {
        let server = Scripted::play(vec![reply]).await;
        let reranker = RemoteReranker::new(server.settings(), "m", scale).unwrap();
        let host = server.settings().address().unwrap().authority().to_owned();
        let found = reranker.scores("why?", &PASSAGES).await.map_err(|error| error.to_string().replace(&host, "HOST"));
        assert_eq!(found, expected.map(Vec::from).map_err(str::to_owned), "{says}");
        let asked = &server.asked()[0];
        assert_eq!(asked.path, "/v1/rerank", "{says}");
        let body = json!({"model": "m", "query": "why?", "documents": ["A > B\none", "two"], "top_n": 2});
        assert_eq!(asked.body, body, "{says}");
    }

    #[tokio::test]
    async fn scores_come_in_the_order_of_the_passages() {
        use Scale::{Logit, Unit};
        check("the best first, as servers answer", Unit, results(&[(1, 0.9), (0, 0.25)]), Ok([0.25, 0.9])).await;
        check("logits become scores", Logit, results(&[(0, 0.0), (1, 800.0)]), Ok([0.5, 1.0])).await;
        let bad = |why: &str| format!("the answer of the rerank server HOST cannot be used: {why}");
        let logit = bad("score 3.5 is not within 0 and 1; declare that its scores are logits");
        check("a logit where none was declared", Unit, results(&[(0, 3.5), (1, 0.1)]), Err(&logit)).await;
        check("too few", Unit, results(&[(0, 0.5)]), Err(&bad("it judges 1 of 2 documents"))).await;
        let twice = bad("index 1 is there twice, or beyond the 2 documents");
        check("one twice", Unit, results(&[(1, 0.5), (1, 0.5)]), Err(&twice)).await;
        check(
            "trouble there",
            Unit,
            Plain(502, &[], ""),
            Err("the rerank server HOST does not answer (HTTP 502: it said nothing): see that it runs and that its \
                 address is right"),
        )
        .await;
        check(
            "too many requests",
            Unit,
            Plain(429, &[("retry-after", "60")], ""),
            Err("the rerank server HOST has had too many requests: ask again in 60 s"),
        )
        .await;
    }

    #[tokio::test]
    async fn no_passages_are_nothing_to_ask() {
        let server = Scripted::play(vec![]).await;
        let reranker = RemoteReranker::new(server.settings(), "m", Scale::Unit).unwrap();
        assert_eq!(reranker.scores("why?", &[]).await, Ok(vec![]));
        assert!(server.asked().is_empty());
    }
}
