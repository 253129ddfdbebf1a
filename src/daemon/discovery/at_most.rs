//! A list of somebody else's with an end: what has more items than it may is refused where the first one too many stands.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

/// `N` items at most; null is none, as Go writes an empty list.
#[derive(Debug)]
pub(super) struct AtMost<T, const N: usize>(pub Vec<T>);

impl<T, const N: usize> Default for AtMost<T, N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for AtMost<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Items(PhantomData))
    }
}

struct Items<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Items<T, N> {
    type Value = AtMost<T, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            if all.len() == N {
                return Err(A::Error::custom(format_args!("a list of more than {N} items")));
            }
            all.push(item);
        }
        Ok(AtMost(all))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(AtMost(Vec::new()))
    }
}
