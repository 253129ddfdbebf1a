//! The one frozen message as services of others take it: chats, pagers and phones that a team uses already.
//!
//! Each renders what `briefing` has of a message and sends nothing: the exchange is the webhook client's. What a server
//! said stands in all of them, so that each keeps it from being more than text: no mention, no link, no markup. Limits
//! cut texts and never the JSON around them; where they come from is in docs/channels.md.
//!
//! Read: `slack`, `pagerduty`, `discord`, `teams`, `ntfy`, `alertmanager`, `templated` (a body that the file declares); at the bottom `escaped`.

pub(crate) mod slack;
pub(crate) mod pagerduty;
pub(crate) mod discord;
pub(crate) mod teams;
pub(crate) mod ntfy;
pub(crate) mod alertmanager;
pub(crate) mod templated;
pub(crate) mod escaped;
#[cfg(test)]
pub(in crate::deliver) mod samples;
