//! Answers remembered by what was asked, under the very settings: the very words, or, of an index without an embedder, what
//! the keyword retriever looks for. Whoever asks the same terms in other words has the very same hits there.
//!
//! By meaning nothing is remembered. With every guard that was tried (numbers, names, negations, opposites, the same hits of
//! either retriever) other questions got an answer that was not theirs, or hardly any paraphrase got one at all:
//! `docs/reference-server.md` has the figures. An answer lives as long as the most volatile of its sources allows, and a source that
//! changes drops what touches it before its new text shows (`Store::replace`).

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use sha2::{Digest as _, Sha256};

use crate::search::found::Found;
use crate::search::question::{CacheUse, Question};
use crate::store::cache::{CachedAnswer, NewAnswer};
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{StoreError, Volatility};

/// How answers are remembered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remembering {
    /// Whether they are.
    pub is_on: bool,
}

impl Default for Remembering {
    fn default() -> Self {
        Self { is_on: true }
    }
}

/// A question as the memory knows it.
#[derive(Debug, Clone)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a question of which this counts, asked of a model with some settings. The model belongs into it:
    /// another's answers are others.
    pub fn of(question: &Question, counts: &str, model: &str, settings: &str) -> Self {
        let scope = digest(&[
            model,
            settings,
            &question.top_k.to_string(),
            &format!("{:.4}", question.min_score),
            &line(&question.filter),
        ]);
        Self(Sha256::new().chain_update(scope).chain_update(counts).finalize().into())
    }
}

/// A filter as one line: two filters are the same exactly where their lines are.
fn line(filter: &Filter) -> String {
    let day = |day: Option<NaiveDate>| day.map(|day| day.to_string()).unwrap_or_default();
    let (tags, kinds) = (filter.tags.join("\u{1f}"), filter.source_types.join("\u{1f}"));
    let collection = filter.collection.as_deref().unwrap_or("\u{1d}");
    [filter.source.as_str(), collection, &tags, &kinds, &day(filter.since), &day(filter.until)].join("\u{1e}")
}

/// How long an answer from a source is kept.
const fn lasting(volatility: Volatility) -> Duration {
    match volatility {
        Volatility::Stable => Duration::from_hours(24),
        Volatility::Normal => Duration::from_hours(8),
        Volatility::Changing => Duration::from_hours(1),
        Volatility::Live => Duration::ZERO,
    }
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let with_length = |sum: Sha256, part: &&str| sum.chain_update(part.len().to_le_bytes()).chain_update(part);
    parts.iter().fold(Sha256::new(), with_length).finalize().into()
}

/// An answer that was remembered.
#[derive(Debug)]
pub struct Recalled {
    /// Every hit it was chosen from, the best first.
    pub ranked: Vec<Found>,
    /// How it was come by.
    pub cache: CacheUse,
}

/// Looks for the answer to the very same question.
///
/// # Errors
/// The store's.
pub async fn same(
    connection: &mut dyn Connection,
    key: &Key,
    now: DateTime<Utc>,
) -> Result<Option<Recalled>, StoreError> {
    Ok(connection.answer(&key.0, now).await?.and_then(|answer| recalled(&answer, now)))
}

fn recalled(answer: &CachedAnswer, now: DateTime<Utc>) -> Option<Recalled> {
    // An answer that an older version kept in another shape is as good as none.
    let ranked = serde_json::from_str(&answer.hits).ok()?;
    let age = (now - answer.made_at).to_std().unwrap_or_default();
    Some(Recalled { ranked, cache: CacheUse { age: Some(age), vector_age: None } })
}

/// Keeps an answer for as long as its sources allow. An empty one is not kept: what was just indexed
/// must be found.
///
/// # Errors
/// The store's.
pub async fn keep(
    connection: &mut dyn Connection,
    key: &Key,
    ranked: &[Found],
    generation: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let keeps = ranked.iter().map(|found| found.chunk.volatility).max().map_or(Duration::ZERO, lasting);
    let Ok(hits) = serde_json::to_string(ranked) else { return Ok(()) };
    if keeps.is_zero() {
        return Ok(());
    }
    let mut sources: Vec<&str> = ranked.iter().map(|found| found.chunk.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    let new = NewAnswer { exact: key.0, hits: &hits, sources, expires_at: now + keeps, generation };
    connection.keep_answer(&new, now).await
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lines_tell_filters_apart() {
        let day = "2026-03-01".parse().ok();
        let filters = [
            Filter::default(),
            Filter { source: "plant".to_owned(), ..Filter::default() },
            Filter { collection: Some(String::new()), ..Filter::default() },
            Filter { collection: Some("plant".to_owned()), ..Filter::default() },
            Filter { tags: vec!["plant".to_owned()], ..Filter::default() },
            Filter { tags: vec!["plant".to_owned(), "wet".to_owned()], ..Filter::default() },
            Filter { source_types: vec!["plant".to_owned()], ..Filter::default() },
            Filter { since: day, ..Filter::default() },
            Filter { until: day, ..Filter::default() },
        ];
        let lines: HashSet<String> = filters.iter().map(line).collect();
        assert_eq!(lines.len(), filters.len(), "{lines:?}");
    }
}
