//! The keys of the API that are live, in memory: asked at the door of every request, read at the start.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use parking_lot::RwLock;

use crate::domain::api_key::ApiKey;
use crate::web::sessions::hash;

/// The live keys by their hash. Whoever guesses learns nothing from how long a look takes: it is the hash of the guess that
/// is looked for.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: RwLock<HashMap<[u8; 32], ApiKey>>,
}

impl KeyRing {
    /// Puts these in place of those there were.
    pub fn put(&self, keys: Vec<ApiKey>) {
        *self.keys.write() = keys.into_iter().map(|key| (key.hash, key)).collect();
    }

    /// Lets a key open from now on.
    pub(crate) fn add(&self, key: ApiKey) {
        self.keys.write().insert(key.hash, key);
    }

    /// Lets a key open nothing any more.
    pub(crate) fn end(&self, id: &str) {
        self.keys.write().retain(|_, key| key.id != id);
    }

    /// The key that was shown; none where it opens nothing.
    pub(crate) fn of_secret(&self, shown: &str, now: DateTime<Utc>) -> Option<ApiKey> {
        self.keys.read().get(&hash(shown)).filter(|key| key.is_live(now)).cloned()
    }

    /// A key by its id; none where it opens nothing any more.
    pub(crate) fn of_id(&self, id: &str, now: DateTime<Utc>) -> Option<ApiKey> {
        self.keys.read().values().find(|key| key.id == id && key.is_live(now)).cloned()
    }
}
