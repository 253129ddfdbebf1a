//! What was made of each monitor's declaration, kept until it is edited or gone.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::domain::monitor::{Monitor, MonitorId};
use crate::probe::access::credential;
use crate::probe::session::declared::Declared;
use crate::probe::session::listing_memory::ListingMemory;
use crate::probe::stages::secrets::secrets_of;
use crate::tool_lists::interner::AnswerInterner;

/// By monitor: the very declaration, which an edit replaces, and what it comes to.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    made: Mutex<HashMap<MonitorId, (Weak<Monitor>, Arc<Declared>)>>,
    answers: Arc<AnswerInterner>,
}

impl Declarations {
    /// What this declaration comes to; made now where it is new.
    pub(crate) fn of(&self, monitor: &Arc<Monitor>) -> Arc<Declared> {
        if let Some((of, declared)) = self.made.lock().get(&monitor.id)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(monitor))
        {
            return Arc::clone(declared);
        }
        let declared = Arc::new(made_of(monitor, Arc::new(ListingMemory::new(Arc::clone(&self.answers)))));
        self.made.lock().insert(monitor.id.clone(), (Arc::downgrade(monitor), Arc::clone(&declared)));
        declared
    }

    /// Lets go of a monitor's, which was edited or is gone.
    pub(crate) fn forget(&self, monitor: &MonitorId) {
        self.made.lock().remove(monitor);
    }
}

/// What a declaration comes to that nobody keeps; with what is remembered of its server's list, where something is.
pub(crate) fn made_of(monitor: &Monitor, listing: Arc<ListingMemory>) -> Declared {
    let mut declared = Declared::of(monitor, Arc::new(secrets_of(monitor)), listing);
    declared.credential_until = credential::ends_at(&monitor.auth);
    declared
}
