//! One file a page: what it shows, worked out from the live state and the database; the templates only write it down.
//!
//! Read: `frame` (what all pages share), `filter` (on `search` and `states`) and `choices` (what an address's query asks for), then the pages.

pub(crate) mod frame;

pub(crate) mod states;
pub(crate) mod search;
pub(crate) mod filter;
pub(crate) mod choices;

pub(crate) mod groups;
pub(crate) mod fleet;
pub(crate) mod silences;
pub(crate) mod take;
pub(crate) mod incident;
pub(crate) mod incidents;
pub(crate) mod monitor;
pub(crate) mod board;
pub(crate) mod moved;
pub(crate) mod then_and_now;
pub(crate) mod around;
pub(crate) mod why;
pub(crate) mod armed;
pub(crate) mod uptime;

pub(crate) mod folds;
pub(crate) mod probe;
pub(crate) mod signals;
pub(crate) mod footprint;
pub(crate) mod recheck;
pub(crate) mod tools;
pub(crate) mod transcripts;

pub(crate) mod deliveries;
pub(crate) mod lists;
pub(crate) mod login;
pub(crate) mod receivers;
pub(crate) mod runbooks;
pub(crate) mod unknown;
