//! Many rows in few statements.

use std::sync::{Arc, OnceLock};

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

/// The greatest number of rows in one statement is 2^(SIZES-1) = 32: beyond, a row gets no cheaper.
const SIZES: usize = 6;
/// A statement with its values.
pub(in crate::store) type Bound = Query<'static, Sqlite, SqliteArguments>;

/// An INSERT of many rows, in statements of 32, 16, 8, 4, 2 and 1 rows.
///
/// Each statement costs a round trip to the connection's thread, so rows share them; and sizes are
/// few, so that all stay prepared. Values are numbered by place (`?`): SQLite looks `$n` up in a
/// list, which for hundreds of values a statement is slower than writing the rows.
#[derive(Debug)]
pub(in crate::store) struct Rows {
    head: &'static str,
    columns: usize,
    row: Option<&'static str>,
    tail: &'static str,
    statements: [OnceLock<Arc<str>>; SIZES],
}

impl Rows {
    /// `head` ends with `VALUES `; `tail` begins with a space.
    pub(in crate::store) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, row: None, tail, statements: [const { OnceLock::new() }; SIZES] }
    }

    /// Writes a row that has constants beside its `columns` values.
    pub(in crate::store) const fn with_row(mut self, row: &'static str) -> Self {
        self.row = Some(row);
        self
    }

    pub(in crate::store) async fn run<R>(
        &'static self,
        connection: &mut SqliteConnection,
        rows: &[R],
        bind: impl Fn(Bound, &R) -> Bound,
    ) -> Result<(), sqlx::Error> {
        for chunk in chunks(rows) {
            self.bound(chunk, &bind).execute(&mut *connection).await?;
        }
        Ok(())
    }

    /// Writes the rows and reads what `RETURNING` answers.
    pub(in crate::store) async fn fetch<R>(
        &'static self,
        connection: &mut SqliteConnection,
        rows: &[R],
        bind: impl Fn(Bound, &R) -> Bound,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let mut answers = Vec::with_capacity(rows.len());
        for chunk in chunks(rows) {
            answers.extend(self.bound(chunk, &bind).fetch_all(&mut *connection).await?);
        }
        Ok(answers)
    }

    fn bound<R>(&'static self, chunk: &[R], bind: impl Fn(Bound, &R) -> Bound) -> Bound {
        // A chunk's length is a power of two, and its exponent is the place of its statement.
        let statement = self.statements[chunk.len().trailing_zeros() as usize].get_or_init(|| self.text(chunk.len()));
        chunk.iter().fold(sqlx::query(AssertSqlSafe(Arc::clone(statement))), bind)
    }

    fn text(&self, rows: usize) -> Arc<str> {
        let row = self.row.map_or_else(|| format!("({})", vec!["?"; self.columns].join(", ")), str::to_owned);
        Arc::from(format!("{}{}{}", self.head, vec![row; rows].join(", "), self.tail))
    }
}

/// Splits into chunks whose lengths are powers of two, the greatest first, at most 2^([`SIZES`]-1).
fn chunks<R>(mut rows: &[R]) -> impl Iterator<Item = &[R]> {
    std::iter::from_fn(move || {
        let exponent = rows.len().checked_ilog2()?.min(SIZES as u32 - 1);
        let (chunk, rest) = rows.split_at(1 << exponent);
        rows = rest;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_into_few_sizes() {
        let rows: [(usize, &[usize], &str); 5] = [
            (0, &[], "nothing is written for nothing"),
            (1, &[1], "one row is one statement"),
            (23, &[16, 4, 2, 1], "a batch falls into powers of two"),
            (32, &[32], "the greatest size"),
            (70, &[32, 32, 4, 2], "beyond it, several"),
        ];
        for (count, expected, sentence) in rows {
            let all = vec![0u8; count];
            let lengths: Vec<usize> = chunks(&all).map(<[u8]>::len).collect();
            assert_eq!(lengths, expected, "{sentence}");
        }
    }
}
