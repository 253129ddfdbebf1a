//! `serin backtest`: what people would have been told in the last weeks, had another file been in force.
//!
//! Every beat that is kept is weighed again by the function that weighs live, by the rules of then and by those that are
//! proposed. What happened is never guessed: it is what incidents and deliveries say. Read `command`, `comparing` (what is
//! another way), `report`, and as it is said `saying` and `as_json`; beats are weighed again in `hindsight`.

mod command;
mod comparing;
mod report;
mod saying;
mod as_json;

pub use command::{BacktestArgs, run};

#[cfg(test)]
mod tests;
