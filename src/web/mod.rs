//! Pages, API, metrics and live events: everything people and their tools see of Serin.
//!
//! Read-only but for two requests (acknowledge, recheck) that go down a channel to the loops. Pages
//! are drawn from the live state in memory, so they stay up while the database is away, and say so. All
//! text that came from a server is escaped by the templates; nothing is trusted that a browser sends.
//! Read: `state` (what every handler gets), `sessions` (who is let in), `guard` (what is asked at the
//! door), `format` and `draw` (figures and shapes), `ranges` and `past` (what a monitor did over days), `pages`, `api`,
//! `source` (whom a request is from), `connections` (who may be
//! connected), `starting` (before there is anything to show), and on top
//! `router` and `serve`.

pub mod state;

pub mod source;
pub mod connections;
pub mod sessions;
pub mod guard;

pub mod assets;
pub mod draw;
pub mod format;

pub mod ranges;
pub mod past;

pub mod problem;
pub mod actions;
pub mod api;
pub mod status;
pub mod history;
pub mod tools;
pub mod transcripts;
pub mod events;
pub mod forms;
pub mod metrics;
pub mod pages;
pub mod ready;
pub mod starting;

pub mod router;
pub mod serve;
