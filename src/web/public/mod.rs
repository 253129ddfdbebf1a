//! The public side: what everybody may see without signing in, and nothing else.
//!
//! All of it is made of `status:` (names), of a closed list of sentences (`words`) and of times and shares. Nothing that a
//! server said gets here, and nothing that only those may know who run Serin: no id, address, label, rule or person. A
//! crawl of the running program holds that (`tests/journey/public.rs`).
//!
//! Read: `words` (what the public is told), `component_now` (how each component is), `episode` (what was wrong, from when
//! to when), `ahead` (maintenance), `component_past` (90 days of each), `snapshot` (all of it at one moment), what is drawn
//! from it as a `document` (`page`, `feed`, `summary`, `badge_svg` with `badges`, which `badge_index` finds), `side` (drawn
//! once for all), and on top `routes`.

pub(crate) mod words;
pub(crate) mod component_now;
pub(crate) mod episode;
pub(crate) mod ahead;
pub(crate) mod component_past;
pub(crate) mod snapshot;
pub(crate) mod page;
pub(crate) mod feed;
pub(crate) mod summary;
pub(crate) mod document;
pub(crate) mod badge_svg;
pub(crate) mod badge_index;
pub(crate) mod badges;
pub(crate) mod side;
pub(crate) mod routes;
