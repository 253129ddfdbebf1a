//! Results that stand in a table: rows of bare values, or columns side by side.

use serde_json::Value;

use super::{AnswerShape, DEPTH_MAX, ITEMS_MAX, NAME_CHARS_MAX, PASSAGE_CHARS_MIN, SCORE_PARTS, SOURCE_PARTS};
use super::{is_plain, likeliest, part, place};
use crate::domain::search::SearchFields;

/// Columns of a table that are looked at.
const COLUMNS_MAX: usize = 100;

/// A column, by what points to it and by its name.
struct Column<'v> {
    pointer: String,
    name: String,
    values: Vec<&'v Value>,
}

/// The first table in a value whose columns read like results.
pub(super) fn find(value: &Value) -> Option<AnswerShape> {
    in_object(value, "", 0)
}

fn in_object(value: &Value, pointer: &str, depth: usize) -> Option<AnswerShape> {
    let members = value.as_object().filter(|_| depth <= DEPTH_MAX)?;
    let lists: Vec<(String, &Vec<Value>)> = members
        .iter()
        .filter(|(key, _)| is_plain(key))
        .filter_map(|(key, value)| Some((format!("{pointer}/{}", part(key)), value.as_array()?)))
        .take(COLUMNS_MAX)
        .collect();
    let rows = lists.iter().find_map(|(pointer, items)| rows(pointer, items, &lists));
    rows.or_else(|| columns(&lists)).or_else(|| {
        let inner = members.iter().filter(|(key, _)| is_plain(key)).take(COLUMNS_MAX);
        inner.into_iter().find_map(|(key, value)| in_object(value, &format!("{pointer}/{}", part(key)), depth + 1))
    })
}

/// A list of rows; their columns are named by a list beside it that is as long as a row.
fn rows(pointer: &str, items: &[Value], beside: &[(String, &Vec<Value>)]) -> Option<AnswerShape> {
    let rows: Vec<&Vec<Value>> = items.iter().take(ITEMS_MAX).map(Value::as_array).collect::<Option<_>>()?;
    let wide = rows.first()?.len();
    let even = wide > 1 && wide <= COLUMNS_MAX && rows.iter().all(|row| row.len() == wide);
    let names = beside.iter().find(|(_, list)| list.len() == wide && list.iter().all(Value::is_string));
    let name = |nth: usize| names.and_then(|(_, list)| list[nth].as_str()).unwrap_or_default().to_owned();
    let column = |nth: usize| Column {
        pointer: format!("/{nth}"),
        name: name(nth),
        values: rows.iter().map(|row| &row[nth]).collect(),
    };
    // A single list of a single list is a column of a server that takes several questions at once.
    let is_table = even && (rows.len() > 1 || names.is_some());
    let fields = is_table.then(|| fields_of(&(0..wide).map(column).collect::<Vec<_>>()))??;
    Some(AnswerShape { results: Some(pointer.to_owned()), fields, by_columns: false })
}

/// Lists of one length, or each of one list, as a server has them that takes several questions.
fn columns(lists: &[(String, &Vec<Value>)]) -> Option<AnswerShape> {
    let all: Vec<Column<'_>> = lists
        .iter()
        .filter_map(|(pointer, list)| {
            let name = pointer.rsplit('/').next().unwrap_or_default().to_owned();
            let (pointer, list) = match &list[..] {
                [Value::Array(only)] => (format!("{pointer}/0"), only),
                _ => (pointer.clone(), *list),
            };
            let is_flat = !list.is_empty() && !list.iter().any(|value| value.is_array() || value.is_object());
            is_flat.then(|| Column { pointer, name, values: list.iter().collect() })
        })
        .collect();
    let content = longest(&all)?;
    let alike: Vec<Column<'_>> = all.into_iter().filter(|column| column.values.len() == content).collect();
    Some(AnswerShape { results: None, fields: fields_of(&alike)?, by_columns: true })
}

/// How long the column is that holds the longest texts.
fn longest(columns: &[Column<'_>]) -> Option<usize> {
    let passages = columns.iter().filter_map(|column| Some((mean(column)?, column.values.len())));
    let told = passages.filter(|(length, _)| *length >= PASSAGE_CHARS_MIN);
    told.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, length)| length)
}

/// Mean length of a column's texts; none where it holds anything else.
fn mean(column: &Column<'_>) -> Option<f64> {
    let lengths: Vec<f64> = column
        .values
        .iter()
        .take(ITEMS_MAX)
        .map(|value| Some(value.as_str()?.chars().count() as f64))
        .collect::<Option<_>>()?;
    Some(lengths.iter().sum::<f64>() / lengths.len().max(1) as f64)
}

/// The passage is the column of the longest texts; a source is told by its name, and where none tells, the first short text.
fn fields_of(columns: &[Column<'_>]) -> Option<SearchFields> {
    let texts: Vec<(f64, &Column<'_>)> = columns.iter().filter_map(|column| Some((mean(column)?, column))).collect();
    let passages = texts.iter().filter(|(length, _)| *length >= PASSAGE_CHARS_MIN);
    let (_, content) = passages.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let short: Vec<(usize, &Column<'_>, Vec<&str>)> = texts
        .iter()
        .filter(|(length, column)| *length <= NAME_CHARS_MAX && *length > 0.0 && column.pointer != content.pointer)
        .map(|(_, column)| {
            let values = column.values.iter().take(ITEMS_MAX).filter_map(|value| value.as_str());
            (place(&column.name, &SOURCE_PARTS).unwrap_or(SOURCE_PARTS.len()), *column, values.collect())
        })
        .collect();
    let source = likeliest(&short)?;
    let is_score = |column: &&Column<'_>| {
        place(&column.name, &SCORE_PARTS).is_some() && column.values.iter().all(|value| value.is_number())
    };
    let score = columns.iter().find(is_score);
    Some(SearchFields {
        source: Some(source.pointer.clone()),
        content: Some(content.pointer.clone()),
        score: score.map(|column| column.pointer.clone()),
        total: None,
    })
}
