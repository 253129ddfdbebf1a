//! Rules written by hand, section by section, which make domain values of a tree or say what is wrong with it.
//!
//! Read `keys` (what may stand where), `checker` and `scalars` (what all sections share), `load` and `document` (all files together), then the sections:
//! `process`, `receivers`, `routes`, `layers` (defaults beneath a monitor), `search`, `rules`, `canaries`, `caps`, `auth`,
//! `reach`, `network_path`, `monitors`, `heartbeat`, `logging`; last `definition`.

pub mod keys;
pub mod shape;
pub mod checker;
pub mod scalars;
pub mod layers;
pub mod definition;
pub mod auth;
pub mod canaries;
pub mod caps;
pub mod reach;
pub mod network_path;
pub mod search;
pub mod rules;
pub mod monitors;
pub mod receivers;
pub mod routes;
pub mod control;
pub mod heartbeat;
pub mod logging;
pub mod retention;
pub mod process;
pub mod including;
pub mod document;
pub mod load;
