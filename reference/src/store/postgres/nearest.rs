//! The vector retriever: HNSW where it finds enough, a whole scan where it would not.
//!
//! HNSW walks a graph and gives what it met: fewer than asked where a filter throws most of it away,
//! where deleted rows still stand in the graph, or where the graph is not well connected. So a result
//! that is shorter than it must be is never believed; the search is done again, exactly.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::store::filter::Filter;
use crate::store::postgres::fitting;
use crate::store::records::{ChunkPlace, Near, StoreError};

/// The widest vector that HNSW takes (pgvector); wider ones are scanned whole.
pub const HNSW_WIDTH_MAX: usize = 2_000;
/// The longest list of candidates that HNSW takes (pgvector); a deeper search is a whole scan.
const CANDIDATES_MAX: usize = 1_000;
/// The shortest list. Of the ten nearest among 30,000 chunks of generated manuals, whose passages are much
/// alike, pgvector 0.8.5 found 86 % with a list of 100, 91 % with 200 and 94 % with 400, in some 9 ms each
/// time; a whole scan took 45 ms.
const CANDIDATES_MIN: usize = 400;
/// Chunks that fit a filter and are scanned whole, some milliseconds; HNSW would throw away more than
/// it finds among so few.
const SCANNED_MAX: i64 = 10_000;
/// Asked for beyond what is wanted, so that equal ones at the end can be ordered by place.
const TIES: usize = 16;

/// Where a search looks.
struct VectorSearch<'a> {
    vector: &'a [f32],
    filter: &'a Filter,
    iterates: bool,
    /// Vectors that fit the filter, counted no further than one past `SCANNED_MAX` where there is one.
    fitting: i64,
}

/// The nearest chunks of the sources that fit, the nearest first; equal ones by place.
///
/// # Errors
/// `Sql`.
pub async fn search(
    connection: &mut PgConnection,
    iterates: bool,
    vector: &[f32],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Near>, StoreError> {
    let mut view = connection.begin().await?;
    let (width, vectors): (i32, i64) = sqlx::query_as("SELECT width, vectors FROM tally").fetch_one(&mut *view).await?;
    if depth == 0 || vectors == 0 || usize::try_from(width) != Ok(vector.len()) {
        return Ok(Vec::new());
    }
    let fitting = if filter.is_open() { vectors } else { count(&mut view, filter).await? };
    let search = VectorSearch { vector, filter, iterates, fitting };
    let mut met = search.fetch(&mut view, depth.saturating_add(TIES)).await?;
    view.commit().await?;
    // Of a vector of zeros the cosine is no number, and that is not near either.
    met.retain(|near| near.cosine > 0.0);
    met.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.place.cmp(&b.place)));
    met.truncate(depth);
    Ok(met)
}

async fn count(view: &mut PgConnection, filter: &Filter) -> Result<i64, StoreError> {
    let sql = format!(
        "WITH {} SELECT count(*) FROM (SELECT FROM chunks WHERE vector IS NOT NULL \
         AND source IN (SELECT source FROM fitting) LIMIT $1) AS counted",
        fitting::table(2)
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(SCANNED_MAX + 1);
    Ok(fitting::bind(query, filter).fetch_one(view).await?.try_get(0)?)
}

impl VectorSearch<'_> {
    async fn fetch(&self, view: &mut PgConnection, wanted: usize) -> Result<Vec<Near>, StoreError> {
        let is_few = !self.filter.is_open() && self.fitting <= SCANNED_MAX;
        if is_few || wanted > CANDIDATES_MAX || self.vector.len() > HNSW_WIDTH_MAX {
            return self.scan(view, wanted).await;
        }
        let met = self.walk(view, wanted).await?;
        let there = usize::try_from(self.fitting).unwrap_or(usize::MAX);
        if met.len() < wanted.min(there) { self.scan(view, wanted).await } else { Ok(met) }
    }

    /// By HNSW, which the planner takes where it may not read the whole table.
    async fn walk(&self, view: &mut PgConnection, wanted: usize) -> Result<Vec<Near>, StoreError> {
        let candidates = wanted.saturating_mul(2).clamp(CANDIDATES_MIN, CANDIDATES_MAX);
        sqlx::query("SELECT set_config('hnsw.ef_search', $1, true), set_config('enable_seqscan', 'off', true)")
            .bind(candidates.to_string())
            .execute(&mut *view)
            .await?;
        if self.iterates {
            sqlx::query("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)").execute(&mut *view).await?;
        }
        self.fetch_by(view, wanted, "vector <=> $1::real[]::vector").await
    }

    /// The whole table or what fits of it: a sum is not what the index is of, so it is not used.
    async fn scan(&self, view: &mut PgConnection, wanted: usize) -> Result<Vec<Near>, StoreError> {
        sqlx::query("SELECT set_config('enable_seqscan', 'on', true)").execute(&mut *view).await?;
        self.fetch_by(view, wanted, "(vector <=> $1::real[]::vector) + 0, source COLLATE \"C\", ordinal").await
    }

    async fn fetch_by(&self, view: &mut PgConnection, wanted: usize, order: &str) -> Result<Vec<Near>, StoreError> {
        let (fitting, narrowed) = if self.filter.is_open() {
            (String::new(), "")
        } else {
            (format!("WITH {} ", fitting::table(3)), "AND source IN (SELECT source FROM fitting)")
        };
        let sql = format!(
            "{fitting}SELECT id, 1 - (vector <=> $1::real[]::vector), source, ordinal FROM chunks \
             WHERE vector IS NOT NULL {narrowed} ORDER BY {order} LIMIT $2"
        );
        let query =
            sqlx::query(AssertSqlSafe(sql)).bind(self.vector.to_vec()).bind(i64::try_from(wanted).unwrap_or(i64::MAX));
        let query = if self.filter.is_open() { query } else { fitting::bind(query, self.filter) };
        query.fetch_all(view).await?.iter().map(near).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cosine, made of f32 numbers, needs no more")]
fn near(row: &PgRow) -> Result<Near, StoreError> {
    let place = ChunkPlace { id: row.try_get(0)?, source: row.try_get(2)?, ordinal: row.try_get(3)? };
    Ok(Near { place, cosine: row.try_get::<f64, _>(1)? as f32 })
}

/// How many numbers a vector of this database has; 0 until there is one.
///
/// # Errors
/// `Sql`.
pub async fn width(connection: &mut PgConnection) -> Result<usize, StoreError> {
    let row = sqlx::query("SELECT width FROM tally").fetch_one(connection).await?;
    Ok(usize::try_from(row.try_get::<i32, _>(0)?).unwrap_or(0))
}
