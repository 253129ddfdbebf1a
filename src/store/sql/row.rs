//! What a statement answers.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, TypeInfo, ValueRef};

/// A row of an answer.
pub(in crate::store) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// The value of a column, counted from 0.
    ///
    /// # Errors
    /// Where there is no such column, or what stands there is of another kind.
    pub(in crate::store) fn try_get<'r, T: FromColumn<'r>>(&'r self, index: usize) -> Result<T, sqlx::Error> {
        T::read(self, index)
    }

    fn is_null(&self, index: usize) -> Result<bool, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get_raw(index)?.is_null(),
            Self::Postgres(row) => row.try_get_raw(index)?.is_null(),
        })
    }
}

/// What can be read out of a column.
pub(in crate::store) trait FromColumn<'r>: Sized {
    fn read(row: &'r Row, index: usize) -> Result<Self, sqlx::Error>;
}

impl<'r, T: FromColumn<'r>> FromColumn<'r> for Option<T> {
    fn read(row: &'r Row, index: usize) -> Result<Self, sqlx::Error> {
        if row.is_null(index)? { Ok(None) } else { T::read(row, index).map(Some) }
    }
}

/// What both databases have.
macro_rules! is_in_both {
    ($($type:ty),*) => {$(
        impl<'r> FromColumn<'r> for $type {
            fn read(row: &'r Row, index: usize) -> Result<Self, sqlx::Error> {
                match row {
                    Row::Sqlite(row) => row.try_get(index),
                    Row::Postgres(row) => row.try_get(index),
                }
            }
        }
    )*};
}

/// Whole numbers: PostgreSQL has none without a sign.
macro_rules! is_a_number {
    ($($type:ty),*) => {$(
        impl FromColumn<'_> for $type {
            fn read(row: &Row, index: usize) -> Result<Self, sqlx::Error> {
                match row {
                    Row::Sqlite(row) => row.try_get(index),
                    Row::Postgres(row) => <$type>::try_from(whole(row, index)?).map_err(|error| {
                        sqlx::Error::ColumnDecode { index: index.to_string(), source: error.into() }
                    }),
                }
            }
        }
    )*};
}

is_in_both!(&'r str, String, &'r [u8], Vec<u8>, f64);
is_a_number!(u8, u32, i64);

impl FromColumn<'_> for bool {
    fn read(row: &Row, index: usize) -> Result<Self, sqlx::Error> {
        match row {
            Row::Sqlite(row) => row.try_get(index),
            Row::Postgres(row) if is_of(row, index, "BOOL")? => row.try_get(index),
            Row::Postgres(row) => Ok(whole(row, index)? != 0),
        }
    }
}

/// A number as a column has it: BIGINT, or INTEGER where the statement itself names one.
fn whole(row: &PgRow, index: usize) -> Result<i64, sqlx::Error> {
    if is_of(row, index, "INT4")? { row.try_get::<i32, _>(index).map(i64::from) } else { row.try_get(index) }
}

fn is_of(row: &PgRow, index: usize, kind: &str) -> Result<bool, sqlx::Error> {
    Ok(row.try_get_raw(index)?.type_info().name() == kind)
}
