//! How often canaries were right: what stands beside uptime, since a server that is up may be wrong.

/// What canaries of the schedule were asked, and how many of the answers were right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answers {
    /// Questions that were asked; one that brought no answer counts, one that was not asked does not.
    pub asked: u64,
    /// Those whose answer was right.
    pub right: u64,
}

impl Answers {
    pub const fn count(&mut self, is_right: bool) {
        self.asked += 1;
        self.right += is_right as u64;
    }

    /// Adds those of another time.
    pub const fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.right += other.right;
    }

    /// The share that was right, 0 to 1; none where nothing was asked.
    #[expect(clippy::cast_precision_loss, reason = "no monitor asks 2^52 questions")]
    pub fn share(self) -> Option<f64> {
        (self.asked > 0).then(|| self.right as f64 / self.asked as f64)
    }
}
