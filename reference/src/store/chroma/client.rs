//! Chroma's REST API, version 2, as far as vectors need it.
//!
//! Chroma names a collection by a key that changes when it is deleted and made again. The key is looked up by the
//! collection's name, and once more where Chroma does not know it any more.

use std::collections::HashMap;

use parking_lot::Mutex;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::remote::client::RemoteClient;
use crate::remote::trouble::{RemoteError, ServerError};
use crate::store::chroma::options::{ChromaOptions, refused};
use crate::store::records::StoreError;

/// Vectors of one request where Chroma takes more.
const BATCH_MAX: usize = 1_000;
/// Numbers of one request: 6 MB as JSON. Chroma takes 40 MB.
const BATCH_NUMBERS_MAX: usize = 500_000;
/// Keys of one request; it is a few tens of kilobytes.
const KEYS_MAX: usize = 5_000;
/// HNSW's list of candidates. Chroma's own is 100; pgvector was measured with 400 too.
const CANDIDATES: usize = 400;
/// Where a collection says whose it is.
const OWNER: &str = "serin_index";
/// What the server is to us.
const ROLE: &str = "vector store";
/// No body.
const NOTHING: Option<&Value> = None;

/// One collection of one server.
#[derive(Debug)]
pub struct Chroma {
    reading: RemoteClient,
    writing: RemoteClient,
    collection: String,
    /// The database's address below the server's.
    database: String,
    /// Whose vectors these are: the key of the file's index.
    index: String,
    home: Mutex<Option<String>>,
    batch: OnceCell<usize>,
}

#[derive(Deserialize)]
struct Collection {
    id: String,
    metadata: Option<HashMap<String, Value>>,
}

#[derive(Deserialize)]
struct Checks {
    max_batch_size: usize,
}

#[derive(Deserialize)]
struct Nearest {
    ids: Vec<Vec<String>>,
    distances: Vec<Vec<Option<f32>>>,
}

#[derive(Deserialize)]
struct Kept {
    ids: Vec<String>,
    embeddings: Option<Vec<Vec<f32>>>,
}

#[derive(Serialize)]
struct Batch<'a> {
    ids: Vec<String>,
    embeddings: Vec<&'a [f32]>,
}

impl Chroma {
    /// A client of a collection; nothing is opened before the first question.
    ///
    /// # Errors
    /// `Sql` with a configuration error for settings that cannot be used.
    pub fn new(options: ChromaOptions, index: String) -> Result<Self, StoreError> {
        options.check().map_err(refused)?;
        let client = |settings| RemoteClient::new(settings).map_err(|error| refused(error.to_string()));
        Ok(Self {
            reading: client(options.reading())?,
            writing: client(options.writing())?,
            database: format!("api/v2/tenants/{}/databases/{}", options.tenant, options.database),
            collection: options.collection,
            index,
            home: Mutex::new(None),
            batch: OnceCell::new(),
        })
    }

    /// Keys and distances of the `count` nearest vectors, the nearest first.
    ///
    /// # Errors
    /// `Vectors`.
    pub async fn nearest(&self, vector: &[f32], count: usize) -> Result<Vec<(i64, f32)>, StoreError> {
        let body = json!({ "query_embeddings": [vector], "n_results": count, "include": ["distances"] });
        let Nearest { ids, distances } = self.ask(&self.reading, Method::POST, "query", Some(&body)).await?;
        let both = ids.into_iter().flatten().zip(distances.into_iter().flatten());
        // A key that is none of ours is nobody's.
        Ok(both.filter_map(|(id, distance)| Some((id.parse().ok()?, distance?))).collect())
    }

    /// How many vectors there are.
    ///
    /// # Errors
    /// `Vectors`.
    pub async fn count(&self) -> Result<usize, StoreError> {
        self.ask(&self.reading, Method::GET, "count", NOTHING).await
    }

    /// The vectors with these keys, those that are there.
    ///
    /// # Errors
    /// `Vectors`.
    pub async fn vectors(&self, ids: &[i64]) -> Result<HashMap<i64, Vec<f32>>, StoreError> {
        let mut found = HashMap::with_capacity(ids.len());
        for page in ids.chunks(BATCH_MAX) {
            let body = json!({ "ids": names(page), "include": ["embeddings"] });
            let kept: Kept = self.ask(&self.reading, Method::POST, "get", Some(&body)).await?;
            let both = kept.ids.into_iter().zip(kept.embeddings.unwrap_or_default());
            found.extend(both.filter_map(|(id, vector)| Some((id.parse().ok()?, vector))));
        }
        Ok(found)
    }

