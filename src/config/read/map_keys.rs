//! The keys of one map while it is read: which are there already, and where.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::config::read::diagnostic::TextSpan;

/// Below this a linear look is quicker than a map.
const FEW_KEYS: usize = 16;

/// Whether a map has nothing to merge and no key twice, as nearly every map; it is then taken as it is.
pub(in crate::config) fn is_plain<'k>(keys: impl ExactSizeIterator<Item = &'k str> + Clone) -> bool {
    let fits = |(at, key): (usize, &str)| key != "<<" && keys.clone().take(at).all(|before| before != key);
    keys.len() <= FEW_KEYS && keys.clone().enumerate().all(fits)
}

/// Keys of one map: looked through while few, in a table once many.
#[derive(Default)]
pub(in crate::config) struct MapKeys<'a> {
    few: Vec<(Cow<'a, str>, TextSpan)>,
    table: HashMap<Cow<'a, str>, TextSpan>,
}

impl<'a> MapKeys<'a> {
    /// Where the key stands, if it is there.
    pub(in crate::config) fn find(&self, key: &str) -> Option<TextSpan> {
        let few = self.few.iter().find(|(known, _)| known == key).map(|(_, place)| *place);
        few.or_else(|| self.table.get(key).copied())
    }

    /// Notes a key that is not there yet.
    pub(in crate::config) fn insert(&mut self, key: Cow<'a, str>, place: TextSpan) {
        if self.few.len() < FEW_KEYS {
            self.few.push((key, place));
        } else {
            self.table.insert(key, place);
        }
    }
}
