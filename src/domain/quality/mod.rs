//! Judging canary answers.
