//! Which texts of answers are kept already, in memory: whoever judges a beat asks here before it carries one to the
//! writer, since most answers are those of the beat before.
//!
//! - A text is known once its commit is on disk. One that is kept and not known is written again, which changes nothing.
//! - A start knows none, and neither does anybody after texts were dropped.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;

/// Texts remembered: three canaries of 50,000 monitors, some 16 bytes each. Beyond, all are forgotten at once.
const REMEMBERED_MAX: usize = 150_000;

/// Names of texts, by a hash under a key of this process.
#[derive(Debug, Default)]
pub(in crate::store) struct KnownTexts {
    names: Mutex<HashSet<u64>>,
    keys: RandomState,
}

impl KnownTexts {
    /// Whether the text of this name is kept, as far as is known.
    pub(in crate::store) fn holds(&self, name: &str) -> bool {
        self.names.lock().contains(&self.keys.hash_one(name))
    }

    /// These were written, and are on disk.
    pub(in crate::store) fn keep(&self, written: impl Iterator<Item = Box<str>>) {
        let mut names = self.names.lock();
        for name in written {
            if names.len() >= REMEMBERED_MAX {
                names.clear();
            }
            names.insert(self.keys.hash_one(&*name));
        }
    }

    /// Some were dropped: each is written again when it comes.
    pub(in crate::store) fn forget(&self) {
        self.names.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_bounded() {
        let texts = KnownTexts::default();
        let name = |nth: usize| -> Box<str> { format!("text:{nth}").into() };
        texts.keep((0..REMEMBERED_MAX).map(name));
        assert!(texts.holds("text:0") && !texts.holds("text:-1"));
        texts.keep(std::iter::once(name(REMEMBERED_MAX)));
        assert!(!texts.holds("text:0") && texts.holds(&name(REMEMBERED_MAX)), "one too many begins anew");
        texts.forget();
        assert!(!texts.holds(&name(REMEMBERED_MAX)));
    }
}
