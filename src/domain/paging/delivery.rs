//! The promise to bring one notification to one receiver, and when to try again.

use std::time::Duration;

/// Stored as its slug; only `Pending` is ever claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// Still to be brought.
    Pending,
    /// A receiver said yes.
    Sent,
    /// Given up after [`GIVE_UP_AFTER`]; it no longer blocks its successors and can be replayed.
    Dead,
}

impl DeliveryState {
    /// Every state, in the order of a delivery's life.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Sent, Self::Dead];

    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Dead => "dead",
        }
    }

    /// The state a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.slug() == slug)
    }
}

/// What a receiver said to one attempt, which decides whether there is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The receiver took it: the delivery is done.
    Accepted,
    /// It may work later.
    Failed {
        /// One bounded line for the ledger.
        why: String,
        /// What the receiver asked to wait.
        retry_after: Option<Duration>,
    },
    /// The receiver will not take it (most 4xx, 5yz, a guarded address): the fallback is woken at once.
    Refused {
        /// One bounded line for the ledger.
        why: String,
    },
}

/// Limit on one attempt, from the name to the last byte of the answer. A lease has to be longer.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(10);
/// A delivery is given up after this long.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);
/// A page's fallback is woken after this long without success.
pub const FALLBACK_AFTER: Duration = Duration::from_secs(120);
/// The receiver's own wish to wait is honoured up to this.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// The gap before the next attempt (DESIGN §7), without jitter.
///
/// `attempts` counts those made, from 1; `age` is the time since the delivery came to be.
pub fn gap(attempts: u32, age: Duration) -> Duration {
    const FIRST: [u64; 6] = [5, 10, 15, 30, 60, 120];
    let seconds = match FIRST.get(attempts.saturating_sub(1) as usize) {
        Some(seconds) => *seconds,
        None if age < Duration::from_secs(6 * 3600) => 300,
        None => 3600,
    };
    Duration::from_secs(seconds)
}

/// The gap with its jitter and the receiver's own wish; `random` is in 0..1 and moves it by ±20 %.
pub fn jittered_gap(attempts: u32, age: Duration, retry_after: Option<Duration>, random: f64) -> Duration {
    let wish = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
    gap(attempts, age).mul_f64(0.8 + 0.4 * random).max(wish)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_follow_the_contract() {
        let minute = Duration::from_secs(60);
        let rows = [
            (1, minute, 5, "the first retry comes soon"),
            (4, minute, 30, "then slower"),
            (6, minute, 120, "two minutes at the sixth"),
            (7, minute * 10, 300, "then every five minutes"),
            (80, Duration::from_secs(7 * 3600), 3600, "hourly after six hours"),
        ];
        for (attempts, age, seconds, sentence) in rows {
            assert_eq!(gap(attempts, age), Duration::from_secs(seconds), "{sentence}");
        }
    }

    #[test]
    fn a_receivers_wish_is_honoured_up_to_an_hour() {
        let gap = jittered_gap(1, Duration::ZERO, Some(Duration::from_secs(90)), 0.5);
        assert_eq!(gap, Duration::from_secs(90));
        let gap = jittered_gap(1, Duration::ZERO, Some(Duration::from_secs(1 << 40)), 0.5);
        assert_eq!(gap, RETRY_AFTER_MAX);
    }
}
