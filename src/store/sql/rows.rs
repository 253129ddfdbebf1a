//! Many rows in few statements.

use std::sync::{Arc, OnceLock};

use crate::store::sql::columns::selected;
use crate::store::sql::connection::Connection;
use crate::store::sql::row::Row;
use crate::store::sql::statement::{Statement, assembled};
use crate::store::sql::value::Value;

/// The greatest number of rows in one statement for SQLite is 2^(SIZES-1) = 32: beyond, a row gets no cheaper.
const SIZES: usize = 6;
/// The greatest number of rows in one statement for a server: those of a full batch with eight canaries a beat; of lists of
/// texts it is some megabytes.
const LISTED_MAX: usize = 4_096;

/// An INSERT of many rows: for SQLite in statements of 32, 16, 8, 4, 2 and 1 rows, for a server in one, whose values are a
/// list a column.
///
/// Each statement costs a round trip to the connection's thread, or to the server, so rows share them; and sizes are
/// few, so that all stay prepared. SQLite's values stand by place (`?`): it looks `$n` up in a
/// list, which for hundreds of values a statement is slower than writing the rows.
#[derive(Debug)]
pub(in crate::store) struct Rows {
    head: &'static str,
    columns: usize,
    row: Option<&'static str>,
    tail: &'static str,
    /// SQLite's, by size.
    statements: [OnceLock<Arc<str>>; SIZES],
    /// A server's.
    listed: OnceLock<Arc<str>>,
}

impl Rows {
    /// `head` ends with `VALUES `; `tail` begins with a space.
    pub(in crate::store) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        let statements = [const { OnceLock::new() }; SIZES];
        Self { head, columns, row: None, tail, statements, listed: OnceLock::new() }
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
        let is_postgres = connection.is_postgres();
        for chunk in chunks(rows, is_postgres) {
            self.bound(is_postgres, chunk, &bind).execute(&mut *connection).await?;
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
        let is_postgres = connection.is_postgres();
        let mut answers = Vec::with_capacity(rows.len());
        for chunk in chunks(rows, is_postgres) {
            answers.extend(self.bound(is_postgres, chunk, &bind).fetch_all(&mut *connection).await?);
        }
        Ok(answers)
    }

    fn bound<R>(&'static self, is_postgres: bool, chunk: &[R], bind: impl Fn(Statement, &R) -> Statement) -> Statement {
        if is_postgres {
            return self.listed(chunk, bind);
        }
        // A chunk's length is a power of two, and its exponent is the place of its statement.
        let text = self.statements[chunk.len().trailing_zeros() as usize].get_or_init(|| self.text(chunk.len()).into());
        chunk.iter().fold(assembled(Arc::clone(text)), bind)
    }

    fn listed<R>(&'static self, chunk: &[R], bind: impl Fn(Statement, &R) -> Statement) -> Statement {
        let text = self.listed.get_or_init(|| {
            // The kinds of its values are those of any row's: NULL has one too.
            let first = chunk.iter().take(1).fold(assembled(Arc::default()), &bind);
            self.listed_text(first.values()).into()
        });
        chunk.iter().fold(assembled(Arc::clone(text)).by_columns(self.columns), bind)
    }

    fn text(&self, rows: usize) -> String {
        format!("{}{}{}", self.head, vec![self.row(); rows].join(", "), self.tail)
    }

    fn listed_text(&self, first: &[Value]) -> String {
        let head = self.head.trim_end_matches("VALUES ");
        format!("{head}{}{}", selected(&self.row(), first), self.tail)
    }

    fn row(&self) -> String {
        self.row.map_or_else(|| format!("({})", vec!["?"; self.columns].join(", ")), str::to_owned)
    }
}

/// Splits into as few chunks as one statement each may take: for a server the longest there may be; else such whose lengths are
/// powers of two, the greatest first.
fn chunks<R>(mut rows: &[R], is_postgres: bool) -> impl Iterator<Item = &[R]> {
    std::iter::from_fn(move || {
        let exponent = rows.len().checked_ilog2()?.min(SIZES as u32 - 1);
        let length = if is_postgres { rows.len().min(LISTED_MAX) } else { 1 << exponent };
        let (chunk, rest) = rows.split_at(length);
        rows = rest;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_a_list_a_column() {
        static ROWS: Rows = Rows::new("INSERT INTO t (a, b, c) VALUES ", 2, " RETURNING a").with_row("(?, 'x', ?)");
        let bound = ROWS.listed(&[(1_i64, None), (2, Some("y"))], |query, row| query.bind(row.0).bind(row.1));
        let first = [Value::Int(None), Value::Text(None)];
        let expected = "INSERT INTO t (a, b, c) SELECT v1, 'x', v2 FROM UNNEST($1::bigint[], $2::text[]) AS given (v1, v2) RETURNING a";
        assert_eq!(ROWS.listed_text(&first), expected, "whatever its first row lacks");
        assert_eq!(bound.values().len(), 4, "row by row, until it is executed");
        assert_eq!(ROWS.text(2), "INSERT INTO t (a, b, c) VALUES (?, 'x', ?), (?, 'x', ?) RETURNING a");
    }

    #[test]
    fn rows_are_split_into_few_sizes() {
        let rows: [(usize, bool, &[usize], &str); 7] = [
            (0, false, &[], "nothing is written for nothing"),
            (1, false, &[1], "one row is one statement"),
            (23, false, &[16, 4, 2, 1], "a batch falls into powers of two"),
            (32, false, &[32], "the greatest size"),
            (70, false, &[32, 32, 4, 2], "beyond it, several"),
            (70, true, &[70], "a server takes any number"),
            (LISTED_MAX + 1, true, &[LISTED_MAX, 1], "up to what is too much at once"),
        ];
        for (count, is_postgres, expected, sentence) in rows {
            let all = vec![0u8; count];
            let lengths: Vec<usize> = chunks(&all, is_postgres).map(<[u8]>::len).collect();
            assert_eq!(lengths, expected, "{sentence}");
        }
    }
}
