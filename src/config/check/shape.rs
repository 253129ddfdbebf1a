//! What may stand at a place of the file, as the readers ask for it.

use std::ops::RangeInclusive;
use std::time::Duration;

/// One thing that a reader asks of a place.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::config) enum ValueShape {
    /// A map with these keys and no others.
    Keys(Vec<String>),
    /// A map that names its keys itself.
    Names,
    List,
    /// One line of text, or a reference to one.
    Text,
    /// Lowercase letters, digits, `.`, `_` and `-`.
    Id,
    Word(Vec<String>),
    Whole(RangeInclusive<u32>),
    /// The same, or `auto`.
    WholeOrAuto(RangeInclusive<u32>),
    /// A number with or without a point.
    Decimal,
    Duration(RangeInclusive<Duration>),
    /// A share such as `5%`.
    Share,
    /// An `http` or `https` URL.
    Address,
    Secret,
    /// Anything that JSON can say.
    Any,
    /// A map that should hold this key and does not.
    Missing(String),
}

impl ValueShape {
    /// A map with these keys.
    pub(in crate::config) fn keys<'k>(keys: impl Iterator<Item = &'k str>) -> Self {
        Self::Keys(keys.map(str::to_owned).collect())
    }

    /// A single value, not a map or a list.
    pub(in crate::config) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Keys(_) | Self::Names | Self::List | Self::Missing(_))
    }

    /// How much it says: a reader of durations reads a text first.
    pub(in crate::config) fn rank(&self) -> u8 {
        match self {
            Self::Missing(_) => 0,
            Self::Text | Self::Names => 1,
            Self::Any => 3,
            _ => 2,
        }
    }
}
