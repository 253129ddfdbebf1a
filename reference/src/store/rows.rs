//! What both databases are asked in the same words, and what the rows are that they give.
//!
//! Where a statement must differ, it stands whole in `sqlite` and in `postgres`.

use chrono::{DateTime, NaiveDate};

use crate::store::records::{Origin, StoredChunk, StoredSource, Volatility};

/// The value of a fact, by its key.
pub const FACT: &str = "SELECT value FROM meta WHERE key = $1";
/// Sets a fact: key and value.
pub const SET_FACT: &str =
    "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
/// Forgets a fact, by its key.
pub const FORGET_FACT: &str = "DELETE FROM meta WHERE key = $1";
/// The index's count of changes.
pub const GENERATION: &str = "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'generation'";
/// Counts one change more, and gives the count.
pub const NEXT_GENERATION: &str = "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) \
    WHERE key = 'generation' RETURNING CAST(value AS BIGINT)";
/// Reserves so many keys for new chunks, and gives the first. None is ever given twice, so a key that somebody holds
/// never means another text.
pub const RESERVE_IDS: &str = "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + $1 AS TEXT) \
    WHERE key = 'next_id' RETURNING CAST(value AS BIGINT) - $1";
/// A source's text, by the source's name.
pub const TEXT: &str = "SELECT text FROM texts WHERE source = $1";
/// Tokens of the longest chunk that is searched.
pub const LONGEST: &str = "SELECT coalesce(max(tokens), 0) FROM chunks WHERE role <> 'section'";
/// A source, in the order of its columns here.
pub const INSERT_SOURCE: &str = "INSERT INTO sources (source, source_type, collection, tags, dated, volatility, \
    content_hash, parser, indexed_at, generation, origin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
/// A source's name and text.
pub const INSERT_TEXT: &str = "INSERT INTO texts (source, text) VALUES ($1, $2)";
/// What a new source drops: it may answer better than what any answer holds.
pub const DROP_ANSWERS: &str = "DELETE FROM answers";
/// What a changed source drops, by its name: an answer that touches it may be wrong now.
pub const DROP_ANSWERS_OF: &str =
    "DELETE FROM answers WHERE exact IN (SELECT exact FROM answer_sources WHERE source = $1)";

/// Chunks with what is known of their sources, as `ChunkRow`; a condition follows.
pub const CHUNKS: &str = "SELECT chunks.id, chunks.source, source_type, collection, dated, volatility, role, ordinal, \
    parent, section, content, char_start, char_end, tokens \
    FROM chunks JOIN sources ON sources.source = chunks.source";

/// A row of `CHUNKS`.
pub type ChunkRow =
    (i64, String, String, String, Option<NaiveDate>, String, String, i64, Option<i64>, String, String, i64, i64, i64);

impl From<ChunkRow> for StoredChunk {
    fn from(row: ChunkRow) -> Self {
        let (id, source, source_type, collection, dated, volatility, role, ordinal, parent, ..) = row;
        let (.., section, content, char_start, char_end, tokens) = row;
        Self {
            id,
            source,
            source_type,
            collection,
            dated,
            volatility: Volatility::named(&volatility).unwrap_or_default(),
            role,
            ordinal,
            parent,
            section,
            content,
            char_start,
            char_end,
            tokens,
        }
    }
}

/// Every source, as `SourceRow`.
pub const SOURCES: &str = "SELECT sources.source, source_type, collection, tags, dated, volatility, content_hash, \
    parser, count(chunks.id), indexed_at, origin FROM sources \
    LEFT JOIN chunks ON chunks.source = sources.source AND chunks.role <> 'section' \
    GROUP BY sources.source ORDER BY 1";

/// A row of `SOURCES`, with the tags as the database keeps them.
pub type SourceRow<Tags> = (String, String, String, Tags, Option<NaiveDate>, String, String, String, i64, i64, String);

/// The source that a row of `SOURCES` is of.
pub fn source<Tags>(row: SourceRow<Tags>, tags: impl FnOnce(Tags) -> Vec<String>) -> StoredSource {
    let (source, source_type, collection, kept_tags, dated, volatility, ..) = row;
    let (.., content_hash, parser, chunk_count, indexed_at, origin) = row;
    StoredSource {
        source,
        source_type,
        collection,
        tags: tags(kept_tags),
        dated,
        volatility: Volatility::named(&volatility).unwrap_or_default(),
        origin: Origin::named(&origin).unwrap_or_default(),
        content_hash,
        parser,
        chunk_count,
        indexed_at: DateTime::from_timestamp_micros(indexed_at).unwrap_or_default(),
    }
}
