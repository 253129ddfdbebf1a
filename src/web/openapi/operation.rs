//! One address of the API, as the document describes it.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// One address: what it is for, what it takes and gives.
pub(crate) struct Operation {
    pub(crate) path: &'static str,
    pub(crate) method: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// Names of the query, each with what it is for and its schema.
    pub(crate) query: Vec<(&'static str, &'static str, Value)>,
    pub(crate) takes: Option<Value>,
    /// Statuses with what they mean, and the body where there is one.
    pub(crate) gives: Vec<(u16, &'static str, Option<Value>)>,
    /// Refusals besides those that are listed for all.
    pub(crate) refuses: &'static [(u16, &'static str)],
}

pub(crate) fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

pub(crate) fn text() -> Value {
    json!({ "type": "string" })
}

pub(crate) fn number(minimum: u32) -> Value {
    json!({ "type": "integer", "minimum": minimum })
}

pub(crate) fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

impl Operation {
    pub(crate) fn get(path: &'static str, id: &'static str, summary: &'static str, body: Value) -> Self {
        let gives = vec![(200, "As it stands.", Some(body))];
        Self { path, method: "get", id, summary, query: Vec::new(), takes: None, gives, refuses: &[] }
    }

    pub(crate) fn post(path: &'static str, id: &'static str, summary: &'static str, takes: Option<Value>) -> Self {
        let gives = vec![(202, "It is asked for.", None)];
        Self { path, method: "post", id, summary, query: Vec::new(), takes, gives, refuses: &[] }
    }
}
