//! One file a page: what it shows, worked out from the live state and the database; the templates only write it down.
//!
//! Read: `frame` (what all pages share), `filter` (what an address's query asks for), then the pages.

pub mod frame;

pub mod filter;

pub mod fleet;
pub mod incident;
pub mod incidents;
pub mod monitor;
pub mod uptime;

pub mod probe;
pub mod signals;
pub mod footprint;
pub mod recheck;
pub mod tools;
pub mod transcripts;

pub mod deliveries;
pub mod login;
pub mod runbooks;
pub mod unknown;