    /// How many of these keys are there.
    ///
    /// # Errors
    /// `Vectors`.
    pub async fn present(&self, ids: &[i64]) -> Result<usize, StoreError> {
        let mut present = 0;
        for page in ids.chunks(KEYS_MAX) {
            let body = json!({ "ids": names(page), "include": [] });
            present += self.ask::<Kept>(&self.reading, Method::POST, "get", Some(&body)).await?.ids.len();
        }
        Ok(present)
    }

    /// Keeps vectors under their keys.
    ///
    /// # Errors
    /// `Vectors`; some may be kept then.
    pub async fn keep(&self, vectors: &[(i64, &[f32])]) -> Result<(), StoreError> {
        let width = vectors.first().map_or(1, |(_, vector)| vector.len().max(1));
        let batch = self.batch_max().await?.min(BATCH_NUMBERS_MAX / width).max(1);
        for page in vectors.chunks(batch) {
            let (ids, embeddings) = page.iter().map(|(id, vector)| (id.to_string(), *vector)).unzip();
            self.ask::<Value>(&self.writing, Method::POST, "upsert", Some(&Batch { ids, embeddings })).await?;
        }
        Ok(())
    }

    /// Takes vectors away, those that are there; where there is no collection there are none.
    ///
    /// # Errors
    /// `Vectors`; some may be gone then.
    pub async fn forget(&self, ids: &[i64]) -> Result<(), StoreError> {
        if self.find().await?.is_none() {
            return Ok(());
        }
        let batch = self.batch_max().await?;
        for page in ids.chunks(batch) {
            self.ask::<Value>(&self.writing, Method::POST, "delete", Some(&json!({ "ids": names(page) }))).await?;
        }
        Ok(())
    }

    /// Makes the collection where it is missing.
    ///
    /// # Errors
    /// `Vectors`, also where it is another index's.
    pub async fn make(&self) -> Result<(), StoreError> {
        if self.find().await?.is_some() {
            return Ok(());
        }
        let body = json!({
            "name": self.collection,
            "get_or_create": true,
            "metadata": { OWNER: self.index },
            "configuration": { "hnsw": { "space": "cosine", "ef_search": CANDIDATES } },
        });
        let path = format!("{}/collections", self.database);
        let made = self.writing.send(Method::POST, &path, Some(&body), parse::<Collection>).await.map_err(failed)?;
        self.settle(made).map(drop)
    }

    /// Takes the collection away, and all vectors with it.
    ///
    /// # Errors
    /// `Vectors`, also where it is another index's.
    pub async fn unmake(&self) -> Result<(), StoreError> {
        *self.home.lock() = None;
        if self.find().await?.is_none() {
            return Ok(());
        }
        let sent = self.writing.send(Method::DELETE, &self.path(), NOTHING, parse::<Value>).await;
        *self.home.lock() = None;
        match sent {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(()),
            sent => sent.map(drop).map_err(failed),
        }
    }

    /// That the vectors which should be there are not.
    pub fn emptied(&self, expected: usize) -> StoreError {
        self.unusable(format!(
            "collection {} holds none of the {expected} vectors that were put there: run `serin reference index \
             --full-rebuild`",
            self.collection
        ))
    }

    /// That a server's answer is none we can use.
    pub fn unusable(&self, why: String) -> StoreError {
        failed(RemoteError::Malformed { host: self.reading.host().to_owned(), why })
    }

