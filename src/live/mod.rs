//! What is known right now and stored nowhere: the last state of every monitor, and how Serin itself is doing.
//!
//! Pages read it, so they go on while the database is away.

pub mod process_metrics;
pub mod search_metrics;
pub mod drill_metrics;
pub mod footprint;
pub mod banner;
pub mod quiets;
pub mod listings;
pub mod glance;
pub mod monitor_view;
pub mod published;
pub mod nodes;
pub mod standing;
pub(crate) mod followed;
pub mod state;
pub(crate) mod drawn_view;
