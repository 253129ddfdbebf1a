//! The past, weighed again: what a monitor stood at at any moment of the days whose beats are kept, by the files that were in
//! force then or by others.
//!
//! Every beat is weighed by the function that weighs live. What the record cannot give is said, never guessed. Read `why`
//! (why people were told, or were not) on `record` and `signals`, `body` (the same as JSON);
//! `replaying` (a monitor's past), `observed` (a kept beat as weighing takes it), `faults`, `texts` (a kept text, judged
//! again), `windows` (maintenance that is on then), `declared` (by what a beat is weighed).

pub(crate) mod body;
pub(crate) mod why;
pub(crate) mod signals;
pub(crate) mod record;
pub(crate) mod replaying;
pub(crate) mod observed;
pub(crate) mod windows;
pub(crate) mod faults;
pub(crate) mod declared;
pub(crate) mod texts;

#[cfg(test)]
mod tests;
