//! What an hour or a day of one monitor came to, small enough to keep by the thousand: what bars are drawn of.

/// Seconds and answers of one hour or day, in 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// Seconds in which the server could be asked.
    pub up_s: u32,
    /// Seconds in which it could not.
    pub down_s: u32,
    /// Seconds inside a declared maintenance, whatever was seen.
    pub apart_s: u32,
    /// Seconds for which a beat was due and showed nothing. What nobody covered at all is in none of the four.
    pub unknown_s: u32,
    /// Questions of the schedule that canaries were asked; 0 where nobody counted.
    pub asked: u32,
    /// Those whose answer was right.
    pub right: u32,
}

impl Cell {
    /// Adds what another hour or day came to.
    pub const fn add(&mut self, other: Self) {
        self.up_s = self.up_s.saturating_add(other.up_s);
        self.down_s = self.down_s.saturating_add(other.down_s);
        self.apart_s = self.apart_s.saturating_add(other.apart_s);
        self.unknown_s = self.unknown_s.saturating_add(other.unknown_s);
        self.asked = self.asked.saturating_add(other.asked);
        self.right = self.right.saturating_add(other.right);
    }

    /// Seconds that were seen, maintenance aside.
    pub const fn seen_s(self) -> u32 {
        self.up_s.saturating_add(self.down_s)
    }

    /// Answers that were wrong, or did not come.
    pub const fn wrong(self) -> u32 {
        self.asked.saturating_sub(self.right)
    }

    /// The share of seen time in which the server could be asked, 0 to 1; none where nothing was seen.
    pub fn uptime(self) -> Option<f64> {
        share(self.up_s, self.seen_s())
    }

    /// The share of answers that were right, 0 to 1; none where nothing was asked.
    pub fn right_share(self) -> Option<f64> {
        share(self.right, self.asked)
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part.min(whole)) / f64::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_seen() {
        let day = Cell { up_s: 75, down_s: 25, apart_s: 900, unknown_s: 50, asked: 8, right: 6 };
        assert_eq!((day.uptime(), day.right_share(), day.wrong()), (Some(0.75), Some(0.75), 2));
        assert_eq!((Cell::default().uptime(), Cell::default().right_share()), (None, None), "nothing is no figure");
        let mut both = day;
        both.add(day);
        assert_eq!((both.seen_s(), both.apart_s, both.asked), (200, 1800, 16));
    }
}
