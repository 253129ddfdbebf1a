//! A statement: its text, which both databases read alike, and its values.
//!
//! What is executed is boxed: whoever waits for it holds a pointer, and not the state of two drivers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Postgres, SqlSafeStr, SqlStr, Sqlite};
use tokio::sync::mpsc;

use crate::store::sql::columns::add_columns;
use crate::store::sql::connection::{ServerPool, Via};
use crate::store::sql::row::Row;
use crate::store::sql::value::Value;

/// How long a server may take for an answer, or for the next row of one.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Rows that are read before anybody asked for them.
const ROWS_AHEAD: usize = 64;

/// A statement that waits for its values, `$1` first, and a database.
#[must_use = "it does nothing until it is executed"]
#[derive(Debug)]
pub(in crate::store) struct Statement {
    text: SqlStr,
    values: Vec<Value>,
    /// How many columns a server is given as a list each; none: every value is one of its own.
    listed: Option<usize>,
}

/// Rows as they come.
type Rows<'c> = BoxStream<'c, Result<Row, sqlx::Error>>;

/// A statement of this text.
pub(in crate::store) fn query(text: &'static str) -> Statement {
    Statement { text: text.into_sql_str(), values: Vec::new(), listed: None }
}

/// A statement whose text was put together, of nothing but texts of ours.
pub(in crate::store) fn assembled(text: Arc<str>) -> Statement {
    Statement { text: AssertSqlSafe(text).into_sql_str(), values: Vec::new(), listed: None }
}

impl Statement {
    /// Its values stand row by row, and a server is given them as a list a column.
    pub(in crate::store::sql) fn by_columns(self, columns: usize) -> Self {
        Self { listed: Some(columns), ..self }
    }

    /// What it was given so far.
    pub(in crate::store::sql) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Gives it its next value.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Executes it; how many rows it wrote.
    ///
    /// # Errors
    /// Where the database does not take it.
    pub(in crate::store) fn execute<'c>(self, via: impl Into<Via<'c>>) -> BoxFuture<'c, Result<u64, sqlx::Error>> {
        let via = via.into();
        let executed = async move {
            Ok(match via {
                Via::Sqlite(to) => self.for_sqlite()?.execute(to).await?.rows_affected(),
                Via::SqlitePool(to) => self.for_sqlite()?.execute(to).await?.rows_affected(),
                Via::Postgres(to) => in_time(self.for_postgres()?.execute(to)).await?.rows_affected(),
                Via::PostgresPool(pool) => {
                    let mut to = pool.lend().await?;
                    let done = in_time(self.for_postgres()?.execute(&mut *to)).await;
                    or_thrown_away(done, to)?.rows_affected()
                }
            })
        };
        executed.boxed()
    }

    /// All rows that it answers.
    ///
    /// # Errors
    /// Where the database does not take it.
    pub(in crate::store) fn fetch_all<'c>(
        self,
        via: impl Into<Via<'c>>,
    ) -> impl Future<Output = Result<Vec<Row>, sqlx::Error>> + Send + 'c {
        self.fetch(via).try_collect()
    }

    /// The row that it answers, where there is one.
    ///
    /// # Errors
    /// Where the database does not take it.
    pub(in crate::store) fn fetch_optional<'c>(
        self,
        via: impl Into<Via<'c>>,
    ) -> BoxFuture<'c, Result<Option<Row>, sqlx::Error>> {
        let via = via.into();
        let fetched = async move {
            Ok(match via {
                Via::Sqlite(to) => self.for_sqlite()?.fetch_optional(to).await?.map(Row::Sqlite),
                Via::SqlitePool(to) => self.for_sqlite()?.fetch_optional(to).await?.map(Row::Sqlite),
                Via::Postgres(to) => in_time(self.for_postgres()?.fetch_optional(to)).await?.map(Row::Postgres),
                Via::PostgresPool(pool) => {
                    let mut to = pool.lend().await?;
                    let row = in_time(self.for_postgres()?.fetch_optional(&mut *to)).await;
                    or_thrown_away(row, to)?.map(Row::Postgres)
                }
            })
        };
        fetched.boxed()
    }

    /// The row that it answers.
    ///
    /// # Errors
    /// Where the database does not take it, or answers no row.
    pub(in crate::store) fn fetch_one<'c>(
        self,
        via: impl Into<Via<'c>>,
    ) -> impl Future<Output = Result<Row, sqlx::Error>> + Send + 'c {
        let answer = self.fetch_optional(via);
        async move { answer.await?.ok_or(sqlx::Error::RowNotFound) }
    }

    /// The rows that it answers, as they come.
    pub(in crate::store) fn fetch<'c>(self, via: impl Into<Via<'c>>) -> Rows<'c> {
        let via = via.into();
        let refused = |error| futures_util::stream::once(async { Err(error) }).boxed();
        match via {
            Via::Sqlite(to) => {
                self.for_sqlite().map_or_else(refused, |query| query.fetch(to).map_ok(Row::Sqlite).boxed())
            }
            Via::SqlitePool(to) => {
                self.for_sqlite().map_or_else(refused, |query| query.fetch(to).map_ok(Row::Sqlite).boxed())
            }
            Via::Postgres(to) => {
                let rows = self.for_postgres().map(|query| query.fetch(to));
                rows.map_or_else(refused, |rows| each_in_time(rows.map_ok(Row::Postgres).boxed()))
            }
            Via::PostgresPool(pool) => lent(pool, self),
        }
    }

    fn for_sqlite(self) -> Result<Query<'static, Sqlite, SqliteArguments>, sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(self.values.len(), 0);
        self.values.into_iter().try_for_each(|value| value.for_sqlite(&mut arguments))?;
        Ok(sqlx::query_with(self.text, arguments))
    }

    fn for_postgres(self) -> Result<Query<'static, Postgres, PgArguments>, sqlx::Error> {
        let mut arguments = PgArguments::default();
        match self.listed {
            Some(columns) => add_columns(self.values, columns, &mut arguments)?,
            None => self.values.into_iter().try_for_each(|value| value.for_postgres(&mut arguments))?,
        }
        Ok(sqlx::query_with(self.text, arguments))
    }
}

