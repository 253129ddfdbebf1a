//! Many rows in few statements.

use std::sync::{Arc, OnceLock};

use crate::store::sql::connection::Connection;
use crate::store::sql::row::Row;
use crate::store::sql::statement::{Statement, assembled};

/// The greatest number of rows in one statement is 2^(SIZES-1) = 32: beyond, a row gets no cheaper.
const SIZES: usize = 6;

/// An INSERT of many rows, in statements of 32, 16, 8, 4, 2 and 1 rows.
///
/// Each statement costs a round trip to the connection's thread, so rows share them; and sizes are
/// few, so that all stay prepared. SQLite's values stand by place (`?`): it looks `$n` up in a
/// list, which for hundreds of values a statement is slower than writing the rows. PostgreSQL knows nothing but `$n`.
#[derive(Debug)]
pub(in crate::store) struct Rows {
    head: &'static str,
    columns: usize,
    row: Option<&'static str>,
    tail: &'static str,
    /// SQLite's, then PostgreSQL's.
    statements: [[OnceLock<Arc<str>>; SIZES]; 2],
}

impl Rows {
    /// `head` ends with `VALUES `; `tail` begins with a space.
    pub(in crate::store) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, row: None, tail, statements: [const { [const { OnceLock::new() }; SIZES] }; 2] }
    }

    /// Writes a row that has constants beside its `columns` values.
    pub(in crate::store) const fn with_row(mut self, row: &'static str) -> Self {
        self.row = Some(row);
        self
    }

    pub(in crate::store) async fn run<R>(
        &'static self,
        connection: &mut Connection,
        rows: &[R],
        bind: impl Fn(Statement, &R) -> Statement,
    ) -> Result<(), sqlx::Error> {
        for chunk in chunks(rows) {
            self.bound(connection.is_postgres(), chunk, &bind).execute(&mut *connection).await?;
        }
        Ok(())
    }

    /// Writes the rows and reads what `RETURNING` answers.
    pub(in crate::store) async fn fetch<R>(
        &'static self,
        connection: &mut Connection,
        rows: &[R],
        bind: impl Fn(Statement, &R) -> Statement,
    ) -> Result<Vec<Row>, sqlx::Error> {
        let mut answers = Vec::with_capacity(rows.len());
        for chunk in chunks(rows) {
            answers.extend(self.bound(connection.is_postgres(), chunk, &bind).fetch_all(&mut *connection).await?);
        }
        Ok(answers)
    }

    fn bound<R>(&'static self, is_postgres: bool, chunk: &[R], bind: impl Fn(Statement, &R) -> Statement) -> Statement {
        // A chunk's length is a power of two, and its exponent is the place of its statement.
        let statement = &self.statements[usize::from(is_postgres)][chunk.len().trailing_zeros() as usize];
        let text = statement.get_or_init(|| {
            let text = self.text(chunk.len());
            Arc::from(if is_postgres { numbered(&text) } else { text })
        });
        chunk.iter().fold(assembled(Arc::clone(text)), bind)
    }

    fn text(&self, rows: usize) -> String {
        let row = self.row.map_or_else(|| format!("({})", vec!["?"; self.columns].join(", ")), str::to_owned);
        format!("{}{}{}", self.head, vec![row; rows].join(", "), self.tail)
    }
}

/// The same text with `$1`, `$2` and so on in the place of each `?`.
fn numbered(text: &str) -> String {
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(1..).fold(first, |text, (part, number)| format!("{text}${number}{part}"))
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
    fn values_are_numbered_where_they_do_not_stand_by_place() {
        static ROWS: Rows = Rows::new("INSERT INTO t (a, b, c) VALUES ", 2, " RETURNING a").with_row("(?, 'x', ?)");
        assert_eq!(numbered(&ROWS.text(2)), "INSERT INTO t (a, b, c) VALUES ($1, 'x', $2), ($3, 'x', $4) RETURNING a");
    }

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
