//! One timer for all waits of a probe. Arming a timer takes a lock, and wakes the thread that sleeps for all timers where
//! it is the nearest; a probe waits a dozen times, and nearly always something comes long before the limit.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is armed for the nearest limit so far and moved on only when it rings before the limit in question.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

/// The limit was reached before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late;

impl Alarm {
    /// Waits for `work`, until `deadline` at the latest.
    ///
    /// # Errors
    /// [`Late`]; the work is dropped then.
    pub(crate) async fn within<T>(&mut self, deadline: Instant, work: impl Future<Output = T>) -> Result<T, Late> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            self.poll_rings(deadline, cx).map(|()| Err(Late))
        })
        .await
    }

    fn poll_rings(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        // Out of the budget that tokio gives a task: work that never rests would use it up each time, and never be late.
        while pin!(unconstrained(sleep.as_mut())).poll(cx).is_ready() {
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            // It was armed for an earlier wait.
            sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn each_wait_ends_at_its_own_limit_whatever_the_waits_before() {
        const HOUR: u64 = 3_600_000;
        let mut alarm = Alarm::default();
        // Milliseconds that the work takes (none: for ever) and that it may take.
        let rows = [
            (Some(0), HOUR, "done at once"),
            (Some(5), HOUR, "done in time"),
            (None, 20, "a nearer limit than the one it is armed for"),
            (None, 30, "a later one than it rang for"),
            (Some(5), HOUR, "done in time after it rang"),
            (None, 0, "no time at all"),
            (Some(20), HOUR, "the work outlasts the limit before, and not its own"),
        ];
        for (takes, limit, sentence) in rows {
            let deadline = Instant::now() + Duration::from_millis(limit);
            let work = async {
                match takes {
                    Some(0) => {}
                    Some(millis) => sleep(Duration::from_millis(millis)).await,
                    None => pending().await,
                }
            };
            let outcome = alarm.within(deadline, work).await;
            assert_eq!(outcome, takes.map(|_| ()).ok_or(Late), "{sentence}");
            assert!(outcome.is_ok() || Instant::now() >= deadline, "{sentence}: not before its limit");
        }
    }

    #[tokio::test]
    async fn work_that_never_rests_is_late_too() {
        let work = async {
            loop {
                tokio::task::consume_budget().await;
            }
        };
        let limit = Instant::now() + Duration::from_millis(20);
        assert_eq!(Alarm::default().within::<()>(limit, work).await, Err(Late));
    }
}