/// Waits for a server as long as it may take; one whose machine is gone says nothing for ever.
pub(in crate::store::sql) async fn in_time<T>(
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::time::timeout(ANSWER_MAX, answer).await.unwrap_or_else(|_| Err(late()))
}

/// The rows of an answer, each of which comes in time.
fn each_in_time(rows: Rows<'_>) -> Rows<'_> {
    futures_util::stream::unfold(Some(rows), next_in_time).boxed()
}

async fn next_in_time(rows: Option<Rows<'_>>) -> Option<(Result<Row, sqlx::Error>, Option<Rows<'_>>)> {
    let mut rows = rows?;
    match tokio::time::timeout(ANSWER_MAX, rows.next()).await {
        Ok(row) => row.map(|row| (row, Some(rows))),
        Err(_) => Some((Err(late()), None)),
    }
}

fn late() -> sqlx::Error {
    let message = format!("no answer within {} s", ANSWER_MAX.as_secs());
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// What was answered. A connection that did not answer in time is thrown away: to ask it whether it lives would take as long.
fn or_thrown_away<T>(answer: Result<T, sqlx::Error>, mut lent: PoolConnection<Postgres>) -> Result<T, sqlx::Error> {
    if matches!(answer, Err(sqlx::Error::Io(_))) {
        lent.close_on_drop();
    }
    answer
}

/// The rows of an answer on a connection that a pool lends for it.
fn lent(pool: ServerPool, statement: Statement) -> Rows<'static> {
    let (rows, read) = mpsc::channel(ROWS_AHEAD);
    tokio::spawn(async move {
        if let Err(error) = answered(&pool, statement, &rows).await {
            // Whoever asked may have gone.
            drop(rows.send(Err(error)).await);
        }
    });
    let next = |mut read: mpsc::Receiver<_>| async move { read.recv().await.map(|row| (row, read)) };
    futures_util::stream::unfold(read, next).boxed()
}

async fn answered(
    pool: &ServerPool,
    statement: Statement,
    rows: &mpsc::Sender<Result<Row, sqlx::Error>>,
) -> Result<(), sqlx::Error> {
    let mut to = pool.lend().await?;
    let answer = async {
        let mut answer = statement.for_postgres()?.fetch(&mut *to);
        while let Some(row) = in_time(answer.try_next()).await? {
            if rows.send(Ok(Row::Postgres(row))).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let answer = answer.await;
    or_thrown_away(answer, to)
}
