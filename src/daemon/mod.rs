//! The loops. They alone read the clock, once a turn; each may die anywhere and goes on where it stood.
//!
//! Read: `loop_context` (what they work with), `clock` (is it set), `runtime` (one monitor's state in memory), `watch`
//! (one beat, whole) with `rows` (what is written of it), `changes` (what else changes a monitor's state),
//! `transcript_policy` (which transcripts stay), `notify` (from a decision to what is queued), `batch_window` (how many
//! start together), `permits` (who may be in flight), `scheduler` (who is due) on `beat_task`, `delivery_worker`
//! (claim, send, record), `resume` (where the last run stood), `startup` (the database, open), `reload` (the file,
//! whenever it changes), `queue_metrics` (what nobody else would notice), `heartbeat` (that we are well, to somebody
//! outside), `janitor` (forgets what is over).

pub mod loop_context;
pub mod clock;
pub mod runtime;
pub(crate) mod rows;
pub(crate) mod changes;
pub(crate) mod beat_task;
pub mod uplink;
pub mod connectivity;
pub mod failure_confirmation;
pub mod listing;
pub mod watch;
pub mod accept_baseline;
pub mod transcript_policy;
pub mod notify;
pub mod batch_window;
pub mod permits;
pub mod scheduler;
pub mod delivery_worker;
pub mod resume;
pub mod startup;
pub mod reload;
pub mod queue_metrics;
pub mod heartbeat;
pub mod janitor;
