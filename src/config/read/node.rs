//! A YAML file as a tree of values, each with its place. An alias shares its node; what no alias can reach stands in its
//! parent, without an allocation of its own: a fleet has a million of them.

use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use crate::config::read::diagnostic::TextSpan;

/// A value with its place.
#[derive(Debug, Clone)]
pub(in crate::config) struct Node<'a> {
    pub value: NodeValue<'a>,
    /// Where it stands; an alias stands where its anchor is.
    pub place: TextSpan,
    pub(super) depth: u16,
}

/// A node inside another one.
#[derive(Debug, Clone)]
pub(in crate::config) enum Child<'a> {
    /// Of this parent alone.
    Own(Node<'a>),
    /// Of every place that an alias or `<<` brings it to.
    Shared(Rc<Node<'a>>),
}

impl<'a> Deref for Child<'a> {
    type Target = Node<'a>;

    fn deref(&self) -> &Node<'a> {
        match self {
            Self::Own(node) => node,
            Self::Shared(node) => node,
        }
    }
}

/// The three shapes of YAML.
#[derive(Debug, Clone)]
pub(in crate::config) enum NodeValue<'a> {
    /// A text as written, escapes resolved.
    Scalar {
        text: Cow<'a, str>,
        /// Without quotes, so that it may be a number or nothing at all.
        plain: bool,
    },
    List(Vec<Child<'a>>),
    /// Keys and values in the order of the file, merged ones last; keys are unique.
    Map(Vec<MapEntry<'a>>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(in crate::config) struct MapEntry<'a> {
    pub key: Cow<'a, str>,
    /// Of the key; its value has its own.
    pub place: TextSpan,
    pub value: Child<'a>,
}

impl<'a> Node<'a> {
    /// A text that stands nowhere, in the place of another.
    pub(in crate::config) fn stand_in(text: &'a str, place: TextSpan) -> Self {
        Self { value: NodeValue::Scalar { text: Cow::Borrowed(text), plain: false }, place, depth: 0 }
    }

    /// What a map holds under a key; none where it is no map.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&Node<'a>> {
        let NodeValue::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &*entry.value)
    }

    /// The items of a list; of anything else, that alone.
    pub(in crate::config) fn items(&self) -> impl Iterator<Item = &Node<'a>> {
        let (list, alone) = match &self.value {
            NodeValue::List(items) => (&items[..], None),
            _ => (&[][..], Some(self)),
        };
        list.iter().map(|item| &**item).chain(alone)
    }

    /// Nothing was written: empty, `~` or `null`.
    pub(in crate::config) fn is_null(&self) -> bool {
        matches!(&self.value, NodeValue::Scalar { text, plain: true } if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }
}

/// One file, which is one document.
#[derive(Debug)]
pub(in crate::config) struct Tree<'a> {
    pub root: Child<'a>,
    /// Places of nodes that an alias refers to.
    pub referred: Vec<TextSpan>,
}
