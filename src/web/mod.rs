//! Pages, API, metrics and live events: everything people and their tools see of Serin.
//!
//! Read-only but for two requests (acknowledge, recheck) that go down a channel to the loops. Pages
//! are drawn from the live state in memory, so they stay up while the database is away, and say so. All
//! text that came from a server is escaped by the templates; nothing is trusted that a browser sends.
//! Read: `state` (what every handler gets), `sessions` (who is let in), `passwords` and `oidc` (by name), `admitted` and `guard` (what is asked at the
//! door), `format` and `draw` (figures and shapes), `ranges`, `bars` (on `kept_cells`; the last hours and days of many monitors), `past` and `canary_past` (what a monitor did over days), `pages`, the API
//! (`monitors` with `canaries`, `incidents`, `silences`, `receivers` with `drills`, `ledger`, `replay`, `tools`, `history`, `transcripts`, `status`, `listings`), `agents` (what they ask by MCP), `public` (what everybody may see), `source` (whom a request is from),
//! `connections` (who may be connected), `starting` (before there is anything to show), and on top `router` and `serve`.

pub mod state;

pub(crate) mod source;
pub mod connections;
pub(crate) mod sessions;
pub(crate) mod key_ring;
pub(crate) mod refusals;
pub(crate) mod passwords;
pub(crate) mod provider_http;
pub(crate) mod claims;
pub(crate) mod oidc;
pub(crate) mod audit;
pub(crate) mod admitted;
pub(crate) mod guard;

pub(crate) mod assets;
pub(crate) mod draw;
pub(crate) mod format;

pub(crate) mod ranges;
pub(crate) mod kept_cells;
pub(crate) mod bars;
pub(crate) mod past;
pub(crate) mod canary_past;
pub(crate) mod canary_ranks;

pub(crate) mod problem;
pub(crate) mod actions;
pub(crate) mod canaries;
pub(crate) mod monitors;
pub(crate) mod incidents;
pub(crate) mod silences;
pub(crate) mod keys;
pub(crate) mod listings;
pub(crate) mod drills;
pub(crate) mod receivers;
pub(crate) mod ledger;
pub(crate) mod replay;
pub(crate) mod why;
pub(crate) mod status;
pub(crate) mod history;
pub(crate) mod tools;
pub(crate) mod transcripts;
pub(crate) mod openapi;
pub(crate) mod agents;
pub(crate) mod gathered;
pub(crate) mod shared_pages;
pub(crate) mod events;
pub(crate) mod forms;
pub(crate) mod metrics;
pub(crate) mod pages;
pub mod public;
pub(crate) mod ready;
pub(crate) mod starting;

pub(crate) mod router;
pub mod serve;
