//! Whose rows are read back: every monitor's, as a start needs them, or some monitors', as their return does.

use crate::domain::monitor::MonitorId;

/// Whose rows are read.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// Every monitor's, declared or not.
    Everybodys,
    /// Those of these monitors.
    Of(&'a [MonitorId]),
}

impl Whose<'_> {
    /// What a statement takes for it: NULL for everybody's, else a list in JSON.
    pub(in crate::store) fn ids(self) -> Option<String> {
        match self {
            Self::Everybodys => None,
            Self::Of(ids) => Some(serde_json::json!(ids.iter().map(MonitorId::as_str).collect::<Vec<_>>()).to_string()),
        }
    }
}

/// Whether a column names one of those for whom a parameter stands; see [`Whose::ids`].
macro_rules! is_of {
    ($column:literal, $ids:literal) => {
        concat!(
            "(CAST(",
            $ids,
            " AS TEXT) IS NULL OR ",
            $column,
            " IN ",
            $crate::store::sql::dialect::texts!($ids),
            ")"
        )
    };
}
pub(in crate::store) use is_of;
