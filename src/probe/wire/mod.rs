//! One exchange with a server, from the socket up: HTTP, the event stream of HTTP+SSE, a program's pipes; timed, and
//! written down as it goes.

pub(crate) mod clock;
pub(crate) mod outgoing;
pub(crate) mod tape;
pub(crate) mod transcript_lines;
pub mod transcript;
pub mod head;
pub(crate) mod pieces;
pub mod reply;
pub(crate) mod channel;
mod last_words;
pub(crate) mod program;
pub(crate) mod egress;
pub(crate) mod connection;
