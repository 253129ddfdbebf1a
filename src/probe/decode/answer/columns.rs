//! Results whose parts stand side by side, a list each, put together.

use std::sync::LazyLock;

use serde_json::Value;

use super::at;
use crate::domain::answer::HITS_MAX;
use crate::domain::search::SearchFields;

/// Where a result that was put together from columns keeps its parts.
pub(super) static OF_A_ROW: LazyLock<SearchFields> = LazyLock::new(|| SearchFields {
    source: Some("/source".to_owned()),
    content: Some("/content".to_owned()),
    score: Some("/score".to_owned()),
    total: None,
});

/// Results whose parts stand in columns, put together: the first of each column is the first result, and so on.
pub(super) fn rows(value: &Value, fields: &SearchFields) -> Option<Vec<Value>> {
    let columns = [("source", &fields.source), ("content", &fields.content), ("score", &fields.score)];
    let columns: Vec<(&str, &Vec<Value>)> = columns
        .into_iter()
        .filter_map(|(name, pointer)| Some((name, at(value, pointer.as_deref()?)?.as_array()?)))
        .collect();
    let longest = columns.iter().map(|(_, column)| column.len()).max()?;
    let part = |nth: usize, (name, column): &(&str, &Vec<Value>)| Some(((*name).to_owned(), column.get(nth)?.clone()));
    let row = |nth| Value::Object(columns.iter().filter_map(|column| part(nth, column)).collect());
    Some((0..longest.min(HITS_MAX)).map(row).collect())
}
