//! The keyword retriever: BM25 over FTS5.

use sqlx::sqlite::SqliteRow;
use sqlx::types::Json;
use sqlx::{Row as _, SqliteConnection};

use crate::store::filter::Filter;
use crate::store::records::{ChunkPlace, Holders, StoreError, Worded};

/// bm25() is negative and smaller is better; a word that names the chunk counts double.
const OPEN: &str = "SELECT chunks.id, chunks.source, chunks.ordinal, best.score FROM \
    (SELECT rowid AS id, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH $1 ORDER BY 2 LIMIT $2) AS best \
    JOIN chunks ON chunks.id = best.id ORDER BY best.score, chunks.source, chunks.ordinal";

/// Asked for beyond what is wanted, so that those just as good as the last one can compete for its place.
const TIES: usize = 16;

/// The same where more than those are as good as the last one that is wanted: all matches are kept aside until its score
/// is known, which takes a median question a quarter longer (6.2 to 8.0 ms).
const TIED: &str = "WITH matching AS MATERIALIZED \
    (SELECT rowid AS id, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH $1) \
    SELECT chunks.id, chunks.source, chunks.ordinal, score FROM matching JOIN chunks ON chunks.id = matching.id \
    WHERE score <= (SELECT score FROM matching ORDER BY score LIMIT 1 OFFSET $2 - 1) \
    ORDER BY score, chunks.source, chunks.ordinal LIMIT $2";

/// The sources that fit are few against the chunks that match, so they are found once, first.
const FILTERED: &str = "WITH fitting AS MATERIALIZED (SELECT source FROM sources \
    WHERE substr(source, 1, length($3)) = $3 AND ($4 IS NULL OR collection = $4) \
    AND NOT EXISTS (SELECT 1 FROM json_each($5) AS wanted WHERE wanted.value NOT IN \
        (SELECT had.value FROM json_each(sources.tags) AS had)) \
    AND ($6 = '[]' OR source_type IN (SELECT value FROM json_each($6))) \
    AND ($7 IS NULL OR dated >= $7) AND ($8 IS NULL OR dated <= $8) \
    AND ($9 IS NULL OR collection IN (SELECT value FROM json_each($9)))) \
    SELECT chunks.id, chunks.source, chunks.ordinal, bm25(words, 2.0, 1.0) \
    FROM words JOIN chunks ON chunks.id = words.rowid \
    WHERE words MATCH $1 AND chunks.source IN (SELECT source FROM fitting) \
    ORDER BY 4, chunks.source, chunks.ordinal LIMIT $2";

/// Who holds each of a list of terms.
const HOLDERS: &str = "SELECT (SELECT json_array(count(*), json_group_array(rowid) \
        FILTER (WHERE rowid IN (SELECT value FROM json_each($2)))) FROM words WHERE words MATCH term.value) \
    FROM json_each($1) AS term ORDER BY term.key";

/// The chunks that hold terms, the best first; equal scores are ordered by place.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn search(
    connection: &mut SqliteConnection,
    terms: &[String],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Worded>, StoreError> {
    if terms.is_empty() || depth == 0 {
        return Ok(Vec::new());
    }
    if filter.is_open() {
        open(connection, terms, depth).await
    } else {
        filtered(connection, terms, filter, depth).await
    }
}

async fn open(connection: &mut SqliteConnection, terms: &[String], depth: usize) -> Result<Vec<Worded>, StoreError> {
    let (asked, limit) = (depth.saturating_add(TIES), |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX));
    let mut rows = sqlx::query(OPEN).bind(expression(terms)).bind(limit(asked)).fetch_all(&mut *connection).await?;
    let score = |row: Option<&SqliteRow>| row.map(|row| row.try_get::<f64, _>(3)).transpose();
    if rows.len() == asked && score(rows.last())? == score(rows.get(depth - 1))? {
        rows = sqlx::query(TIED).bind(expression(terms)).bind(limit(depth)).fetch_all(connection).await?;
    }
    rows.iter().take(depth).map(worded).collect()
}

async fn filtered(
    connection: &mut SqliteConnection,
    terms: &[String],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Worded>, StoreError> {
    let list = |items: &[String]| serde_json::to_string(items).unwrap_or_default();
    let rows = sqlx::query(FILTERED)
        .bind(expression(terms))
        .bind(i64::try_from(depth).unwrap_or(i64::MAX))
        .bind(&filter.source)
        .bind(&filter.collection)
        .bind(list(&filter.tags))
        .bind(list(&filter.source_types))
        .bind(filter.since)
        .bind(filter.until)
        .bind(filter.collections.as_deref().map(list))
        .fetch_all(connection)
        .await?;
    rows.iter().map(worded).collect()
}

fn worded(row: &SqliteRow) -> Result<Worded, StoreError> {
    let place = ChunkPlace { id: row.try_get(0)?, source: row.try_get(1)?, ordinal: row.try_get(2)? };
    Ok(Worded { place, score: -row.try_get::<f64, _>(3)? })
}

/// Who holds each term.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn holders(
    connection: &mut SqliteConnection,
    terms: &[String],
    ids: &[i64],
) -> Result<Vec<Holders>, StoreError> {
    let terms: Vec<_> = terms.iter().map(|term| expression(std::slice::from_ref(term))).collect();
    let rows = sqlx::query_scalar(HOLDERS).bind(Json(terms)).bind(Json(ids)).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|Json((chunks, ids))| Holders { chunks, ids }).collect())
}

/// The terms as FTS5 wants them: each quoted, so that nothing a user types is an operator, and a code
/// such as `RAG-1107` is one phrase.
fn expression(terms: &[String]) -> String {
    terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect::<Vec<_>>().join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, terms: &[&str], expected: &str) {
        let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
        assert_eq!(expression(&terms), expected, "{says}");
    }

    #[test]
    fn terms_become_expressions() {
        check("a code is a phrase", &["RAG-1107"], "\"RAG-1107\"");
        check("operators are words", &["a", "OR", "NEAR(b"], "\"a\" OR \"OR\" OR \"NEAR(b\"");
        check("a quote ends nothing", &["say\"so"], "\"say\"\"so\"");
    }
}
