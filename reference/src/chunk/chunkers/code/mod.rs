//! Code by function: `outline` finds functions, by `braces`, `ends` of blocks or `indents`, in what `lexer` leaves of it.

mod braces;
mod dialect;
mod ends;
mod headers;
mod heredoc;
mod indents;
mod lexer;
pub(super) mod outline;
mod part;
