//! The numbers that stand for names and answers in packs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::values::past::PastAnswer;

/// The numbers by which names and answers are written.
#[derive(Debug, Default)]
pub(in crate::store) struct Numbers {
    pub(in crate::store) canaries: HashMap<Arc<str>, i64>,
    /// Those of answers that have one, by [`crate::store::packed::pack::answer::answer_bytes`].
    pub(in crate::store) answers: HashMap<Vec<u8>, i64>,
}

#[derive(Debug, Default)]
pub(in crate::store) struct Meanings {
    pub(in crate::store) canaries: HashMap<i64, Arc<str>>,
    pub(in crate::store) answers: HashMap<i64, PastAnswer>,
}
