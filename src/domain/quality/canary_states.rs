//! What is remembered of all canaries of a monitor.

use std::sync::Arc;

use crate::domain::quality::confirmation::CanaryState;

/// Canaries' states by id. A beat copies a monitor's state and asks some canaries: a copy shares every state, and those
/// that the beat asked become its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CanaryStates {
    /// Sorted by id; most monitors have a handful.
    by_id: Vec<(Arc<str>, Arc<CanaryState>)>,
}

impl CanaryStates {
    /// What is remembered of one; none before it was first asked.
    pub fn get(&self, id: &str) -> Option<&CanaryState> {
        self.place(id).ok().map(|at| &*self.by_id[at].1)
    }

    /// Remembers a state, in the place of what was remembered before.
    pub fn insert(&mut self, id: &str, state: CanaryState) {
        match self.place(id) {
            Ok(at) => self.by_id[at].1 = Arc::new(state),
            Err(at) => self.add(at, id, state),
        }
    }

    /// One to be changed; a new one where nothing is remembered of it.
    pub fn get_or_insert_with(&mut self, id: &str, new: impl FnOnce() -> CanaryState) -> &mut CanaryState {
        let at = self.place(id).unwrap_or_else(|at| {
            self.add(at, id, new());
            at
        });
        Arc::make_mut(&mut self.by_id[at].1)
    }

    /// Changes those that ask for it.
    pub fn change(&mut self, wants: impl Fn(&CanaryState) -> bool, mut change: impl FnMut(&mut CanaryState)) {
        let wanting = self.by_id.iter_mut().filter(|(_, state)| wants(state));
        wanting.for_each(|(_, state)| change(Arc::make_mut(state)));
    }

    /// Forgets those that are not to be kept.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, &CanaryState) -> bool) {
        self.by_id.retain(|(id, state)| keeps(id, state));
    }

    /// All of them with their ids, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CanaryState)> {
        self.by_id.iter().map(|(id, state)| (&**id, &**state))
    }

    /// All of them, in the order of their ids.
    pub fn values(&self) -> impl Iterator<Item = &CanaryState> {
        self.by_id.iter().map(|(_, state)| &**state)
    }

    fn place(&self, id: &str) -> Result<usize, usize> {
        self.by_id.binary_search_by(|(known, _)| (**known).cmp(id))
    }

    fn add(&mut self, at: usize, id: &str, state: CanaryState) {
        self.by_id.reserve_exact(1);
        self.by_id.insert(at, (Arc::from(id), Arc::new(state)));
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_copy_shares_what_no_beat_asked() {
        let new = || CanaryState::new("h", DateTime::UNIX_EPOCH);
        let mut states = CanaryStates::default();
        for id in ["b", "c", "a"] {
            states.get_or_insert_with(id, new).wrong_in_a_row = 1;
        }
        assert_eq!(states.iter().map(|(id, _)| id).collect::<Vec<_>>(), ["a", "b", "c"], "in the order of ids");
        let mut copy = states.clone();
        copy.get_or_insert_with("b", new).wrong_in_a_row = 2;
        copy.change(|state| state.wrong_in_a_row == 2, |state| state.wrong_in_a_row = 3);
        let wrong = |states: &CanaryStates| states.values().map(|state| state.wrong_in_a_row).collect::<Vec<_>>();
        assert_eq!((wrong(&states), wrong(&copy)), (vec![1, 1, 1], vec![1, 3, 1]), "the first stays as it was");
        let shared = |id| std::ptr::eq(states.get(id).unwrap(), copy.get(id).unwrap());
        assert_eq!((shared("a"), shared("b")), (true, false));
        copy.retain(|id, _| id != "a");
        copy.insert("c", new());
        assert_eq!((wrong(&copy), copy.get("a")), (vec![3, 0], None));
    }
}
