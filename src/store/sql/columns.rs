//! Many rows as one statement's values: a list a column, which a server unfolds. However many rows there are, the text is the
//! same, and so is what the server has prepared for it.

use sqlx::postgres::PgArguments;

use crate::store::sql::dialect::unfolded;
use crate::store::sql::value::{Value, add, without_nul};

/// The rows of `values`, of which each has `columns`, in the words that stand between head and tail of an INSERT. `row` has a
/// `?` for each value, and may have constants beside them.
pub(in crate::store::sql) fn selected(row: &str, first: &[Value]) -> String {
    let kinds: Vec<&str> = first.iter().map(kind).collect();
    let mut parts = row.trim_matches(['(', ')']).split('?');
    let begin = parts.next().unwrap_or_default().to_owned();
    let names = parts.zip(1..).fold(begin, |text, (part, number)| format!("{text}v{number}{part}"));
    format!("SELECT {names} FROM {}", unfolded(&kinds))
}

/// What a server calls this kind.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "bigint",
        Value::Real(_) => "double precision",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytea",
    }
}

/// Gives a statement the values of many rows, which stand row by row, as a list a column.
///
/// # Errors
/// Where a column's values are of several kinds.
pub(in crate::store::sql) fn add_columns(
    values: Vec<Value>,
    columns: usize,
    to: &mut PgArguments,
) -> Result<(), sqlx::Error> {
    let rows = values.len() / columns.max(1);
    let mut lists: Vec<Column> = values.iter().take(columns).map(|value| Column::like(value, rows)).collect();
    for (place, value) in values.into_iter().enumerate() {
        lists[place % columns].push(value)?;
    }
    lists.into_iter().try_for_each(|list| list.add(to))
}

/// One column's values, each of which may be NULL.
enum Column {
    Int(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
    Blob(Vec<Option<Vec<u8>>>),
}

impl Column {
    fn like(value: &Value, rows: usize) -> Self {
        match value {
            Value::Int(_) => Self::Int(Vec::with_capacity(rows)),
            Value::Real(_) => Self::Real(Vec::with_capacity(rows)),
            Value::Text(_) => Self::Text(Vec::with_capacity(rows)),
            Value::Blob(_) => Self::Blob(Vec::with_capacity(rows)),
        }
    }

    fn push(&mut self, value: Value) -> Result<(), sqlx::Error> {
        match (self, value) {
            (Self::Int(list), Value::Int(value)) => list.push(value),
            (Self::Real(list), Value::Real(value)) => list.push(value),
            (Self::Text(list), Value::Text(value)) => list.push(value.map(|text| without_nul(text).into_owned())),
            (Self::Blob(list), Value::Blob(value)) => list.push(value),
            (_, value) => return Err(sqlx::Error::Encode(format!("a column has {value:?} beside other kinds").into())),
        }
        Ok(())
    }

    fn add(self, to: &mut PgArguments) -> Result<(), sqlx::Error> {
        match self {
            Self::Int(list) => add::<sqlx::Postgres, _>(to, list),
            Self::Real(list) => add::<sqlx::Postgres, _>(to, list),
            Self::Text(list) => add::<sqlx::Postgres, _>(to, list),
            Self::Blob(list) => add::<sqlx::Postgres, _>(to, list),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unfolded_from_a_list_a_column() {
        let text = || Value::from("a");
        let cases = [
            (
                "(?, ?)",
                vec![Value::from(1_i64), text()],
                "SELECT v1, v2 FROM UNNEST($1::bigint[], $2::text[]) AS given (v1, v2)",
            ),
            ("(?, '', 0, '')", vec![text()], "SELECT v1, '', 0, '' FROM UNNEST($1::text[]) AS given (v1)"),
        ];
        for (row, first, expected) in cases {
            assert_eq!(selected(row, &first), expected, "{row}");
        }
        let none = [Value::Real(None), Value::Blob(None)];
        assert!(selected("(?, ?)", &none).contains("$1::double precision[], $2::bytea[]"), "NULL has a kind too");
    }

    #[test]
    fn a_column_is_of_one_kind() {
        let rows = |second: Value| vec![Value::from(1_i64), Value::from("a"), second, Value::Text(None)];
        let given = |values| add_columns(values, 2, &mut PgArguments::default());
        assert!(given(rows(Value::Int(None))).is_ok(), "none is of the column's kind");
        assert!(given(rows(Value::from("2"))).is_err(), "a text is no number");
    }
}
