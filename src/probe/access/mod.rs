//! Credentials that have to be got first, what becomes of them, and whether a stranger is let in.

pub(crate) mod attempt;
pub(crate) mod oauth;
pub(crate) mod token_cache;
pub(crate) mod admission;
pub(crate) mod unauthenticated_check;
pub(crate) mod credential;
