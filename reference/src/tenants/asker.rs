//! Who asks: kept with the task that answers, so that every connection it takes is theirs.
//!
//! What nobody asks, such as the start, health and the commands, sees everything. A task spawned within a call
//! would be such, so nothing below a call may spawn one that reads the store.

use std::borrow::Cow;
use std::sync::Arc;

/// A tenant: its name, and what it may see and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name in the configuration; empty for somebody unknown.
    pub name: String,
    /// Its collections, sorted; `None` is all.
    pub collections: Option<Vec<String>>,
}

impl Tenant {
    /// Whether a collection is its own.
    pub fn has(&self, collection: &str) -> bool {
        self.collections.as_ref().is_none_or(|own| own.iter().any(|name| name == collection))
    }

    /// What tells its memory from others'. Names have no such sign.
    pub fn marked(&self, what: &str) -> String {
        format!("{}\u{1}{what}", self.name)
    }
}

/// Who was let in at the door; `None` is the operator.
#[derive(Debug, Clone)]
pub struct Asker(pub Option<Arc<Tenant>>);

impl Asker {
    /// Somebody who was never let in: nothing is theirs.
    pub fn nobody() -> Self {
        Self(Some(Arc::new(Tenant { name: String::new(), collections: Some(Vec::new()) })))
    }

    /// What is answered to them.
    pub async fn answered<T>(self, answering: impl Future<Output = T>) -> T {
        ASKING.scope(self, answering).await
    }
}

tokio::task_local! {
    static ASKING: Asker;
}

/// The tenant who asks; `None` is the operator, or the server itself.
pub fn asking() -> Option<Arc<Tenant>> {
    ASKING.try_with(|asker| asker.0.clone()).ok().flatten()
}

/// A key of what is remembered in memory, the tenant's own where one asks.
pub fn own(key: &str) -> Cow<'_, str> {
    asking().map_or(Cow::Borrowed(key), |tenant| Cow::Owned(tenant.marked(key)))
}
