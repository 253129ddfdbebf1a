//! A first look at a server that nobody has described yet.
//!
//! Read `explored` (what is wanted, and what was found), `first_look` (one conversation) on `talk` (its searches), `by_list`
//! (where answers are lists of results) and `by_text` (where they are texts).

pub(crate) mod explored;
pub(crate) mod talk;
pub(super) mod by_list;
pub(super) mod by_text;
pub(crate) mod first_look;
