//! Cached embeddings, answers, and what conversations were shown: all of it is the file's.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::store::cache::{CachedAnswer, NewAnswer, ShownChunk, StoreCache};
use crate::store::chroma::reading::ChromaReader;
use crate::store::records::StoreError;

#[async_trait]
impl StoreCache for ChromaReader {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        self.file.embedded(keys).await
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.file.keep_embedded(vectors, now).await
    }

    async fn looked_for(&mut self, terms: &[String]) -> Result<Vec<String>, StoreError> {
        self.file.looked_for(terms).await
    }

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        self.file.answer(exact, now).await
    }

    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.file.keep_answer(answer, now).await
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        self.file.shown(conversation, since).await
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.file.keep_shown(conversation, shown, now, forget_before).await
    }
}
