//! The keyword arm: BM25 over FTS5.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::rag::store::filter::Filter;
use crate::rag::store::records::{Place, StoreError};

/// bm25() is negative and smaller is better; a heading counts double. Only chunks as good as the last one that is wanted
/// are looked up: those that are just as good compete for its place.
const OPEN: &str = "WITH matching AS MATERIALIZED \
    (SELECT rowid AS id, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH $1) \
    SELECT chunks.id, chunks.source, chunks.ordinal FROM matching JOIN chunks ON chunks.id = matching.id \
    WHERE score <= coalesce((SELECT score FROM matching ORDER BY score LIMIT 1 OFFSET max(0, $2 - 1)), 9e999) \
    ORDER BY score, chunks.source, chunks.ordinal LIMIT $2";

/// The sources that fit are few against the chunks that match, so they are found once, first.
const FILTERED: &str = "WITH fitting AS MATERIALIZED (SELECT source FROM sources \
    WHERE substr(source, 1, length($3)) = $3 AND ($4 IS NULL OR collection = $4) \
    AND NOT EXISTS (SELECT 1 FROM json_each($5) AS wanted WHERE wanted.value NOT IN \
        (SELECT had.value FROM json_each(sources.tags) AS had)) \
    AND ($6 = '[]' OR source_type IN (SELECT value FROM json_each($6))) \
    AND ($7 IS NULL OR dated >= $7) AND ($8 IS NULL OR dated <= $8)) \
    SELECT chunks.id, chunks.source, chunks.ordinal FROM words JOIN chunks ON chunks.id = words.rowid \
    WHERE words MATCH $1 AND chunks.source IN (SELECT source FROM fitting) \
    ORDER BY bm25(words, 2.0, 1.0), chunks.source, chunks.ordinal LIMIT $2";

/// The chunks that hold terms, the best first; equal scores are ordered by place.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn search(
    connection: &mut SqliteConnection,
    terms: &[String],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Place>, StoreError> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let depth = i64::try_from(depth).unwrap_or(i64::MAX);
    let rows = if filter.is_open() {
        sqlx::query(OPEN).bind(expression(terms)).bind(depth).fetch_all(connection).await?
    } else {
        let list = |items: &[String]| serde_json::to_string(items).unwrap_or_default();
        sqlx::query(FILTERED)
            .bind(expression(terms))
            .bind(depth)
            .bind(&filter.source)
            .bind(&filter.collection)
            .bind(list(&filter.tags))
            .bind(list(&filter.source_types))
            .bind(filter.since)
            .bind(filter.until)
            .fetch_all(connection)
            .await?
    };
    rows.iter().map(place).collect()
}

fn place(row: &SqliteRow) -> Result<Place, StoreError> {
    Ok(Place { id: row.try_get(0)?, source: row.try_get(1)?, ordinal: row.try_get(2)? })
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
