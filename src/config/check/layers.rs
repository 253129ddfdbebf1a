//! One section written in two places: a monitor's own, and the one of `defaults` beneath it.

use crate::config::check::checker::Fields;
use crate::config::read::node::MapEntry;

/// Keys looked up in the monitor first, then in `defaults`.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::config) struct Layers<'n, 'a> {
    own: Option<Fields<'n, 'a>>,
    shared: Option<Fields<'n, 'a>>,
}

impl<'n, 'a> Layers<'n, 'a> {
    /// The two, each where it is written.
    pub(in crate::config) fn new(own: Option<Fields<'n, 'a>>, shared: Option<Fields<'n, 'a>>) -> Self {
        Self { own, shared }
    }

    /// The key, wherever it is written.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&'n MapEntry<'a>> {
        self.own(key).or_else(|| self.shared(key))
    }

    /// The key, where `defaults` write it.
    pub(in crate::config) fn shared(&self, key: &str) -> Option<&'n MapEntry<'a>> {
        self.shared.and_then(|fields| fields.get(key))
    }

    /// The key, where the monitor itself writes it.
    pub(in crate::config) fn own(&self, key: &str) -> Option<&'n MapEntry<'a>> {
        self.own.and_then(|fields| fields.get(key))
    }

    /// Whether it is written anywhere.
    pub(in crate::config) fn written(&self) -> bool {
        self.own.is_some() || self.shared.is_some()
    }
}