    /// Asks the collection, and once more under its new key where it was made again.
    async fn ask<T: DeserializeOwned>(
        &self,
        client: &RemoteClient,
        method: Method,
        end: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, StoreError> {
        let home = self.home().await?;
        let path = |home: &str| format!("{}/collections/{home}/{end}", self.database);
        match client.send(method.clone(), &path(&home), body, parse).await {
            Err(RemoteError::Refused { status: 404, .. }) => {
                *self.home.lock() = None;
                let again = self.home().await?;
                client.send(method, &path(&again), body, parse).await.map_err(failed)
            }
            answer => answer.map_err(failed),
        }
    }

    async fn home(&self) -> Result<String, StoreError> {
        let known = self.home.lock().clone();
        if let Some(home) = known {
            return Ok(home);
        }
        let gone = || {
            let name = &self.collection;
            self.unusable(format!("there is no collection {name}: run `serin reference index --full-rebuild`"))
        };
        self.find().await?.ok_or_else(gone)
    }

    /// The key of the collection, where it is there and ours.
    async fn find(&self) -> Result<Option<String>, StoreError> {
        let known = self.home.lock().clone();
        if known.is_some() {
            return Ok(known);
        }
        match self.reading.send(Method::GET, &self.path(), NOTHING, parse::<Collection>).await {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(None),
            found => self.settle(found.map_err(failed)?).map(Some),
        }
    }

    fn settle(&self, found: Collection) -> Result<String, StoreError> {
        let owner = found.metadata.as_ref().and_then(|metadata| metadata.get(OWNER)).and_then(Value::as_str);
        if owner != Some(self.index.as_str()) {
            let name = &self.collection;
            return Err(self.unusable(format!(
                "collection {name} was not made by this index: name another one under `store.chroma`, or delete it"
            )));
        }
        *self.home.lock() = Some(found.id.clone());
        Ok(found.id)
    }

    async fn batch_max(&self) -> Result<usize, StoreError> {
        let look = || async {
            let path = "api/v2/pre-flight-checks";
            let checks = self.reading.send(Method::GET, path, NOTHING, parse::<Checks>).await.map_err(failed)?;
            Ok::<_, StoreError>(checks.max_batch_size.clamp(1, BATCH_MAX))
        };
        self.batch.get_or_try_init(look).await.copied()
    }

    fn path(&self) -> String {
        format!("{}/collections/{}", self.database, self.collection)
    }
}

fn names(ids: &[i64]) -> Vec<String> {
    ids.iter().map(i64::to_string).collect()
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

fn failed(error: RemoteError) -> StoreError {
    StoreError::Vectors(ServerError { role: ROLE, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::scripted::{KEY, Reply, Scripted};
    use crate::remote::settings::ApiKey;

    /// A client whose server knows the collection, and then says this.
    async fn asking(then: Vec<Reply>) -> (Scripted, Chroma) {
        let known = Reply::Json(json!({ "id": "k-1", "name": "manuals", "metadata": { OWNER: "mine" } }));
        let server = Scripted::play([known].into_iter().chain(then).collect()).await;
        let base = server.settings().base.replace("/v1", "");
        let options = ChromaOptions { token: Some(ApiKey::new(KEY)), ..ChromaOptions::new(base, "manuals") };
        let chroma = Chroma::new(options, "mine".to_owned()).unwrap();
        (server, chroma)
    }

    async fn check(says: &str, answer: Value, expected: Result<&[(i64, f32)], &str>) {
        let (server, chroma) = asking(vec![Reply::Json(answer)]).await;
        match (chroma.nearest(&[0.6, 0.8], 2).await, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{says}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{says}: {error}"),
            (found, _) => panic!("{says}: {found:?}"),
        }
        let asked = &server.asked()[1];
        let path = "/api/v2/tenants/default_tenant/databases/default_database/collections/k-1/query";
        assert_eq!(asked.path, path, "{says}");
        assert_eq!((&*asked.bearer, &*asked.own_key), (&*format!("Bearer {KEY}"), KEY), "{says}");
        assert_eq!(asked.body["n_results"], 2, "{says}");
    }

    #[tokio::test]
    async fn an_answer_is_read_or_refused() {
        let answer = |ids: Value, distances: Value| json!({ "ids": ids, "distances": distances });
        check("two", answer(json!([["7", "9"]]), json!([[0.25, 0.5]])), Ok(&[(7, 0.25), (9, 0.5)])).await;
        check("nothing", answer(json!([[]]), json!([[]])), Ok(&[])).await;
        check("no list at all", answer(json!([]), json!([])), Ok(&[])).await;
        let strange = answer(json!([["7", "x", "", "99999999999999999999"]]), json!([[0.25, 0.1, 0.1, 0.1]]));
        check("keys that are none of ours", strange, Ok(&[(7, 0.25)])).await;
        check("a distance that is no number", answer(json!([["7", "9"]]), json!([[null, 0.5]])), Ok(&[(9, 0.5)])).await;
        check("fewer distances than keys", answer(json!([["7", "9"]]), json!([[0.25]])), Ok(&[(7, 0.25)])).await;
        check("another shape", json!({ "ids": "7" }), Err("cannot be used")).await;
        check("no distances", json!({ "ids": [["7"]], "distances": null }), Err("cannot be used")).await;
    }

    #[tokio::test]
    async fn a_collection_is_looked_up_anew_once() {
        let gone = || Reply::Plain(404, &[], r#"{"error":"NotFoundError"}"#);
        let again = Reply::Json(json!({ "id": "k-2", "metadata": { OWNER: "mine" } }));
        let (server, chroma) = asking(vec![gone(), again, Reply::Json(json!(5))]).await;
        assert_eq!(chroma.count().await.unwrap(), 5);
        assert!(server.asked()[3].path.ends_with("/collections/k-2/count"));
        let (_server, chroma) = asking(vec![gone(), gone()]).await;
        let error = chroma.count().await.unwrap_err().to_string();
        assert!(error.contains("there is no collection manuals") && error.contains("--full-rebuild"), "{error}");
        let (_server, chroma) = asking(vec![Reply::Plain(401, &[], "who are you")]).await;
        let error = chroma.count().await.unwrap_err().to_string();
        assert!(error.contains("refused with HTTP 401: mend the key"), "{error}");
    }
}
