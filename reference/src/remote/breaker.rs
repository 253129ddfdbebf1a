//! A circuit breaker: after three failures within a minute a server is left alone for a while, then
//! one request may try whether it is back.
//!
//! A pure state machine: the clock is an argument, and who asked reports how it went. The pattern is
//! that of M. Nygard, *Release It!* (2007).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Failures that open it.
pub const FAILURES_MAX: usize = 3;
/// Within which stretch they must fall.
pub const WINDOW: Duration = Duration::from_mins(1);

/// The state of one server.
#[derive(Debug)]
pub struct Breaker {
    state: State,
    /// How long it stays open before a trial.
    cool_down: Duration,
}

#[derive(Debug)]
enum State {
    /// Requests pass; these failed, the oldest first.
    Closed { failed_at: VecDeque<Instant> },
    /// None passes until then.
    Open { until: Instant },
    /// One is on its way to see whether the server is back.
    Trial,
}

/// Leave to ask once; to be given back with `report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Leave {
    /// As ever.
    Ordinary,
    /// The one that tries whether the server is back.
    Trial,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered, even if with a refusal or a wish to be asked more slowly.
    Answered,
    /// It did not, or in a way that shows that it is broken.
    Failed,
    /// Nobody waited for it to end.
    Abandoned,
}

/// Not to be asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// How long it will be at least until a trial; zero while one is on its way.
    pub retry_after: Duration,
}

impl Breaker {
    /// A closed one.
    pub fn new(cool_down: Duration) -> Self {
        Self { state: State::Closed { failed_at: VecDeque::new() }, cool_down }
    }

    /// Whether the server may be asked now.
    ///
    /// # Errors
    /// Where it has failed too often just now.
    pub fn ask(&mut self, now: Instant) -> Result<Leave, Refused> {
        match self.state {
            State::Closed { .. } => Ok(Leave::Ordinary),
            State::Open { until } if now < until => Err(Refused { retry_after: until - now }),
            State::Open { .. } => {
                self.state = State::Trial;
                Ok(Leave::Trial)
            }
            State::Trial => Err(Refused { retry_after: Duration::ZERO }),
        }
    }

    /// Takes note of how it went. A request that began before the breaker opened says nothing any more
    /// once it is open: only the trial closes it.
    pub fn report(&mut self, leave: Leave, outcome: Outcome, now: Instant) {
        let open = State::Open { until: now + self.cool_down };
        match (&mut self.state, leave, outcome) {
            (State::Trial, Leave::Trial, Outcome::Answered) => {
                self.state = State::Closed { failed_at: VecDeque::new() };
            }
            (State::Trial, Leave::Trial, Outcome::Failed) => self.state = open,
            // Nothing was learnt, so the next may try at once.
            (State::Trial, Leave::Trial, Outcome::Abandoned) => self.state = State::Open { until: now },
            (State::Closed { failed_at }, Leave::Ordinary, Outcome::Failed) => {
                failed_at.push_back(now);
                while failed_at.front().is_some_and(|at| now.saturating_duration_since(*at) > WINDOW) {
                    failed_at.pop_front();
                }
                if failed_at.len() >= FAILURES_MAX {
                    self.state = open;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOL_DOWN: Duration = Duration::from_secs(30);

    /// What happens at a second: asked (and the answer that is expected), or reported.
    enum BreakerStep {
        Passes,
        Tries,
        Refuses(u64),
        Ended(Leave, Outcome),
    }
    use BreakerStep::{Ended, Passes, Refuses, Tries};
    use Leave::{Ordinary, Trial};
    use Outcome::{Abandoned, Answered, Failed};

    fn check(says: &str, steps: &[(u64, BreakerStep)]) {
        let start = Instant::now();
        let mut breaker = Breaker::new(COOL_DOWN);
        for (place, (second, step)) in steps.iter().enumerate() {
            let now = start + Duration::from_secs(*second);
            let expected = match step {
                Ended(leave, outcome) => {
                    breaker.report(*leave, *outcome, now);
                    continue;
                }
                Passes => Ok(Ordinary),
                Tries => Ok(Trial),
                Refuses(seconds) => Err(Refused { retry_after: Duration::from_secs(*seconds) }),
            };
            assert_eq!(breaker.ask(now), expected, "{says}: step {place}");
        }
    }

    fn failures(seconds: [u64; 3]) -> [(u64, BreakerStep); 3] {
        seconds.map(|second| (second, Ended(Ordinary, Failed)))
    }

    /// Three failures at second 0, then these.
    fn check_open(says: &str, steps: Vec<(u64, BreakerStep)>) {
        check(says, &failures([0, 0, 0]).into_iter().chain(steps).collect::<Vec<_>>());
    }

    #[test]
    fn it_opens_and_closes() {
        check("a new one lets everything pass", &[(0, Passes), (0, Passes)]);
        check("two failures are borne", &[(0, Ended(Ordinary, Failed)), (1, Ended(Ordinary, Failed)), (2, Passes)]);
        let [a, b, c] = failures([0, 30, 60]);
        check("three within a minute open it", &[a, b, c, (61, Refuses(29))]);
        let [a, b, c] = failures([0, 30, 61]);
        check("three in more than a minute do not", &[a, b, c, (62, Passes)]);
        let [a, b, c] = failures([0, 1, 2]);
        check(
            "an answer between them takes nothing back",
            &[a, (0, Ended(Ordinary, Answered)), b, c, (3, Refuses(29))],
        );
        check_open("it stays open for its time", vec![(29, Refuses(1)), (30, Tries)]);
        check_open("only one tries", vec![(30, Tries), (31, Refuses(0)), (59, Refuses(0))]);
        check_open("a trial that is answered closes it", vec![(30, Tries), (31, Ended(Trial, Answered)), (31, Passes)]);
        check_open(
            "a trial that fails opens it again",
            vec![(30, Tries), (31, Ended(Trial, Failed)), (32, Refuses(29))],
        );
        check_open(
            "an abandoned trial leaves it to the next",
            vec![(30, Tries), (31, Ended(Trial, Abandoned)), (31, Tries)],
        );
        check_open("a late answer does not close it", vec![(1, Ended(Ordinary, Answered)), (2, Refuses(28))]);
        check_open("a late failure does not prolong it", vec![(20, Ended(Ordinary, Failed)), (30, Tries)]);
        check_open(
            "a late failure does not end a trial",
            vec![
                (30, Tries),
                (31, Ended(Ordinary, Failed)),
                (31, Refuses(0)),
                (32, Ended(Trial, Answered)),
                (32, Passes),
            ],
        );
        check_open(
            "after it closed, failures are counted anew",
            vec![(30, Tries), (31, Ended(Trial, Answered)), (32, Ended(Ordinary, Failed)), (33, Passes)],
        );
    }
}
