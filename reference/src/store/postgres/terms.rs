//! The keyword retriever: BM25 over our own postings, computed in the database, exact.
//!
//! The formula is that of SQLite's FTS5, so both stores rank alike (<https://sqlite.org/fts5.html#the_bm25_function>):
//! the sum over terms of idf · f · (k1 + 1) / (f + k1 · (1 - b + b · length / mean length)), with
//! k1 = 1.2, b = 0.75 and idf = ln((N - n + 0.5) / (n + 0.5)), one millionth where that is not above 0.
//! Words that name the chunk (`text::names`) f counts double. A phrase is a term: n and f are those of the phrase.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row as _};

use crate::store::filter::Filter;
use crate::store::postgres::{fitting, stems};
use crate::store::records::{ChunkPlace, Holders, StoreError, Worded};

/// Every chunk that holds a term, with the term's weight there. Weight and length are in the key's
/// index, so that a common word is read from there, in one stretch. The places of a phrase's parts are
/// looked up only in chunks that hold them all; they must begin at one place, each counted from its own.
const HITS: &str = "asked AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::text[]) \
        AS asked (number, part, parts, stem)), \
    whole AS (SELECT number, chunk_id FROM asked JOIN postings USING (stem) WHERE parts > 1 \
        GROUP BY number, chunk_id, parts HAVING count(*) = parts), \
    hits AS MATERIALIZED ( \
        SELECT number, chunk_id, length, weight::float8 AS weight FROM asked JOIN postings USING (stem) WHERE parts = 1 \
        UNION ALL \
        SELECT number, chunk_id, length, sum(CASE WHEN begins < 0 THEN 2 ELSE 1 END)::float8 FROM ( \
            SELECT number, chunk_id, length, parts, place - part AS begins \
            FROM whole JOIN asked USING (number) JOIN postings USING (stem, chunk_id) \
            CROSS JOIN LATERAL unnest(positions) AS places (place) \
            GROUP BY number, chunk_id, length, parts, place - part HAVING count(*) = parts \
        ) AS phrases GROUP BY number, chunk_id, length), \
    known AS (SELECT number, count(*)::float8 AS chunks FROM hits GROUP BY number)";

/// A chunk's score in whole ten-millionths: whole numbers have one sum in whatever order they come,
/// so equal chunks are equal. A term brings 33 at most, that of one chunk among a million.
const SCORE: &str = "sum((10000000 * greatest(ln((worded - known.chunks + 0.5) / (known.chunks + 0.5)), 0.000001) \
    * weight * 2.2 / (weight + 1.2 * (0.25 + 0.75 * length::float8 * worded / words)))::int)";

/// What a score is counted in.
const WHOLE: f64 = 10_000_000.0;

/// The chunks that hold terms, the best first; equal scores are ordered by place.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn search(
    connection: &mut PgConnection,
    terms: &[String],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Worded>, StoreError> {
    let asked = Asked::of(terms);
    if asked.stems.is_empty() || depth == 0 {
        return Ok(Vec::new());
    }
    let sql = statement(!filter.is_open());
    let query = asked.bind(sqlx::query(AssertSqlSafe(sql))).bind(i64::try_from(depth).unwrap_or(i64::MAX));
    let query = if filter.is_open() { query } else { fitting::bind(query, filter) };
    query.fetch_all(connection).await?.iter().map(worded).collect()
}

/// Who holds each term.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn holders(connection: &mut PgConnection, terms: &[String], ids: &[i64]) -> Result<Vec<Holders>, StoreError> {
    let mut all = vec![Holders::default(); terms.len()];
    let sql = format!(
        "WITH {HITS} SELECT number, count(*), coalesce(array_agg(chunk_id) FILTER (WHERE chunk_id = ANY($5)), '{{}}') \
         FROM hits GROUP BY number"
    );
    let query = Asked::of(terms).bind(sqlx::query(AssertSqlSafe(sql))).bind(ids.to_vec());
    for row in query.fetch_all(connection).await? {
        let number: i32 = row.try_get(0)?;
        if let Some(holders) = usize::try_from(number).ok().and_then(|number| all.get_mut(number)) {
            *holders = Holders { chunks: row.try_get(1)?, ids: row.try_get(2)? };
        }
    }
    Ok(all)
}

/// Terms in their parts, a row each: the term's number, the part's place, how many parts, the stem.
#[derive(Debug, Default)]
struct Asked {
    numbers: Vec<i32>,
    places: Vec<i32>,
    counts: Vec<i32>,
    stems: Vec<String>,
}

impl Asked {
    fn of(terms: &[String]) -> Self {
        let mut asked = Self::default();
        for (number, term) in (0_i32..).zip(terms) {
            let parts = stems::parts(term);
            let count = i32::try_from(parts.len()).unwrap_or(i32::MAX);
            for (place, part) in (0_i32..).zip(parts) {
                asked.numbers.push(number);
                asked.places.push(place);
                asked.counts.push(count);
                asked.stems.push(part);
            }
        }
        asked
    }

    fn bind(self, query: Query<'_, Postgres, PgArguments>) -> Query<'_, Postgres, PgArguments> {
        query.bind(self.numbers).bind(self.places).bind(self.counts).bind(self.stems)
    }
}

/// The best are chosen among postings alone, whose rows are small; only they are looked up, and those that are as good
/// as the last of them.
fn statement(is_filtered: bool) -> String {
    let (fitting, narrowed) = if is_filtered {
        let of_fitting = "WHERE chunk_id IN (SELECT id FROM chunks WHERE source IN (SELECT source FROM fitting))";
        (format!(", {}", fitting::table(6)), of_fitting)
    } else {
        (String::new(), "")
    };
    format!(
        "WITH {HITS}{fitting}, scored AS MATERIALIZED (SELECT chunk_id, {SCORE} AS score \
         FROM hits JOIN known USING (number) CROSS JOIN tally {narrowed} GROUP BY chunk_id), \
         best AS (SELECT chunk_id, score FROM scored ORDER BY score DESC FETCH FIRST $5 ROWS WITH TIES) \
         SELECT chunks.id, chunks.source, chunks.ordinal, best.score FROM best JOIN chunks ON chunks.id = best.chunk_id \
         ORDER BY best.score DESC, chunks.source COLLATE \"C\", chunks.ordinal LIMIT $5"
    )
}

fn worded(row: &PgRow) -> Result<Worded, StoreError> {
    let place = ChunkPlace { id: row.try_get(0)?, source: row.try_get(1)?, ordinal: row.try_get(2)? };
    Ok(Worded { place, score: row.try_get::<i64, _>(3)? as f64 / WHOLE })
}
