//! Why people were told of something, or were not: one answer, of which terminal, API and pages are renderings.
//!
//! Read `answer` (its parts), `heard` (what became of telling one incident), `sentence` (the answer in one sentence), `text`
//! (all of it, as a terminal shows it).

pub mod text;
pub mod sentence;
pub mod heard;
pub mod answer;

#[cfg(test)]
mod tests;
