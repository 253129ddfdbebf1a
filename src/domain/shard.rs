//! Which part of the fleet a monitor belongs to: one of 256, by its id alone, so that every machine finds the same.

use sha2::{Digest as _, Sha256};

use crate::domain::monitor::MonitorId;

/// Parts of the fleet; never another number, or each monitor would change its part.
pub(in crate::domain) const COUNT: usize = 256;

/// A part of the fleet that one machine watches at a time: some 200 monitors of 50,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// The first byte of SHA-256 of the id.
    pub fn of(monitor: &str) -> Self {
        Self(Sha256::digest(monitor.as_bytes())[0])
    }

    /// Of a receiver: whoever has it brings what is promised to that receiver. No monitor has such an id.
    pub fn of_receiver(receiver: &str) -> Self {
        Self::of(&format!("receiver: {receiver}"))
    }

    /// 0 to 255, as the database writes it.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Some shards, such as those that one machine watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards([bool; COUNT]);

impl Shards {
    /// The whole fleet.
    pub const ALL: Self = Self([true; COUNT]);

    /// Whether a monitor belongs to one of them.
    pub fn hold_monitor(&self, monitor: &MonitorId) -> bool {
        // A machine that watches everything need not look.
        *self == Self::ALL || self.has(Shard::of(monitor.as_str()))
    }

    /// Whether it is one of them.
    pub fn has(&self, shard: Shard) -> bool {
        self.0[usize::from(shard.0)]
    }

    /// The shard of a number, where it is one of them.
    pub fn find(&self, number: u8) -> Option<Shard> {
        Some(Shard(number)).filter(|shard| self.has(*shard))
    }

    /// Each of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Shard> {
        (0..=u8::MAX).map(Shard).filter(|shard| self.has(*shard))
    }
}

impl Default for Shards {
    /// Those of whoever is alone.
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Shard> for Shards {
    fn from_iter<I: IntoIterator<Item = Shard>>(shards: I) -> Self {
        let mut some = Self([false; COUNT]);
        shards.into_iter().for_each(|shard| some.0[usize::from(shard.0)] = true);
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_has_the_shard_that_its_id_alone_says() {
        // By `printf docs | sha256sum`; another number would be another shard for each monitor of every database.
        let rows = [("docs", 0x46), ("a", 0xca), ("", 0xe3)];
        for (id, expected) in rows {
            assert_eq!(Shard::of(id).number(), expected, "{id}");
        }
    }

    #[test]
    fn some_shards_hold_the_monitors_that_have_them() {
        let of_docs: Shards = [Shard::of("docs")].into_iter().collect();
        for (shards, id, expected, sentence) in [
            (Shards::ALL, "docs", true, "all hold each"),
            (of_docs, "docs", true, "its own holds it"),
            (of_docs, "a", false, "another's does not"),
            (Shards::from_iter([]), "docs", false, "none hold nothing"),
        ] {
            assert_eq!(shards.hold_monitor(&MonitorId::new(id)), expected, "{sentence}");
        }
        assert_eq!(of_docs.iter().collect::<Vec<_>>(), [Shard::of("docs")]);
        assert_eq!(Shards::ALL.iter().count(), COUNT);
    }
}
