//! An embedder that is down on request, or another than the index was built with.
//!
//! It stands before what is remembered of vectors, not behind it: nothing that another model made is ever
//! kept under the right one's name.

use async_trait::async_trait;

use std::sync::Arc;

use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::embed::remote::EMBEDDING_SERVER;
use crate::embed::{EmbedError, Purpose};
use crate::index::vectors::{EmbeddingError, Vectors};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::remote::trouble::{RemoteError, ServerError};
use crate::store::contract::{Connection, Store};
use crate::text::draw::{fnv, mix};

/// Vectors behind the switchboard.
#[derive(Debug)]
pub struct FaultyVectors {
    inner: Arc<dyn Vectors>,
    faults: Faults,
}

impl FaultyVectors {
    /// Vectors that fail as the switches say.
    pub fn new(inner: Arc<dyn Vectors>, faults: Faults) -> Self {
        Self { inner, faults }
    }

    /// Whether questions meet a provider that is down.
    fn answers(&self) -> Result<(), EmbedError> {
        match self.faults.activated(Fault::EmbedderDown) {
            Some(dose) if dose.mode == "error" => {
                let (host, why) = ("(fault)".to_owned(), "switched off on request".to_owned());
                Err(ServerError { role: EMBEDDING_SERVER, error: RemoteError::Unavailable { host, why } }.into())
            }
            _ => Ok(()),
        }
    }

    /// Whether a question is embedded with another model than the index was. Which ones are is settled by
    /// their words: whoever remembers vectors or answers by the model's name asks more than once.
    fn is_other(&self, text: &str) -> bool {
        let falls_back = self.faults.dose(Fault::EmbedderDown).filter(|dose| dose.mode == "fallback");
        let others = [falls_back, self.faults.dose(Fault::WrongQueryModel)];
        others.into_iter().flatten().any(|dose| dose.applies_to(fnv(text.bytes())))
    }
}

#[async_trait]
impl Vectors for FaultyVectors {
    fn embedder(&self) -> &Provider {
        self.inner.embedder()
    }

    fn counts(&self) -> (u64, u64) {
        self.inner.counts()
    }

    async fn documents(&self, store: &dyn Store, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        if self.embedder().built_in().is_none() {
            self.answers()?;
        }
        self.inner.documents(store, texts).await
    }

    async fn searched_with(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        purpose: Purpose,
    ) -> Result<Vec<f32>, EmbeddingError> {
        self.answers()?;
        let is_other = self.is_other(text);
        if is_other && self.embedder().built_in().is_some() {
            return Ok(HashingEmbedder::OTHER.embed(text));
        }
        let vector = self.inner.searched_with(connection, text, purpose).await?;
        Ok(if is_other { other(&vector) } else { vector })
    }

    async fn ask(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.answers()?;
        self.inner.ask(text).await
    }

    fn question_model(&self, text: &str) -> String {
        let name = self.inner.question_model(text);
        if self.is_other(text) { format!("{name}, another") } else { name }
    }

    /// Of a provider that is down somebody must notice, also where the question was asked before.
    fn may_be_remembered(&self) -> bool {
        self.faults.dose(Fault::EmbedderDown).is_none()
    }
}

/// What another model of the same width would say: the same length, in directions that mean nothing
/// here. Numbers change places and signs by a fixed draw.
fn other(vector: &[f32]) -> Vec<f32> {
    let mut places: Vec<usize> = (0..vector.len()).collect();
    places.sort_by_key(|place| mix(0x0DD5_EED5 ^ *place as u64));
    let sign = |place: usize| if mix(place as u64) >> 63 == 0 { 1.0 } else { -1.0 };
    places.into_iter().enumerate().map(|(to, from)| vector[from] * sign(to)).collect()
}
