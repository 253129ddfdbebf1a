//! What each key is for, in the words that editors show. The keys themselves are the checker's (`schema`); a test
//! refuses a key without a description.

/// The description of a key; `defaults` takes those of a monitor.
pub fn description(_name: &str) -> Option<&'static str> {
    None
}
