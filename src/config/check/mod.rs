//! Rules written by hand, section by section, which make domain values of a tree or say what is wrong with it.
//!
//! Read `keys` (what may stand where), `golden` (canaries in files of their own), `checker`, `scalars`, `numbers` and `addresses` (what all sections share), `load` and `document` (all
//! files together), then the sections: `process`, `receivers` with `webhook_body`, `routes`, `recurrence` (what comes again and again), `maintenance`, `drills`, `status_page` (what everybody may see), `coverage` (whether anybody hears), `layers` (defaults beneath a monitor),
//! `answer_text`, `search`, `quality_checks`, `rules`, `forbidden_sources`, `wordings`, `near_misses`, `canaries`, `caps`, `auth`, `reach`, `network_path`, `replicas`, `depends_on`, `runbooks`, `monitors`, `discover` (lists that others keep, and their templates), `discovered` (what they bring in), `heartbeat`, `logging`; `pinned` (the locks beside them); last
//! `definition`.

pub(super) mod keys;
pub(super) mod shape;
pub(super) mod golden;
pub mod checker;
pub(super) mod scalars;
pub(crate) mod numbers;
pub(super) mod addresses;
pub(super) mod layers;
pub mod definition;
pub(super) mod auth;
pub(super) mod answer_text;
pub(super) mod forbidden_sources;
pub(super) mod wordings;
pub(super) mod near_misses;
pub(super) mod canaries;
pub(super) mod caps;
pub(crate) mod reach;
pub(super) mod network_path;
pub(super) mod search;
pub(super) mod m_of_n;
pub(super) mod rules;
pub(super) mod quality_checks;
pub(super) mod replicas;
pub(super) mod depends_on;
pub(super) mod runbooks;
pub(super) mod monitors;
pub(super) mod discover;
pub(super) mod discovered;
pub(super) mod webhook_body;
pub(super) mod grouping;
pub(super) mod receivers;
pub(super) mod routes;
pub(super) mod recurrence;
pub(super) mod maintenance;
pub(super) mod drills;
pub(super) mod status_page;
pub(super) mod control;
pub(super) mod coverage;
pub(super) mod heartbeat;
pub mod logging;
pub(super) mod retention;
pub(super) mod users;
pub(super) mod oidc;
pub(crate) mod process;
pub(super) mod including;
pub(super) mod document;
pub mod pinned;
pub(crate) mod load;
