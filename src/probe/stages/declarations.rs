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

#[derive(Debug, Default)]
pub(crate) struct Declarations {
    made: Mutex<HashMap<MonitorId, Made>>,
    answers: Arc<AnswerInterner>,
}

/// What a declaration comes to.
#[derive(Debug)]
struct Made {
    /// The very declaration, which an edit replaces.
    of: Weak<Monitor>,
    declared: Arc<Declared>,
}

impl Declarations {
    /// What this declaration comes to; made now where it is new.
    pub(crate) fn of(&self, monitor: &Arc<Monitor>) -> Arc<Declared> {
        if let Some(Made { of, declared }) = self.made.lock().get(&monitor.id)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(monitor))
        {
            return Arc::clone(declared);
        }
        let declared = Arc::new(made_of(monitor, Arc::new(ListingMemory::new(Arc::clone(&self.answers)))));
        let made = Made { of: Arc::downgrade(monitor), declared: Arc::clone(&declared) };
        self.made.lock().insert(monitor.id.clone(), made);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn a_declaration_is_prepared_once_and_an_edited_one_anew() {
        let url = "http://127.0.0.1/mcp";
        let monitor = |bearer: &str| {
            let address = Address { shown: url.to_owned(), resolved: Secret::new(url) };
            let mut monitor = Monitor::undeclared("m", address);
            monitor.auth.bearer = Some(Secret::new(bearer));
            Arc::new(monitor)
        };
        let (declarations, first) = (Declarations::default(), monitor("first-token"));
        let made = declarations.of(&first);
        assert!(Arc::ptr_eq(&made, &declarations.of(&first)), "the same on each beat");
        let edited = declarations.of(&monitor("other-token"));
        assert_eq!(edited.scrub.hidden("first-token other-token"), "first-token •••", "an edit brings its own secrets");
        declarations.forget(&first.id);
        assert!(declarations.made.lock().is_empty(), "and nothing stays of who is gone");
    }
}
