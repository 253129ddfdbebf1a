//! How a pack is laid out: its first number, which never means anything else.

use std::io;

use crate::store::packed::pack::bits::damaged;

/// The layouts there ever were; what is written is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store::packed::pack) enum Layout {
    /// Moments as gaps of milliseconds, and each number by itself, which took a tenth more.
    Gaps = 1,
    /// Moments on a grid, numbers as what lies between them.
    Grid = 2,
    /// With what was judged: levels and reasons by signal, the lock, the sources, and what answers say of themselves.
    Judged = 3,
    /// With whether a beat fell into maintenance.
    Windows = 4,
}

impl Layout {
    /// What is written.
    pub(in crate::store::packed::pack) const NOW: Self = Self::Windows;

    /// The layout of a number.
    ///
    /// # Errors
    /// A pack of a later version.
    pub(in crate::store::packed::pack) fn of(number: u64) -> io::Result<Self> {
        let all = [Self::Gaps, Self::Grid, Self::Judged, Self::Windows];
        all.into_iter().find(|layout| *layout as u64 == number).ok_or_else(|| damaged("a pack of a newer Serin"))
    }
}
