//! What Serin knows and decides, as values and functions over them.
//!
//! Nothing in here waits, reads, writes or looks at a clock: `now` is an argument, JSON and SQL
//! stay outside, and two calls with equal arguments give equal answers. `tests/floors.rs` holds
//! that. Read in the order of the lines below: what is declared, what a probe saw, what that
//! means, and what is done about it.

pub mod protocol;
pub mod secret;
pub mod database_address;
pub mod network;
pub mod rules;
pub mod wanted;
pub(crate) mod wildcards;
pub mod source_pattern;
pub mod search;
pub mod near_miss;
pub mod depends_on;
pub mod monitor;
pub mod shard;
pub mod lease;
pub mod receiver;
pub mod grouping;
pub mod route;
pub mod recurrence;
pub mod maintenance;
pub(crate) mod misleading;
pub mod drills;
pub mod status_page;
pub mod discovery;
pub mod runbooks;
pub mod api_key;
pub mod audit;
pub mod sign_in;
pub mod fleet;
pub mod fleet_files;
pub(crate) mod afresh;
pub mod server_profile;
pub mod tools;
pub mod pinned;
pub mod calls;
pub mod body_template;
pub(crate) mod wording;
pub mod fault;
pub mod answer;
pub mod sources;
pub mod observation;
pub mod reason;
pub mod outcome;
pub(crate) mod leak;
pub mod classify;
pub mod contract;
pub mod context;
pub(crate) mod quality;
pub mod latency;
pub(crate) mod coverage;
pub mod cell;
pub(crate) mod errors;
pub mod signal;
pub mod unclaimed;
pub mod flapping;
pub mod incident;
pub mod recent_beats;
pub(crate) mod restart;
pub mod monitor_state;
pub mod paging;
pub(crate) mod rule_text;
pub mod why;
pub mod schedule;
pub mod action;
pub(crate) mod bunching;
pub mod rate_limit;
